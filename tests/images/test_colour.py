"""Colour management against Little CMS (through Pillow) and the definitions of CIE L*a*b*."""

import io
import sys

import numpy as np
import pytest
from PIL import Image, ImageCms

from helpers.pictures import (
    D50,
    P3_PRIMARIES,
    PROPHOTO_PRIMARIES,
    SRGB_PRIMARIES,
    camera_exif,
    enhanced,
    lab,
    opened,
    reef,
    saved,
    srgb_profile,
)
from pic_uie import images
from pic_uie.errors import ImageError
from pic_uie.images import Colour, Picture, colour, exif, exif_write, vips
from pic_uie.images.ifd import text
from pic_uie.images.profiles import grey_profile, matrix_profile

PROFILES = {
    "Adobe RGB": colour.ADOBE_RGB,
    "Display P3": matrix_profile("P3", P3_PRIMARIES, 2.2),
    "ProPhoto": matrix_profile("ProPhoto", PROPHOTO_PRIMARIES, 1.8, D50),
}


def under(profile, bits):
    """The same reef stored under a profile, at 8 or 16 bits: (Picture as read from such a file)."""
    pixels = reef(64, 96, dtype=np.uint16)
    if profile is None:
        picture = Picture(pixels, bits=bits)
    else:
        picture = Picture(pixels, bits=bits, colour=Colour("rgb", profile, converted=True))
    return images.read(images.encode(picture, file_format="tiff"))


@pytest.mark.parametrize("name", PROFILES)
def test_conversion_to_srgb_agrees_with_little_cms(name):
    pixels = reef()
    picture = images.read(saved(pixels, "PNG", icc_profile=PROFILES[name]))
    assert picture.colour.converted
    assert picture.pixels.dtype == np.uint16  # no second 8-bit rounding on the way to the model
    own = ImageCms.ImageCmsProfile(io.BytesIO(PROFILES[name]))
    intent = ImageCms.Intent.RELATIVE_COLORIMETRIC
    oracle = ImageCms.profileToProfile(Image.fromarray(pixels), own, ImageCms.createProfile("sRGB"), intent)
    assert np.abs(picture.pixels / 257 - np.asarray(oracle)).max() < 1.5


def test_adobe_rgb_profile_has_the_published_primaries():
    profile = ImageCms.ImageCmsProfile(io.BytesIO(colour.ADOBE_RGB)).profile
    # D50-adapted colourants of Adobe RGB (1998), Annex C
    assert profile.red_colorant[0] == pytest.approx((0.60974, 0.31111, 0.01947), abs=3e-4)
    assert profile.green_colorant[0] == pytest.approx((0.20528, 0.62567, 0.06087), abs=3e-4)
    assert profile.blue_colorant[0] == pytest.approx((0.14919, 0.06322, 0.74457), abs=3e-4)


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize(("bits", "mean_limit", "limit"), [(16, 0.25, 2.5), (8, 0.8, 4.0)])
def test_one_picture_under_two_profiles_looks_the_same_after_enhancement(enhancer, name, bits, mean_limit, limit):
    results = []
    for profile in (None, PROFILES[name]):
        data = images.encode(enhanced(under(profile, bits), enhancer, 1.0))
        assert opened(data).info.get("icc_profile") == profile
        results.append(images.read(data))
    scales = [np.iinfo(result.pixels.dtype).max for result in results]
    first, second = (lab(result.pixels / scale) for result, scale in zip(results, scales, strict=True))
    difference = np.linalg.norm(first - second, axis=-1)
    assert difference.mean() < mean_limit
    assert difference.max() < limit
    plain = lab(reef(64, 96, dtype=np.uint16) / 65535)
    assert np.linalg.norm(first - plain, axis=-1).mean() > 2  # and the enhancement did something


