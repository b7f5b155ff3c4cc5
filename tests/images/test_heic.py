"""HEIC after the plain install: pixels, EXIF, rotation, colours; results are JPEG, or AVIF of 10 bits."""

import shutil
import struct
import subprocess

import numpy as np
import pytest
from PIL import Image

from helpers.command import enhance
from helpers.pictures import XMP, camera_exif, opened, reef, saved
from pic_uie import images
from pic_uie.errors import ImageError
from pic_uie.images import boxes, heif_write

needs_x265 = pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed (it makes the HEVC)")


def hevc(folder, pixels, bits):
    """A picture as HEVC by ffmpeg: its configuration box and its one frame, from an MP4 file."""
    Image.fromarray(pixels).save(folder / "in.png")
    form = "yuv444p10le" if bits == 10 else "yuv444p"
    coding = ["-c:v", "libx265", "-x265-params", "qp=4:log-level=none", "-tag:v", "hvc1", "-frames:v", "1"]
    convert = ["-vf", f"scale=out_color_matrix=bt601:out_range=full,format={form}", "-color_range", "pc"]
    command = ["ffmpeg", "-v", "error", "-y", "-i", "in.png", *convert, *coding, "out.mp4"]
    done = subprocess.run(command, cwd=folder, capture_output=True)
    if done.returncode:
        pytest.skip(f"this ffmpeg has no libx265: {done.stderr[-200:]!r}")
    data = (folder / "out.mp4").read_bytes()
    at = data.index(b"hvcC") - 4
    config = data[at : at + int.from_bytes(data[at : at + 4], "big")]
    (frame,) = [data[box.content : box.end] for box in boxes.boxes(data, 0, len(data)) if box.name == b"mdat"]
    return config, frame


def heic(folder, pixels=None, bits=8, properties=(), items=(), brand=b"heic"):
    """A HEIC file around that, from the definition of its boxes."""
    pixels = reef(64, 96) if pixels is None else pixels
    config, frame = hevc(folder, pixels, bits)
    height, width = pixels.shape[:2]
    box = heif_write.box
    props = [
        config,
        box(b"ispe", bytes(4) + struct.pack(">II", width, height)),
        box(b"pixi", bytes(4) + bytes((3, *[bits] * 3))),
    ]
    entries = b"".join(bytes((i | (0x80 if i == 1 else 0),)) for i in range(1, len(props) + 1))
    children = [
        box(b"hdlr", bytes(8) + b"pict" + bytes(13)),
        box(b"pitm", bytes(4) + struct.pack(">H", 1)),
        box(b"iloc", b"\1\0\0\0\x44\0\0\1" + struct.pack(">4H2I", 1, 0, 0, 1, 0, len(frame))),
        box(b"iinf", bytes(4) + struct.pack(">H", 1) + box(b"infe", struct.pack(">IHH", 2 << 24, 1, 0) + b"hvc1\0")),
        box(
            b"iprp",
            box(b"ipco", b"".join(props)) + box(b"ipma", bytes(4) + struct.pack(">IHB", 1, 1, len(props)) + entries),
        ),
    ]
    head = box(b"ftyp", brand + bytes(4) + b"mif1heic")
    size = len(head) + 12 + sum(map(len, children)) + 8
    children[2] = box(b"iloc", b"\1\0\0\0\x44\0\0\1" + struct.pack(">4H2I", 1, 0, 0, 1, size, len(frame)))
    data = head + box(b"meta", bytes(4) + b"".join(children)) + box(b"mdat", frame)
    return heif_write.with_parts(data, list(properties), list(items))


@needs_x265
@pytest.mark.parametrize("bits", [8, 10])
def test_pixels_exif_and_xmp_come_along(tmp_path, bits):
    items = [heif_write.exif_item(camera_exif(orientation=6)), heif_write.xmp_item(XMP)]
    picture = images.read(heic(tmp_path, bits=bits, properties=[heif_write.code_points(1, 13)], items=items))
    assert picture.format == "heic"
    assert picture.pixels.shape == (64, 96, 3)  # orientation is the container's; EXIF's is for programs that ignore it
    scale = 257 if bits == 10 else 1
    assert np.abs(picture.pixels / scale - reef(64, 96)).mean() < 2.5
    result = opened(images.encode(picture, software="pic-uie"))
    assert result.format == "JPEG"
    assert result.getexif().get_ifd(0x8825)[2] == (12, 34, 56.78)
    assert result.getexif()[0x0112] == 1
    assert b'xmp:Rating="5"' in images.encode(picture)
    told = ("JPEG has no place for its 10 bits, which were rounded to 8",) if bits == 10 else ()
    assert images.losses(picture) == told


@needs_x265
def test_ten_bits_stay_ten_bits_in_avif(tmp_path):
    ramp = np.repeat(np.arange(64, 256, 2, dtype=np.uint8)[None, :, None], 64, axis=0).repeat(3, axis=2)
    picture = images.read(heic(tmp_path, pixels=ramp, bits=10))
    data = images.encode(picture, file_format="avif")
    again = images.read(data)
    assert again.coding.bits == 10
    assert images.losses(picture, "avif") == ()
    assert np.abs(again.pixels.astype(int) - picture.pixels).mean() < 700
    assert images.read(images.encode(images.read(heic(tmp_path)), file_format="avif")).coding.bits == 8


@needs_x265
@pytest.mark.parametrize(("angle", "turns"), [(0, 0), (1, 1), (2, 2), (3, 3)])
def test_rotation_is_applied(tmp_path, angle, turns):
    picture = images.read(heic(tmp_path, properties=[heif_write.box(b"irot", bytes((angle,)))]))
    expected = np.rot90(reef(64, 96), turns)
    assert picture.pixels.shape == expected.shape
    assert np.abs(picture.pixels.astype(int) - expected).mean() < 3


@needs_x265
@pytest.mark.parametrize(("transfer", "name"), [(16, "PQ"), (18, "HLG")])
def test_hdr_is_refused_as_that_and_not_as_damage(tmp_path, transfer, name):
    data = heic(tmp_path, bits=10, properties=[heif_write.code_points(9, transfer)])
    with pytest.raises(ImageError, match=rf"an HDR picture \({name}\)"):
        images.read(data)


@needs_x265
def test_on_the_command_line_results_are_named_for_what_they_are(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "card").mkdir()
    (tmp_path / "card" / "IMG_1.HEIC").write_bytes(heic(tmp_path))
    (tmp_path / "card" / "IMG_2.HIF").write_bytes(saved(reef(), "PNG"))  # in truth a PNG
    assert enhance("card", "-o", "out") == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["IMG_1.jpg", "IMG_2.png"]
    assert enhance("card/IMG_1.HEIC", "--format", "avif") == 0
    assert opened((tmp_path / "card" / "IMG_1_enhanced.avif").read_bytes()).format == "AVIF"
    assert enhance("card/IMG_1.HEIC", "-o", "x.heic") == 2
    assert "does not end like a picture or video that can be written" in capsys.readouterr().err


def test_a_heic_that_is_cut_short_is_damaged():
    for data in (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(100), b"\0\0\0\x18ftypheic\0\0\0\0mif1heic"):
        with pytest.raises(ImageError, match="damaged HEIC"):
            images.read(data)


def test_sequences_are_animations():
    with pytest.raises(ImageError, match="HEIC with several frames"):
        images.read(b"\0\0\0\x18ftyphevc\0\0\0\0mif1heic" + bytes(100))
