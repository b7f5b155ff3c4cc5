"""What counts as a finished result: a picture whose header is whole."""

import os

import pytest

from helpers.pictures import camera_exif, reef, saved
from pic_uie import images
from pic_uie.batch.results import state

EXIF = b"Exif\0\0" + camera_exif()
WHOLE = {
    "jpeg": saved(reef(), "JPEG", exif=EXIF),  # with a thumbnail, which is a JPEG in front of the picture's own scan
    "png": saved(reef(), "PNG", exif=EXIF),
    "tiff": images.encode(images.Picture(reef()), file_format="tiff"),
    "webp": saved(reef(), "WEBP"),
    "bmp": saved(reef(), "BMP"),
    "avif": images.encode(images.Picture(reef()), file_format="avif"),
}


def test_nothing_there(tmp_path):
    assert state(tmp_path / "a.jpg") == "absent"
    assert state(tmp_path / "a.jpg" / "b.jpg") == "absent"
    assert state(tmp_path / ("a" * 300)) == "absent"


@pytest.mark.parametrize("kind", WHOLE)
def test_whole_and_cut(tmp_path, kind):
    path, data = tmp_path / f"a.{kind}", WHOLE[kind]
    path.write_bytes(data)
    assert state(path) == "whole"
    path.write_bytes(data[:40])
    assert state(path) == "unfinished"
    path.write_bytes(data + bytes(300_000))  # the header of a large file is not looked for its end
    assert state(path) == "whole"


def test_a_header_that_is_cut_inside_of_its_metadata(tmp_path):
    path = tmp_path / "a.jpg"
    data = WHOLE["jpeg"]
    scan = data.rindex(b"\xff\xda")
    path.write_bytes(data[: scan - 1])
    assert b"\xff\xda" in data[: scan - 1]
    assert state(path) == "unfinished"
    path.write_bytes(data[: scan + 2])
    assert state(path) == "whole"


@pytest.mark.parametrize("content", [b"", bytes(5000)])
def test_what_a_crashed_system_leaves(tmp_path, content):
    path = tmp_path / "a.jpg"
    path.write_bytes(content)
    assert state(path) == "unfinished"


def test_what_is_no_picture_is_not_ours_to_replace(tmp_path):
    path = tmp_path / "a.jpg"
    path.write_bytes(b"precious")
    assert state(path) == "other"


def test_folders_pipes_and_links(tmp_path):
    (tmp_path / "folder.jpg").mkdir()
    os.mkfifo(tmp_path / "pipe.jpg")
    (tmp_path / "link.jpg").symlink_to("nowhere.jpg")
    assert state(tmp_path / "folder.jpg") == "absent"
    assert state(tmp_path / "pipe.jpg") == "absent"
    assert state(tmp_path / "link.jpg") == "unfinished"
