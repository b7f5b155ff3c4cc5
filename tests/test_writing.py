"""One way to write a file, and one error where it cannot be written."""

import errno
import os
import re

import pytest

from pic_uie import writing
from pic_uie.cli import exit_codes
from pic_uie.cli.main import main
from pic_uie.errors import EnvironmentMissingError


def test_a_file_and_its_folder_are_made(tmp_path):
    writing.write_file(tmp_path / "a" / "b" / "c.txt", b"one")
    assert (tmp_path / "a" / "b" / "c.txt").read_bytes() == b"one"


@pytest.mark.parametrize(
    ("number", "kind", "words"),
    [
        (errno.ENOSPC, writing.DiskFullError, "the disk is full"),
        (errno.EDQUOT, writing.DiskFullError, "your disk quota is used up"),
        (errno.EROFS, writing.UnwritableError, "the file system is read-only"),
        (errno.EIO, writing.UnwritableError, os.strerror(errno.EIO)),
    ],
)
def test_the_reason_is_given_in_plain_words(tmp_path, monkeypatch, number, kind, words):
    def refuse(*_, **__):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(writing, "atomic_write", refuse)
    with pytest.raises(kind, match=f"cannot write .*a.txt: {words}$") as caught:
        writing.write_file(tmp_path / "a.txt", b"")
    assert isinstance(caught.value, EnvironmentMissingError)
    assert (type(caught.value) is writing.DiskFullError) == (number in writing.DISK_FULL)


def test_what_is_there_stays_without_overwrite(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"before")
    with pytest.raises(writing.UnwritableError):
        writing.write_file(tmp_path / "a.txt", b"after", overwrite=False)
    assert (tmp_path / "a.txt").read_bytes() == b"before"


@pytest.mark.parametrize(
    "command",
    [
        ["synth", "--count", "1", "--size", "48x32", "-q", "-o", "taken/out"],
        ["compare", "a.png", "a.png", "-o", "taken/out.png"],
        ["look", "mix", "a.look.json", "a.look.json", "-o", "taken/out.look.json"],
    ],
)
def test_every_command_ends_alike_where_its_output_cannot_be_written(tmp_path, monkeypatch, capsys, command):
    from helpers.pictures import reef, saved
    from helpers.samples import some_look

    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("a file in the way")
    (tmp_path / "a.png").write_bytes(saved(reef(8, 8), "PNG"))
    some_look(1).save(tmp_path / "a.look.json")
    assert main(command) == exit_codes.ENVIRONMENT
    assert re.search(r"cannot (write|make the folder) taken/\S+: ", capsys.readouterr().err)
