import sys

import pytest

from helpers.pictures import mild_weights
from pic_uie import weights
from pic_uie.images import vips


@pytest.fixture
def no_libvips(monkeypatch):
    """A machine without libvips: it is looked for anew, and again after the test."""
    monkeypatch.setitem(sys.modules, "pyvips", None)
    vips._load.cache_clear()
    yield
    vips._load.cache_clear()


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder to work in, with weights that the command finds by default."""
    path = tmp_path / "weights" / "w.safetensors"
    path.parent.mkdir()
    mild_weights(path)
    monkeypatch.setattr(weights, "DEFAULT_PATH", path)
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder
