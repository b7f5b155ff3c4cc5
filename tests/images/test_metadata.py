"""EXIF, GPS, XMP, ICC and resolution survive; --strip-metadata removes them all."""

import hashlib
import json
import shutil
import struct
import subprocess
import zlib

import numpy as np
import pytest
from PIL import IptcImagePlugin

from helpers.pictures import XMP, camera_exif, opened, reef, saved, srgb_profile
from pic_uie import images
from pic_uie.errors import ImageError
from pic_uie.images import exif, exif_write, ifd, tiff
from pic_uie.images.profiles import matrix_profile

KEEPERS = ("jpeg", "png", "tiff", "webp")
SOFTWARE = "pic-uie 1.2.3 (weights 89abcdef)"
PROFILE = matrix_profile("wide", ((0.64, 0.33), (0.21, 0.71), (0.15, 0.06)), 2.2)


def source(name, profile=PROFILE):
    """A file as a camera and a raw developer leave it."""
    options = {"icc_profile": profile, "exif": b"Exif\0\0" + camera_exif(), "dpi": (240, 240)}
    if name == "tiff":
        del options["exif"]
        first = saved(reef(), "JPEG", exif=b"Exif\0\0" + camera_exif(), dpi=(240, 240))
        picture = images.read(first)  # Pillow does not write EXIF directories into TIFF faithfully
        written = images.encode(
            images.Picture(reef(64, 48), metadata=picture.metadata), file_format="tiff", software="Firmware 1.0"
        )
        image = opened(written)
        assert image.getexif().get_ifd(0x8769)[0x920A] == 35
        return written
    if name != "webp":
        options["xmp" if name == "jpeg" else "pnginfo"] = XMP if name == "jpeg" else _png_xmp()
    else:
        options["xmp"] = XMP
    return saved(reef(), name.upper(), **options)


def _png_xmp():
    from PIL.PngImagePlugin import PngInfo

    info = PngInfo()
    info.add_itxt("XML:com.adobe.xmp", XMP.decode())
    return info


@pytest.mark.parametrize("name", KEEPERS)
@pytest.mark.parametrize("target", KEEPERS)
def test_exif_and_resolution_survive_between_all_formats(name, target):
    result = opened(images.encode(images.read(source(name)), file_format=target, software=SOFTWARE))
    seen = result.getexif()
    photo, gps = seen.get_ifd(0x8769), seen.get_ifd(0x8825)
    assert (seen[0x010F], seen[0x0110], seen[0x8298]) == ("Nauticam", "Deep 5", "(c) A. Diver")
    assert seen[0x0132] == "2024:07:01 10:20:30"
    assert (photo[0x920A], photo[0xA434], photo[0x9003]) == (35, "35mm F2", "2024:07:01 10:20:30")
    assert float(photo[0x829A]) == 1 / 250
    assert (gps[1], gps[2], gps[3], gps[4]) == ("N", (12, 34, 56.78), "E", (98, 7, 6.54))
    assert photo[0x927C] == b"MAKER\0\x01\x02\x03" * 11
    assert seen[0x0131] == SOFTWARE
    assert seen.get(0x0112, 1) == 1
    assert (float(seen[0x011A]), float(seen[0x011B])) == pytest.approx((240, 240), abs=0.1)
    if target != "webp":  # which has no place for it but EXIF
        assert result.info["dpi"] == pytest.approx((240, 240), abs=0.5)


@pytest.mark.parametrize("name", ["jpeg", "png", "webp"])
@pytest.mark.parametrize("target", KEEPERS)
def test_xmp_and_profile_survive_between_all_formats(name, target):
    picture = images.read(source(name))
    data = images.encode(picture, file_format=target, software=SOFTWARE)
    assert b'xmp:Rating="5"' in data  # in plain view, as tools that scan for it need
    assert b'tiff:Orientation="1"' in data
    assert opened(data).info["icc_profile"] == PROFILE
    assert images.read(data).colour.profile == PROFILE


def resource(number, data, name=b""):
    """An image resource of Photoshop's."""
    pascal = bytes([len(name)]) + name
    pascal += b"\0" * (len(pascal) % 2)
    return b"8BIM" + struct.pack(">H", number) + pascal + struct.pack(">I", len(data)) + data + b"\0" * (len(data) % 2)


def jpeg_with(*segments):
    plain = saved(reef(), "JPEG")
    return plain[:2] + b"".join(struct.pack(">HH", m, len(p) + 2) + p for m, p in segments) + plain[2:]


