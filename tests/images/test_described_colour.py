"""Colour that is not in an ICC profile: cICP, nclx, gAMA and cHRM; profiles that convert in one direction only."""

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image, ImageCms

from helpers.pictures import P3_PRIMARIES, enhanced, opened, reef, saved
from pic_uie import images
from pic_uie.errors import ImageError
from pic_uie.images import boxes, colour, heif_write
from pic_uie.images.description import CodePoints, Gamma
from pic_uie.images.profiles import matrix_profile


def png_with(pixels, *chunks):
    data = saved(pixels, "PNG")
    body = b"".join(struct.pack(">I", len(c)) + n + c + struct.pack(">I", zlib.crc32(n + c)) for n, c in chunks)
    return data[:33] + body + data[33:]


def chrm(primaries, white=(0.3127, 0.3290)):
    points = [white, *primaries]
    return b"cHRM", struct.pack(">8I", *(round(value * 100_000) for point in points for value in point))


def srgb_curve(linear):
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * np.clip(linear, 0, 1) ** (1 / 2.4) - 0.055)


def shown(data):
    """What a colour-managed viewer shows of a file with an ICC profile: Little CMS through Pillow."""
    image = opened(data)
    profile = ImageCms.ImageCmsProfile(io.BytesIO(image.info["icc_profile"]))
    intent = ImageCms.Intent.RELATIVE_COLORIMETRIC
    rgb = image if image.mode in ("RGB", "L") else image.convert("RGB")
    target = ImageCms.createProfile("sRGB")
    return np.asarray(ImageCms.profileToProfile(rgb, profile, target, intent, outputMode="RGB")).astype(float)


def chunk_names(data):
    names, at = [], 8
    while at < len(data):
        names.append(data[at + 4 : at + 8])
        at += 12 + int.from_bytes(data[at : at + 4], "big")
    return names


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("gamma", [0.40, 1.0, 0.35])
def test_gamma_of_a_png_is_undone_for_the_model_and_kept_in_the_file(enhancer, gamma, channels):
    pixels = reef(channels=channels)
    data = png_with(pixels, (b"gAMA", struct.pack(">I", round(gamma * 100_000))))
    picture = images.read(data)
    colours = 1 if channels == 1 else 3
    expected = srgb_curve((pixels[..., :colours] / 255.0) ** (1 / gamma))
    assert np.abs(picture.pixels[..., :colours] / 65535 - expected).max() < 0.006
    nothing = images.encode(enhanced(images.read(data), enhancer, 0.0))
    assert np.array_equal(np.asarray(opened(nothing)), np.squeeze(pixels))
    assert opened(nothing).info["gamma"] == pytest.approx(gamma)
    elsewhere = images.encode(enhanced(images.read(data), enhancer, 0.0), file_format="tiff")
    if channels == 3:
        assert np.abs(shown(elsewhere) - 255 * expected).max() < 2.5  # a profile that says the same


def test_chromaticities_of_a_png_mean_what_a_profile_of_them_means():
    pixels = reef()
    said = png_with(pixels, (b"gAMA", struct.pack(">I", 45_455)), chrm(P3_PRIMARIES))
    by_profile = images.read(saved(pixels, "PNG", icc_profile=matrix_profile("P3", P3_PRIMARIES, 2.2)))
    assert np.abs(images.read(said).pixels.astype(int) - by_profile.pixels).max() <= 130
    assert {b"gAMA", b"cHRM"} <= set(chunk_names(images.encode(images.read(said))))


@pytest.mark.parametrize(("transfer", "name"), [(16, "PQ"), (18, "HLG")])
def test_hdr_is_refused_with_a_reason(transfer, name):
    for data in (png_with(reef(), (b"cICP", bytes((9, transfer, 0, 1)))), avif_with(9, transfer)):
        with pytest.raises(ImageError, match=rf"an HDR picture \({name}\): .*export it as SDR"):
            images.read(data)


