"""Bombs, damage, animation, and things that are no files: a clear error each, before any harm."""

import os
import socket
import struct
import subprocess
import sys
import tempfile
import zlib

import numpy as np
import pytest
from PIL import BmpImagePlugin, Image

from helpers.pictures import camera_exif, opened, reef, saved
from pic_uie import images
from pic_uie.errors import ImageError
from pic_uie.images import ifd, vips


def bomb_png(width, height):
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(1000))), (b"IEND", b""))
    body = b"".join(struct.pack(">I", len(d)) + n + d + struct.pack(">I", zlib.crc32(n + d)) for n, d in chunks)
    return b"\x89PNG\r\n\x1a\n" + body


def bomb_jpeg(width, height):
    data = saved(reef(), "JPEG")
    at = data.index(b"\xff\xc0") + 5
    return data[:at] + struct.pack(">HH", height, width) + data[at + 4 :]


def bomb_bmp(width, height):
    data = bytearray(saved(reef(), "BMP"))
    struct.pack_into("<ii", data, 18, width, height)
    return bytes(data)


@pytest.mark.parametrize("bomb", [bomb_png, bomb_jpeg, bomb_bmp])
def test_bombs_are_refused_by_their_header(bomb, monkeypatch):
    monkeypatch.setattr(vips, "to_array", lambda image: pytest.fail("decoded"))
    monkeypatch.setattr(BmpImagePlugin, "BmpImageFile", lambda file: pytest.fail("decoded"))
    with pytest.raises(ImageError, match=r"megapixels, beyond the limit of 268; .* --max-pixels \d+"):
        images.read(bomb(30000, 30000))


def test_the_limit_is_exact_and_can_be_raised():
    data = saved(reef(48, 64), "PNG")
    assert images.read(data, max_pixels=48 * 64).pixels.shape == (48, 64, 3)
    with pytest.raises(ImageError, match="beyond the limit"):
        images.read(data, max_pixels=48 * 64 - 1)
    assert images.MAX_PIXELS // 1_000_000 == 268


def test_a_file_too_large_for_any_picture_is_not_even_read(tmp_path):
    path = tmp_path / "huge.tif"
    with open(path, "wb") as file:
        file.write(b"II*\0")
        file.truncate(1 << 33)  # sparse
    with pytest.raises(ImageError, match="8590 MB, more than any picture of 268 megapixels"):
        images.read(path)


@pytest.mark.parametrize("name", ["JPEG", "PNG", "TIFF", "WEBP", "BMP", "AVIF"])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.95])
def test_truncated_files_are_damaged_files(name, share):
    data = saved(reef(96, 128), name)
    with pytest.raises(ImageError):
        images.read(data[: int(len(data) * share)])


def test_messages_start_with_the_path(tmp_path):
    path = tmp_path / "half.jpg"
    path.write_bytes(saved(reef(), "JPEG")[:400])
    with pytest.raises(ImageError) as caught:
        images.read(path)
    assert str(caught.value).startswith(f"{path}: damaged JPEG")


def animation(name):
    frames = [Image.fromarray(reef(seed=seed)) for seed in range(3)]
    return saved(frames[0], name, save_all=True, append_images=frames[1:])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("TIFF", "a TIFF with several pages"),
        ("WEBP", "a WebP with several frames"),
        ("PNG", "a PNG with several frames"),
        ("AVIF", "an? AVIF with several frames"),
    ],
)
def test_animated_and_multi_page_files_are_refused(name, words):
    with pytest.raises(ImageError, match=words):
        images.read(animation(name))


def test_a_tiff_with_a_thumbnail_page_is_one_picture():
    pages = [Image.fromarray(reef()), Image.fromarray(reef(12, 16))]
    pages[1].encoderinfo = {"tiffinfo": {254: 1}}  # "reduced resolution"
    data = saved(pages[0], "TIFF", save_all=True, append_images=pages[1:])
    assert opened(data).n_frames == 2
    assert np.array_equal(images.read(data).pixels, reef())


def test_raw_files_in_tiff_clothes_are_refused():
    dng = saved(reef(), "TIFF", tiffinfo={50706: b"\1\4\0\0"})
    with pytest.raises(ImageError, match=r"camera raw file \(DNG\)"):
        images.read(dng)  # LibRaw finds no sensor's data in it either


