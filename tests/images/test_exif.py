"""The EXIF tree: what is read is written again, maker notes stay in place, nothing stale survives."""

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import ImageOps

from helpers.pictures import camera_exif, opened, reef, saved
from pic_uie import images
from pic_uie.images import exif, exif_write, ifd, xmp
from pic_uie.images.ifd import Entry, IfdError
from pic_uie.images.picture import Metadata

KINDS = sorted(kind for kind in ifd.TYPE_SIZES if kind <= 13)


@st.composite
def directories(draw, tags):
    directory = {}
    for tag in draw(st.lists(st.sampled_from(tags), unique=True, max_size=8)):
        kind = draw(st.sampled_from(KINDS))
        count = draw(st.integers(1, 9))
        size = ifd.TYPE_SIZES[kind] * count
        directory[tag] = Entry(kind, count, draw(st.binary(min_size=size, max_size=size)))
    return directory


@st.composite
def trees(draw):
    return exif.Exif(
        draw(st.sampled_from("<>")),
        draw(directories([0x010E, 0x010F, 0x0110, 0x0112, 0x0131, 0x0132, 0x8298, 0x9C9B])),
        draw(directories([0x829A, 0x9003, 0x920A, 0xA434, 0xA001, exif.MAKER_NOTE])),
        draw(directories([0, 1, 2, 3, 4, 29])),
        draw(directories([1, 2])),
    )


def plain(tree):
    """Tags and values, without the places where they were found."""
    directories = (tree.main, tree.photo, tree.gps, tree.interop)
    return tree.order, [{tag: (e.kind, e.count, e.data) for tag, e in d.items()} for d in directories]


@given(trees())
@settings(max_examples=150, deadline=None)
def test_every_tree_survives_writing_and_reading(tree):
    assert plain(exif.parse(exif_write.serialise(tree))) == plain(tree)


def counting_note(order, size=40):
    """A maker note with a directory of one text that lies somewhere else in the block."""
    return (struct.pack(order + "HHHII", 1, 0x0207, 2, 9, 600) + bytes(4)).ljust(size, b"\x07")


@given(trees(), st.integers(8, 3000))
@settings(max_examples=100, deadline=None)
def test_a_maker_note_stays_at_its_byte(tree, offset):
    note = Entry(7, 40, counting_note(tree.order), offset)
    tree.photo[exif.MAKER_NOTE] = note
    block = exif_write.serialise(tree)
    again = exif.parse(block).photo[exif.MAKER_NOTE]
    assert (again.offset, again.data) == (offset, note.data)
    assert block[offset : offset + 40] == note.data
    assert plain(exif.parse(block)) == plain(tree)


@given(st.binary(max_size=300))
@settings(max_examples=300, deadline=None)
def test_garbage_is_refused_or_read_never_worse(block):
    for prefix in (b"", b"II*\0\x08\0\0\0", b"MM\0*\0\0\0\x08", b"II+\0\x08\0\0\0\x10\0\0\0\0\0\0\0"):
        try:
            exif_write.serialise(exif.parse(prefix + block))
        except IfdError:
            continue


@given(trees())
@settings(max_examples=60, deadline=None)
def test_swapping_the_byte_order_twice_changes_nothing(tree):
    for entry in (*tree.main.values(), *tree.photo.values(), *tree.gps.values()):
        assert ifd.swapped(ifd.swapped(entry)).data == entry.data


def test_pillow_reads_what_we_write():
    tree = exif.refreshed(exif.parse(camera_exif()), (10, 20), "pic-uie 9 (weights 01234567)", (300.0, 150.0))
    picture = images.Picture(reef(), metadata=Metadata(exif=tree, dpi=(300.0, 150.0)))
    seen = opened(images.encode(picture, file_format="jpeg")).getexif()
    assert seen[0x010F] == "Nauticam"
    assert seen[0x0112] == 1
    assert seen[0x0131] == "pic-uie 9 (weights 01234567)"
    assert (seen[0x011A], seen[0x011B]) == (300, 150)
    assert seen.get_ifd(0x8769)[0x920A] == 35
    assert seen.get_ifd(0x8825)[2] == (12, 34, 56.78)


def test_the_thumbnail_is_dropped():
    block = camera_exif(thumbnail=True)
    assert b"\xff\xd8\xff" in block
    assert b"\xff\xd8\xff" not in exif_write.serialise(exif.parse(block))


def test_exif_beyond_a_jpeg_segment_loses_the_maker_note_only():
    block = camera_exif(maker_note=bytes(70_000), thumbnail=False)
    picture = images.Picture(reef(), metadata=Metadata(exif=exif.parse(block)))
    seen = opened(images.encode(picture, file_format="jpeg")).getexif()
    assert seen.get_ifd(0x8769)[0x920A] == 35
    assert 0x927C not in seen.get_ifd(0x8769)
    assert len(opened(images.encode(picture, file_format="png")).getexif().get_ifd(0x8769)[0x927C]) == 70_000


def test_damaged_exif_is_dropped_with_a_note_and_the_picture_is_read():
    data = saved(reef(), "JPEG", exif=b"Exif\0\0" + b"XX garbage that is no TIFF header")
    picture = images.read(data)
    assert picture.metadata.exif is None
    assert "EXIF is damaged" in picture.notes[0]


def test_a_directory_that_points_to_itself_ends():
    block = b"II*\0\x08\0\0\0" + struct.pack("<H", 1) + struct.pack("<HHII", 0x8769, 4, 1, 8) + bytes(4)
    assert exif.parse(block).orientation == 1


@pytest.mark.parametrize("value", [0, 9, 77])
def test_an_impossible_orientation_means_upright(value):
    data = saved(reef(), "JPEG", exif=b"Exif\0\0" + camera_exif(orientation=value), quality=95)
    assert images.read(data).pixels.shape == (48, 64, 3)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("name", ["JPEG", "PNG", "TIFF", "WEBP"])
def test_orientation_is_applied_and_reset(orientation, name):
    options = {"lossless": True} if name == "WEBP" else {"quality": 100} if name == "JPEG" else {}
    if name == "TIFF":
        source = saved(reef(), name, tiffinfo={274: orientation})
    else:
        source = saved(reef(), name, exif=b"Exif\0\0" + camera_exif(orientation), **options)
    expected = np.asarray(ImageOps.exif_transpose(opened(source)))
    picture = images.read(source)
    assert np.abs(picture.pixels.astype(int) - expected).max() <= (4 if name == "JPEG" else 0)
    result = opened(images.encode(picture))
    assert result.getexif().get(0x0112, 1) == 1
    assert result.size == (expected.shape[1], expected.shape[0])
    if name != "TIFF":
        assert result.getexif().get_ifd(0x8769)[0xA002] == expected.shape[1]


@pytest.mark.parametrize(
    "packet",
    [b'<a tiff:Orientation="6"/>', b"<a tiff:Orientation = '8'/>", b"<tiff:Orientation>3</tiff:Orientation>"],
)
def test_xmp_says_upright_too(packet):
    packet = b'<x xmlns:tiff="http://ns.adobe.com/tiff/1.0/">' + packet + b"</x>"
    changed = xmp.upright(packet, (10, 20)).replace(b"tiff/1.0/", b"")
    packet = packet.replace(b"tiff/1.0/", b"")
    assert len(changed) == len(packet)
    assert b"1" in changed
    assert not any(digit in changed for digit in (b"6", b"8", b"3"))