def test_a_profile_that_were_ignored_would_be_seen():
    """The test above can fail: the same numbers read without their profile differ visibly."""
    picture = under(PROFILES["ProPhoto"], 16)
    stripped = images.encode(picture, file_format="tiff")
    raw = colour.from_srgb(picture.pixels, "rgb", PROFILES["ProPhoto"], 16)
    assert np.linalg.norm(lab(raw / 65535) - lab(picture.pixels / 65535), axis=-1).mean() > 5
    assert images.read(stripped).colour.profile == PROFILES["ProPhoto"]


@pytest.mark.parametrize("profile", [None, *PROFILES.values()], ids=["sRGB", *PROFILES])
@pytest.mark.parametrize("target", ["png", "tiff"])
def test_no_eight_bit_bottleneck(enhancer, profile, target):
    ramp = np.linspace(8000, 50000, 64 * 256).astype(np.uint16).reshape(64, 256, 1)
    pixels = np.repeat(ramp, 3, axis=2)
    picture = Picture(pixels, bits=16, colour=Colour("rgb", profile, converted=profile is not None))
    stored = images.read(images.encode(picture, file_format=target))
    result = images.read(images.encode(enhanced(stored, enhancer, 1.0)))
    assert result.bits == 16
    for channel in range(3):
        assert np.unique(result.pixels[:, :, channel]).size > 8000  # 8 bits anywhere would leave at most 256


def test_srgb_by_any_name_is_left_alone():
    gamma_free = matrix_profile("almost", SRGB_PRIMARIES, 2.2)
    assert colour.is_srgb(srgb_profile(), "rgb")
    assert not colour.is_srgb(gamma_free, "rgb")  # a pure power is not sRGB's curve
    picture = images.read(saved(reef(), "PNG", icc_profile=srgb_profile()))
    assert np.array_equal(picture.pixels, reef())


def test_grey_profiles_are_converted_and_restored():
    profile = grey_profile("dot gain", 1.8)
    pixels = reef(channels=1)
    picture = images.read(saved(pixels, "PNG", icc_profile=profile))
    assert picture.colour.converted
    linear = (pixels / 255.0) ** 1.8
    expected = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    assert np.abs(picture.pixels / 65535 - expected).max() < 0.004
    again = opened(images.encode(picture))
    assert again.mode == "L"
    assert again.info["icc_profile"] == profile
    assert np.abs(np.asarray(again).astype(int) - pixels[:, :, 0]).max() <= 1


@pytest.mark.parametrize("name", [*PROFILES, "CMYK"])
@pytest.mark.parametrize("bits", [8, 16])
def test_strength_0_leaves_colours_that_srgb_has_no_room_for(enhancer, name, bits):
    vivid = np.random.default_rng(1).integers(0, 256, (9, 11, 4), np.uint8)
    if name == "CMYK":
        data = saved(Image.fromarray(vivid, "CMYK"), "TIFF")
    elif bits == 16:
        raw = Picture(vivid[:, :, :3].astype(np.uint16) * 257 + 3, bits=16)
        tagged = vips.with_block(vips.from_array(raw.pixels, "rgb"), "icc-profile-data", PROFILES[name])
        data = tagged.tiffsave_buffer(keep="icc")
    else:
        data = saved(vivid, "PNG", icc_profile=PROFILES[name])
    picture = images.read(data)
    own = picture.colour.own.copy()
    nothing = images.read(images.encode(enhanced(images.read(data), enhancer, 0.0), file_format="tiff"))
    assert np.array_equal(nothing.colour.own, own)
    full = images.read(images.encode(enhanced(images.read(data), enhancer, 1.0), file_format="tiff")).colour.own
    half = images.read(images.encode(enhanced(images.read(data), enhancer, 0.5), file_format="tiff")).colour.own
    levels = 1 if own.dtype == np.uint8 else 257
    assert np.abs(full.astype(int) - own).max() > 30 * levels  # clipped to sRGB, and corrected
    between = np.abs(half - (own + full.astype(float)) / 2)
    assert np.quantile(between, 0.9) < 16 * levels  # the mean is taken in sRGB, where other curves are in use


