"""Stores beside S3 on real servers of 127.0.0.1: SFTP, the web, Google's and Azure's; each skips where it is absent."""

import pytest

from helpers.command import enhance, make
from helpers.pictures import mild_weights, reef, saved
from helpers.shelves import NAMES, forget_stores
from pic_uie import weights
from pic_uie.batch import remote
from pic_uie.cli import exit_codes


@pytest.fixture
def survey(tmp_path, monkeypatch):
    """Pictures on a disk, one that is damaged, and what a run on the disk makes of them."""
    monkeypatch.chdir(tmp_path)
    mild_weights(tmp_path / "w.safetensors")
    monkeypatch.setattr(weights, "DEFAULT_PATH", tmp_path / "w.safetensors")
    monkeypatch.setattr(remote, "_FIRST_WAIT", 0.04)
    forget_stores()
    for number, name in enumerate(NAMES):
        make(tmp_path / "in" / name, pixels=reef(24, 32, seed=number))
    (tmp_path / "in/damaged.jpg").write_bytes(saved(reef(), "JPEG")[:300])
    (tmp_path / "in/notes.txt").write_text("no picture")
    assert enhance("in", "-r", "-o", "disk", "-q") == exit_codes.FAILED
    yield tmp_path
    forget_stores()
