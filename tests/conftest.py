import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # oracle and samples
ROOT = Path(__file__).parents[1]


def pytest_addoption(parser):
    parser.addoption("--weights", help="of test_do_no_harm.py, instead of those in the package")


@pytest.fixture(scope="session")
def root():
    return ROOT
