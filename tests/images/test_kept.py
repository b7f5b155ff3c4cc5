"""Metadata that lies in odd places or has odd types: read as ExifTool reads it, and kept."""

import json
import shutil
import struct
import subprocess
import zlib

import numpy as np
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from helpers.pictures import XMP, camera_exif, opened, reef, saved
from pic_uie import images
from pic_uie.images import exif, exif_write, ifd, makernote

SOFTWARE = "pic-uie 1.2.3 (weights 89abcdef)"
needs_exiftool = pytest.mark.skipif(
    shutil.which("exiftool") is None, reason="exiftool is not installed (Debian: libimage-exiftool-perl)"
)


def exiftool(path, *options):
    run = subprocess.run(["exiftool", "-j", "-n", "-a", *options, str(path)], capture_output=True, check=True)
    return json.loads(run.stdout)[0]


def jpeg_with(*segments, pixels=None):
    plain = saved(reef() if pixels is None else pixels, "JPEG", quality=95)
    return plain[:2] + b"".join(struct.pack(">HH", 0xFF00 | m, len(p) + 2) + p for m, p in segments) + plain[2:]


def pointer_of_type(kind, tag=exif.GPS_POINTER):
    """A camera's EXIF whose pointer to a directory has another integer type."""
    block = bytearray(camera_exif(thumbnail=False))
    order = "<" if block[:2] == b"II" else ">"
    at = block.index(struct.pack(order + "HH", tag, 4))
    struct.pack_into(order + "H", block, at + 2, kind)
    if kind == 7:
        struct.pack_into(order + "I", block, at + 4, 4)
    return bytes(block)


@pytest.mark.parametrize("kind", [4, 9, 13, 7])
@pytest.mark.parametrize("tag", [exif.GPS_POINTER, exif.EXIF_POINTER])
def test_a_pointer_of_any_integer_type_is_followed(kind, tag):
    data = saved(reef(), "JPEG", exif=b"Exif\0\0" + pointer_of_type(kind, tag))
    seen = opened(images.encode(images.read(data))).getexif()
    assert seen.get_ifd(0x8825)[2] == (12, 34, 56.78)
    assert seen.get_ifd(0x8769)[0x920A] == 35


def test_directories_that_hang_on_the_thumbnail_alone_are_found():
    tree = exif.parse(camera_exif(thumbnail=False))
    block = exif_write.serialise(tree)
    first = struct.unpack_from(tree.order + "I", block, 4)[0]
    (count,) = struct.unpack_from(tree.order + "H", block, first)
    bare = exif_write.serialise(exif.Exif(tree.order, {0x010F: ifd.text("Nauticam")}))
    shifted = exif_write.tables(tree, len(bare) + len(bare) % 2)
    (own,) = struct.unpack_from(tree.order + "H", bare, 8)
    linked = bytearray(bare.ljust(len(bare) + len(bare) % 2, b"\0"))
    struct.pack_into(tree.order + "I", linked, 8 + 2 + 12 * own, len(linked))
    again = exif.parse(bytes(linked) + shifted)
    assert count
    assert (again.photo, again.gps) == (tree.photo, tree.gps)


def old_olympus(at, order="<"):
    """A maker note of an old Olympus: a directory whose values lie outside of it, counted from the block."""
    value = b"OLYMPUS CORP. CAMERA TYPE SX753\0"
    rows = struct.pack(order + "HHHII", 2, 0x0207, 2, len(value), at) + struct.pack(
        order + "HHII", 0x0209, 7, 32, at + 40
    )
    return b"OLYMP\0\1\0" + rows + bytes(4), value


def block_with_values_outside(order="<"):
    """EXIF whose maker note points behind itself, to bytes that no directory of EXIF knows of."""
    values_at = 700
    note, value = old_olympus(values_at, order)
    tree = exif.parse(camera_exif(thumbnail=False, maker_note=note))
    block = exif_write.serialise(exif.reordered(tree, order))
    return block.ljust(values_at, b"\0") + value.ljust(40, b"\0") + bytes(range(32)), values_at, value


def test_which_maker_notes_may_move():
    assert makernote.must_stay(old_olympus(700)[0])
    assert makernote.must_stay(b"OLYMP\0\1\0" + old_olympus(700, ">")[0][8:])
    assert not makernote.must_stay(b"OLYMPUS\0II\3\0" + old_olympus(700)[0][8:])
    assert not makernote.must_stay(b"Nikon\0\2\x10\0\0MM\0*" + bytes(60))
    assert not makernote.must_stay(b"a text without any offsets, however long it is")


