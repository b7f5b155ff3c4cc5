"""`pic-uie compare`: before and after in one picture."""

import numpy as np
import pytest

from helpers.pictures import reef, saved
from pic_uie import images
from pic_uie.cli import exit_codes
from pic_uie.cli.main import main


@pytest.fixture
def pair(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = reef(48, 64)
    (tmp_path / "a.png").write_bytes(saved(before, "PNG"))
    (tmp_path / "b.png").write_bytes(saved(255 - before, "PNG"))
    return before, 255 - before


def run(*arguments):
    return main(["compare", *map(str, arguments)])


def test_side_by_side(pair):
    assert run("a.png", "b.png", "-o", "side.png") == 0
    side = images.read("side.png").pixels
    assert side.shape == (48, 64 + 2 + 64, 3)
    assert np.array_equal(side[:, :64], pair[0])
    assert np.array_equal(side[:, -64:], pair[1])
    assert (side[:, 64:66] == 255).all()


def test_split(pair):
    assert run("a.png", "b.png", "-o", "split.png", "--split") == 0
    split = images.read("split.png").pixels
    assert split.shape == (48, 64, 3)
    assert np.array_equal(split[:, :30], pair[0][:, :30])
    assert np.array_equal(split[:, 34:], pair[1][:, 34:])


def test_other_sizes_are_brought_to_one_height(pair, tmp_path):
    (tmp_path / "big.png").write_bytes(saved(reef(96, 128), "PNG"))
    assert run("a.png", "big.png", "-o", "side.jpg") == 0
    assert images.read("side.jpg").pixels.shape == (48, 130, 3)
    assert run("a.png", "big.png", "-o", "small.jpg", "--width", 66) == 0
    assert images.read("small.jpg").pixels.shape == (24, 66, 3)
    assert run("a.png", "big.png", "-o", "split.jpg", "--split") == 0


def test_grey_sixteen_bit_and_turned_pictures_can_be_compared(pair, tmp_path):
    images.write(images.Picture(reef(48, 64, 1, np.uint16), bits=16), tmp_path / "grey.tif")
    assert run("a.png", "grey.tif", "-o", "side.webp") == 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["a.png", "missing.png", "-o", "c.jpg"], exit_codes.FAILED, "missing.png: no such file"),
        (["a.png", "b.png", "-o", "c.txt"], exit_codes.USAGE, "must end like a picture"),
        (["a.png", "b.png", "-o", "b.png", "--overwrite"], exit_codes.USAGE, "never overwritten"),
        (["a.png", "b.png", "-o", "there.png"], exit_codes.USAGE, "exists already"),
        (["a.png", "tall.png", "-o", "c.png", "--split"], exit_codes.USAGE, "same proportions"),
        (["a.png", "b.png", "-o", "a.png/c.png"], exit_codes.ENVIRONMENT, "cannot write"),
    ],
)
def test_errors(pair, tmp_path, capsys, arguments, code, words):
    (tmp_path / "there.png").write_bytes(b"x")
    (tmp_path / "tall.png").write_bytes(saved(reef(64, 48), "PNG"))
    assert run(*arguments) == code
    assert words in capsys.readouterr().err
