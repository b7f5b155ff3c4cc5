"""The other published conventions of UIQM, UCIQE and NIQE, against plain loops and formulas written anew."""

import math

import numpy as np
import pytest

from helpers import metric_vectors

cv2 = pytest.importorskip("cv2", reason="the evaluate extra is not installed")
from pic_uie.evaluation.metrics import METRICS, choose, niqe, uciqe, uiqm  # noqa: E402
from pic_uie.evaluation.metrics.uiqm import uiconm, uism  # noqa: E402

VECTORS = {name: getattr(metric_vectors, name) for name in "ABCDEF"}


@pytest.mark.parametrize("name", ["A", "C", "D"])
@pytest.mark.parametrize("block", [8, 10])
def test_contrast_of_blocks_of_any_side(name, block):
    picture = VECTORS[name].astype(float)
    rows, columns = picture.shape[0] // block, picture.shape[1] // block
    total = 0.0
    for row in range(rows):
        for column in range(columns):
            part = picture[row * block : (row + 1) * block, column * block : (column + 1) * block]
            top, bottom = part.max() - part.min(), part.max() + part.min()
            total += top / bottom * math.log(top / bottom) if top and bottom else 0.0
    assert uiconm(VECTORS[name], block=block) == pytest.approx(-total / (rows * columns), abs=1e-12)


def test_the_weight_of_blue_is_the_only_difference():
    blue = VECTORS["C"].copy()
    blue[..., :2] = 0
    assert uism(blue) / uism(blue, blue=0.114) == pytest.approx(0.144 / 0.114)
    assert METRICS["uiqm:blue-0.114"](VECTORS["C"], None, None) == uiqm(VECTORS["C"], blue=0.114) < uiqm(VECTORS["C"])


@pytest.mark.parametrize("name", ["A", "B", "C", "E"])
def test_uciqe_as_the_authors_script_has_it(name):
    lab = cv2.cvtColor(VECTORS[name], cv2.COLOR_RGB2LAB).astype(float) / 255
    light, chroma = lab[..., 0], np.sqrt(lab[..., 1] ** 2 + lab[..., 2] ** 2)
    spread = math.sqrt(np.abs(1 - (chroma.mean() / chroma) ** 2).mean())
    ranked = np.sort(light, axis=None)
    contrast = ranked[math.ceil(0.99 * ranked.size) - 1] - ranked[math.floor(0.01 * ranked.size)]
    saturation = (chroma / np.sqrt(chroma**2 + light**2)).mean()
    expected = 0.4680 * spread + 0.2745 * contrast + 0.2576 * saturation
    assert uciqe(VECTORS[name], convention="matlab") == pytest.approx(expected, abs=1e-9)


def test_uciqe_in_the_units_of_lab():
    colour = pytest.importorskip("skimage.color", reason="scikit-image is the oracle")
    lab = colour.rgb2lab(VECTORS["C"])
    chroma, light = np.hypot(lab[..., 1], lab[..., 2]), lab[..., 0]
    ranked, tail = np.sort(light, axis=None), round(0.01 * light.size)
    expected = 0.4680 * chroma.std() + 0.2745 * (ranked[-tail:].mean() - ranked[:tail].mean())
    expected += 0.2576 * (chroma / light).mean()
    assert uciqe(VECTORS["C"], convention="lab-units") == pytest.approx(expected, rel=2e-3)


def test_a_flat_picture_has_no_spread_under_any_convention():
    flat = np.full((16, 16, 3), 90, np.uint8)
    for convention in ("centred", "matlab", "lab-units"):
        assert uciqe(flat, convention=convention) == pytest.approx(
            0.2576 * (_flat_saturation(flat) if convention == "matlab" else 0.0), abs=2e-3
        )
    with pytest.raises(ValueError, match="unknown convention"):
        uciqe(flat, convention="hsv")


def _flat_saturation(flat):
    light, a, b = (float(value) / 255 for value in cv2.cvtColor(flat, cv2.COLOR_RGB2LAB)[0, 0])
    return math.hypot(a, b) / math.hypot(math.hypot(a, b), light)


def test_niqe_on_video_luma_is_niqe_of_that_luma(assets):
    luma = np.round(16 + VECTORS["F"] @ (np.array([65.481, 128.553, 24.966]) / 255)).astype(np.uint8)
    as_grey = np.repeat(luma[..., None], 3, axis=2)
    assert niqe(VECTORS["F"], assets, plane="y") == pytest.approx(niqe(as_grey, assets), abs=1e-9)
    with pytest.raises(ValueError, match="unknown plane"):
        niqe(VECTORS["F"], assets, plane="u")


def test_conventions_are_chosen_by_name_and_have_titles_of_their_own():
    chosen = choose(["uiqm", "uiqm:block-10", "uciqe:matlab"])
    assert [metric.title for metric in chosen.values()] == ["UIQM", "UIQM, blocks of 10", "UCIQE, MATLAB"]
    titles = [metric.title for metric in METRICS.values()]
    assert len(set(titles)) == len(titles)
