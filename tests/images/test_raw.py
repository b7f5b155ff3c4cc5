"""Camera raw files: one message everywhere without the extra, developed to 16 bits with it."""

import struct
import sys

import numpy as np
import pytest

from helpers.command import enhance
from helpers.pictures import opened, reef, saved
from pic_uie import images
from pic_uie.cli import exit_codes
from pic_uie.errors import ImageError
from pic_uie.images import raw


@pytest.fixture
def dng(root, monkeypatch):
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    import fuzz_corpus

    return fuzz_corpus.dng


def mosaic(picture):
    """The samples that a sensor with an RGGB pattern sees of a linear picture."""
    height, width = picture.shape[:2]
    which = np.array([[0, 1], [1, 2]])[np.arange(height)[:, None] % 2, np.arange(width)[None] % 2]
    return np.take_along_axis(picture, which[..., None], axis=2)[..., 0]


RAW_HEADS = {
    "Canon CR2": b"II*\0\x10\0\0\0CR\x02\0" + bytes(60),
    "Canon CR3": b"\0\0\0\x18ftypcrx \0\0\0\1crx isom" + bytes(60),
    "Fujifilm RAF": b"FUJIFILMCCD-RAW 0201" + bytes(60),
    "Olympus ORF": b"IIRO\x08\0\0\0" + bytes(60),
    "Panasonic RW2": b"IIU\0\x08\0\0\0" + bytes(60),
    "Phase One IIQ": b"II*\0\x08\0\0\0IIIIwaR" + bytes(60),
    "Sigma X3F": b"FOVb" + bytes(60),
}


def in_tiff(make, photometric=32803, compression=1, below=False):
    """A TIFF with a sensor's data in its first directory, or in one below a preview."""
    sensor = struct.pack("<HHHIHHHHIHHI", 2, 259, 3, 1, compression, 0, 262, 3, 1, photometric, 0, 0)
    if not below:
        rows = struct.pack("<HHIHH", 259, 3, 1, compression, 0) + struct.pack("<HHIHH", 262, 3, 1, photometric, 0)
        rows += struct.pack("<HHII", 271, 2, len(make), 8 + 2 + 36 + 4)
        return b"II*\0\x08\0\0\0" + struct.pack("<H", 3) + rows + bytes(4) + make + bytes(60)
    rows = struct.pack("<HHII", 254, 4, 1, 1) + struct.pack("<HHII", 271, 2, len(make), 8 + 2 + 36 + 4)
    rows += struct.pack("<HHII", 330, 4, 1, 8 + 2 + 36 + 4 + len(make))
    return b"II*\0\x08\0\0\0" + struct.pack("<H", 3) + rows + bytes(4) + make + sensor + bytes(60)


IN_TIFF = {
    "Nikon NEF": in_tiff(b"NIKON CORPORATION\0", compression=34713, below=True),
    "Pentax PEF": in_tiff(b"PENTAX Corporation\0", compression=65535),
    "Sony ARW": in_tiff(b"SONY\0\0", below=True),
    "Samsung SRW": in_tiff(b"SAMSUNG\0", compression=32770),
    "Hasselblad 3FR": in_tiff(b"Hasselblad\0\0", below=True),
}


@pytest.mark.parametrize("name", [*RAW_HEADS, *IN_TIFF])
def test_every_kind_is_known_by_its_content(name):
    assert raw.kind_of((RAW_HEADS | IN_TIFF)[name]) == name


def test_pictures_are_no_raw_files(root):
    for name in ("TIFF", "JPEG", "PNG"):
        assert raw.kind_of(saved(reef(), name)) is None


@pytest.mark.parametrize("name", [*RAW_HEADS, *IN_TIFF])
def test_without_the_extra_one_message_for_all(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "rawpy", None)
    with pytest.raises(ImageError) as caught:
        images.read((RAW_HEADS | IN_TIFF)[name])
    assert str(caught.value) == (
        f"a camera raw file ({name}): pip install 'pic-uie[raw]' to develop it, or develop it to TIFF or JPEG first"
    )


def test_the_same_for_a_file_and_in_a_folder(tmp_path, monkeypatch, capsys, dng):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "rawpy", None)
    (tmp_path / "dive").mkdir()
    contents = {
        "a.cr2": RAW_HEADS["Canon CR2"],
        "b.GPR": dng(mosaic(reef(dtype=np.uint16))),
        "c.iiq": RAW_HEADS["Phase One IIQ"],
    }
    for name, content in contents.items():
        (tmp_path / "dive" / name).write_bytes(content)
    assert enhance("dive", "-o", "out") == exit_codes.FAILED
    in_folder = capsys.readouterr().err
    assert in_folder.count("pip install 'pic-uie[raw]'") == 3
    assert enhance("dive/c.iiq") == exit_codes.FAILED
    assert "c.iiq: a camera raw file (Phase One IIQ)" in capsys.readouterr().err
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())


def test_a_raw_file_is_developed_to_16_bits_with_its_place(dng):
    pytest.importorskip("rawpy")
    linear = (reef(96, 128) / 255.0) ** 2.2
    picture = images.read(dng(np.rint(mosaic(linear) * 4095).astype(np.uint16)))
    assert picture.format == "raw"
    assert picture.pixels.dtype == np.uint16
    assert abs(picture.height - 96) <= 8
    assert np.unique(picture.pixels).size > 1500  # more than 8 bits carry
    assert any("developed from DNG to 16 bits in sRGB, white balance as shot" in note for note in picture.notes)
    result = images.encode(picture, software="pic-uie")
    seen = opened(result)
    assert seen.format == "TIFF"
    assert seen.getexif()[0x010F] == "Reef"
    assert seen.getexif().get_ifd(0x8825)[1] == "N"
    assert images.read(result).bits == 16
    assert raw.kind_of(result) is None  # the tags that make a DNG stay behind


def test_a_broken_raw_file_is_refused():
    pytest.importorskip("rawpy")
    for data in (RAW_HEADS | IN_TIFF).values():
        with pytest.raises(ImageError, match=r"camera raw file|damaged raw file|a picture without pixels"):
            images.read(data)


def test_on_the_command_line_the_result_is_a_tiff(tmp_path, monkeypatch, dng):
    pytest.importorskip("rawpy")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "G001.GPR").write_bytes(dng(mosaic(reef(96, 128, dtype=np.uint16)) >> 4))
    assert enhance("G001.GPR") == 0
    assert images.read(tmp_path / "G001_enhanced.tif").format == "tiff"
