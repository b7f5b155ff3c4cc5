"""Pictures that use a small part of their 16 bits, and floating point: refused with the way out, or scaled."""

import json

import numpy as np
import pytest
from PIL import Image

from helpers.command import enhance
from helpers.pictures import enhanced, opened, reef, saved, srgb_profile
from pic_uie import Enhancer, images
from pic_uie.cli import exit_codes
from pic_uie.errors import ConfigError, ImageError
from pic_uie.images import Picture, SampleRange, vips


def tiff(samples):
    """A TIFF of 16-bit samples as they are, by libvips alone."""
    return vips.from_array(np.ascontiguousarray(samples), "grey" if samples.shape[2] == 1 else "rgb").tiffsave_buffer()


def twelve_bits(channels=3):
    return reef(dtype=np.uint16, channels=channels) >> 4


def thermal():
    """A thermal camera's centikelvin: a narrow range far above zero."""
    return (29_000 + reef(dtype=np.uint16, channels=1) // 30).astype(np.uint16)


@pytest.mark.parametrize("samples", [twelve_bits(), twelve_bits(1), twelve_bits() >> 2, thermal()])
def test_a_range_far_below_full_scale_is_refused_with_the_way_out(samples):
    with pytest.raises(ImageError) as caught:
        images.read(tiff(samples))
    assert f"between {samples.min()} and {samples.max()} of 65535" in str(caught.value)
    assert "--range auto" in str(caught.value)


def test_the_suggested_full_scale_is_that_of_the_bits_in_use():
    with pytest.raises(ImageError, match="--range 0:4095,"):
        images.read(tiff(twelve_bits()))


@pytest.mark.parametrize("samples", [twelve_bits(), twelve_bits(1), thermal(), twelve_bits(4)])
@pytest.mark.parametrize("asked", ["auto", "0:4095", "28000:32000"])
def test_strength_0_gives_the_same_samples(weights, samples, asked):
    own = SampleRange.parse(asked)
    low, high = own.low or 0, own.high or 65535
    inside = samples[..., :3].min() >= low and samples[..., :3].max() <= high
    picture = images.read(tiff(samples), sample_range=own)
    result = images.encode(enhanced(picture, Enhancer(weights, threads=1), 0.0))
    again = images.read(result, sample_range=SampleRange(0, 65535)).pixels
    colours = samples.shape[2] - (samples.shape[2] == 4)
    expected = samples.copy()
    expected[..., :colours] = samples[..., :colours].clip(low, high)
    assert np.array_equal(again, expected)
    assert any("outside the range" in note for note in picture.notes) == (not inside)


def test_the_result_keeps_order_and_range_of_the_samples(weights):
    ramp = np.repeat(np.arange(0, 4096, dtype=np.uint16).reshape(64, 64, 1), 3, axis=2)
    picture = enhanced(images.read(tiff(ramp), sample_range=SampleRange(0, 4095)), Enhancer(weights, threads=1), 1.0)
    result = images.read(images.encode(picture), sample_range=SampleRange(0, 65535)).pixels
    green = result[:, :, 1].ravel().astype(int)
    assert green.max() <= 4095
    assert np.unique(green).size > 3000  # not flattened
    assert (np.diff(green) >= -1).all()  # nor made non-monotone
    assert np.abs(green - ramp[:, :, 1].ravel()).mean() > 40  # and enhanced


def test_scaled_for_the_model_to_its_full_scale():
    picture = images.read(tiff(twelve_bits()), sample_range=SampleRange.parse("auto"))
    assert (picture.pixels.min(), picture.pixels.max()) == (0, 65535)
    assert picture.scale == (twelve_bits().min(), twelve_bits().max())


def test_what_a_file_says_of_its_colours_is_believed():
    dark = reef(dtype=np.uint16) // 20
    tagged = vips.with_block(vips.from_array(dark, "rgb"), "icc-profile-data", srgb_profile()).tiffsave_buffer()
    assert np.array_equal(images.read(tagged).pixels, dark)


@pytest.mark.parametrize("samples", [np.full((8, 8, 3), 300, np.uint16), reef(dtype=np.uint16), reef()])
def test_nothing_is_asked_where_nothing_is_unclear(samples):
    data = saved(samples, "TIFF") if samples.dtype == np.uint8 else tiff(samples)
    assert np.array_equal(images.read(data).pixels, samples)


def test_eight_bits_of_a_narrow_range_are_full_scale_and_that_is_reported(weights):
    picture = images.read(tiff(twelve_bits()), sample_range=SampleRange.parse("0:4095"))
    assert images.losses(picture, "jpeg")[-1] == "its samples from 0 to 4095 became 0 to 255"
    assert np.asarray(opened(images.encode(picture, file_format="jpeg"))).max() > 150


@pytest.mark.parametrize("asked", ["auto", "0:100"])
def test_a_range_that_does_nothing_is_reported(asked):
    note = "its samples have 8 bits: --range does nothing to it"
    for name in ("PNG", "TIFF"):
        picture = images.read(saved(reef(), name), sample_range=SampleRange.parse(asked))
        assert np.array_equal(picture.pixels, reef())
        assert picture.notes == (note,)
    deep = images.encode(Picture(reef(dtype=np.uint16), bits=16), file_format="avif")
    note = "AVIF says what is black and white: --range does nothing to it"
    assert images.read(deep, sample_range=SampleRange.parse(asked)).notes == (note,)


@pytest.mark.parametrize("text", ["", "auto:", "1", "5:5", "9:3", "a:b", "nan:1", "0:inf"])
def test_other_ranges_are_refused(text):
    with pytest.raises(ConfigError, match="--range is auto or MIN:MAX"):
        SampleRange.parse(text)


def floating(values):
    return saved(Image.fromarray(values.astype(np.float32)), "TIFF")


def test_floating_point_from_0_to_1_becomes_16_bits():
    values = reef(channels=1)[:, :, 0] / np.float32(255)
    picture = images.read(floating(values))
    assert np.array_equal(picture.pixels[:, :, 0], np.rint(values.astype(np.float64) * 65535).astype(np.uint16))
    assert picture.notes == ("its 32-bit floating point samples were rounded to 16 bits",)
    assert images.read(images.encode(picture)).bits == 16


def test_floating_point_beyond_that_needs_a_range():
    values = reef(channels=1)[:, :, 0].astype(np.float32) * 10 - 100
    with pytest.raises(ImageError, match=r"samples of type float32 between .* --range auto or --range"):
        images.read(floating(values))
    picture = images.read(floating(values), sample_range=SampleRange.parse("auto"))
    assert (picture.pixels.min(), picture.pixels.max()) == (0, 65535)
    assert "became 0 to 65535" in picture.notes[-1]
    values[3, 3] = np.nan
    with pytest.raises(ImageError, match="no numbers"):
        images.read(floating(values))


def test_on_the_command_line(tmp_path, monkeypatch, capsys, weights):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.tif").write_bytes(tiff(twelve_bits()))
    assert enhance("a.tif", "--weights", weights) == exit_codes.FAILED
    assert "--range 0:4095" in capsys.readouterr().err
    assert enhance("a.tif", "--weights", weights, "--range", "0:4095", "--report", "r.jsonl") == 0
    assert json.loads((tmp_path / "r.jsonl").read_text())["notes"] == []
    result = images.read(tmp_path / "a_enhanced.tif", sample_range=SampleRange(0, 65535))
    assert result.pixels.max() <= 4095
    with pytest.raises(SystemExit):
        enhance("a.tif", "--range", "wide")
    assert "auto or MIN:MAX" in capsys.readouterr().err


def test_a_picture_in_memory_is_taken_at_its_word():
    assert Picture(twelve_bits(), bits=16).scale is None
