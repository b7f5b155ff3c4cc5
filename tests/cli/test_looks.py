"""`--look`, `--save-look`, `--same-look`, the groups, and `pic-uie look`, as a user runs them."""

import json
import re
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest

from helpers.command import PIC_UIE, enhance, exit_code, make, tree
from helpers.pictures import XMP, opened, reef, saved
from helpers.samples import some_look
from pic_uie import Enhancer, Look, Strengths, images, weights
from pic_uie.batch.mapping import DiskJob
from pic_uie.batch.process import Settings, process
from pic_uie.cli import exit_codes

SHIPPED = weights.DEFAULT_PATH  # θ of these depends on the picture, unlike that of the mild ones


def pixels_of(path):
    return images.read(path).pixels


def provenance_of(path):
    return dict(re.findall(rb'picuie:(\w+)="([^"]*)"', path.read_bytes()))


def test_a_saved_look_repeats_the_bytes_and_is_named_in_the_result(here):
    make(here / "a.png")
    assert enhance("a.png", "--save-look", "--haze", 0.5, "--strength", 0.75) == exit_codes.OK
    assert tree(here) == ["a.png", "a_enhanced.look.json", "a_enhanced.png"]
    assert enhance("a.png", "-o", "again.png", "--look", "a_enhanced.look.json") == exit_codes.OK
    assert (here / "again.png").read_bytes() == (here / "a_enhanced.png").read_bytes()
    look = Look.load(here / "a_enhanced.look.json")
    said = provenance_of(here / "again.png")
    assert said[b"Look"].decode() == look.sha256
    assert said[b"Weights"].decode() == look.weights == Enhancer(weights.DEFAULT_PATH).weights.sha256
    assert said[b"Strengths"] == b"haze 0.5, contrast 1, colour 1, balance 1, strength 0.75"
    assert look.source.name == "a.png"


@pytest.mark.parametrize("group", ["haze", "contrast", "colour", "balance", "color"])
def test_groups_reach_the_engine(here, group):
    make(here / "a.png")
    assert enhance("a.png", f"--{group}", 0.25) == exit_codes.OK
    name = group.replace("color", "colour") if group == "color" else group
    expected = Enhancer(weights.DEFAULT_PATH).enhance(reef(), **{name: 0.25})
    assert np.array_equal(pixels_of(here / "a_enhanced.png"), expected)


def test_all_groups_at_0_give_the_input_in_any_colour_space(here):
    profile = images.vips.built_in_profile("p3")
    make(here / "a.png", icc_profile=profile)
    options = [word for name in ("haze", "contrast", "colour", "balance") for word in (f"--{name}", 0)]
    assert enhance("a.png", *options) == exit_codes.OK
    assert np.array_equal(np.asarray(opened((here / "a_enhanced.png").read_bytes())), reef())


def test_the_look_of_a_picture_is_given_to_others(here):
    make(here / "reference.jpg", "JPEG")
    make(here / "set" / "b.png", pixels=reef(seed=1))
    assert enhance("set", "-o", "out", "--look", "reference.jpg", "--colour", 0.5) == exit_codes.OK
    enhancer = Enhancer(weights.DEFAULT_PATH)
    look = enhancer.look(pixels_of(here / "reference.jpg")).scaled(colour=0.5)
    assert np.array_equal(pixels_of(here / "out" / "b.png"), enhancer.apply(reef(seed=1), look))


@pytest.mark.parametrize("name", ["JPEG", "PNG", "TIFF", "WEBP"])
def test_provenance_joins_what_the_packet_says_and_replaces_what_it_said_before(here, name):
    source = here / f"a.{name.lower()}"
    options = {"JPEG": {"xmp": XMP}, "WEBP": {"xmp": XMP}}.get(name, {})
    make(source, name, **options)
    assert enhance(source, "-o", f"b.{name.lower()}") == exit_codes.OK
    assert enhance(f"b.{name.lower()}", "-o", f"c.{name.lower()}", "--haze", 0.5) == exit_codes.OK
    first, second = (here / f"{stem}.{name.lower()}" for stem in "bc")
    assert first.read_bytes().count(b"picuie:Look=") == second.read_bytes().count(b"picuie:Look=") == 1
    assert provenance_of(first)[b"Look"] != provenance_of(second)[b"Look"]
    assert (b'xmp:Rating="5"' in second.read_bytes()) == bool(options)
    assert enhance(source, "-o", f"d.{name.lower()}", "--strip-metadata") == exit_codes.OK
    assert b"picuie" not in (here / f"d.{name.lower()}").read_bytes()


