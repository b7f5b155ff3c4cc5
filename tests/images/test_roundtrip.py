"""Pixels in and out of every format, against Pillow and NumPy as oracles."""

import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from helpers.pictures import opened, reef, saved
from pic_uie import images
from pic_uie.images import Colour, Picture, bmp, vips
from pic_uie.images.colour import flattened

LOSSLESS = {"png": {}, "tiff": {}, "bmp": {}, "webp": {"lossless": True}}


@pytest.mark.parametrize("name", LOSSLESS)
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_lossless_formats_keep_every_pixel(name, channels):
    pixels = reef(channels=channels)
    if name == "bmp" and channels == 4:
        source = images.encode(Picture(pixels), file_format="bmp")
    else:
        source = saved(pixels, name.upper(), **LOSSLESS[name])
    picture = images.read(source)
    expected = np.repeat(pixels, 3, axis=2) if name == "webp" and channels == 1 else pixels
    assert picture.pixels.dtype == np.uint8
    assert np.array_equal(picture.pixels, expected)
    assert np.array_equal(images.read(images.encode(picture)).pixels, expected)
    seen = np.asarray(opened(images.encode(picture)))
    assert np.array_equal(seen, np.squeeze(expected))


def png_by_hand(pixels):
    """A PNG of 16 bits from the definition: no library at hand writes one for RGB but the one under test."""
    height, width, channels = pixels.shape
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in pixels)
    colour_type = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    header = struct.pack(">IIBBBBB", width, height, 16, colour_type, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    body = b"".join(struct.pack(">I", len(d)) + n + d + struct.pack(">I", zlib.crc32(n + d)) for n, d in chunks)
    return b"\x89PNG\r\n\x1a\n" + body


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("target", ["png", "tiff"])
def test_sixteen_bits_stay_sixteen_bits(channels, target):
    pixels = reef(channels=channels, dtype=np.uint16)
    assert np.unique(pixels & 255).size > 200  # the low bytes carry something to lose
    picture = images.read(png_by_hand(pixels))
    assert picture.bits == 16
    assert np.array_equal(picture.pixels, pixels)
    again = images.read(images.encode(picture, file_format=target))
    assert again.bits == 16
    assert np.array_equal(again.pixels, pixels)


def test_sixteen_bits_are_rounded_not_cut_for_formats_of_eight():
    every = np.arange(65536, dtype=np.uint16).reshape(256, 256, 1)
    assert np.array_equal(flattened(every), np.rint(every / 257).astype(np.uint8))
    picture = images.read(png_by_hand(reef(dtype=np.uint16)))
    eight = images.read(images.encode(picture, file_format="bmp"))
    assert np.array_equal(eight.pixels, np.rint(picture.pixels / 257).astype(np.uint8))


@pytest.mark.parametrize("name", ["PNG", "TIFF", "BMP"])
def test_palettes_become_colours(name):
    paletted = Image.fromarray(reef()).quantize(32)
    picture = images.read(saved(paletted, name))
    assert np.array_equal(picture.pixels, np.asarray(paletted.convert("RGB")))
    assert images.read(images.encode(picture)).pixels.shape == (48, 64, 3)


@pytest.mark.parametrize("name", ["PNG", "TIFF", "BMP"])
def test_one_bit_becomes_eight_bit_grey(name):
    bilevel = Image.fromarray(reef(channels=1)[:, :, 0]).convert("1")
    picture = images.read(saved(bilevel, name))
    assert np.array_equal(picture.pixels[:, :, 0], np.asarray(bilevel.convert("L")))


@pytest.mark.parametrize("name", ["JPEG", "TIFF"])
@pytest.mark.parametrize("profile", [None, vips.built_in_profile("cmyk")])
def test_cmyk_stays_cmyk_with_a_profile_only_if_it_had_one(name, profile):
    cmyk = Image.fromarray(reef()).convert("CMYK")
    picture = images.read(saved(cmyk, name, quality=95, icc_profile=profile))
    assert picture.pixels.shape == (48, 64, 3)
    assert picture.colour.space == "cmyk"
    result = opened(images.encode(picture, quality=95))
    assert result.mode == "CMYK"
    assert result.info.get("icc_profile") == profile  # one of half a megabyte would swell a small file
    # back through the other CMYK separation, the colours are where they were
    again = images.read(images.encode(picture, quality=100))
    assert np.abs(again.pixels.astype(int) - picture.pixels).mean() < 600  # of 65535


def test_lossy_formats_stay_close():
    pixels = reef(96, 128)
    for name in ("jpeg", "webp", "avif"):
        result = images.read(images.encode(Picture(pixels), file_format=name, quality=95)).pixels
        assert np.abs(result.astype(int) - pixels).mean() < 4, name


@pytest.mark.parametrize("quality", [10, 35, 60, 75, 85, 92, 98, 100])
@pytest.mark.parametrize("subsampling", [0, 2])
def test_jpeg_quality_and_subsampling_follow_the_source(quality, subsampling):
    source = saved(reef(96, 128), "JPEG", quality=quality, subsampling=subsampling)
    picture = images.read(source)
    assert picture.coding.quality == quality
    result = images.encode(picture)
    ours, theirs = opened(result), opened(source)
    assert ours.quantization[0] == theirs.quantization[0]
    assert images.read(result).coding.subsampled == (subsampling == 2)
    forced = opened(images.encode(picture, quality=50))
    assert forced.quantization[0] == opened(saved(reef(), "JPEG", quality=50)).quantization[0]


def test_jpeg_from_other_formats_has_quality_95():
    result = opened(images.encode(Picture(reef()), file_format="jpeg"))
    assert result.quantization == opened(saved(reef(), "JPEG", quality=95)).quantization


def test_webp_stays_lossless_or_lossy():
    for lossless in (True, False):
        picture = images.read(saved(reef(), "WEBP", lossless=lossless))
        assert (b"VP8L" in images.encode(picture)) == lossless
        assert b"VP8L" not in images.encode(picture, quality=80)  # who asks for a quality does not want all of it


@pytest.mark.parametrize("compression", ["raw", "tiff_lzw", "tiff_adobe_deflate", "packbits"])
def test_tiff_compression_follows_the_source(compression):
    source = saved(reef(), "TIFF", compression=compression)
    assert opened(images.encode(images.read(source))).info["compression"] == compression


def test_alpha_on_jpeg_is_put_on_white():
    pixels = reef(channels=4)
    pixels[:, :, 3] = 0
    assert images.read(images.encode(Picture(pixels), file_format="jpeg")).pixels.min() >= 253


def test_premultiplied_tiff_alpha_is_undone():
    straight = np.zeros((8, 8, 4), np.uint8)
    straight[:] = (200, 100, 40, 128)
    stored = straight.copy()
    stored[..., :3] = np.rint(straight[..., :3] * (128 / 255))
    data = saved(stored, "TIFF")
    extra_samples = struct.pack("<HHIH", 338, 3, 1, 2)  # Pillow always says "unassociated" (2); 1 is "premultiplied"
    assert np.array_equal(images.read(data).pixels, stored)
    data = data.replace(extra_samples, struct.pack("<HHIH", 338, 3, 1, 1))
    assert np.abs(images.read(data).pixels.astype(int) - straight).max() <= 1


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (5, 1), (3, 2)])
@pytest.mark.parametrize("name", ["jpeg", "png", "tiff", "webp", "bmp"])
def test_tiny_pictures(shape, name):
    result = images.read(images.encode(Picture(reef(*shape)), file_format=name))
    assert result.pixels.shape == (*shape, 3)


