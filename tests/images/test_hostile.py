"""Files that ask for far more than they are: time and memory stay linear in their size."""

import struct
import time
import tracemalloc
import zlib

import pytest

from helpers.pictures import reef, saved
from pic_uie import images
from pic_uie.errors import ImageError
from pic_uie.images import exif, ifd, jpeg_segments, png_text, xmp

SECONDS, MEGABYTES = 20.0, 200  # of processor time, which a busy machine doubles, and beyond the picture itself


@pytest.fixture(scope="module")
def hostile(benchmark_module):
    return benchmark_module("fuzz_corpus").hostile()


@pytest.mark.no_cover  # time is measured
@pytest.mark.parametrize("number", range(20))
def test_hostile_files_take_little_time_and_memory(hostile, number):
    assert len(hostile) == 20
    tracemalloc.start()
    started = time.process_time()
    try:
        picture = images.read(hostile[number])
        for name in ("jpeg", "png"):
            images.read(images.encode(picture, file_format=name, software="pic-uie"))
    except ImageError:
        pass
    spent, (_, peak) = time.process_time() - started, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert spent < 3 * SECONDS  # tracing alone triples it
    assert peak < MEGABYTES << 20


def png_with(*chunks):
    data = saved(reef(), "PNG")
    return data[:33] + b"".join(png_text.chunk(name, content) for name, content in chunks) + data[33:]


def test_inflated_texts_are_bounded_and_what_is_left_out_is_reported():
    fits, bursts = b"a" * (png_text.MAX_TEXT_BYTES - 1), b"b" * (png_text.MAX_TEXT_BYTES + 1)
    chunks = [(b"zTXt", b"Fits\0\0" + zlib.compress(fits)), (b"zTXt", b"Bursts\0\0" + zlib.compress(bursts))]
    picture = images.read(png_with(*chunks))
    assert [(text.keyword, len(text.value)) for text in picture.metadata.texts] == [("Fits", len(fits))]
    assert picture.notes == ("left out: 1 of its texts (longer than 1 MB)",)


def test_all_texts_together_are_bounded():
    one = (b"zTXt", b"Text\0\0" + zlib.compress(b"c" * (png_text.MAX_TEXT_BYTES - 1)))
    picture = images.read(png_with(*[one] * 80))
    kept = len(picture.metadata.texts)
    assert 60 <= kept <= 64
    assert picture.notes == (f"left out: {80 - kept} of its texts (beyond 64 MB in all)",)


def test_every_reason_to_leave_out_texts_is_named():
    long = (b"zTXt", b"Long\0\0" + zlib.compress(b"a" * (png_text.MAX_TEXT_BYTES + 1)))
    broken = (b"zTXt", b"Broken\0\0no zlib")
    packet = (b"iTXt", b"XML:com.adobe.xmp\0\1\0\0\0" + zlib.compress(b" " * (xmp.MAX_BYTES + 9), 1))
    short = [(b"tEXt", b"Word\0a")] * 4097
    assert images.read(png_with(long, broken, packet, *short)).notes == (
        "left out: 1 of its texts (longer than 1 MB)",
        "left out: 1 of its texts (damaged)",
        "left out: 1 of its texts (longer than 16 MB)",
        "left out: 1 of its texts (beyond 4096 texts)",
    )


def test_xmp_of_sixteen_megabytes_is_read_and_more_is_not():
    for size, is_read in ((xmp.MAX_BYTES - 100, True), (xmp.MAX_BYTES + 100, False)):
        packet = b"<x>" + b" " * size
        chunk = (b"iTXt", b"XML:com.adobe.xmp\0\1\0\0\0" + zlib.compress(packet, 1))
        assert (images.read(png_with(chunk)).metadata.xmp is not None) == is_read


def test_the_207_bytes_that_hung_for_minutes():
    """Compressed XMP of nothing but spaces, written as a JPEG."""
    packet = zlib.compress(b" " * 1_000_000)
    picture = images.read(png_with((b"iTXt", b"XML:com.adobe.xmp\0\1\0\0\0" + packet)))
    started = time.process_time()
    assert images.read(images.encode(picture, file_format="jpeg")).pixels.shape == (48, 64, 3)
    assert time.process_time() - started < SECONDS


def test_counts_in_the_millions_are_not_unpacked():
    count = 4_000_000
    entry = ifd.Entry(3, count, bytes(2 * count))
    tracemalloc.start()
    assert len(entry.numbers("<")) <= 64
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_a_chain_of_pages_is_walked_no_further_than_the_file_is_long():
    table = struct.pack("<H", 1) + struct.pack("<HHII", 254, 4, 1, 1)
    data = b"II*\0\x08\0\0\0" + b"".join(table + struct.pack("<I", 8 + 18 * (i + 1)) for i in range(9000)) + bytes(18)
    assert sum(1 for _ in ifd.walk(data, 8, ifd.Layout("<"))) <= ifd.MAX_DIRECTORIES
    wide = struct.pack("<H", 4000) + bytes(12 * 4000)
    overlapping = b"II*\0" + bytes(2000) + wide
    with pytest.raises(ImageError):
        images.read(overlapping)


@pytest.mark.no_cover  # time is measured
@pytest.mark.parametrize("unit", [b"\xff", b"\xff\xe5\x00\x02", b"\xff\xfe\x00\x03x"])
def test_twice_the_segments_take_about_twice_the_time(unit):
    def seconds(count):
        plain = saved(reef(8, 8), "JPEG")
        data = plain[:2] + unit * count + plain[2:]
        started = time.process_time()
        jpeg_segments.read_segments(data)
        return time.process_time() - started

    seconds(1000)
    assert min(seconds(160_000) for _ in range(3)) < 8 * min(seconds(40_000) for _ in range(3)) + 0.05


@pytest.mark.parametrize(
    "packet",
    [b"<a " * 200_000, b"<a b='" * 100_000, b"<!--" * 200_000, b'<a b="c" ' * 100_000, b"<" * 400_000, b"</" * 200_000],
)
def test_xmp_is_scanned_once(packet):
    packet = b'<r xmlns:t="http://ns.adobe.com/tiff/1.0/" xmlns:h="http://ns.adobe.com/hdr-gain-map/1.0/"/>' + packet
    packet += b"Orientation"
    started = time.process_time()
    xmp.upright(xmp.cleaned(packet)[0])
    xmp.without_padding(packet)
    assert time.process_time() - started < SECONDS


def test_a_small_block_that_asks_for_gigabytes_is_read_as_what_it_is():
    rows = b"".join(struct.pack("<HHII", 0x9000 + tag, 12, 0x0FFFFFFF, 8) for tag in range(200))
    block = b"II*\0\x08\0\0\0" + struct.pack("<H", 200) + rows + bytes(4)
    assert exif.parse(block).is_empty