@pytest.mark.skipif(shutil.which("exiftool") is None, reason="exiftool is not installed")
def test_exiftool_reads_the_provenance(here):
    make(here / "a.jpg", "JPEG", xmp=XMP)
    assert enhance("a.jpg") == exit_codes.OK
    done = subprocess.run(["exiftool", "-j", "-G1", "a_enhanced.jpg"], capture_output=True, check=True)
    said = json.loads(done.stdout)[0]
    assert len(said["XMP-picuie:Look"]) == 64
    assert said["XMP-xmp:Rating"] == 5
    assert not [key for key in said if "Warning" in key]


def a_set(folder, count=6):
    for index in range(count):
        make(folder / f"{index}.jpg", "JPEG", pixels=reef(96, 128, seed=index), quality=95)
    return folder


def test_one_look_for_a_set_is_written_first_and_found_again(here, capsys):
    a_set(here / "set")
    assert enhance("set", "-o", "out", "--same-look") == exit_codes.OK
    assert "same.look.json" in tree(here / "out")
    look = Look.load(here / "out" / "same.look.json")
    hashes = {provenance_of(here / "out" / f"{index}.jpg")[b"Look"].decode() for index in range(6)}
    assert hashes == {look.sha256}
    assert look.source.name == "6 pictures"
    before = (here / "out" / "3.jpg").read_bytes()
    (here / "out" / "3.jpg").unlink()
    make(here / "set" / "7.jpg", "JPEG", pixels=255 - reef(96, 128))  # another set now, but the run continues
    capsys.readouterr()
    assert enhance("set", "-o", "out", "--same-look") == exit_codes.OK
    assert "using the look of an earlier run" in capsys.readouterr().err
    assert (here / "out" / "3.jpg").read_bytes() == before
    assert enhance("set", "-o", "out", "--same-look", "--haze", 0.5, "--overwrite") == exit_codes.OK
    assert Look.load(here / "out" / "same.look.json").strengths == Strengths(haze=0.5)


def test_equal_colours_stay_equal_across_a_set(here):
    """A patch of one colour at one place, in pictures that differ everywhere else."""
    patch = np.array([40, 120, 160], np.uint8)
    for index in range(5):
        pixels = reef(96, 128, seed=index)
        pixels[:, : 20 * index] //= 2
        pixels[30:60, 40:80] = patch
        make(here / "set" / f"{index}.png", pixels=pixels)
    assert enhance("set", "-o", "out", "--same-look", "--weights", SHIPPED) == exit_codes.OK
    results = [pixels_of(here / "out" / f"{index}.png")[34:56, 44:76] for index in range(5)]
    assert all(np.array_equal(result, results[0]) for result in results)
    assert enhance("set", "-o", "own", "--weights", SHIPPED) == exit_codes.OK
    own = [pixels_of(here / "own" / f"{index}.png")[34:56, 44:76] for index in range(5)]
    assert not all(np.array_equal(result, own[0]) for result in own)


def test_one_odd_picture_does_not_tint_a_set(here):
    a_set(here / "plain")
    shutil.copytree(here / "plain", here / "odd")
    make(here / "odd" / "x.png", pixels=np.full((96, 128, 3), (255, 0, 0), np.uint8))
    (here / "odd" / "y.jpg").write_bytes(b"\xff\xd8\xff\xe0 no more")
    for name in ("plain", "odd"):
        enhance(name, "-o", f"out-{name}", "--same-look", "--weights", SHIPPED)
    plain, odd = (pixels_of(here / f"out-{name}" / "0.jpg").astype(int) for name in ("plain", "odd"))
    assert np.abs(plain - odd).mean() < 1.0