@pytest.mark.parametrize("target", ["jpeg", "png", "webp", "avif", "tiff"])
def test_a_maker_note_that_counts_from_elsewhere_stays_with_all_around_it(target):
    block, values_at, value = block_with_values_outside()
    data = saved(reef(), "JPEG", exif=b"Exif\0\0" + block)
    result = images.encode(images.read(data), file_format=target, software=SOFTWARE)
    start = 0 if target == "tiff" else result.index(b"II*\0")
    note = exif.parse(result[start:]).photo[exif.MAKER_NOTE]
    place = exif.parse(block).photo[exif.MAKER_NOTE].offset
    assert note.offset == place
    assert result[start + values_at :].startswith(value)  # not overwritten by the software tag or anything else
    assert opened(result).getexif()[0x0131] == SOFTWARE
    assert images.losses(images.read(data), target) == ()


def test_a_maker_note_that_would_have_to_move_is_left_out_and_reported():
    block, _, _ = block_with_values_outside(">")
    picture = images.read(saved(reef(), "JPEG", exif=b"Exif\0\0" + block))
    assert images.losses(picture, "tiff") == ("TIFF has no place for its maker note, which may not be moved",)
    assert exif.MAKER_NOTE not in images.read(images.encode(picture, file_format="tiff")).metadata.exif.photo
    assert images.losses(picture, "png") == ()
    tree = exif.parse(block_with_values_outside()[0])
    tiff = images.read(images.encode(images.Picture(reef(), metadata=images.Metadata(exif=tree)), file_format="tiff"))
    assert "left out: its maker note, which may not be moved" in tiff.notes


@pytest.mark.parametrize("jfif_first", [False, True])
def test_exif_stays_at_its_byte_of_the_file(jfif_first):
    block, _, _ = block_with_values_outside()
    plain = saved(reef(), "JPEG")
    segment = b"\xff\xe1" + struct.pack(">H", len(block) + 8) + b"Exif\0\0" + block
    data = plain[:20] + segment + plain[20:] if jfif_first else plain[:2] + segment + plain[20:]
    result = images.encode(images.read(data), software=SOFTWARE)
    assert data.index(b"Exif\0\0") == result.index(b"Exif\0\0") == (24 if jfif_first else 6)


def test_the_firmware_of_a_camera_stays_beside_the_software_tag():
    picture = images.read(saved(reef(), "JPEG", exif=b"Exif\0\0" + camera_exif()))
    seen = opened(images.encode(picture, software=SOFTWARE)).getexif()
    assert (seen[0x0131], seen[0x000B]) == (SOFTWARE, "Firmware 1.0")


def texts_of_a_png(**options):
    info = PngInfo()
    info.add_text("Title", "Reef at noon", **options)
    info.add_text("Author", "A. Diver")
    info.add_text("Comment", "Korallen für alle")
    info.add_itxt("Description", "珊瑚", lang="zh", tkey="描述")
    info.add_text("Warning", "long " * 400, zip=True)
    return info


def test_texts_of_a_png_stay():
    result = opened(images.encode(images.read(saved(reef(), "PNG", pnginfo=texts_of_a_png()))))
    assert result.text["Title"] == "Reef at noon"
    assert result.text["Author"] == "A. Diver"
    assert result.text["Comment"] == "Korallen für alle"
    assert result.text["Warning"] == "long " * 400
    assert result.text["Description"] == "珊瑚"
    assert (result.text["Description"].lang, result.text["Description"].tkey) == ("zh", "描述")


def test_texts_find_a_place_in_exif_or_are_reported():
    picture = images.read(saved(reef(), "PNG", pnginfo=texts_of_a_png()))
    jpeg = opened(images.encode(picture, file_format="jpeg"))
    assert jpeg.getexif()[0x010E] == "Reef at noon"
    assert jpeg.getexif()[0x013B] == "A. Diver"
    assert jpeg.info["comment"].decode() == "Korallen für alle"
    assert images.losses(picture, "jpeg") == ("JPEG has no place for its texts (Description, Warning)",)
    assert images.losses(picture, "webp") == ("WebP has no place for its texts (Comment, Description, Warning)",)
    assert images.losses(picture, "png") == ()


def raw_profile(kind, content, wrong_size=0):
    digits = content.hex()
    lines = "\n".join(digits[at : at + 72] for at in range(0, len(digits), 72))
    return f"\n{kind}\n{len(content) + wrong_size:8d}\n{lines}\n"


RECORDS = b"\x1c\x02\x19\x00\x04fish"
RESOURCES = b"8BIM\x04\x04\0\0\0\0\0\x09" + RECORDS + b"\0"


