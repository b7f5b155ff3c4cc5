"""3-D tables of looks: what the executor does to even areas, as FFmpeg reads it."""

import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from helpers.engines import BEST, pixels
from helpers.pictures import reef
from helpers.samples import some_look
from pic_uie import Look, Strengths, cube
from pic_uie.errors import LookError


@pytest.fixture(scope="module")
def look():
    return BEST.look(pixels(1, 60, 80)).scaled(haze=0.8)


def test_each_sample_is_what_becomes_of_an_even_picture(look):
    table = look.cube(4, BEST)
    fields = {name: np.full((1, 1), getattr(look.theta, name).mean(dtype=np.float64)) for name in "tva"}
    even = replace(look, theta=replace(look.theta, **fields))
    for blue, green, red in [(0, 0, 0), (3, 1, 0), (0, 2, 3), (1, 1, 1), (3, 3, 3)]:
        picture = np.full((21, 30, 3), np.float32([red, green, blue]) / np.float32(3), np.float32)
        assert np.allclose(table[blue, green, red], BEST.apply(picture, even)[10, 15], atol=2e-6)


def test_nothing_is_the_identity(look):
    table = replace(look, strengths=Strengths(strength=0)).cube(3, BEST)
    expected = np.stack(np.meshgrid(*[[0, 0.5, 1]] * 3, indexing="ij"), axis=-1)[..., ::-1]
    assert np.array_equal(table, expected.astype(np.float32))


def test_a_table_of_an_even_look_gives_the_whole_result_of_even_areas(look):
    """Where fields and neighbours have nothing to say, a fine table is as good as the executor."""
    fields = {name: np.full((1, 1), getattr(look.theta, name).mean(dtype=np.float64)) for name in "tva"}
    even = replace(look, theta=replace(look.theta, **fields))
    colours = np.random.default_rng(0).random((5, 6, 3)).astype(np.float32)
    areas = np.ascontiguousarray(colours.repeat(9, axis=0).repeat(9, axis=1))
    full = BEST.apply(areas, even)[4::9, 4::9]
    assert np.abs(cube.look_up(look.cube(65, BEST), colours) - full).max() < 0.02
    assert np.abs(cube.look_up(look.cube(65, BEST), colours) - full).mean() < 1e-3


@pytest.mark.parametrize("size", [1, 0, 130, 33.0, "33", None])
def test_impossible_sizes(look, size):
    with pytest.raises(LookError, match="whole number from 2 to 129"):
        look.cube(size, BEST)


def test_other_weights(look):
    with pytest.raises(LookError, match="belongs to weights"):
        some_look(0).cube(3, BEST)


def test_names_cannot_break_the_file(look):
    named = replace(look, source=replace(look.source, name='a"\nLUT_3D_SIZE 2\n🐠'))
    lines = cube.to_text(named.cube(2, BEST), named).splitlines()
    assert [line for line in lines if line.startswith("LUT")] == ["LUT_3D_SIZE 2"]
    assert all(line.isascii() for line in lines)


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed")
@pytest.mark.parametrize("size", [2, 33])
def test_ffmpeg_applies_the_same_table(tmp_path, look, size):
    table = look.cube(size, BEST)
    (tmp_path / "a.cube").write_text(cube.to_text(table, look))
    Image.fromarray(reef(64, 96)).save(tmp_path / "a.png")
    command = ["ffmpeg", "-v", "error", "-i", "a.png", "-vf", "lut3d=file=a.cube:interp=trilinear", "b.png"]
    subprocess.run(command, cwd=tmp_path, check=True)
    expected = cube.look_up(table, reef(64, 96) / 255.0) * 255.0
    assert np.abs(np.asarray(Image.open(tmp_path / "b.png"))[..., :3] - expected).max() < 1.01


def test_the_shipped_weights_bake_by_default():
    from pic_uie.enhancer import default_enhancer

    own = default_enhancer().look(reef())
    assert Look.from_json(own.to_json()).cube(2).shape == (2, 2, 2, 3)