RECORDS = b"\x1c\x02\x19\x00\x04fish\x1c\x02\x78\x00\x05coral"
CAPTIONED = {
    "jpeg": jpeg_with((0xFFED, b"Photoshop 3.0\0" + resource(0x0404, RECORDS))),
    "second resource": jpeg_with(
        (0xFFED, b"Photoshop 3.0\0" + resource(0x0425, b"x" * 15, b"name") + resource(1028, RECORDS))
    ),
    "two segments": jpeg_with(
        (0xFFED, b"Photoshop 3.0\0" + resource(0x0404, RECORDS)[:9]),
        (0xFFED, b"Photoshop 3.0\0" + resource(0x0404, RECORDS)[9:]),
    ),
    "tiff": saved(reef(), "TIFF", tiffinfo={33723: RECORDS}),
}


@pytest.mark.parametrize("source", CAPTIONED)
@pytest.mark.parametrize("target", ["jpeg", "tiff"])
def test_iptc_survives_between_jpeg_and_tiff(source, target):
    data = images.encode(images.read(CAPTIONED[source]), file_format=target, software=SOFTWARE)
    assert IptcImagePlugin.getiptcinfo(opened(data)) == {(2, 25): b"fish", (2, 120): b"coral"}
    again = images.encode(images.read(data), file_format="jpeg")
    assert IptcImagePlugin.getiptcinfo(opened(again)) == {(2, 25): b"fish", (2, 120): b"coral"}
    assert b"coral" not in images.encode(images.read(data), file_format=target, keep_metadata=False)


def test_large_iptc_is_spread_over_segments_and_thumbnails_of_photoshop_are_dropped():
    long = b"\x1c\x02\x78\x80\x04\x00\x01\x86\xa0" + b"c" * 100_000
    block = b"Photoshop 3.0\0" + resource(0x040C, b"old thumbnail") + resource(0x0404, long)
    picture = images.Picture(reef(), metadata=images.Metadata(iptc=block))
    data = images.encode(picture, file_format="jpeg")
    assert opened(data).info["photoshop"]
    assert images.read(data).metadata.iptc == b"Photoshop 3.0\0" + resource(0x0404, long)


def test_damaged_iptc_is_no_reason_to_fail():
    for cut in range(0, 60, 7):
        block = (b"Photoshop 3.0\0" + resource(0x0404, RECORDS, b"name"))[: 14 + cut]
        picture = images.Picture(reef(), metadata=images.Metadata(iptc=block))
        for target in ("jpeg", "tiff"):
            assert opened(images.encode(picture, file_format=target)).size == (64, 48)


def behind_the_pixels(data, *chunks):
    """Moves chunks of a PNG to where the format allows them too: between the last IDAT and IEND."""
    end = data.index(b"IEND") - 4
    written = b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in chunks
    )
    return data[:end] + written + data[end:]


@pytest.mark.parametrize("compressed", [False, True])
def test_exif_and_xmp_behind_the_pixels_of_a_png_are_found(compressed):
    text = b"\1\0\0\0" + zlib.compress(XMP) if compressed else b"\0\0\0\0" + XMP
    chunks = ((b"eXIf", camera_exif()), (b"iTXt", b"XML:com.adobe.xmp\0" + text))
    picture = images.read(behind_the_pixels(saved(reef(), "PNG"), *chunks))
    assert picture.pixels.shape == (64, 48, 3)  # orientation 6 was applied
    result = images.encode(picture)
    assert opened(result).getexif()[0x010F] == "Nauticam"
    assert b'tiff:Orientation="1"' in result


@pytest.mark.parametrize("text", [b"", b"\0", b"\0\0\0", b"\1\0\0\0no zlib"])
def test_a_broken_text_behind_the_pixels_is_no_xmp(text):
    data = behind_the_pixels(saved(reef(), "PNG"), (b"iTXt", b"XML:com.adobe.xmp\0" + text))
    assert images.read(data).metadata.xmp is None


def test_a_maker_note_far_inside_a_tiff_does_not_swell_other_formats():
    first = images.read(saved(reef(), "JPEG", exif=b"Exif\0\0" + camera_exif()))
    big = images.Picture(np.random.default_rng(0).integers(0, 256, (800, 800, 3), np.uint8), metadata=first.metadata)
    picture = images.read(images.encode(big, file_format="tiff"))  # its EXIF lies behind 2 MB of pixels
    assert len(exif_write.serialise(picture.metadata.exif)) < 2000
    assert opened(images.encode(picture, file_format="png")).getexif().get_ifd(0x8769)[0x927C] == b"MAKER\0\1\2\3" * 11


def extended_xmp():
    """A packet that continues in two more segments."""
    rest = b"<x:xmpmeta>" + b"h" * 70_000 + b"</x:xmpmeta>"
    guid = hashlib.md5(rest).hexdigest().upper().encode()  # noqa: S324 (the format asks for it)
    head = b"http://ns.adobe.com/xmp/extension/\0" + guid + struct.pack(">I", len(rest))
    parts = [head + struct.pack(">I", at) + rest[at : at + 65_000] for at in range(0, len(rest), 65_000)]
    return [b"http://ns.adobe.com/xap/1.0/\0" + XMP, *parts]


