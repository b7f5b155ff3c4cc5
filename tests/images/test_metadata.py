"""EXIF, GPS, XMP, ICC and resolution survive; --strip-metadata removes them all."""

import json
import shutil
import subprocess

import numpy as np
import pytest

from pic_uie import images
from pic_uie.images.profiles import matrix_profile
from pictures import XMP, camera_exif, opened, reef, saved, srgb_profile

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


def test_iptc_survives_for_jpeg():
    record = b"\x1c\x02\x78\x00\x05coral"
    resource = b"8BIM\x04\x04\x00\x00" + len(record).to_bytes(4, "big") + record
    segment = b"Photoshop 3.0\0" + resource + b"\0" * (len(resource) % 2)
    plain = saved(reef(), "JPEG")
    tagged = plain[:2] + b"\xff\xed" + (len(segment) + 2).to_bytes(2, "big") + segment + plain[2:]
    assert b"coral" in images.encode(images.read(tagged))


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
