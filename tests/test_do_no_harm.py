"""Pictures that need nothing come out much as they went in, with the weights of the package.

`pytest -rP tests/test_do_no_harm.py` prints the mean ΔE00 of each kind; MODEL_CARD.md quotes it.
`--weights FILE` measures another model.
"""

import numpy as np
import pytest

from helpers.harmless import KINDS, changes
from pic_uie import Enhancer


@pytest.mark.parametrize("kind", KINDS)
def test_picture_that_needs_nothing_stays(kind, pytestconfig):
    pictures, bound = KINDS[kind]
    differences = changes(Enhancer(pytestconfig.getoption("weights")), pictures())
    print(f"{kind}: mean ΔE00 {np.mean(differences):.2f}, each {', '.join(f'{d:.2f}' for d in differences)}")
    assert np.mean(differences) < bound