@pytest.mark.parametrize("strength", [0.0, 0.5, 1.0])
def test_what_is_clear_turns_white_in_a_jpeg_whatever_the_profile(enhancer, strength):
    pixels = np.zeros((32, 16, 4), np.uint8)
    pixels[:, :, 1] = 255  # a green that sRGB has no room for
    pixels[16:, :, 3] = 255
    picture = images.read(saved(pixels, "PNG", icc_profile=PROFILES["Adobe RGB"]))
    result = np.asarray(opened(images.encode(enhanced(picture, enhancer, strength), file_format="jpeg", quality=100)))
    assert result[:8].min() >= 254
    if strength == 0.0:
        assert np.abs(result[24:].astype(int) - (0, 255, 0)).max() <= 2


@pytest.mark.parametrize("options", [{"file_format": "bmp"}, {"file_format": "png", "keep_metadata": False}])
def test_a_profile_without_a_way_back_is_no_obstacle_to_files_without_profile(enhancer, options, monkeypatch):
    def no_way_back(*_):
        raise ImageError("no output profile")

    picture = images.read(saved(reef(), "PNG", icc_profile=PROFILES["Display P3"]))
    monkeypatch.setattr(colour, "from_srgb", no_way_back)
    assert opened(images.encode(enhanced(picture, enhancer, 0.5), **options)).size == (64, 48)


def test_strips_of_a_large_picture_meet(enhancer, monkeypatch):
    data = saved(reef(96, 64), "PNG", icc_profile=PROFILES["ProPhoto"])
    whole = images.encode(enhanced(images.read(data), enhancer, 0.3))
    monkeypatch.setattr(sys.modules["pic_uie.images.encoding"], "STRIP_PIXELS", 7 * 64)
    assert images.encode(enhanced(images.read(data), enhancer, 0.3)) == whole


def test_alpha_passes_colour_management_untouched():
    pixels = reef(channels=4)
    picture = images.read(saved(pixels, "PNG", icc_profile=PROFILES["Display P3"]))
    assert np.array_equal(picture.pixels[:, :, 3], pixels[:, :, 3].astype(np.uint16) * 257)
    again = np.asarray(opened(images.encode(picture)))
    assert np.array_equal(again[:, :, 3], pixels[:, :, 3])
    assert np.abs(again.astype(int) - pixels).mean() < 1


def test_cameras_that_mean_adobe_rgb_without_saying_so_in_a_profile():
    tree = exif.parse(camera_exif(orientation=1))
    tree.interop[exif.INTEROP_INDEX] = text("R03")
    data = saved(reef(), "JPEG", exif=b"Exif\0\0" + exif_write.serialise(tree), quality=95)
    picture = images.read(data)
    assert picture.colour.profile == colour.ADOBE_RGB
    assert picture.colour.converted
    assert opened(images.encode(picture)).info["icc_profile"] == colour.ADOBE_RGB


@pytest.mark.parametrize("profile", [b"garbage", bytes(200), srgb_profile()[:200], grey_profile("g", 2.2)])
def test_an_unusable_profile_is_ignored_with_a_note_and_not_passed_on(profile):
    picture = images.read(saved(reef(), "JPEG", icc_profile=profile))
    assert np.array_equal(picture.pixels, images.read(saved(reef(), "JPEG")).pixels)
    assert len(picture.notes) == 1
    assert "profile" in picture.notes[0]
    assert "icc_profile" not in opened(images.encode(picture)).info


def test_cmyk_to_formats_without_cmyk_becomes_srgb_with_its_profile():
    source = saved(Image.fromarray(reef()).convert("CMYK"), "JPEG", quality=95)
    picture = images.read(source)
    result = opened(images.encode(picture, file_format="png"))
    assert result.mode == "RGB"
    assert colour.is_srgb(result.info["icc_profile"], "rgb")
    assert np.array_equal(np.asarray(result), colour.flattened(picture.pixels))
