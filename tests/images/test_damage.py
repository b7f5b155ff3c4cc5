"""Damaged files: refused with the remedy, or as much as can be decoded, with how much that is."""

import os
import re
import struct
import threading

import numpy as np
import pytest
from PIL import Image

from helpers.command import enhance, noise
from helpers.pictures import camera_exif, opened, reef, saved
from pic_uie import images
from pic_uie.cli import exit_codes
from pic_uie.errors import ImageError
from pic_uie.images import raw
from pic_uie.images.chatter import silenced
from pic_uie.images.png_text import chunk, chunks

ROWS = 200
WHOLE = {
    "JPEG": saved(noise(ROWS, 300), "JPEG", quality=90),
    "progressive JPEG": saved(noise(ROWS, 300), "JPEG", quality=90, progressive=True),
    "PNG": saved(noise(ROWS, 300), "PNG"),
    "TIFF": saved(noise(ROWS, 300), "TIFF"),
    "GIF": saved(Image.fromarray(noise(ROWS, 300)).quantize(64), "GIF", interlace=0),
    "interlaced GIF": saved(Image.fromarray(noise(ROWS, 300)).quantize(64), "GIF", interlace=1),
}


def whole_rows(notes):
    (note,) = notes
    found = re.fullmatch(
        r"it is damaged \(.+\): "
        r"(?:at least (\d+) of its 200 rows are whole|none of its 200 rows is certain to be whole)"
        "; of the rest, what could be decoded was enhanced",
        note,
    )
    assert found, note
    return int(found[1] or 0)


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("share", [0.4, 0.7, 0.95])
def test_what_a_cut_file_has_is_enhanced_and_what_it_lost_is_counted(name, share):
    data = WHOLE[name][: int(len(WHOLE[name]) * share)]
    with pytest.raises(ImageError, match=r"damaged \w+: .*; --salvage enhances what can be decoded of it$"):
        images.read(data)
    picture = images.read(data, salvage=True)
    count = whole_rows(picture.notes)
    if name == "progressive JPEG":  # all rows are there, none in full
        assert count == 0
        return
    assert ROWS * share - 25 <= count <= ROWS * share + 1
    same = (picture.pixels[:, :, :3] == images.read(WHOLE[name]).pixels).all(axis=(1, 2))
    assert same.sum() >= count
    if name != "interlaced GIF":
        assert same[:count].all()


@pytest.mark.parametrize("name", WHOLE)
def test_whole_files_have_no_note(name):
    assert images.read(WHOLE[name], salvage=True).notes == images.read(WHOLE[name]).notes == ()


def test_damage_in_the_middle_is_reported_too():
    data = bytearray(WHOLE["PNG"])
    data[len(data) // 2] ^= 0x55
    with pytest.raises(ImageError, match="; --salvage enhances"):
        images.read(bytes(data))
    assert 0 < whole_rows(images.read(bytes(data), salvage=True).notes) < ROWS


def test_metadata_of_a_cut_jpeg_comes_along():
    whole = saved(noise(ROWS, 300), "JPEG", quality=95, exif=b"Exif\0\0" + camera_exif(orientation=1))
    picture = images.read(whole[: len(whole) // 2], salvage=True)
    assert opened(images.encode(picture)).getexif().get_ifd(0x8825)[2] == (12, 34, 56.78)


def test_counting_rows_takes_few_steps_however_many_there_are():
    tall = saved(np.zeros((50_000, 2, 3), np.uint8), "TIFF")
    (note,) = images.read(tall[: len(tall) // 2], salvage=True).notes
    count = int(re.search(r"at least (\d+) of its 50000 rows", note)[1])
    assert 20_000 < count <= 25_000


@pytest.mark.parametrize("keep", [0, 5, 11])
def test_a_png_that_is_cut_behind_its_pixels_may_have_lost_texts(keep):
    data = saved(reef(), "PNG")
    start = next(start for name, start, _ in chunks(data) if name == b"IEND") - 8
    cut = data[:start] + chunk(b"tEXt", b"Title\0reef")[: 20 * (keep == 11)] + data[start : start + keep * (keep != 11)]
    picture = images.read(cut)
    assert np.array_equal(picture.pixels, reef())
    assert picture.notes == ("it is cut short: what lay behind its pixels is lost",)


def test_a_webp_that_is_cut_behind_its_pixels():
    data = saved(reef(), "WEBP", lossless=True, exif=b"Exif\0\0" + camera_exif(orientation=1))
    with pytest.raises(ImageError, match="cut short behind its pixels; --salvage enhances these"):
        images.read(data[:-40])
    picture = images.read(data[:-40], salvage=True)
    assert np.array_equal(picture.pixels[:, :, :3], reef())
    assert picture.notes[0] == "it is cut short: what lay behind its pixels is lost"


@pytest.mark.parametrize("salvage", [False, True])
def test_a_webp_that_is_cut_in_its_pixels_cannot_be_salvaged(salvage):
    data = saved(noise(ROWS, 300), "WEBP", lossless=True)
    with pytest.raises(ImageError, match="cut short, and no part of its pixels can be decoded; copy it again"):
        images.read(data[: len(data) // 2], salvage=salvage)


@pytest.mark.parametrize("name", ["a.jpg", "a.png"])
def test_on_the_command_line(tmp_path, monkeypatch, capsys, weights, name):
    monkeypatch.chdir(tmp_path)
    whole = saved(noise(ROWS, 300), "JPEG" if name == "a.jpg" else "PNG")
    (tmp_path / name).write_bytes(whole[: len(whole) // 2])
    assert enhance(name, "--weights", weights) == exit_codes.FAILED
    assert capsys.readouterr().err.count("; --salvage enhances what can be decoded of it") == 1
    assert enhance(name, "--weights", weights, "--salvage") == 0
    assert re.search(r"at least \d+ of its 200 rows are whole", capsys.readouterr().err)
    result = tmp_path / name.replace("a.", "a_enhanced.")
    assert images.read(result).pixels.shape == (ROWS, 300, 3)


def beyond_its_end(dng):
    """A raw file whose samples lie in part beyond its end, as those of one that was cut."""
    data = bytearray(dng(np.full((120, 160), 2000, np.uint16)))
    (main,) = struct.unpack_from("<I", data, 4)
    (count,) = struct.unpack_from("<H", data, main)
    for at in range(main + 2, main + 2 + 12 * count, 12):
        if struct.unpack_from("<H", data, at)[0] == 273:
            struct.pack_into("<I", data, at + 8, len(data) - 5000)
    return bytes(data)


def test_libraw_says_nothing_of_its_own(root, monkeypatch, capfd):
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    import fuzz_corpus

    with pytest.raises(ImageError) as error:
        images.read(beyond_its_end(fuzz_corpus.dng))
    assert str(error.value) == "damaged raw file (DNG): it ends too early; copy it from the camera or card again"
    assert capfd.readouterr().err == ""


def test_what_others_print_meanwhile_comes_out(capfd):
    def chatter():
        with silenced(b"unknown file: "):
            os.write(2, b"unknown file: Unexpected end of file\nof another thread\n")

    with silenced(raw._CHATTER):
        thread = threading.Thread(target=chatter)
        thread.start()
        thread.join()
        os.write(2, b"half a line")
    os.write(2, b" and the rest\n")
    assert capfd.readouterr().err == "of another thread\nhalf a line and the rest\n"
