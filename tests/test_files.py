"""Atomic writing: old or new, never a part; left-overs are cleared unless somebody is writing them."""

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pic_uie import files
from pic_uie.files import PART_SUFFIX, atomic_write, make_folders, mode_like, read_at_most, remove_stale_parts


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def parts(folder):
    return [name for name in names(folder) if name.endswith(PART_SUFFIX)]


def test_writes_and_replaces(tmp_path):
    path = tmp_path / "a"
    atomic_write(path, b"one")
    atomic_write(path, b"two")
    assert path.read_bytes() == b"two"
    assert names(tmp_path) == ["a"]


def test_does_not_replace_unless_asked(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with pytest.raises(FileExistsError):
        atomic_write(path, b"new", overwrite=False)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_an_error_leaves_the_old_file_and_no_part(tmp_path, monkeypatch, call):
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def fail(*arguments):
        assert parts(tmp_path)  # the part exists at this moment
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, call, fail)
    with pytest.raises(OSError, match="No space"):
        atomic_write(path, b"new")
    assert path.read_bytes() == b"old"
    assert not parts(tmp_path)


def test_the_longest_name_that_a_file_can_have(tmp_path):
    path = tmp_path / ("n" * 251 + ".jpg")
    atomic_write(path, b"x")
    assert path.read_bytes() == b"x"


def test_a_killed_writer_leaves_a_part_that_the_next_run_clears(tmp_path):
    script = f"""
import os, signal
from pathlib import Path
from pic_uie import files
files.os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)
files.atomic_write(Path({str(tmp_path)!r}) / "a", b"new")
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    assert len(parts(tmp_path)) == 1
    assert not (tmp_path / "a").exists()
    assert remove_stale_parts(tmp_path) == 1
    assert names(tmp_path) == []


def test_a_part_that_is_being_written_is_left_alone(tmp_path, monkeypatch):
    reached, resume = threading.Event(), threading.Event()

    def slow(descriptor):
        reached.set()
        resume.wait(10)

    monkeypatch.setattr(files.os, "fsync", slow)
    writer = threading.Thread(target=atomic_write, args=(tmp_path / "a", b"new"))
    writer.start()
    reached.wait(10)
    assert remove_stale_parts(tmp_path) == 0
    resume.set()
    writer.join()
    assert (tmp_path / "a").read_bytes() == b"new"


def test_clearing_touches_nothing_else(tmp_path):
    (tmp_path / "picture.jpg").write_bytes(b"x")
    (tmp_path / ".hidden").write_bytes(b"x")
    assert remove_stale_parts(tmp_path) == 0
    assert remove_stale_parts(tmp_path / "missing") == 0
    assert names(tmp_path) == [".hidden", "picture.jpg"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_pipes_links_and_folders_named_like_parts_are_left_alone(tmp_path):
    os.mkfifo(tmp_path / f"a{PART_SUFFIX}")
    (tmp_path / f"b{PART_SUFFIX}").mkdir()
    (tmp_path / "precious").write_bytes(b"x")
    (tmp_path / f"c{PART_SUFFIX}").symlink_to("precious")
    (tmp_path / f"d{PART_SUFFIX}").write_bytes(b"x")
    assert remove_stale_parts(tmp_path) == 1
    assert parts(tmp_path) == [f"{name}{PART_SUFFIX}" for name in "abc"]


@pytest.mark.parametrize(
    ("source", "result"), [(0o600, 0o600), (0o640, 0o640), (0o644, 0o644), (0o444, 0o644), (0o755, 0o644)]
)
def test_nobody_reads_a_result_who_may_not_read_its_source(tmp_path, source, result):
    before = os.umask(0o022)
    try:
        (tmp_path / "a").write_bytes(b"x")
        (tmp_path / "a").chmod(source)
        atomic_write(tmp_path / "b", b"y", mode=mode_like(tmp_path / "a"))
    finally:
        os.umask(before)
    assert (tmp_path / "b").stat().st_mode & 0o777 == result


def test_a_thousand_folders_inside_of_each_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    deep = Path(*["d"] * 1500)
    make_folders(deep)
    assert deep.is_dir()
    make_folders(deep)
    subprocess.run(["rm", "-rf", "d"], check=True)  # pytest cannot remove what is so deep
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(FileExistsError):
        make_folders(tmp_path / "file")
    with pytest.raises(NotADirectoryError):
        make_folders(tmp_path / "file" / "more" / "still")


def test_reading_within_a_limit(tmp_path):
    (tmp_path / "a").write_bytes(b"12345678")
    assert read_at_most(tmp_path / "a", 8) == b"12345678"
    with pytest.raises(OSError, match="larger than 0 MB, the limit for such a file"):
        read_at_most(tmp_path / "a", 7)
    with pytest.raises(OSError, match="larger than 1 MB"):
        read_at_most(Path("/dev/zero"), 1 << 20)
