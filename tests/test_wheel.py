"""The wheel as a stranger meets it: in a fresh environment, with no compiler in sight, it enhances a picture."""

import os
import platform
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from helpers.pictures import reef


def run(command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(root):
    """`make wheel`, with the environment that runs the tests in the place of .venv."""
    if sys.platform != "linux" or platform.machine() != "x86_64" or shutil.which("make") is None:
        pytest.skip("builds a manylinux x86-64 wheel: needs Linux on x86-64, and make")
    done = subprocess.run(["make", "wheel"], cwd=root, capture_output=True, text=True, check=False)
    if "No matching distribution" in done.stderr or "Could not fetch" in done.stderr:
        pytest.skip("the package index cannot be reached")
    assert done.returncode == 0, done.stdout + done.stderr
    return max((root / "dist").glob("pic_uie-*.whl"), key=lambda path: path.stat().st_mtime)


def test_it_is_for_many_linuxes(wheel):
    assert "manylinux" in wheel.name


def test_it_enhances_without_a_compiler(wheel, tmp_path):
    venv.create(tmp_path / "env", with_pip=True, symlinks=True)
    binaries = tmp_path / "env" / "bin"
    nothing_else = os.environ | {"PATH": str(binaries), "CC": "false", "CXX": "false"}
    run([binaries / "pip", "install", "--quiet", wheel], env=nothing_else)
    Image.fromarray(reef(60, 80)).save(tmp_path / "reef.png")
    run([binaries / "pic-uie", "enhance", tmp_path / "reef.png"], env=nothing_else, cwd=tmp_path)
    enhanced = np.asarray(Image.open(tmp_path / "reef_enhanced.png"))
    assert enhanced.shape == (60, 80, 3)
    assert not np.array_equal(enhanced, reef(60, 80))
    where = run([binaries / "python", "-c", "import pic_uie; print(pic_uie.__file__)"], env=nothing_else, cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(tmp_path)
