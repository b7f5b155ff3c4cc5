"""The values published with the definitions."""

import pytest

from helpers.metric_vectors import PICTURES
from pic_uie.evaluation.metrics import entropy, lpips, niqe, pcqi, psnr, ssim, uciqe, uiqm
from pic_uie.evaluation.metrics.uiqm import uicm, uiconm, uism

# sum, UIQM, UICM, UISM, UIConM, UCIQE, entropy
NO_REFERENCE = {
    "A": (25051136, 1.462636, 16.568753, 0.236442, 0.258880, 0.376345, 7.763896),
    "B": (25023257, 3.180002, 21.950364, 8.583192, 0.007380, 0.408748, 7.631103),
    "C": (20967357, 3.101259, 7.072127, 6.175014, 0.301609, 0.211760, 6.522078),
    "D": (19565220, 2.953393, 9.839172, 5.701069, 0.277572, 0.295298, 6.387814),
    "E": (20444780, 3.124185, 4.243759, 5.822515, 0.359445, 0.133062, 5.786410),
    "F": (20907192, 2.450257, 10.274689, 5.998470, 0.108847, 0.303165, 6.967640),
}
PCQI = {"CC": 1.0, "CE": 0.681972, "EC": 1.227660, "CB": 1.338365, "AC": 0.385084, "CD": 0.882923, "CF": 0.219587}
NIQE = {"B": 37.58, "C": 25.42, "E": 24.79, "F": 10.14}
# Against C: PSNR, SSIM, LPIPS
FULL_REFERENCE = {
    "E": (23.728244, 0.902359, 0.037897),
    "B": (10.202136, 0.229984, 1.586011),
    "D": (17.082703, 0.876774, 0.348498),
    "F": (18.926870, 0.218716, 0.830145),
}


@pytest.mark.parametrize("name", NO_REFERENCE)
def test_no_reference_vectors(name):
    picture = PICTURES[name]
    total, *expected = NO_REFERENCE[name]
    assert int(picture.sum()) == total
    seen = [metric(picture) for metric in (uiqm, uicm, uism, uiconm)] + [entropy(picture)]
    assert seen == pytest.approx([*expected[:4], expected[5]], abs=1e-5)
    assert uciqe(picture) == pytest.approx(expected[4], abs=1e-3)


@pytest.mark.parametrize("pair", PCQI)
def test_pcqi_vectors(pair):
    reference, prediction = (PICTURES[name] for name in pair)
    assert pcqi(prediction, reference) == pytest.approx(PCQI[pair], abs=1e-5)


@pytest.mark.parametrize("name", FULL_REFERENCE)
def test_full_reference_vectors(name):
    expected = FULL_REFERENCE[name]
    assert psnr(PICTURES[name], PICTURES["C"]) == pytest.approx(expected[0], abs=1e-5)
    assert ssim(PICTURES[name], PICTURES["C"]) == pytest.approx(expected[1], abs=1e-5)


@pytest.mark.parametrize("name", FULL_REFERENCE)
def test_lpips_vectors(name, assets):
    assert lpips(PICTURES[name], PICTURES["C"], assets) == pytest.approx(FULL_REFERENCE[name][2], abs=1e-5)


@pytest.mark.parametrize("name", NIQE)
def test_niqe_vectors(name, assets):
    assert niqe(PICTURES[name], assets) == pytest.approx(NIQE[name], abs=0.01)
