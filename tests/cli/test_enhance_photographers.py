"""`pic-uie enhance` for photographers: resize, contact sheet, page, sidecars, thumbnails of videos, watching."""

import io
import json
import re
import signal
import subprocess
import time

import numpy as np
import pytest
from PIL import Image

from helpers.command import PIC_UIE, enhance, make, tree
from helpers.pictures import XMP, camera_exif, lab, opened, reef, saved
from pic_uie import images, weights
from pic_uie.cli import exit_codes
from pic_uie.images import Picture


@pytest.mark.parametrize(("size", "expected"), [((400, 300), (128, 96)), ((300, 400), (96, 128)), ((90, 64), (90, 64))])
def test_resize_bounds_the_long_side_and_enlarges_nothing(here, size, expected):
    make(here / "a.jpg", "JPEG", pixels=reef(size[1], size[0]), exif=b"Exif\0\0" + camera_exif(orientation=1))
    assert enhance("a.jpg", "--resize", 128, "-q", "--report", "run.jsonl") == 0
    line = json.loads((here / "run.jsonl").read_text())
    assert (line["width"], line["height"]) == expected
    result = opened((here / "a_enhanced.jpg").read_bytes())
    assert result.size == expected
    photo = result.getexif().get_ifd(0x8769)
    assert (photo[0xA002], photo[0xA003]) == expected


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
def test_resize_agrees_with_pillow(channels, kind):
    pixels = reef(300, 400, channels=channels, dtype=kind)
    if channels in (2, 4):
        pixels[:, :, -1] = np.iinfo(kind).max
    small = images.fitted(Picture(pixels, bits=8 * pixels.itemsize), 100).pixels
    assert small.shape == (75, 100, channels)
    assert small.dtype == kind
    for channel in range(channels):
        plane = Image.fromarray(pixels[:, :, channel].astype(np.float32)).resize((100, 75), Image.Resampling.LANCZOS)
        difference = np.abs(np.asarray(plane) - small[:, :, channel])[2:-2, 2:-2]
        assert difference.max() <= 0.01 * np.iinfo(kind).max


def test_colours_of_transparent_pixels_do_not_bleed():
    pixels = np.zeros((64, 64, 4), np.uint8)
    pixels[:, :32] = (0, 200, 0, 255)
    pixels[:, 32:] = (255, 0, 0, 0)
    small = images.fitted(Picture(pixels), 8).pixels
    opaque = small[small[..., 3] > 40]
    assert np.abs(opaque[:, 0].astype(int)).max() <= 3


def test_resize_keeps_the_channels_of_the_file(here):
    make(here / "a.jpg", "JPEG", pixels=Image.fromarray(reef(120, 160)).convert("CMYK"))
    assert enhance("a.jpg", "--resize", 80, "--strength", 0, "-q") == 0
    result = opened((here / "a_enhanced.jpg").read_bytes())
    assert (result.mode, result.size) == ("CMYK", (80, 60))
    small = opened((here / "a.jpg").read_bytes()).resize((80, 60), Image.Resampling.LANCZOS)
    assert np.abs(np.asarray(result, int) - np.asarray(small, int)).mean() < 4


def test_a_contact_sheet_shows_before_and_after(here, capsys):
    for number in range(3):
        make(here / f"in/{number}.png", pixels=reef(200, 300, seed=number))
    make(here / "in/grey.png", pixels=reef(channels=1))
    make(here / "in/deep.png", pixels=reef(400, 100))
    assert enhance("in", "-o", "out", "--preview", "sheet.jpg") == 0
    assert "before and after: sheet.jpg" in capsys.readouterr().err
    sheet = np.asarray(Image.open(here / "sheet.jpg").convert("RGB"))
    assert sheet.shape[1] > 2 * 2 * 300
    before = np.asarray(Image.open(here / "in/0.png"))
    after = np.asarray(Image.open(here / "out/0.png"))
    shown = [sheet[20:180, 20:280], sheet[20:180, 20 + 306 : 280 + 306]]
    for picture, part in zip((before, after), shown, strict=True):
        own = picture[14:174, 14:274]
        assert np.abs(lab(own / 255).mean((0, 1)) - lab(part / 255).mean((0, 1))).max() < 1.0


def test_a_page_needs_nothing_but_itself(here):
    make(here / "in/a & b <1>.png")
    make(here / "in/ü.png")
    (here / "pages").mkdir()
    assert enhance("in", "-o", "out", "--html", "pages/p.html", "-q") == 0
    text = (here / "pages/p.html").read_text(encoding="utf-8")
    assert "a &amp; b &lt;1&gt;.png" in text
    assert "<script" not in text
    assert not re.search(r'src="(?!data:image/jpeg;base64,)', text)
    links = re.findall(r'href="([^"]*)"', text)
    assert "../in/%C3%BC.png" in links
    assert "../out/%C3%BC.png" in links
    assert text.count("<img") == 4


