"""Finding, checking, resizing and caching pairs."""

import shutil

import numpy as np
import pytest
from PIL import Image

from pic_uie.datasets.names import read_list
from pic_uie.datasets.stems import read_stems
from pic_uie.errors import DataError
from pic_uie.training.pairs import find_stems, load_pairs


@pytest.fixture
def copy(dataset, tmp_path):
    return shutil.copytree(dataset, tmp_path / "data")


def test_pairs_are_found_and_inverse_depth_becomes_distance(dataset):
    stems = find_stems(dataset)
    pairs = load_pairs(dataset, stems, 176, with_depth=True)
    assert stems == pairs.stems == tuple(f"{i:02d}" for i in range(10))
    assert pairs.inputs.shape == pairs.targets.shape == (10, 176, 176, 3)
    assert np.array_equal(pairs.inputs[3], np.asarray(Image.open(dataset / "input" / "03.png")))
    assert np.array_equal(pairs.depths[3], 255 - np.asarray(Image.open(dataset / "depth" / "03.png")))


def test_resize_is_antialiased_bicubic(dataset):
    pairs = load_pairs(dataset, ["01"], 64, with_depth=False)
    expected = Image.open(dataset / "target" / "01.png").resize((64, 64), Image.Resampling.BICUBIC)
    assert np.array_equal(pairs.targets[0], np.asarray(expected))
    assert pairs.depths is None


def test_cache_gives_the_same_arrays_and_notices_changes(copy, tmp_path):
    cache = tmp_path / "cache"
    first = load_pairs(copy, ["01", "02"], 64, with_depth=True, cache=cache)
    again = load_pairs(copy, ["01", "02"], 64, with_depth=True, cache=cache)
    assert len(list(cache.iterdir())) == 1
    for name in ("inputs", "targets", "depths"):
        assert np.array_equal(getattr(first, name), getattr(again, name))
    Image.fromarray(255 - first.inputs[0]).resize((176, 176)).save(copy / "input" / "01.png")
    assert not np.array_equal(load_pairs(copy, ["01", "02"], 64, with_depth=True, cache=cache).inputs, first.inputs)


def test_list_files(tmp_path):
    path = tmp_path / "list.txt"
    path.write_text("\ufeff# a comment\n01.png\n\n02\n10_img_.jpg # another\nname.with.dots\nsub\\no#5.png\n", "utf-8")
    assert read_stems(path) == ("01", "02", "10_img_", "name.with.dots", "no#5")
    assert read_list(path).stems == ("01", "02", "10_img_", "name.with.dots", "no#5")
    for text, message in [("\n# nothing\n", "names no picture"), ("01\n02\n01.png\n", "names twice: 01")]:
        path.write_text(text)
        with pytest.raises(DataError, match=message):
            read_stems(path)
    with pytest.raises(DataError, match="cannot read the list"):
        read_stems(tmp_path / "absent.txt")


def test_missing_partners_are_named(copy):
    (copy / "target" / "04.png").unlink()
    (copy / "input" / "05.png").unlink()
    with pytest.raises(DataError, match="without a target: 04; without an input: 05"):
        find_stems(copy)
    with pytest.raises(DataError, match="target lacks 04"):
        load_pairs(copy, ["03", "04"], 64, with_depth=False)


def test_bad_pictures_are_named(copy):
    Image.new("L", (100, 176)).save(copy / "depth" / "01.png")
    with pytest.raises(DataError, match=r"01\.png is 100x176, but its input 01\.png is 176x176"):
        load_pairs(copy, ["01"], 64, with_depth=True)
    (copy / "input" / "02.png").write_bytes(b"not a picture")
    with pytest.raises(DataError, match=r"input.02\.png"):
        load_pairs(copy, ["02"], 64, with_depth=False)
    (copy / "input" / "03.jpg").write_bytes((copy / "input" / "03.png").read_bytes())
    with pytest.raises(DataError, match="two pictures named"):
        load_pairs(copy, ["01"], 64, with_depth=False)
    (copy / "input" / "03.jpg").unlink()
    shutil.rmtree(copy / "depth")
    with pytest.raises(DataError, match="is not a folder"):
        load_pairs(copy, ["01"], 64, with_depth=True)