def test_codes_without_a_meaning_are_refused_and_not_guessed():
    with pytest.raises(ImageError, match=r"not understood \(H.273 primaries 77, transfer 13\)"):
        images.read(png_with(reef(), (b"cICP", bytes((77, 13, 0, 1)))))


@pytest.mark.parametrize("primaries", [1, 9, 12])
@pytest.mark.parametrize("transfer", [1, 4, 8, 13])
@pytest.mark.parametrize("make", ["png", "avif"])
def test_code_points_are_converted_and_written_again(enhancer, make, primaries, transfer):
    pixels = reef()
    if make == "png":
        data = png_with(pixels, (b"cICP", bytes((primaries, transfer, 0, 1))))
    else:
        data = avif_with(primaries, transfer)
    picture = images.read(data)
    assert picture.colour.converted == ((primaries, transfer) != (1, 13))
    result = images.encode(enhanced(images.read(data), enhancer, 0.0))
    again = images.read(result)
    assert again.colour.description == CodePoints(primaries, transfer)
    tolerance = 0 if make == "png" else 7
    assert np.abs(raw(again).astype(int) - raw(picture)).max() <= tolerance * (257 if again.bits == 16 else 1)
    jpeg = images.encode(enhanced(images.read(data), enhancer, 0.0), file_format="jpeg", quality=100)
    if picture.colour.converted:  # JPEG has no code points: a profile says the same
        assert np.abs(shown(jpeg) - picture.pixels / 257).mean() < 2
    else:
        assert "icc_profile" not in opened(jpeg).info


def raw(picture):
    return picture.pixels if picture.colour.own is None else picture.colour.own


def avif_with(primaries, transfer):
    data = saved(reef(), "AVIF", quality=100, subsampling="4:4:4")
    return heif_write.with_parts(data, [heif_write.code_points(primaries, transfer)], [])


def test_rec_2020_differs_from_srgb_as_it_should():
    red = np.full((8, 8, 3), (200, 60, 60), np.uint8)
    wide = images.read(png_with(red, (b"cICP", bytes((9, 13, 0, 1))))).pixels[0, 0] / 257
    assert wide[0] > 215  # the same numbers mean a more vivid red
    assert wide[1] < 60


def test_a_picture_of_one_format_keeps_its_words_in_another():
    data = png_with(reef(), (b"cICP", bytes((12, 13, 0, 1))))
    avif = images.encode(images.read(data), file_format="avif")
    properties = boxes.read_meta(avif).of(boxes.read_meta(avif).primary)
    (found,) = [avif[box.content : box.end] for box in properties if box.name == b"colr"]
    assert found[:8] == b"nclx\0\x0c\0\x0d"


@pytest.mark.parametrize(
    ("chunks", "meaning"),
    [
        ([(b"cICP", b"\x0c\x0d\0\1"), (b"sRGB", b"\0")], CodePoints(12, 13)),
        ([(b"sRGB", b"\0"), (b"gAMA", struct.pack(">I", 100_000))], Gamma(is_srgb=True)),
        ([(b"cICP", b"\x0c\x0d\x09\0"), (b"sRGB", b"\0")], Gamma(is_srgb=True)),  # YCbCr in a PNG makes no sense
    ],
)
def test_the_chunk_of_the_highest_rank_counts(chunks, meaning):
    picture = images.read(png_with(reef(), *chunks))
    assert picture.colour.description == meaning
    assert set(chunk_names(images.encode(picture))) & {b"cICP", b"sRGB", b"gAMA"} == (
        {b"cICP"} if isinstance(meaning, CodePoints) else {b"sRGB"}
    )


@pytest.mark.parametrize("chunk", [(b"gAMA", bytes(4)), (b"gAMA", b"\0"), (b"cHRM", bytes(32)), chrm([(0.3, 0.3)] * 3)])
def test_descriptions_that_make_no_sense_are_ignored(chunk):
    picture = images.read(png_with(reef(), chunk))
    assert np.array_equal(colour.flattened(picture.pixels), reef())
    (note,) = picture.notes
    assert note.endswith("makes no sense and was ignored")