def test_extended_xmp_stays_in_a_jpeg():
    segments = extended_xmp()
    picture = images.read(jpeg_with(*((0xFFE1, segment) for segment in segments)))
    data = images.encode(picture)
    assert images.read(data).metadata.xmp_extension == picture.metadata.xmp_extension
    assert len(picture.metadata.xmp_extension) == sum(len(segment) - 75 for segment in segments[1:])
    assert hashlib.md5(picture.metadata.xmp_extension).hexdigest().upper().encode() in data  # noqa: S324
    assert b"xmp/extension" not in images.encode(picture, keep_metadata=False)
    assert images.losses(picture) == ()
    assert images.losses(picture, "png") == ("PNG has no place for its extended XMP",)


def test_xmp_beyond_a_jpeg_segment_goes_on_in_extended_xmp():
    long = XMP.replace(b'xmp:Rating="5"', b'xmp:Rating="5" xmp:Label="' + b"L" * 70_000 + b'"')
    picture = images.Picture(reef(), metadata=images.Metadata(xmp=long))
    assert images.read(images.encode(picture, file_format="png")).metadata.xmp
    again = images.read(images.encode(picture, file_format="jpeg")).metadata
    assert again.xmp_extension.replace(b"\n", b"") == long.replace(b'Orientation="6"', b'Orientation="1"')
    assert hashlib.md5(again.xmp_extension).hexdigest().upper().encode() in again.xmp  # noqa: S324


def test_padding_of_an_xmp_packet_gives_way():
    padded = XMP + b" " * 70_000 + b'<?xpacket end="w"?>'
    data = images.encode(images.Picture(reef(), metadata=images.Metadata(xmp=padded)), file_format="jpeg")
    assert images.read(data).metadata.xmp.endswith(b'\n<?xpacket end="w"?>')


CLIPPING_PATH = resource(0x07D0, b"a path around a fish")


@pytest.mark.parametrize("source", ["jpeg", "tiff"])
@pytest.mark.parametrize("target", ["jpeg", "tiff"])
def test_resources_of_photoshop_survive_between_jpeg_and_tiff(source, target):
    stale = resource(0x0422, b"EXIF of the picture as it was") + resource(0x0409, b"old thumbnail")
    resources = resource(0x0404, RECORDS) + stale + CLIPPING_PATH
    found = {
        "jpeg": jpeg_with((0xFFED, b"Photoshop 3.0\0" + resources)),
        "tiff": saved(reef(), "TIFF", tiffinfo={34377: resources}),
    }[source]
    data = images.encode(images.read(found), file_format=target, software=SOFTWARE)
    assert CLIPPING_PATH in data
    assert IptcImagePlugin.getiptcinfo(opened(data)) == {(2, 25): b"fish", (2, 120): b"coral"}
    assert b"as it was" not in data
    assert b"old thumbnail" not in data
    assert images.losses(images.read(found), target) == ()
    assert images.losses(images.read(found), "png") == (())
    assert images.losses(images.read(found), "webp") == (
        "WebP has no place for its IPTC records",
        "WebP has no place for its Photoshop resources",
    )


def test_records_and_resources_of_a_tiff_that_lie_apart_are_joined():
    picture = images.read(saved(reef(), "TIFF", tiffinfo={33723: RECORDS, 34377: CLIPPING_PATH}))
    data = images.encode(picture, file_format="jpeg")
    assert IptcImagePlugin.getiptcinfo(opened(data)) == {(2, 25): b"fish", (2, 120): b"coral"}
    assert CLIPPING_PATH in data


def test_resources_without_records_are_not_called_records():
    picture = images.Picture(reef(), metadata=images.Metadata(iptc=b"Photoshop 3.0\0" + CLIPPING_PATH))
    assert images.losses(picture, "webp") == ("WebP has no place for its Photoshop resources",)


def test_a_maker_note_that_a_jpeg_has_no_room_for_is_reported():
    tree = exif.parse(camera_exif())
    for size, told in ((60_000, ()), (70_000, ("JPEG has no place for its maker note, which is too long",))):
        tree.photo[exif.MAKER_NOTE] = ifd.raw(b"N" * size)
        picture = images.Picture(reef(), metadata=images.Metadata(exif=tree))
        assert images.losses(picture, "jpeg") == told
        assert images.losses(picture, "png") == ()
        assert (b"N" * size in images.encode(picture, file_format="jpeg")) == (not told)


