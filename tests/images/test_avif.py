"""AVIF: two decoders and two encoders that must agree; the quantiser that its headers tell."""

import io

import numpy as np
import pytest
from PIL import Image

from helpers.pictures import opened, reef, saved
from pic_uie import images
from pic_uie.images import Picture, avif, heif_write, vips
from pic_uie.images.heif_file import HeifFile
from pic_uie.images.picture import Coding


def by_libvips(data):
    return vips.to_array(vips.open_lazily("heifload", data, title="AVIF"))


@pytest.mark.parametrize("angle", range(4))
@pytest.mark.parametrize("mirror", [None, 0, 1])
def test_rotation_and_mirror_are_applied_as_libheif_applies_them(angle, mirror):
    properties = [heif_write.box(b"irot", bytes((angle,)))]
    if mirror is not None:
        properties.append(heif_write.box(b"imir", bytes((mirror,))))
    plain = saved(reef(), "AVIF", quality=100, subsampling="4:4:4")
    data = heif_write.with_parts(plain, [heif_write.code_points(1, 13), *properties], [])
    assert avif.opened_by_pillow(HeifFile(data, "AVIF")) is not None  # or libvips would be compared with itself
    picture = images.read(data)
    expected = by_libvips(data)
    assert picture.pixels.shape == expected.shape
    assert np.abs(picture.pixels.astype(int) - expected).max() <= 3


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("bits", [8, 16])
def test_what_is_written_is_shown_alike_by_both_libraries(channels, bits):
    pixels = reef(96, 128, channels=channels, dtype=np.uint8 if bits == 8 else np.uint16)
    data = images.encode(Picture(pixels, bits=bits), file_format="avif", quality=98)
    eight = np.rint(pixels / (257 if bits == 16 else 1)).astype(int)
    shown = np.asarray(opened(data).convert({1: "L", 3: "RGB", 4: "RGBA"}[channels])).reshape(eight.shape)
    assert np.abs(shown - eight).mean() < 2.5
    assert np.abs(shown.mean(axis=(0, 1)) - eight.mean(axis=(0, 1))).max() < 1.5  # no cast: matrix and range are right


@pytest.mark.parametrize("quality", [30, 50, 70, 90, 97])
@pytest.mark.parametrize("speed", [6, 10])
def test_the_quality_of_a_source_is_read_from_its_headers(quality, speed):
    data = saved(reef(200, 300), "AVIF", quality=quality, speed=speed)
    assert abs(images.read(data).coding.quality - quality) <= 4


@pytest.mark.parametrize("size", [(65, 33), (700, 1500), (130, 5000)])
@pytest.mark.parametrize("options", [{}, {"tile_rows": 1, "tile_cols": 1, "autotiling": False}])
def test_tiles_do_not_hide_the_quality(size, options):
    data = saved(reef(*size), "AVIF", quality=60, speed=10, **options)
    assert abs(images.read(data).coding.quality - 60) <= 4


def test_quality_and_chroma_of_the_source_are_kept():
    for subsampling, quality in (("4:2:0", 60), ("4:4:4", 85)):
        picture = images.read(saved(reef(300, 400), "AVIF", quality=quality, subsampling=subsampling))
        again = images.read(images.encode(picture))
        assert again.coding.subsampled == picture.coding.subsampled == (subsampling == "4:2:0")
        assert abs(again.coding.quality - quality) <= 8


def test_a_given_quality_counts():
    picture = images.read(saved(reef(300, 400), "AVIF", quality=60))
    assert len(images.encode(picture, quality=95)) > 2 * len(images.encode(picture, quality=30))


def test_without_pillows_codec_libvips_does_all(monkeypatch):
    monkeypatch.setattr(avif, "pillow_has_avif", lambda: False)
    picture = images.read(saved(reef(), "AVIF", quality=95))
    assert np.abs(picture.pixels.astype(int) - reef()).mean() < 5
    assert Image.open(io.BytesIO(images.encode(picture))).size == (64, 48)


def test_white_of_ten_and_twelve_bits_is_white():
    for bits in (10, 12):
        picture = Picture(np.full((32, 32, 3), 65535, np.uint16), bits=16, coding=Coding(bits=bits))
        again = images.read(images.encode(picture, file_format="avif", quality=100))
        assert again.coding.bits == bits
        assert again.pixels.min() == 65535
