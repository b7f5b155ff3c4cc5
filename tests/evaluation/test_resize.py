import cv2
import numpy as np
import pytest

from pic_uie.evaluation.resize import RESIZES, antialiased, opencv_linear


def photograph(height, width):
    random = np.random.default_rng(height)
    return random.integers(0, 256, (height, width, 3), dtype=np.uint8)


@pytest.mark.parametrize(("height", "width"), [(480, 640), (1006, 1408), (100, 90), (256, 256), (1, 7)])
def test_antialiased_agrees_with_pytorch(height, width):
    torch = pytest.importorskip("torch")
    picture = photograph(height, width)
    tensor = torch.from_numpy(picture).permute(2, 0, 1)[None].double()
    resized = torch.nn.functional.interpolate(tensor, (256, 256), mode="bilinear", antialias=True)
    expected = resized[0].permute(1, 2, 0).numpy()
    assert np.abs(antialiased(picture) - expected).max() < 0.501  # rounded to 8 bits


@pytest.mark.parametrize(("height", "width"), [(480, 640), (300, 100)])
def test_the_papers_way_is_opencv_linear(height, width):
    picture = photograph(height, width)
    np.testing.assert_array_equal(opencv_linear(picture), cv2.resize(picture, (256, 256)))


def test_the_two_ways_differ_as_the_literature_mixes_them():
    stripes = np.zeros((1024, 1024, 3), np.uint8)
    stripes[:, ::4] = 255
    assert antialiased(stripes).std() < 2  # grey: every source pixel counts
    assert set(np.unique(opencv_linear(stripes))) != set(np.unique(antialiased(stripes)))


def test_every_way_leaves_a_256_picture_alone():
    picture = photograph(256, 256)
    for change in RESIZES.values():
        np.testing.assert_array_equal(change(picture), picture)


def test_strided_views_are_taken():
    picture = photograph(600, 500)[::2, ::-1]
    for change in RESIZES.values():
        np.testing.assert_array_equal(change(picture), change(picture.copy()))
