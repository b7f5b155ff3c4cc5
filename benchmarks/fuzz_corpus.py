"""The files that `fuzz.py` mutates: valid ones of every kind, and hostile ones that ask for far more than they are."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
from PIL import Image, ImageCms
from PIL.PngImagePlugin import PngInfo

from pic_uie import images
from pic_uie.images import Colour, Picture, Text
from pic_uie.images import exif as exif_tree
from pic_uie.images.profiles import grey_profile, matrix_profile

SEED = 20260
XMP = (
    b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
    b'<rdf:Description xmlns:tiff="http://ns.adobe.com/tiff/1.0/" tiff:Orientation="6" '
    b'xmlns:hdrgm="http://ns.adobe.com/hdr-gain-map/1.0/" hdrgm:Version="1.0"><tiff:ImageWidth>5</tiff:ImageWidth>'
    b"</rdf:Description></rdf:RDF></x:xmpmeta>" + b" " * 200
)


def corpus() -> list[bytes]:
    """Valid files of every format, depth and channel count, with and without metadata."""
    rng = np.random.default_rng(SEED)
    y, x = np.mgrid[0:40, 0:56] / 56
    base = np.stack([x, y, 0.5 + 0.4 * np.sin(9 * x * y), x], axis=-1)
    base = np.clip(base + rng.normal(0, 0.03, base.shape), 0, 1)
    wide = matrix_profile("wide", ((0.64, 0.33), (0.21, 0.71), (0.15, 0.06)), 2.2)
    metadata = images.Metadata(
        exif=exif_tree.parse(_exif().tobytes().removeprefix(b"Exif\0\0")),
        xmp=XMP,
        iptc=b"Photoshop 3.0\x008BIM\x04\x04\0\0\0\0\0\x09\x1c\x02\x19\0\x04fish\0",
        dpi=(300.0, 300.0),
        texts=(Text("Title", "reef"), Text("Comment", "Korallen ü 珊瑚" * 200)),
        segments=((0xE6, b"GoPro\0" + bytes(range(200))),),
    )
    files = []
    for channels in (1, 2, 3, 4):
        for bits in (8, 16):
            kind = np.uint8 if bits == 8 else np.uint16
            pixels = np.rint(base[..., [[1], [1, 3], [0, 1, 2], [0, 1, 2, 3]][channels - 1]] * np.iinfo(kind).max)
            profile = grey_profile("grey", 1.8) if channels < 3 else wide
            space = Colour("grey" if channels < 3 else "rgb", profile, converted=True)
            for name in images.FORMATS:
                plain = Picture(pixels.astype(kind), bits=bits)
                rich = Picture(pixels.astype(kind), bits=bits, metadata=metadata, colour=space)
                files += [images.encode(p, file_format=name, software="pic-uie fuzz") for p in (plain, rich)]
    return files + _by_pillow(np.rint(base * 255).astype(np.uint8)) + _dng(base)


def hostile() -> list[bytes]:
    """Small files whose metadata asks for much time or memory; each is refused or read within the bounds."""
    jpeg, png, tiff = (_saved(Image.new("RGB", (8, 8)), name) for name in ("JPEG", "PNG", "TIFF"))
    spaces = zlib.compress(b"<?xpacket " + b" " * 30_000_000, 9)
    bomb = zlib.compress(bytes(40_000_000), 9)
    counts = struct.pack("<HHII", 0x010F, 3, 8_000_000, 26)
    tables = struct.pack("<H", 300) + b"".join(struct.pack("<HHII", 0x9000 + i, 7, 900_000, 8) for i in range(300))
    chain = b"".join(
        struct.pack("<HHHII", 1, 0x010E, 2, 800_000, 8) + struct.pack("<I", 8 + 18 * (i + 1)) for i in range(4000)
    )
    texts = b"".join(_chunk(b"zTXt", b"k%d\0\0" % i + bomb) for i in range(100))
    attributes = b"<a " + b"b='c' " * 100_000 + b"tiff:Orientation" + b" " * 300_000
    return [
        _behind_header(png, _chunk(b"iTXt", b"XML:com.adobe.xmp\0\1\0\0\0" + spaces)),
        _behind_header(png, texts),
        _behind_header(png, _chunk(b"iCCP", b"p\0\0" + bomb)),
        _behind_header(png, b"".join(_chunk(b"tEXt", b"a\0b") for _ in range(50_000))),
        _behind_header(
            png, _chunk(b"zTXt", b"Raw profile type exif\0\0" + zlib.compress(b"\nexif\n 9\n" + b"4" * 10**7))
        ),
        jpeg[:2] + b"\xff" * 4_000_000 + jpeg[2:],
        jpeg[:2] + b"\xff\xe5\x00\x02" * 150_000 + jpeg[2:],
        jpeg[:2] + b"\xff\xfe\x00\x03x" * 100_000 + jpeg[2:],
        jpeg[:-2] + b"\xff\x00\xff\xd0" * 1_000_000 + b"\xff\xd9",
        jpeg + b"\0" * 2_000_000,
        _with_exif(jpeg, b"II*\0\x08\0\0\0" + struct.pack("<H", 1) + counts + bytes(4) + bytes(40_000)),
        _with_exif(jpeg, b"II*\0\x08\0\0\0" + tables + bytes(50_000)),
        _with_xmp(jpeg, b"<?xpacket" + b" " * 60_000),
        _behind_header(png, _chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + attributes)),
        _behind_header(png, _chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + b"<a:b " * 300_000)),
        _behind_header(png, _chunk(b"eXIf", b"II*\0\x08\0\0\0" + tables + bytes(1_000_000))),
        b"II*\0\x08\0\0\0" + chain + bytes(800_000),
        tiff[:4] + struct.pack("<I", len(tiff)) + tiff[8:] + tables + bytes(1_000_000),
        b"GIF89a\x08\0\x08\0\0\0\0" + b"\x21\xfe\x01x\0" * 100_000 + b";",
        b"\0\0\0\x1cftypavif\0\0\0\0avifmif1" + bytes(4) + b"\0\0\0\x08free" * 150_000,
    ]


def _exif() -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112], exif[0x010F] = 6, "Maker"
    exif.get_ifd(0x8769)[0x927C] = bytes(range(64))
    exif.get_ifd(0x8825)[2] = (1.0, 2.0, 3.0)
    return exif


def _by_pillow(pixels: np.ndarray) -> list[bytes]:
    eight, texts = Image.fromarray(pixels[..., :3].copy()), PngInfo()
    for words in (("Title", "reef"), ("Raw profile type exif", "\nexif\n 14\n4949 2a00 0800 0000\n")):
        texts.add_text(*words, zip=True)
    texts.add(b"gAMA", struct.pack(">I", 40_000))
    lab = ImageCms.profileToProfile(
        eight, ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB"), outputMode="LAB"
    )
    return [
        _saved(image, name, **options)
        for image, name, options in (
            (eight, "JPEG", {"progressive": True, "exif": _exif(), "comment": b"hello"}),
            (eight.convert("CMYK"), "JPEG", {}),
            (eight.convert("CMYK"), "TIFF", {}),
            (eight.quantize(16), "PNG", {}),
            (eight.quantize(16), "BMP", {}),
            (eight.quantize(16), "GIF", {"comment": b"hello"}),
            (eight.convert("1"), "TIFF", {"compression": "group4"}),
            (eight, "TIFF", {"compression": "tiff_lzw"}),
            (eight, "TIFF", {"compression": "jpeg"}),
            (lab, "TIFF", {}),
            (Image.fromarray(pixels[..., 0].astype(np.float32) / 255), "TIFF", {}),
            (eight, "WEBP", {"lossless": True}),
            (eight, "PNG", {"pnginfo": texts}),
            (eight, "JPEG2000", {"no_jp2": True}),
            (eight.convert("L"), "JPEG2000", {}),
            (eight, "AVIF", {"exif": _exif()}),
        )
    ]


def _dng(base: np.ndarray) -> list[bytes]:
    """The smallest raw file that LibRaw develops, in both byte orders."""
    sensor = np.rint(base[..., 1] * 4095).astype(np.uint16)
    return [dng(sensor, order) for order in "<>"]


def dng(sensor: np.ndarray, order: str = "<", make: bytes = b"Reef\0") -> bytes:
    """Returns a DNG of the samples of a sensor (RGGB, 12 bits) with a GPS directory."""
    height, width = sensor.shape
    pixels = sensor.astype(order + "u2").tobytes()
    gps_at = 8 + len(pixels)
    gps = struct.pack(order + "HHHI4sI", 1, 1, 2, 2, b"N\0\0\0", 0)
    identity = struct.pack(order + "18i", *(n for row in range(3) for col in range(3) for n in (int(row == col), 1)))
    main_at = gps_at + len(gps)
    tags: list[tuple[int, int, int, bytes]] = [
        (254, 4, 1, struct.pack(order + "I", 0)),
        (256, 4, 1, struct.pack(order + "I", width)),
        (257, 4, 1, struct.pack(order + "I", height)),
        (258, 3, 1, struct.pack(order + "H", 16)),
        (259, 3, 1, struct.pack(order + "H", 1)),
        (262, 3, 1, struct.pack(order + "H", 32803)),
        (271, 2, len(make), make),
        (272, 2, 5, b"Deep\0"),
        (273, 4, 1, struct.pack(order + "I", 8)),
        (274, 3, 1, struct.pack(order + "H", 1)),
        (277, 3, 1, struct.pack(order + "H", 1)),
        (278, 4, 1, struct.pack(order + "I", height)),
        (279, 4, 1, struct.pack(order + "I", len(pixels))),
        (284, 3, 1, struct.pack(order + "H", 1)),
        (33421, 3, 2, struct.pack(order + "2H", 2, 2)),
        (33422, 1, 4, bytes((0, 1, 1, 2))),
        (34853, 4, 1, struct.pack(order + "I", gps_at)),
        (50706, 1, 4, bytes((1, 4, 0, 0))),
        (50708, 2, 5, b"Deep\0"),
        (50717, 4, 1, struct.pack(order + "I", 4095)),
        (50721, 10, 9, identity),
        (50728, 5, 3, struct.pack(order + "6I", 1, 1, 1, 1, 1, 1)),
        (50778, 3, 1, struct.pack(order + "H", 21)),
    ]
    values_at = main_at + 2 + 12 * len(tags) + 4
    rows, values = struct.pack(order + "H", len(tags)), b""
    for tag, kind, count, value in tags:
        if len(value) > 4:
            place = struct.pack(order + "I", values_at + len(values))
            values += value + b"\0" * (len(value) % 2)
        else:
            place = value.ljust(4, b"\0")
        rows += struct.pack(order + "HHI", tag, kind, count) + place
    header = (b"II" if order == "<" else b"MM") + struct.pack(order + "HI", 42, main_at)
    return header + pixels + gps + rows + bytes(4) + values


def _saved(image: Image.Image, name: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, name, **options)
    return buffer.getvalue()


def _chunk(name: bytes, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload)) + name + payload + struct.pack(">I", zlib.crc32(name + payload))


def _behind_header(png: bytes, chunks: bytes) -> bytes:
    return png[:33] + chunks + png[33:]


def _segment(payload: bytes) -> bytes:
    return b"\xff\xe1" + struct.pack(">H", len(payload) + 2) + payload


def _with_exif(jpeg: bytes, block: bytes) -> bytes:
    return jpeg[:2] + _segment(b"Exif\0\0" + block) + jpeg[2:]


def _with_xmp(jpeg: bytes, packet: bytes) -> bytes:
    return jpeg[:2] + _segment(b"http://ns.adobe.com/xap/1.0/\0" + packet) + jpeg[2:]