def test_things_that_are_no_regular_files(tmp_path):
    fifo, folder, loop, gone = (tmp_path / name for name in ("fifo.jpg", "folder.jpg", "loop.jpg", "gone.jpg"))
    os.mkfifo(fifo)
    folder.mkdir()
    loop.symlink_to(loop)
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(tmp_path / "s.jpg"))
    cases = {
        fifo: "not a regular file",
        folder: "a folder, not a file",
        loop: "a symbolic link that leads back to itself",
        gone: "no such file",
        tmp_path / "s.jpg": "not a regular file",
    }
    for path, words in cases.items():
        with pytest.raises(ImageError, match=words):
            images.read(path)
    server.close()
    with pytest.raises(ImageError, match="not a possible file name"):
        images.read("a\0b.jpg")


def test_unreadable_file(tmp_path):
    path = tmp_path / "secret.jpg"
    path.write_bytes(saved(reef(), "JPEG"))
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything (root)")
    with pytest.raises(ImageError, match="no permission"):
        images.read(path)


def test_a_picture_inside_trailing_rubbish_is_read():
    for name in ("JPEG", "PNG", "TIFF"):
        assert images.read(saved(reef(), name, **{}) + b"rubbish" * 99).pixels.shape == (48, 64, 3)


def test_exif_bombs_are_bounded():
    entries = struct.pack("<H", 65535) + struct.pack("<HHII", 0x010E, 2, 0xFFFFFFFF, 0) * 100
    data = saved(reef(), "JPEG", exif=b"Exif\0\0II*\0\x08\0\0\0" + entries)
    assert images.read(data).metadata.exif is None
    assert opened(images.encode(images.read(data))).size == (64, 48)
    assert images.read(saved(reef(), "JPEG", exif=b"Exif\0\0" + camera_exif())).metadata.exif is not None


def test_tags_that_share_their_bytes_take_no_more_memory_than_the_file():
    rows = b"".join(struct.pack("<HHII", 0x9000 + tag, 7, 1_000_000, 8 + 2 + 300 * 12 + 4) for tag in range(300))
    data = b"II*\0\x08\0\0\0" + struct.pack("<H", 300) + rows + bytes(4 + 1_000_000)
    directory, _ = ifd.read_directory(data, 8, ifd.Layout("<"))
    assert 0 < sum(len(entry.data) for entry in directory.values()) <= len(data)
    with pytest.raises(ImageError):
        images.read(data)


def test_a_directory_beyond_all_bytes_is_damage():
    with pytest.raises(ImageError, match="damaged TIFF"):
        images.read(b"II+\0\x08\0\0\0" + struct.pack("<Q", 2**64 - 8) + bytes(64))


@pytest.mark.parametrize(("kinds", "is_one"), [((0x020002, 0x020002), False), ((0x030000, 0x010001, 0), True)])
def test_views_of_a_stereo_pair_are_refused_and_previews_are_not(kinds, is_one):
    entries = b"".join(struct.pack("<IIIHH", kind, 100, 0, 0, 0) for kind in kinds)
    table = struct.pack("<HHHII", 1, 0xB002, 7, len(entries), 8 + 2 + 12 + 4) + bytes(4)
    payload = b"MPF\0II*\0\x08\0\0\0" + table + entries
    plain = saved(reef(), "JPEG")
    data = plain[:2] + struct.pack(">HH", 0xFFE2, len(payload) + 2) + payload + plain[2:]
    if is_one:
        assert images.read(data).pixels.shape == (48, 64, 3)
    else:
        with pytest.raises(ImageError, match="a JPEG with several views"):
            images.read(data)


def test_many_threads_may_be_the_first_to_read():
    script = """
import sys, threading
from pathlib import Path
from pic_uie import images
data, start = Path(sys.argv[1]).read_bytes(), threading.Barrier(8)
def read():
    start.wait()
    images.read(data)
threads = [threading.Thread(target=read) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""
    for _ in range(4):
        with tempfile.NamedTemporaryFile() as file:
            file.write(saved(reef(), "JPEG"))
            file.flush()
            command = [sys.executable, "-c", script, file.name]
            done = subprocess.run(command, capture_output=True, check=True)
        assert done.stderr == b""