def test_an_interrupted_run_continues_with_its_look(here, tmp_path):
    for index in range(12):
        make(here / "set" / f"{index:02}.png", pixels=reef(500, 700, seed=index))
    command = [*PIC_UIE, "enhance", "set", "-o", "out", "--same-look", "--jobs", "1", "-q"]
    command += ["--weights", weights.DEFAULT_PATH]
    running = subprocess.Popen(command, cwd=here)
    place = here / "out" / "same.look.json"
    until = time.monotonic() + 60
    while not list((here / "out").glob("*.png")) and time.monotonic() < until:
        time.sleep(0.005)
    running.send_signal(signal.SIGKILL)
    running.wait()
    first = place.read_bytes()
    assert subprocess.run(command, cwd=here, check=False).returncode == exit_codes.OK
    assert place.read_bytes() == first
    hashes = {provenance_of(path)[b"Look"] for path in (here / "out").glob("*.png")}
    assert hashes == {Look.load(place).sha256.encode()}
    assert len(list((here / "out").glob("*.png"))) == 12


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (
            ["--look", "none.look.json"],
            exit_codes.FAILED,
            "cannot read the look none.look.json: No such file or directory; give a .look.json file, or a picture",
        ),
        (["--look", "text.txt"], exit_codes.FAILED, "text.txt is a text file, neither a look nor a picture"),
        (["--look", "empty"], exit_codes.FAILED, "not a look"),
        (["--look", "cut.png"], exit_codes.FAILED, "cut.png: damaged PNG"),
        (["--look", "foreign.look.json"], exit_codes.FAILED, "belongs to weights 01234567"),
        (["--look", "cut.look.json"], exit_codes.FAILED, "cut off or damaged"),
        (["--look", "."], exit_codes.FAILED, "a folder or device, not a look: a look is a file that"),
        (["--look", "foreign.look.json", "--same-look"], exit_codes.USAGE, "--look and --same-look contradict"),
        (["--save-look", "--same-look"], exit_codes.USAGE, "--same-look and --save-look contradict"),
        (["--same-look", "--watch"], exit_codes.USAGE, "needs all pictures of the set at once"),
        (["--same-look", "-o", "-"], exit_codes.USAGE, "needs all pictures of the set at once"),
        (["--save-look", "-o", "-"], exit_codes.USAGE, "--save-look needs a file"),
        (["--same-look", "-o", "s3://bucket/x"], exit_codes.USAGE, "works on whole sets on a disk"),
        (["--haze", "1.5"], exit_codes.USAGE, "a number from 0 to 1"),
        (["--haze", "nan"], exit_codes.USAGE, "a number from 0 to 1"),
    ],
)
def test_what_cannot_be_is_said_before_any_work(here, capsys, options, code, words):
    make(here / "a.png")
    (here / "text.txt").write_text("no look")
    (here / "empty").write_bytes(b"")
    (here / "cut.png").write_bytes(saved(reef(), "PNG")[:900])
    some_look(0).save(here / "foreign.look.json")
    (here / "cut.look.json").write_text(some_look(0).to_json()[:3000])
    before = tree(here)
    assert exit_code(["enhance", "a.png", *options]) == code
    assert words in capsys.readouterr().err
    assert tree(here) == before


def test_a_look_of_an_earlier_run_with_other_strengths_or_damage(here, capsys):
    a_set(here / "set", 3)
    assert enhance("set", "-o", "out", "--same-look") == exit_codes.OK
    (here / "out" / "0.jpg").unlink()
    assert enhance("set", "-o", "out", "--same-look", "--haze", 0.5) == exit_codes.USAGE
    assert "has the strengths: as predicted; asked for: haze 0.5" in capsys.readouterr().err
    (here / "out" / "same.look.json").write_text("{}")
    assert enhance("set", "-o", "out", "--same-look") == exit_codes.FAILED
    assert "not a look" in capsys.readouterr().err
    assert not (here / "out" / "0.jpg").exists()


