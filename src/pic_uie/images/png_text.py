"""A PNG's chunks and texts: title, author, comment, XMP, and the raw profiles in which ImageMagick and GIMP hide EXIF.

Texts are inflated to 1 MB each and 64 MB together, XMP to 16 MB; what is longer is left out and reported.
"""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from pic_uie.images import iptc, xmp
from pic_uie.images.exif import PREFIX
from pic_uie.images.picture import Text

SIGNATURE = b"\x89PNG\r\n\x1a\n"
Chunks = dict[bytes, list[tuple[int, int]]]  # name -> start and end of each one's content

MAX_TEXT_BYTES = 1 << 20
MAX_TEXTS_BYTES = 64 << 20
_MAX_TEXTS = 4096
_XMP_KEYWORD = b"XML:com.adobe.xmp"
_RAW_PROFILE = b"Raw profile type "
_NO_DIGITS = bytes(byte for byte in range(256) if byte not in b"0123456789abcdefABCDEF")
_LONG_TEXT = 1024  # from here on texts are compressed


@dataclass
class Said:
    """What the texts of a PNG say."""

    texts: list[Text] = field(default_factory=list)
    exif: bytes | None = None
    xmp: bytes | None = None
    iptc: bytes | None = None


def chunks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Yields name, start and end of the content of each chunk up to the last one."""
    at = len(SIGNATURE)
    while at + 8 <= len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        name = data[at + 4 : at + 8]
        yield name, at + 8, at + 8 + length
        if name == b"IEND":
            return
        at += 12 + length


def chunk(name: bytes, payload: bytes) -> bytes:
    """Returns a chunk."""
    return struct.pack(">I", len(payload)) + name + payload + struct.pack(">I", zlib.crc32(name + payload))


def read_texts(data: bytes, found: Chunks, notes: list[str]) -> Said:
    """Reads the text chunks within the limits; adds notes on those that are left out."""
    said, budget, dropped = Said(), MAX_TEXTS_BYTES, Counter[str]()
    wanted = sorted((place, name) for name in (b"tEXt", b"zTXt", b"iTXt") for place in found.get(name, []))
    for (start, end), name in wanted:
        keyword, _, rest = data[start:end].partition(b"\0")
        is_xmp = keyword == _XMP_KEYWORD or keyword == _RAW_PROFILE + b"xmp"
        longest = xmp.MAX_BYTES if is_xmp else MAX_TEXT_BYTES
        limit = min(longest, budget)
        text = _content(name, rest, limit)
        if text is None:
            dropped["damaged"] += 1
            continue
        value, language, translated = text
        budget -= len(value)
        if len(value) >= limit:
            is_long = limit == longest
            dropped[f"longer than {longest >> 20} MB" if is_long else f"beyond {MAX_TEXTS_BYTES >> 20} MB in all"] += 1
        elif len(said.texts) >= _MAX_TEXTS:
            dropped[f"beyond {_MAX_TEXTS} texts"] += 1
        elif keyword == _XMP_KEYWORD:
            said.xmp = value
        elif keyword.startswith(_RAW_PROFILE):
            _enter_profile(said, keyword.removeprefix(_RAW_PROFILE), value)
        elif keyword:
            encoding = "utf-8" if name == b"iTXt" else "latin-1"
            said.texts.append(
                Text(
                    keyword.decode("latin-1"),
                    value.decode(encoding, "replace"),
                    language.decode("latin-1"),
                    translated.decode("utf-8", "replace"),
                )
            )
    notes += [f"left out: {count} of its texts ({reason})" for reason, count in dropped.items()]
    return said


def inflated(compressed: bytes, limit: int) -> bytes | None:
    """Returns at most `limit` bytes of compressed data; None if it is damaged or longer than that."""
    try:
        engine = zlib.decompressobj()
        content = engine.decompress(compressed, limit)
    except zlib.error:
        return None
    return content if engine.eof or not engine.unconsumed_tail else None


def text_chunk(text: Text) -> bytes:
    """Returns a text as a chunk: tEXt, zTXt if it is long, iTXt if Latin-1 does not have its letters."""
    keyword = (text.keyword.encode("latin-1", "replace")[:79] or b"Comment") + b"\0"
    try:
        plain = text.value.encode("latin-1")
    except UnicodeEncodeError:
        plain = None
    if plain is None or text.language or text.translated:
        value = text.value.encode("utf-8", "replace")
        names = text.language.encode("latin-1", "replace") + b"\0" + text.translated.encode("utf-8", "replace") + b"\0"
        if len(value) > _LONG_TEXT:
            return chunk(b"iTXt", keyword + b"\1\0" + names + zlib.compress(value))
        return chunk(b"iTXt", keyword + b"\0\0" + names + value)
    if len(plain) > _LONG_TEXT:
        return chunk(b"zTXt", keyword + b"\0" + zlib.compress(plain))
    return chunk(b"tEXt", keyword + plain)


def xmp_chunk(packet: bytes) -> bytes:
    """Returns XMP, not compressed, as its standard asks."""
    return chunk(b"iTXt", _XMP_KEYWORD + bytes(5) + packet)


def raw_profile(name: str, content: bytes) -> bytes:
    """Returns a block as ImageMagick and ExifTool hide it in a text: a name, a length, and hexadecimal lines."""
    digits = content.hex()
    lines = "\n".join(digits[at : at + 72] for at in range(0, len(digits), 72))
    value = f"\n{name}\n{len(content):8d}\n{lines}\n".encode("ascii")
    return chunk(b"zTXt", _RAW_PROFILE + name.encode("ascii") + b"\0\0" + zlib.compress(value))


def _content(name: bytes, rest: bytes, limit: int) -> tuple[bytes, bytes, bytes] | None:
    """Returns text, language and translated keyword from behind a chunk's keyword; None for a damaged chunk."""
    if name == b"tEXt":
        return rest[:limit], b"", b""
    if name == b"zTXt":
        value = _inflated_part(rest[1:], limit)
        return None if value is None else (value, b"", b"")
    parts = rest[2:].split(b"\0", 2)
    if len(parts) < 3:
        return None
    value = _inflated_part(parts[2], limit) if rest[:1] == b"\1" else parts[2][:limit]
    return None if value is None else (value, parts[0], parts[1])


def _inflated_part(compressed: bytes, limit: int) -> bytes | None:
    """Returns the first `limit` bytes of compressed text."""
    if limit < 1:
        return b""
    try:
        return zlib.decompressobj().decompress(compressed, limit)
    except zlib.error:
        return None


def _enter_profile(said: Said, kind: bytes, value: bytes) -> None:
    """Decodes a raw profile: lines with its name and length, then hexadecimal digits; the length is often wrong."""
    lines = value.strip().split(b"\n", 2)
    if len(lines) < 3:
        return
    digits = lines[2].translate(None, _NO_DIGITS)
    content = bytes.fromhex(digits[: len(digits) // 2 * 2].decode("ascii"))
    if kind in (b"exif", b"APP1") and content.startswith((PREFIX, b"II*\0", b"MM\0*")):
        said.exif = content.removeprefix(PREFIX)
    elif kind == b"APP1" and content.startswith(b"http://ns.adobe.com/xap/1.0/\0"):
        said.xmp = said.xmp or content.partition(b"\0")[2]
    elif kind == b"xmp":
        said.xmp = said.xmp or content
    elif kind in (b"iptc", b"8bim"):
        said.iptc = content if content.startswith(b"\x1c") else iptc.PHOTOSHOP + content.removeprefix(iptc.PHOTOSHOP)
