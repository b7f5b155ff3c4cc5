"""`pic-uie depth`: one map a picture, resumed, and one bad picture does not stop the rest."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from helpers.command import exit_code
from helpers.tiny_networks import channel_network, save
from pic_uie.cli.main import main


@pytest.fixture
def pictures(tmp_path):
    folder = tmp_path / "pictures"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for name, size in (("a.png", (40, 64)), ("b.png", (40, 64)), ("c.jpg", (64, 40))):
        coarse = Image.fromarray(rng.integers(0, 256, (4, 4, 3), dtype=np.uint8))
        coarse.resize(size[::-1], Image.Resampling.BICUBIC).save(folder / name)
    return folder


@pytest.fixture
def command(tmp_path, pictures):
    net = save(channel_network(0), tmp_path)
    return ["depth", str(pictures), "-o", str(tmp_path / "out"), "--model", str(net), "--size", "64x64", "-q"]


def test_one_map_for_each_picture_at_its_size(tmp_path, pictures, command):
    assert main(command) == 0
    for name in ("a", "b", "c"):
        made = Image.open(tmp_path / "out" / f"{name}.png")
        (source,) = pictures.glob(f"{name}.*")
        red = np.asarray(Image.open(source))[..., 0]
        assert made.mode == "L"
        values = np.asarray(made)
        assert values.shape == red.shape
        assert (values.min(), values.max()) == (0, 255)
        assert np.corrcoef(values.ravel(), red.ravel())[0, 1] > 0.99


def test_sixteen_bits_and_distance(tmp_path, command):
    assert main([*command, "--bits", "16", "--distance"]) == 0
    made = np.asarray(Image.open(tmp_path / "out" / "a.png"))
    assert made.dtype == np.uint16
    assert made.max() == 65535
    red = np.asarray(Image.open(tmp_path / "pictures" / "a.png"))[..., 0]
    assert np.corrcoef(made.ravel(), red.ravel())[0, 1] < 0


def test_resumes_and_overwrites_on_request(tmp_path, command):
    assert main(command) == 0
    out = tmp_path / "out"
    (out / "b.png").unlink()
    (out / "a.png").write_bytes(b"kept")
    assert main(command) == 0
    assert (out / "a.png").read_bytes() == b"kept"
    assert (out / "b.png").exists()
    assert main([*command, "--overwrite"]) == 0
    assert (out / "a.png").read_bytes() != b"kept"


@pytest.mark.parametrize("batch", ["1", "2", "8"])
def test_the_batch_does_not_matter(tmp_path, command, batch):
    assert main([*command, "--batch", batch]) == 0
    made = (tmp_path / "out" / "b.png").read_bytes()
    assert main([*command, "--overwrite", "--batch", "3"]) == 0
    assert (tmp_path / "out" / "b.png").read_bytes() == made


def test_an_unreadable_picture_is_reported_and_the_rest_goes_on(tmp_path, pictures, command, capsys):
    (pictures / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\nnothing")
    assert main(command) == 1
    assert "broken.png" in capsys.readouterr().err
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a.png", "b.png", "c.png"]


def test_a_missing_picture_is_reported(tmp_path, command, capsys):
    assert main([command[0], str(tmp_path / "gone.png"), *command[2:]]) == 1
    assert "gone.png" in capsys.readouterr().err


def test_an_empty_folder_matches_nothing(tmp_path, command):
    (tmp_path / "empty").mkdir()
    assert main([command[0], str(tmp_path / "empty"), *command[2:]]) == 3


def test_two_pictures_for_one_map_are_refused_before_any_work(tmp_path, pictures, command, capsys):
    Image.new("RGB", (32, 32)).save(pictures / "a.jpg")
    assert main(command) == 2
    assert "would both become" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_picture_is_never_replaced_by_its_map(pictures, command, capsys):
    assert main([*command, "-o", str(pictures)]) == 2
    assert "would replace it" in capsys.readouterr().err


@pytest.mark.parametrize("extra", [["--size", "big"], ["--size", "0x0"], ["--std", "0", "1", "1"], ["--batch", "0"]])
def test_bad_options_are_usage_errors(command, extra, capsys):
    assert exit_code([*command, *extra]) == 2
    assert "pic-uie" in capsys.readouterr().err


def test_a_file_that_is_no_network_is_a_usage_error(tmp_path, command, capsys):
    (tmp_path / "net.onnx").write_bytes(b"nonsense")
    assert main(command) == 2
    assert "not an ONNX network" in capsys.readouterr().err


def test_agrees_with_the_given_maps(tmp_path):
    root = Path(os.environ.get("PIC_UIE_DATA", Path(__file__).parents[3] / "shared" / "data"))
    net, given = root / "depth" / "tcmonodepth_small_192x320.onnx", root / "uieb" / "depth"
    if not net.exists():
        pytest.skip(f"no depth network at {net}")
    sources = sorted((root / "native" / "input").glob("*.png"))[:3]
    assert main(["depth", *map(str, sources), "-o", str(tmp_path), "--model", str(net), "--preset", "tcmonodepth"]) == 0
    for source in sources:
        ours = np.asarray(Image.open(tmp_path / source.name).resize((256, 256)), float)
        theirs = np.asarray(Image.open(given / source.name), float)
        assert np.corrcoef(ours.ravel(), theirs.ravel())[0, 1] > 0.99