@pytest.mark.parametrize(
    "options",
    [
        ["--preview", "sheet.png"],
        ["--html", "page.txt"],
        ["--preview", "taken.jpg"],
        ["--preview", "a.jpg", "--overwrite"],
        ["--preview", "out/a.jpg", "--overwrite"],
    ],
)
def test_a_preview_replaces_nothing(here, options):
    make(here / "a.jpg", "JPEG")
    make(here / "taken.jpg", "JPEG")
    before = {path: path.read_bytes() for path in here.rglob("*.*")}
    assert enhance("a.jpg", "-o", "out/", *options) == exit_codes.USAGE
    assert {path: path.read_bytes() for path in here.rglob("*.*")} == before


def test_a_preview_of_many_pictures_is_bounded_and_by_name(here, monkeypatch, capsys):
    monkeypatch.setattr("pic_uie.batch.preview._SHEET_LIMIT", 3)
    for number in range(8):
        make(here / f"in/{number}.png")
    assert enhance("in", "-o", "out", "--preview", "s.jpg") == 0
    assert "s.jpg, the first 3 of 8 pictures" in capsys.readouterr().err


def test_sidecars_go_beside_their_results_upright(here):
    make(here / "in/a.jpg", "JPEG")
    make(here / "in/b.png")
    (here / "in/a.xmp").write_bytes(XMP)
    (here / "in/b.png.xmp").write_bytes(XMP)
    (here / "in/lonely.xmp").write_bytes(XMP)
    assert enhance("in", "-o", "out", "-q") == 0
    assert tree(here / "out") == ["a.jpg", "a.xmp", "b.png", "b.png.xmp"]
    assert (here / "out/a.xmp").read_bytes() == XMP.replace(b'Orientation="6"', b'Orientation="1"')
    assert enhance("in/a.jpg", "-q") == 0
    assert (here / "in/a_enhanced.xmp").is_file()
    assert enhance("in", "-o", "bare", "--strip-metadata", "-q") == 0
    assert tree(here / "bare") == ["a.jpg", "b.png"] or tree(here / "bare") == ["a.jpg", "a_enhanced.jpg", "b.png"]


def test_a_sidecar_of_someone_else_is_kept(here, capsys):
    make(here / "a.jpg", "JPEG")
    (here / "a.xmp").write_bytes(XMP)
    (here / "out").mkdir()
    (here / "out/a.xmp").write_text("edited")
    assert enhance("a.jpg", "-o", "out/", "-v") == 0
    assert (here / "out/a.xmp").read_text() == "edited"
    assert "its sidecar was not copied: a.xmp exists already" in capsys.readouterr().err
    assert enhance("a.jpg", "-o", "out/", "--overwrite", "-q") == 0
    assert (here / "out/a.xmp").read_text() != "edited"


def test_sidecars_are_not_called_ignored_files(here, capsys):
    make(here / "a.jpg", "JPEG")
    (here / "a.xmp").write_bytes(XMP)
    (here / "notes.txt").write_text("x")
    assert enhance(".", "-o", "out") == 0
    assert "ignored 1 file: not pictures" in capsys.readouterr().err


def test_thumbnails_of_videos_are_ignored_unless_they_are_named(here):
    make(here / "GOPR0001.THM", "JPEG")
    make(here / "GOPR0002.JPG", "JPEG")
    assert enhance(".", "-o", "out", "-q") == 0
    assert tree(here / "out") == ["GOPR0002.JPG"]
    assert enhance("GOPR0001.THM", "-o", "one/", "-q") == 0


def test_watching_a_folder(here):
    (here / "in").mkdir()
    make(here / "in/first.png")
    command = [*PIC_UIE, "enhance", "in", "-o", "out", "--watch", "--weights", str(weights.DEFAULT_PATH)]
    process = subprocess.Popen([*command, "--report", "run.jsonl"], cwd=here, stderr=subprocess.PIPE, text=True)
    try:
        appeared(here / "out/first.png")
        data = saved(reef(), "PNG")
        with open(here / "in/slow.png", "wb") as file:  # as a camera card is copied: not to be taken while it grows
            for part in range(4):
                file.write(data[part * len(data) // 4 : (part + 1) * len(data) // 4])
                file.flush()
                time.sleep(0.4)
        (here / "in/bad.png").write_text("no picture")
        appeared(here / "out/slow.png")
        time.sleep(2.5)  # a bad file is tried once, not at every look
    finally:
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=30)[1]
    assert process.returncode == exit_codes.FAILED
    assert errors.count("bad.png: a text file") == 1
    assert "2 enhanced, 1 failed" in errors
    assert len((here / "run.jsonl").read_text().splitlines()) == 3
    assert Image.open(io.BytesIO((here / "out/slow.png").read_bytes())).size == (64, 48)


def appeared(path):
    deadline = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < deadline, path
        time.sleep(0.05)


@pytest.mark.parametrize("options", [[], ["-o", "out", "--overwrite"], ["-o", "out", "--dry-run"]])
def test_watching_needs_a_folder_for_results(here, options):
    (here / "in").mkdir()
    assert enhance("in", "--watch", *options) == exit_codes.USAGE
