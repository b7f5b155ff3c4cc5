"""Types are detected from content; what is not ours is named."""

import numpy as np
import pytest

from helpers.pictures import reef, saved
from pic_uie import images
from pic_uie.errors import ImageError
from pic_uie.images import formats, vips

FORMATS = ("JPEG", "PNG", "TIFF", "WEBP", "BMP", "AVIF")


@pytest.mark.parametrize("name", FORMATS)
def test_content_decides_the_format_whatever_the_name_says(tmp_path, name):
    path = tmp_path / "mislabelled.gif"
    path.write_bytes(saved(reef(), name))
    assert images.read(path).format == name.lower()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "an empty file"),
        (b"hello, this is text\n", "a text file"),
        (b"%PDF-1.7\n", "a PDF document"),
        (b"\x00\x00\x00\x18ftypmp42" + bytes(40), "a video"),
        (bytes(range(64)), "a file of an unknown kind"),
        (b"BM, a text that begins like a bitmap", "a text file"),
    ],
)
def test_strangers_are_named_and_the_allowed_formats_listed(content, words):
    with pytest.raises(ImageError) as caught:
        images.read(content)
    assert str(caught.value).startswith(words)
    assert "JPEG, PNG, TIFF, WebP, BMP, AVIF, HEIC, GIF, JPEG 2000, JPEG XL" in str(caught.value)


@pytest.mark.parametrize("suffix", [".jpg", ".JPEG", ".Tif", ".webp", ".bmp", ".heic"])
def test_suffixes_are_known_in_any_case(suffix):
    assert formats.by_suffix(f"a.b{suffix}") is not None
    assert formats.by_suffix(f"a{suffix}.txt") is None


def test_read_rgb8_gives_three_channels_of_anything(tmp_path):
    for channels in (1, 3, 4):
        path = tmp_path / f"{channels}.png"
        path.write_bytes(saved(reef(channels=channels), "PNG"))
        pixels = images.read_rgb8(path)
        assert pixels.dtype == np.uint8
        assert pixels.shape == (48, 64, 3)
        expected = reef(channels=channels)[:, :, : 1 if channels == 1 else 3]
        assert np.array_equal(pixels, np.broadcast_to(expected, pixels.shape))


def test_what_libvips_says_of_other_pictures_is_not_reported_of_this_one():
    lines = "tiff2vips: no memory for the directory\nheifload: no meta box found\nvips_source: bad seek\n"

    def reported(file_format, said=lines):
        with pytest.raises(ImageError) as caught, vips.errors_as_image_errors("damaged", file_format):
            raise vips.library().Error("libvips says", said)
        return str(caught.value)

    assert reported("avif") == "damaged: no meta box found"
    assert reported("tiff") == "damaged: no memory for the directory"
    assert reported("png") == "damaged: bad seek"
    assert reported("webp", "tiff2vips: broken") == "damaged: libvips gives no reason"
