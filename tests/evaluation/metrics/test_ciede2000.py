import numpy as np
import pytest
from skimage.color import deltaE_ciede2000, rgb2lab

from helpers.metric_vectors import A, B, C, E, F
from pic_uie.evaluation.metrics import ciede2000
from pic_uie.evaluation.metrics.ciede2000 import delta_e00, lab

# From the supplementary test data of Sharma, Wu and Dalal (2005): L1 a1 b1, L2 a2 b2, ΔE00.
PUBLISHED = [
    ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
    ((50.0, 3.1571, -77.2803), (50.0, 0.0, -82.7485), 2.8615),
    ((50.0, 2.8361, -74.0200), (50.0, 0.0, -82.7485), 3.4412),
    ((50.0, -1.3802, -84.2814), (50.0, 0.0, -82.7485), 1.0000),
    ((50.0, 0.0, 0.0), (50.0, -1.0, 2.0), 2.3669),
    ((50.0, -1.0, 2.0), (50.0, 0.0, 0.0), 2.3669),
    ((50.0, 2.5, 0.0), (50.0, 0.0, -2.5), 4.3065),
    ((50.0, 2.5, 0.0), (73.0, 25.0, -18.0), 27.1492),
    ((50.0, 2.5, 0.0), (61.0, -5.0, 29.0), 22.8977),
    ((50.0, 2.5, 0.0), (56.0, -27.0, -3.0), 31.9030),
    ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
    ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
]


@pytest.mark.parametrize(("first", "second", "expected"), PUBLISHED)
def test_published_pairs(first, second, expected):
    assert float(delta_e00(np.array(first), np.array(second))) == pytest.approx(expected, abs=5e-5)
    assert float(delta_e00(np.array(second), np.array(first))) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(("pred", "ref"), [(E, C), (B, C), (A, F)])
def test_agrees_with_scikit_image(pred, ref):
    np.testing.assert_allclose(lab(pred), rgb2lab(pred), atol=1e-9)
    assert ciede2000(pred, ref) == pytest.approx(deltaE_ciede2000(rgb2lab(ref), rgb2lab(pred)).mean(), abs=1e-9)
