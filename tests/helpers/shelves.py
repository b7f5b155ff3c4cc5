"""A store as the tests see it, and what the command must do with any of them."""

from pathlib import Path

import pytest

from helpers.command import enhance, tree
from pic_uie.batch import opening, stores
from pic_uie.cli import exit_codes
from pic_uie.errors import ImageError

NAMES = [f"{number:02d}.png" for number in range(20)] + ["day 1/ü 海/a#1.png", "day 1/50 %.png", "day 1/deep/b+c.png"]


def forget_stores():
    """Lets the next command open its stores anew."""
    stores._opened.cache_clear()


class Shelf:
    """A store as the tests see it: where it is, and what the command has to find or has left in it."""

    def __init__(self, root, put, read, missing):
        self.root, self.put, self.read, self.missing = root, put, read, missing


def loaded_and_run(shelf, survey):
    for name in tree(survey / "in"):
        shelf.put(f"raw/{name}", (survey / "in" / name).read_bytes())
    arguments = [f"{shelf.root}/raw", "-o", f"{shelf.root}/better"]
    expected = {name: (survey / "disk" / name).read_bytes() for name in tree(survey / "disk")}
    assert len(expected) == len(NAMES)
    return arguments, expected


def check_the_command(shelf, survey, capsys):
    """From the store to the store with the bytes of a disk; again, where everything is there; to a disk and back."""
    arguments, expected = loaded_and_run(shelf, survey)
    assert enhance(*arguments) == exit_codes.FAILED
    errors = capsys.readouterr().err
    assert "damaged.jpg: damaged JPEG" in errors
    assert f"{len(NAMES)} enhanced, 1 ignored because they are not pictures, 1 failed" in errors
    assert shelf.read("better") == expected
    assert enhance(*arguments) == exit_codes.FAILED
    assert f"0 enhanced, {len(NAMES)} skipped" in capsys.readouterr().err
    assert enhance(*arguments, "--overwrite", "-q") == exit_codes.FAILED
    assert shelf.read("better") == expected
    assert enhance(f"{shelf.root}/raw", "-o", "local/", "-q") == exit_codes.FAILED
    assert {name: Path("local", name).read_bytes() for name in tree(Path("local"))} == expected
    assert enhance("in", "-r", "-o", f"{shelf.root}/up", "-q") == exit_codes.FAILED
    assert shelf.read("up") == expected
    capsys.readouterr()
    assert enhance(f"{shelf.root}/raw/00.png", "-o", f"{shelf.root}/one", "-q") == 0
    assert shelf.read("one") == {"00.png": expected["00.png"]}
    missing = f"{shelf.missing}/raw"
    assert enhance(missing, "-o", "local/") == exit_codes.USAGE
    assert f"there is no {stores.Url.parse(missing)}" in capsys.readouterr().err


def check_the_interface(shelf):
    root = shelf.root.rpartition("/")[0] if shelf.root.count("/") > 2 else shelf.root
    below = shelf.root[len(root) + 1 :]
    store = opening.open_store(root)
    name = f"{below}/x/a.bin".lstrip("/")
    assert store.stat(name) is None
    store.put(name, b"one")
    store.put(name, b"three")
    assert store.stat(name) == 5
    assert store.read(name, None) == store.read(name, 5) == b"three"
    assert store.head(name, 2) == b"th"
    store.put(name, b"")
    assert store.head(name, 2) == store.read(name, 0) == b""
    assert store.stat(name) == 0
    with pytest.raises(ImageError, match="no such object"):
        store.read(f"{name}-missing", None)
