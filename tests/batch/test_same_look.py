"""One look for a set: who has a say, and small copies."""

import threading

import numpy as np
import pytest
from PIL import Image

from helpers.engines import BEST
from helpers.pictures import camera_exif, reef, saved
from pic_uie import images
from pic_uie.batch import same_look
from pic_uie.batch.process import Settings
from pic_uie.corrections import average
from pic_uie.errors import LookError
from pic_uie.statistics import pooled


@pytest.mark.parametrize(("count", "most"), [(1, 64), (64, 64), (65, 64), (1000, 512), (513, 512), (10**6, 512)])
def test_those_who_speak_are_spread_from_first_to_last(count, most):
    chosen = same_look.evenly_spaced(count, most)
    assert len(chosen) == min(count, most)
    assert chosen[0] == 0
    assert chosen[-1] == count - 1
    gaps = np.diff(chosen)
    assert gaps.size == 0 or gaps.max() - gaps.min() <= 1


@pytest.mark.parametrize("orientation", [1, 6])
def test_jpegs_are_decoded_small_and_upright(orientation):
    pixels = reef(600, 1600)
    data = saved(pixels, "JPEG", quality=95, exif=b"Exif\0\0" + camera_exif(orientation))
    small = images.read_header(data).decode_small(200).pixels
    whole = images.decode(data).pixels
    assert small.shape == ((75, 200, 3) if orientation == 1 else (200, 75, 3))
    size = small.shape[1::-1]
    expected = np.asarray(Image.fromarray(whole).resize(size, Image.Resampling.BOX))
    assert np.abs(small.astype(int) - expected).mean() < 1.0
    assert np.array_equal(images.read_header(data).decode_small(1600).pixels, whole)
    assert np.array_equal(images.read_header(saved(pixels, "PNG")).decode_small(100).pixels, pixels)


def test_the_look_of_a_set_is_the_mean_theta_with_the_statistics_under_it(tmp_path):
    pictures = [reef(90, 120, seed=seed) for seed in range(5)]
    paths = [tmp_path / f"{index}.png" for index in range(5)]
    for path, pixels in zip(paths, pictures, strict=True):
        path.write_bytes(saved(pixels, "PNG"))
    (tmp_path / "bad.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    look = same_look.make([*paths, tmp_path / "bad.png"], BEST, Settings(), workers=2, stop=threading.Event())
    theta = average([BEST.predict(pixels) for pixels in pictures])
    assert look.theta == theta
    assert look.statistics == pooled([BEST.measure(pixels, theta) for pixels in pictures])
    assert look.source.name == "5 pictures"


def test_nothing_to_read_and_a_stop(tmp_path):
    (tmp_path / "bad.png").write_bytes(b"no")
    with pytest.raises(LookError, match="too few of the pictures can be read"):
        same_look.make([tmp_path / "bad.png"], BEST, Settings(), workers=1, stop=threading.Event())
    stop = threading.Event()
    stop.set()
    assert same_look.make([tmp_path / "bad.png"], BEST, Settings(), workers=1, stop=stop) is None
