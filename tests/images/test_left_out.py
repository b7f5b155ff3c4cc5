"""Parts that describe the source alone (gain maps, videos, depth, C2PA): taken out whole, and reported."""

import hashlib
import shutil
import struct
import subprocess
import zlib

import numpy as np
import pytest

from helpers.pictures import opened, reef, saved
from pic_uie import images
from pic_uie.images import boxes, heif_write, ifd, vips, xmp

RDF = (
    b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
    b'<rdf:Description rdf:about="" %b</rdf:RDF></x:xmpmeta>'
)
GAIN_MAP = RDF % (
    b'xmlns:Container="http://ns.google.com/photos/1.0/container/" '
    b'xmlns:Item="http://ns.google.com/photos/1.0/container/item/" '
    b'xmlns:hdrgm="http://ns.adobe.com/hdr-gain-map/1.0/" xmlns:xmp="http://ns.adobe.com/xap/1.0/" '
    b'hdrgm:Version="1.0" xmp:Rating="4"><Container:Directory><rdf:Seq><rdf:li rdf:parseType="Resource">'
    b'<Container:Item Item:Semantic="GainMap" Item:Mime="image/jpeg" Item:Length="31738"/></rdf:li></rdf:Seq>'
    b"</Container:Directory></rdf:Description>"
)
MOTION = RDF % (
    b'xmlns:GCamera="http://ns.google.com/photos/1.0/camera/" GCamera:MicroVideo="1" GCamera:MicroVideoOffset="999" '
    b'GCamera:SpecialTypeID="keep me"/>'
)


def jpeg_with(*segments, behind=b""):
    plain = saved(reef(), "JPEG", quality=95)
    head = b"".join(struct.pack(">HH", 0xFF00 | m, len(p) + 2) + p for m, p in segments)
    return plain[:2] + head + plain[2:] + behind


def packet(content):
    return 0xE1, b"http://ns.adobe.com/xap/1.0/\0" + content


def multi_picture():
    entries = b"".join(struct.pack(">IIIHH", kind, 100, 0, 0, 0) for kind in (0x030000, 0))
    table = struct.pack(">HHHII", 1, 0xB002, 7, len(entries), 8 + 2 + 12 + 4) + bytes(4)
    return 0xE2, b"MPF\0MM\0*\0\0\0\x08" + table + entries


def test_a_gain_map_goes_with_all_that_points_to_it():
    second = saved(reef(12, 16), "JPEG").replace(b"\xff\xe0", b"\xff\xe1\0\x12hdrgm:Version=1\xff\xe0", 1)
    iso = (0xE2, b"urn:iso:std:iso:ts:21496:-1\0\0\0\0\0")
    data = jpeg_with(packet(GAIN_MAP), multi_picture(), iso, behind=second)
    picture = images.read(data)
    assert picture.notes == ("left out: its gain map",)
    result = images.encode(picture)
    for word in (b"hdrgm", b"Container", b"GainMap", b"MPF\0", b"21496"):
        assert word in data
        assert word not in result
    assert b'xmp:Rating="4"' in result
    assert len(result) < len(data)


def test_previews_behind_the_picture_are_named():
    picture = images.read(jpeg_with(multi_picture(), behind=saved(reef(12, 16), "JPEG")))
    assert picture.notes == ("left out: its other pictures behind the picture",)
    assert b"MPF\0" not in images.encode(picture)


def test_a_video_goes_with_its_pointers():
    film = struct.pack(">I", 24) + b"ftypmp42" + bytes(12) + struct.pack(">I", 99) + b"mdat" + bytes(91)
    picture = images.read(jpeg_with(packet(MOTION), behind=film))
    assert picture.notes == ("left out: its video",)
    result = images.encode(picture)
    assert b"MicroVideo" not in result
    assert b'GCamera:SpecialTypeID="keep me"' in result
    assert b"ftyp" not in result


@pytest.mark.parametrize(
    ("behind", "words"), [(b"", None), (bytes(500), None), (b"SEFH" + bytes(9) + b"x", "14 bytes")]
)
def test_other_bytes_behind_the_picture(behind, words):
    notes = images.read(jpeg_with(behind=behind)).notes
    assert notes == (() if words is None else (f"left out: its {words} behind the picture",))


def test_c2pa_goes_and_is_reported_in_every_format():
    manifest = b"JP\0\1\0\0\0\1\0\0\0\x20jumb\0\0\0\x18jumdc2pa" + bytes(40)
    remote = packet(RDF % b'xmlns:dcterms="http://purl.org/dc/terms/" dcterms:provenance="https://example.org/m"/>')
    png = saved(reef(), "PNG")
    chunk = struct.pack(">I", 4) + b"caBX" + b"jumb" + struct.pack(">I", zlib.crc32(b"caBXjumb"))
    avif = saved(reef(), "AVIF")
    uuid = bytes.fromhex("d8fec3d61b0e483c92975828877ec481")
    webp = saved(reef(), "WEBP", exif=b"Exif\0\0II*\0\x08\0\0\0\0\0\0\0\0\0")
    for data in (
        jpeg_with((0xEB, manifest)),
        jpeg_with(remote),
        png[:33] + chunk + png[33:],
        saved(reef(), "TIFF", tiffinfo={52545: b"jumb"}),
        avif + heif_write.box(b"uuid", uuid + bytes(20)),
        webp + b"C2PA\x04\0\0\0jumb",
    ):
        picture = images.read(data)
        assert picture.notes == ("left out: its C2PA manifest",), data[:12]
        result = images.encode(picture)
        assert b"jumb" not in result
        assert b"provenance" not in result


