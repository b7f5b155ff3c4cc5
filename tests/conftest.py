import importlib
import os
from pathlib import Path

import pytest

from helpers import skips
from pic_uie.training import memory

# Read when PyTorch is first imported: beside other tests, threads that wait actively take the time of those that work.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
memory.keep_freed_memory = lambda: False  # of hundreds of trainings in one process it would be gigabytes
ROOT = Path(__file__).parents[1]


def pytest_addoption(parser):
    parser.addoption("--weights", help="of test_do_no_harm.py, instead of those in the package")


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def benchmark_module(root):
    """Imports a module of benchmarks/ by its name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(root / "benchmarks")
        yield importlib.import_module


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    skips.judge((yield).get_result())


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector):
    skips.judge((yield).get_result())


def pytest_terminal_summary(terminalreporter):
    skips.summarise(terminalreporter)
