"""docs/files.md says what is true: its table is up to date, and each claim in it holds for a real file."""

import numpy as np
import pytest

from helpers.pictures import P3_PRIMARIES, XMP, camera_exif, reef
from pic_uie import images
from pic_uie.images import Colour, Text, exif, formats
from pic_uie.images.description import CodePoints
from pic_uie.images.profiles import matrix_profile

RECORDS = b"8BIM\x04\x04\0\0\0\0\0\x09\x1c\x02\x19\x00\x04fish\0"
PATH = b"8BIM\x07\xd0\0\0\0\0\0\x04path"
EVERYTHING = images.Metadata(
    exif=exif.parse(camera_exif(orientation=1)),
    xmp=XMP,
    xmp_extension=b"<x:xmpmeta><a:b/></x:xmpmeta>",
    iptc=b"Photoshop 3.0\0" + RECORDS + PATH,
    dpi=(240.0, 240.0),
    texts=(Text("Comment", "hello"), Text("Disclaimer", "none")),
    segments=((0xE6, b"GoPro\0telemetry"),),
)
FOUND = {
    "EXIF": lambda m: m.exif is not None and m.exif.gps and exif.MAKER_NOTE in m.exif.photo,
    "XMP": lambda m: m.xmp is not None and b'xmp:Rating="5"' in m.xmp,
    "extended XMP": lambda m: m.xmp_extension == EVERYTHING.xmp_extension,
    "IPTC": lambda m: m.iptc is not None and b"fish" in m.iptc,
    "Photoshop": lambda m: m.iptc is not None and b"path" in m.iptc,
    "texts": lambda m: {text.keyword for text in m.texts} == {"Comment", "Disclaimer"},
    "comments": lambda m: [text.value for text in m.texts if text.keyword == "Comment"] == ["hello"],
    "segments": lambda m: m.segments == EVERYTHING.segments,
}
WORDS = {
    "IPTC": "IPTC records",
    "Photoshop": "Photoshop resources",
    "segments": "application segments",
    "comments": "Comment",
}


@pytest.fixture
def script(root, monkeypatch):
    monkeypatch.syspath_prepend(str(root / "docs"))
    import write_files

    return write_files


def test_the_table_is_up_to_date(script):
    document = script.DOCUMENT.read_text(encoding="utf-8")
    assert document == script.with_table(document), "run: python docs/write_files.py --write"


@pytest.mark.parametrize("name", formats.FORMATS)
@pytest.mark.parametrize("what", FOUND)
def test_what_a_format_keeps_and_what_it_reports(name, what):
    kind = formats.FORMATS[name]
    picture = images.Picture(reef(), metadata=EVERYTHING)
    kept = bool(FOUND[what](images.read(images.encode(picture, file_format=name)).metadata))
    claimed = what in kind.keeps or (what == "comments" and "texts" in kind.keeps)
    assert kept == claimed
    word = WORDS.get(what, f"its {what}")
    reported = any(word in words for words in images.losses(picture, name))
    assert reported != claimed


@pytest.mark.parametrize("name", formats.FORMATS)
def test_depth_transparency_and_profile_are_as_claimed(name):
    kind = formats.FORMATS[name]
    profile = matrix_profile("P3", P3_PRIMARIES, 2.2)
    pixels = reef(channels=4, dtype=np.uint16)
    picture = images.Picture(pixels, bits=16, colour=Colour("rgb", profile, converted=True))
    again = images.read(images.encode(picture, file_format=name))
    assert again.has_alpha == kind.alpha
    assert (again.bits == 16) == (kind.depth > 8)
    assert (again.colour.profile == profile) == kind.profile
    words = " ".join(images.losses(picture, name))
    assert ("transparency" in words) == (not kind.alpha)
    assert ("16 bits" in words) == (kind.depth < 16)
    assert ("colour profile" in words) == (not kind.profile)


@pytest.mark.parametrize("name", formats.FORMATS)
def test_code_points_are_kept_or_become_a_profile(name):
    kind = formats.FORMATS[name]
    source = images.encode(
        images.Picture(reef(), colour=Colour("rgb", description=CodePoints(1, 13))), file_format="png"
    )
    picture = images.read(source)
    again = images.read(images.encode(picture, file_format=name))
    assert (again.colour.description == CodePoints(1, 13)) == (CodePoints in kind.describes)


def test_every_format_that_is_only_read_names_one_that_is_written():
    for kind in formats.READABLE.values():
        assert formats.result_of(kind).name in formats.FORMATS
        assert all(formats.by_suffix(f"x{suffix}") is kind for suffix in kind.suffixes)