def extended(rest):
    guid = hashlib.md5(rest).hexdigest().upper().encode()  # noqa: S324 (the format asks for it)
    head = b"http://ns.adobe.com/xmp/extension/\0" + guid + struct.pack(">II", len(rest), 0)
    main = RDF % (b'xmlns:xmpNote="http://ns.adobe.com/xmp/note/" xmpNote:HasExtendedXMP="' + guid + b'"/>')
    return packet(main), (0xE1, head + rest)


def test_depth_in_extended_xmp_goes_with_the_pointer_to_it():
    depth = RDF % b'xmlns:GDepth="http://ns.google.com/photos/1.0/depthmap/" GDepth:Data="aGVsbG8="/>'
    picture = images.read(jpeg_with(*extended(depth)))
    assert picture.notes == ("left out: its depth map",)
    result = images.encode(picture)
    for word in (b"GDepth", b"HasExtendedXMP", b"xmp/extension"):
        assert word not in result


def test_the_rest_of_extended_xmp_stays_under_its_new_name():
    mixed = RDF % (
        b'xmlns:GDepth="http://ns.google.com/photos/1.0/depthmap/" GDepth:Data="aGVsbG8=" '
        b'xmlns:GAudio="http://ns.google.com/photos/1.0/audio/" GAudio:Data="d2F2ZXM="/>'
    )
    result = images.encode(images.read(jpeg_with(*extended(mixed))))
    again = images.read(result).metadata
    assert b"GAudio:Data" in again.xmp_extension
    assert b"GDepth" not in again.xmp_extension
    assert xmp.guid(again.xmp_extension) in again.xmp


def test_pictures_beside_that_of_a_heif_file_are_named():
    data = saved(reef(), "AVIF")
    gain_map = heif_write.box(b"auxC", bytes(4) + b"urn:com:apple:photo:2020:aux:hdrgainmap\0")
    picture = images.read(heif_write.with_parts(data, [gain_map], []))
    assert picture.notes == ("left out: its gain map",)
    meta = boxes.read_meta(images.encode(picture))
    assert not any(box.name == b"auxC" for box in meta.properties)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (b"<a b='1'", b"<a b='1'"),
        (b'<r xmlns:h="http://ns.adobe.com/hdr-gain-map/1.0/"><h:x><h:y/></h:x><k/></r>', b"<r><k/></r>"),
        (b'<r xmlns:h="http://ns.adobe.com/hdr-gain-map/1.0/" h:a="1" k="2"/>', b'<r k="2"/>'),
        (
            b'<r xmlns:h="http://ns.adobe.com/hdr-gain-map/1.0/"><!-- <h:x> --><h:x a=">"/></r>',
            b"<r><!-- <h:x> --></r>",
        ),
        (b'<r xmlns:h="http://ns.adobe.com/hdr-gain-map/1.0/"><h:x>', b"<r><h:x>"),  # cut short: as it is
    ],
)
def test_cutting_tags_and_attributes(source, expected):
    assert xmp.cleaned(source)[0] == expected


@pytest.mark.skipif(shutil.which("exiftool") is None, reason="exiftool is not installed (libimage-exiftool-perl)")
def test_exiftool_sees_no_trace_and_has_no_complaint(tmp_path):
    images.write(images.read(jpeg_with(packet(GAIN_MAP), multi_picture())), tmp_path / "a.jpg")
    seen = subprocess.run(["exiftool", "-a", "-G1", str(tmp_path / "a.jpg")], capture_output=True, check=True).stdout
    for word in (b"MPF", b"MPImage", b"hdrgm", b"Container", b"Warning", b"Error"):
        assert word not in seen
    assert b"Rating" in seen
    assert opened((tmp_path / "a.jpg").read_bytes()).size == (64, 48)


def test_the_number_of_significant_bits_of_a_png_is_reported():
    png = saved(reef(), "PNG")
    chunk = struct.pack(">I", 3) + b"sBIT" + b"\5\6\5" + struct.pack(">I", zlib.crc32(b"sBIT\5\6\5"))
    picture = images.read(png[:33] + chunk + png[33:])
    assert picture.notes == ("left out: its number of significant bits",)
    assert b"sBIT" not in images.encode(picture)


@pytest.mark.parametrize("below", [True, False])
def test_reduced_copies_in_a_tiff_are_reported(below):
    """A pyramid: its levels are pages of reduced resolution, or hang below the one page."""
    image = vips.from_array(reef(600, 800), "rgb")
    data = bytes(image.tiffsave_buffer(pyramid=True, tile=True, subifd=below))
    assert len(data) > 1.2 * 600 * 800 * 3
    picture = images.read(data)
    assert np.array_equal(picture.pixels, reef(600, 800))
    assert picture.notes == ("left out: its reduced copies",)
    assert images.read(images.encode(picture)).notes == ()


def test_other_pictures_below_the_page_of_a_tiff_are_reported():
    data = bytes(vips.from_array(reef(600, 800), "rgb").tiffsave_buffer(pyramid=True, tile=True, subifd=True))
    layout, offset = ifd.read_header(data)
    (first,) = ifd.read_directory(data, offset, layout)[0][330].numbers(layout.order)[:1]
    (count,) = struct.unpack_from("<H", data, first)
    full = bytearray(data)
    for at in range(first + 2, first + 2 + 12 * count, 12):
        if struct.unpack_from("<H", data, at)[0] == 254:
            struct.pack_into("<I", full, at + 8, 0)
    notes = images.read(bytes(full)).notes
    assert len(notes) == 1
    assert notes[0].endswith("other pictures")