@pytest.mark.parametrize("wrong_size", [0, 7])
@pytest.mark.parametrize("name", ["exif", "APP1"])
def test_blocks_hidden_in_texts_of_a_png_are_found(name, wrong_size):
    info = PngInfo()
    info.add_text(f"Raw profile type {name}", raw_profile("exif", b"Exif\0\0" + camera_exif(), wrong_size), zip=True)
    info.add_text("Raw profile type iptc", raw_profile("iptc", RESOURCES, wrong_size), zip=True)
    info.add_text("Raw profile type xmp", raw_profile("XMP", XMP, wrong_size))
    picture = images.read(saved(reef(), "PNG", pnginfo=info))
    assert picture.pixels.shape == (64, 48, 3)  # orientation 6 was applied
    result = images.encode(picture, software=SOFTWARE)
    seen = opened(result)
    assert seen.getexif().get_ifd(0x8825)[2] == (12, 34, 56.78)
    assert b'xmp:Rating="5"' in result
    assert not any(key.startswith("Raw profile type exif") for key in seen.text)  # one truth: the eXIf chunk
    again = images.read(result)
    assert RECORDS in again.metadata.iptc
    assert RECORDS in images.encode(again, file_format="jpeg")


@needs_exiftool
def test_exiftool_reads_iptc_and_texts_of_our_png(tmp_path):
    info = texts_of_a_png()
    info.add_text("Raw profile type iptc", raw_profile("iptc", RESOURCES), zip=True)
    images.write(images.read(saved(reef(), "PNG", pnginfo=info)), tmp_path / "a.png", software=SOFTWARE)
    seen = exiftool(tmp_path / "a.png")
    assert seen["Keywords"] == "fish"
    assert (seen["Title"], seen["Author"]) == ("Reef at noon", "A. Diver")


@pytest.mark.parametrize("text", ["", "exif", "\nexif\n 8\nzz", "\nexif\n 8\n4", "\nexif\n\n\n\n\n"])
def test_broken_raw_profiles_are_no_reason_to_fail(text):
    info = PngInfo()
    info.add_text("Raw profile type exif", text, zip=True)
    assert images.read(saved(reef(), "PNG", pnginfo=info)).metadata.exif is None


@pytest.mark.parametrize("comment", [b"two words", "Grüße".encode(), b"\xff\xfe no text at all \x80"])
def test_comments_of_a_jpeg_stay_byte_for_byte(comment):
    data = saved(reef(), "JPEG", comment=comment)
    assert opened(images.encode(images.read(data))).info["comment"] == comment
    if comment.isascii():
        assert opened(images.encode(images.read(data), file_format="png")).text["Comment"] == comment.decode()


SEGMENTS = [
    (0xE6, b"GoPro\0DEVC\0\1\0\x10" + bytes(range(99))),
    (0xE1, b"FLIR\0\1\0\1" + bytes(5000)),
    (0xE1, b"FLIR\0\1\1\1" + bytes(3000)),
    (0xE5, b"SSUNIQUEID\0" + b"x" * 20),
    (0xEC, b"[picture info]Resolution=1\r\n"),
]


def test_application_segments_of_cameras_stay_in_order():
    picture = images.read(jpeg_with(*SEGMENTS))
    assert list(picture.metadata.segments) == SEGMENTS
    result = images.encode(picture, software=SOFTWARE)
    assert list(images.read(result).metadata.segments) == SEGMENTS
    assert opened(result).size == (64, 48)
    assert images.losses(picture, "png") == (
        "PNG has no place for its application segments (GoPro, FLIR, SSUNIQUEID, unknown)",
    )
    assert b"GoPro" not in images.encode(picture, keep_metadata=False)


@needs_exiftool
def test_exiftool_still_reads_the_telemetry(tmp_path):
    gpmf = b"DEVC\0\1\0\x10DVNMc\x06\0\1HERO99\0\0"
    (tmp_path / "a.jpg").write_bytes(jpeg_with((0xE6, b"GoPro\0" + gpmf)))
    images.write(images.read(tmp_path / "a.jpg"), tmp_path / "b.jpg", software=SOFTWARE)
    assert exiftool(tmp_path / "a.jpg")["DeviceName"] == exiftool(tmp_path / "b.jpg")["DeviceName"] == "HERO99"


def test_resolution_that_two_places_agree_on_is_not_rounded():
    info = {
        "dpi": (300, 300),
        "exif": b"Exif\0\0" + camera_exif().replace(struct.pack(">II", 240, 1), struct.pack(">II", 300, 1)),
    }
    picture = images.read(saved(reef(), "PNG", **info))
    assert picture.metadata.dpi == (300.0, 300.0)


def test_gif_comments_become_png_texts():
    data = saved(Image.fromarray(reef()).quantize(16), "GIF", comment=b"caught on film")
    assert opened(images.encode(images.read(data))).text["Comment"] == "caught on film"


def test_what_a_png_loses_is_named():
    data = saved(reef(), "PNG")
    extra = b"".join(
        struct.pack(">I", len(c)) + n + c + struct.pack(">I", zlib.crc32(n + c))
        for n, c in ((b"tIME", bytes(7)), (b"caBX", b"jumb"), (b"prVt", b"x"))
    )
    picture = images.read(data[:33] + extra + data[33:])
    assert picture.notes == ("left out: its C2PA manifest, time of the last change and chunks prVt",)
    assert np.array_equal(picture.pixels, reef())