def test_bits_that_avif_rounds_away_are_reported():
    deep = images.Picture(reef(dtype=np.uint16), bits=16)
    assert images.losses(deep, "avif") == ("AVIF has no place for its 16 bits, which were rounded to 12",)
    assert images.losses(deep, "png") == ()


def test_losses_are_named():
    everything = images.Picture(
        reef(channels=4, dtype=np.uint16), bits=16, metadata=images.Metadata(xmp=XMP, iptc=RECORDS)
    )
    assert images.losses(everything, "tiff") == ()
    assert images.losses(everything, "png") == ()
    assert [words.split("its ")[1] for words in images.losses(everything, "avif")][-1] == "IPTC records"
    assert [words.split("its ")[1][:8] for words in images.losses(everything, "jpeg")] == ["transpar", "16 bits,"]
    assert [words.split("its ")[1] for words in images.losses(everything, "bmp")][-2:] == ["XMP", "IPTC records"]
    assert len(images.losses(everything, "jpeg", keep_metadata=False)) == 2


def test_a_tiff_beyond_four_gigabytes_can_be_written_without_metadata(monkeypatch):
    monkeypatch.setattr(tiff, "BIGTIFF_BYTES", 100)
    with pytest.raises(ImageError, match="beyond 4 GB; use --strip-metadata"):
        images.encode(images.Picture(reef()), file_format="tiff", software=SOFTWARE)
    data = images.encode(images.Picture(reef()), file_format="tiff", keep_metadata=False)
    assert data[2] == 43
    assert np.array_equal(images.read(data).pixels, reef())


def test_an_srgb_profile_is_kept_as_it_is():
    profile = srgb_profile()
    picture = images.read(source("jpeg", profile))
    assert not picture.colour.converted
    assert opened(images.encode(picture)).info["icc_profile"] == profile


@pytest.mark.parametrize("name", [*KEEPERS, "bmp", "avif"])
def test_strip_metadata_leaves_pixels_alone(name):
    picture = images.read(source("jpeg"))
    data = images.encode(picture, file_format=name, keep_metadata=False, software=SOFTWARE)
    result = opened(data)
    assert not dict(result.getexif()).keys() - {*range(254, 285), 296, 317, 338, 339}  # TIFF's own layout may stay
    assert "icc_profile" not in result.info
    assert b"pic-uie" not in data
    assert b"xmp" not in data.lower()
    assert not result.info.get("dpi") or result.info["dpi"] == (1, 1)
    # without a profile the pixels must be sRGB themselves
    reread = images.read(data)
    tolerance = 2500 if name in ("jpeg", "avif", "webp") else 200
    assert np.abs(reread.pixels.astype(int) * 257 - picture.pixels).mean() < tolerance


@pytest.mark.parametrize("name", ["JPEG", "PNG", "TIFF", "BMP"])
def test_unknown_resolution_stays_unknown(name):
    picture = images.read(saved(reef(), "PNG"))
    assert picture.metadata.dpi is None
    again = images.read(images.encode(picture, file_format=name.lower(), software=SOFTWARE))
    assert again.metadata.dpi is None


@pytest.mark.parametrize("name", KEEPERS)
def test_software_tag_is_added_where_there_was_no_exif(name):
    data = images.encode(images.Picture(reef()), file_format=name, software=SOFTWARE)
    assert opened(data).getexif()[0x0131] == SOFTWARE


@pytest.mark.skipif(
    shutil.which("exiftool") is None, reason="exiftool is not installed (Debian: libimage-exiftool-perl)"
)
@pytest.mark.parametrize("target", [*KEEPERS, "avif"])
def test_photogrammetry_tools_still_read_camera_and_place(tmp_path, target):
    path = tmp_path / f"result.{target}"
    images.write(images.read(source("jpeg")), path, software=SOFTWARE)
    run = subprocess.run(["exiftool", "-j", "-n", "-a", str(path)], capture_output=True, check=True)
    (seen,) = json.loads(run.stdout)
    assert seen["FocalLength"] == 35
    assert seen["GPSLatitude"] == pytest.approx(12 + 34 / 60 + 56.78 / 3600)
    assert seen["GPSLongitude"] == pytest.approx(98 + 7 / 60 + 6.54 / 3600)
    assert (seen["Make"], seen["Model"], seen["LensModel"]) == ("Nauticam", "Deep 5", "35mm F2")
    assert seen["DateTimeOriginal"] == "2024:07:01 10:20:30"
    assert seen["Software"] == SOFTWARE
    assert seen.get("Orientation", 1) == 1
    assert (seen["ImageWidth"], seen["ImageHeight"]) == (48, 64)
    assert "ThumbnailImage" not in seen
    assert "Error" not in seen