def test_a_png_of_narrow_range_is_refused_and_not_guessed():
    with pytest.raises(ImageError, match=r"a PNG of narrow range .*: convert it to full range first"):
        images.read(png_with(reef(), (b"cICP", b"\x01\x0d\0\0"), (b"sRGB", b"\0")))


def one_way_profile():
    """A profile as JPEG XL writes it for XYB: a table to Lab that permutes the channels, none that undoes it."""
    corners = np.stack(np.meshgrid([0, 1], [0, 1], [0, 1], indexing="ij"), axis=-1).reshape(-1, 3)
    permuted = np.rint(corners[:, [1, 2, 0]] * 255).astype(np.uint8)[None]
    lab = ImageCms.profileToProfile(
        Image.fromarray(permuted), ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB"), outputMode="LAB"
    )
    stored = np.asarray(lab).astype(np.int64).reshape(-1, 3)
    signed = np.where(stored[:, 1:] > 127, stored[:, 1:] - 256, stored[:, 1:])
    table = np.concatenate([stored[:, :1] * 256, (signed + 128) * 256], axis=1).clip(0, 65535)

    def lut(values):
        identity = struct.pack(">9i", *(65536 * (i % 4 == 0) for i in range(9)))
        ramp = struct.pack(">6H", 0, 65535, 0, 65535, 0, 65535)
        body = struct.pack(">BBBB", 3, 3, 2, 0) + identity + struct.pack(">HH", 2, 2) + ramp
        return b"mft2" + bytes(4) + body + values.astype(">u2").tobytes() + ramp

    text = b"desc" + struct.pack(">II", 0, 8) + b"one way\0" + bytes(78)
    tags = {b"desc": text, b"cprt": b"text" + bytes(4) + b"none\0\0\0\0", b"wtpt": b"XYZ " + bytes(4)}
    tags[b"wtpt"] += struct.pack(">3i", 63190, 65536, 54061)
    tags |= {b"A2B0": lut(table), b"B2A0": lut(corners * 65535)}
    places, body = b"", b""
    for name, content in tags.items():
        places += name + struct.pack(">II", 132 + 12 * len(tags) + len(body), len(content))
        body += content + bytes(-len(content) % 4)
    header = bytes(4) + struct.pack(">4sI4s4s4s", bytes(4), 0x02100000, b"scnr", b"RGB ", b"Lab ") + bytes(12) + b"acsp"
    header = header.ljust(68, b"\0") + struct.pack(">3i", 63190, 65536, 54061)
    whole = header.ljust(128, b"\0") + struct.pack(">I", len(tags)) + places + body
    return struct.pack(">I", len(whole)) + whole[4:]


@pytest.mark.parametrize("target", ["jpeg", "png"])
def test_a_profile_without_a_way_back_gives_srgb_and_a_note(enhancer, target):
    profile = one_way_profile()
    data = saved(reef(), "PNG", icc_profile=profile)
    picture = images.read(data)
    assert np.abs(picture.pixels / 257 - shown(data)).max() < 4
    assert np.abs(shown(data) - reef()).mean() > 30  # the channels really mean something else
    assert any("one direction only: the result is in sRGB" in note for note in picture.notes)
    result = images.encode(enhanced(images.read(data), enhancer, 0.0), file_format=target, quality=100)
    assert colour.is_srgb(opened(result).info["icc_profile"], "rgb")
    assert np.abs(shown(result) - shown(data)).mean() < 2


def test_profiles_with_a_way_back_are_distinguished_from_those_without():
    assert colour.has_way_back(colour.ADOBE_RGB, "rgb")
    assert colour.has_way_back(colour.default_cmyk_profile(), "cmyk")
    assert not colour.has_way_back(one_way_profile(), "rgb")
