import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # oracle and samples
ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def root():
    return ROOT