def test_show_mix_and_cube(here, capsys):
    make(here / "a.png")
    make(here / "b.png", pixels=reef(seed=2) // 2)
    assert enhance("a.png", "b.png", "--save-look") == exit_codes.OK
    capsys.readouterr()
    a, b = "a_enhanced.look.json", "b_enhanced.look.json"
    assert exit_code(["look", "show", a, b]) == exit_codes.OK
    shown = capsys.readouterr().out
    assert Look.load(here / a).sha256 in shown
    assert "haze" in shown
    assert exit_code(["look", "mix", a, b, "--at", 0.3, "-o", "c.look.json"]) == exit_codes.OK
    assert Look.load(here / "c.look.json").sha256 == Look.load(here / a).interpolate(Look.load(here / b), 0.3).sha256
    cube = ["look", "cube", "c.look.json", "-o", "c.cube", "--size", 5, "--weights", weights.DEFAULT_PATH]
    assert exit_code(cube) == exit_codes.OK
    assert exit_code(cube) == exit_codes.USAGE
    assert "exists already" in capsys.readouterr().err
    assert exit_code([*cube, "--overwrite", "--size", 500]) == exit_codes.FAILED
    assert "from 2 to 129" in capsys.readouterr().err
    assert exit_code(["look", "mix", a, b, "-o", "c.png"]) == exit_codes.USAGE
    assert exit_code(["look", "show", "a.png"]) == exit_codes.FAILED
    assert "a.png is not a look" in capsys.readouterr().err
    assert exit_code(["look", "mix", a, b, "-o", a, "--overwrite"]) == exit_codes.USAGE
    lines = (here / "c.cube").read_text().splitlines()
    assert "LUT_3D_SIZE 5" in lines
    assert len([line for line in lines if re.match(r"[\d.]+ [\d.]+ [\d.]+$", line)]) == 125


def test_inspect_shows_the_groups(here, capsys):
    make(here / "a.png")
    assert exit_code(["inspect", "a.png", "--json", "--haze", "0", "--contrast", "0", "--max-side", "0"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["strengths"]["haze"] == 0.0
    assert said["corrections"]["refinement"] == 0.0
    assert np.all(np.asarray(said["corrections"]["v"]) == 0.0)


def test_a_result_without_its_look_is_told(here, capsys):
    make(here / "a.png")
    assert enhance("a.png") == exit_codes.OK
    assert enhance("a.png", "--save-look", "--report", "run.jsonl") == exit_codes.OK
    words = "a.png: skipped (the result exists; its look was not written; --overwrite makes both)"
    assert words in capsys.readouterr().err
    assert json.loads((here / "run.jsonl").read_text())["notes"] == ["its look was not written; --overwrite makes both"]
    assert not (here / "a_enhanced.look.json").exists()
    assert enhance("a.png", "--save-look", "--overwrite") == exit_codes.OK
    capsys.readouterr()
    assert enhance("a.png", "--save-look") == exit_codes.OK
    assert "its look" not in capsys.readouterr().err


@pytest.mark.parametrize("content", ["", "another look", "edited"])
def test_a_look_without_its_result_is_not_replaced_unasked(here, capsys, content):
    make(here / "a.png")
    make(here / "b.png")
    assert enhance("a.png", "--save-look") == exit_codes.OK
    place = here / "a_enhanced.look.json"
    look = Look.load(place)
    (here / "a_enhanced.png").unlink()
    contents = {"": "", "another look": some_look(0).to_json(), "edited": look.scaled(haze=0.5).to_json()}
    place.write_text(contents[content])
    before = tree(here)
    assert enhance("b.png", "a.png", "--save-look") == exit_codes.USAGE
    words = capsys.readouterr().err
    assert "a_enhanced.look.json exists already, but its result a_enhanced.png does not; nothing was done" in words
    assert "--overwrite replaces it; to keep it, rename it or leave out --save-look" in words
    assert tree(here) == before
    assert place.read_text() == contents[content]
    assert enhance("b.png", "a.png", "--save-look", "--overwrite") == exit_codes.OK
    assert Look.load(place).sha256 == look.sha256


def test_what_an_interrupted_run_left_is_no_hindrance(here):
    """The look is written in front of the picture, whose presence says that all is done."""
    make(here / "a.png")
    assert enhance("a.png", "--save-look", "--haze", 0.5) == exit_codes.OK
    picture, look = ((here / f"a_enhanced.{end}").read_bytes() for end in ("png", "look.json"))
    (here / "a_enhanced.png").unlink()
    assert enhance("a.png", "--save-look", "--haze", 0.5) == exit_codes.OK
    assert (here / "a_enhanced.png").read_bytes() == picture
    assert (here / "a_enhanced.look.json").read_bytes() == look


def test_two_looks_in_one_place_are_refused(here, capsys):
    make(here / "in" / "a.png")
    make(here / "in" / "a.jpg", "JPEG")
    for options in ([], ["--overwrite"], ["--dry-run"]):
        assert enhance("in", "-o", "out", "--save-look", *options) == exit_codes.USAGE
        words = capsys.readouterr().err
        assert "the looks of out/a.jpg and out/a.png would both be written to out/a.look.json" in words
        assert "Enhance them in two runs to two folders" in words
    assert not (here / "out").exists()


def test_a_look_that_came_in_between_is_kept(here):
    make(here / "a.png")
    (here / "a.look.json").write_text("mine")
    job = DiskJob(here / "a.png", here / "a.jpg", "jpeg")
    outcome = process(job, Enhancer(weights.DEFAULT_PATH), Settings(save_look=True))
    assert outcome.error == f"its look {here / 'a.look.json'} exists already; rename it, or --overwrite replaces it"
    assert (here / "a.look.json").read_text() == "mine"
    assert not (here / "a.jpg").exists()