def test_bmp_header_is_what_pillow_expects():
    for channels, mode in ((1, "L"), (3, "RGB"), (4, "RGBA")):
        data = bmp.encode(reef(7, 5, channels), (300.0, 150.0))
        image = opened(data)
        assert image.mode == mode
        assert image.info["dpi"] == pytest.approx((300, 150), abs=0.1)
        assert np.array_equal(np.asarray(image), np.squeeze(reef(7, 5, channels)))


@pytest.mark.parametrize(
    "pixels",
    [
        reef().astype(np.float32) / 255,
        reef().astype(np.int32),
        reef()[:, :, 0],
        reef(channels=4)[:, :, [0, 1, 2, 3, 3]],
        reef()[:0],
        [[1]],
    ],
)
def test_a_picture_of_other_than_samples_is_refused(pixels):
    with pytest.raises(ValueError, match="pixels must"):
        images.Picture(pixels)


def test_impossible_formats_and_qualities_are_refused():
    for options in ({"file_format": "gif"}, {"quality": 0}, {"quality": 101}, {"quality": -5}):
        with pytest.raises(ValueError, match=r"unknown format 'gif'|quality must be from 1 to 100"):
            images.encode(images.Picture(reef()), **{"file_format": "jpeg"} | options)


def test_with_pixels_refuses_other_shapes_and_types():
    picture = Picture(reef(), colour=Colour())
    with pytest.raises(ValueError, match="must stay"):
        picture.with_pixels(reef(10, 10))
    with pytest.raises(ValueError, match="must stay"):
        picture.with_pixels(reef(dtype=np.uint16))
