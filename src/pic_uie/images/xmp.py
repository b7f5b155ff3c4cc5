"""XMP packets: values brought up to date, and what no longer describes the result taken out, in place.

A packet is scanned once from left to right, tag by tag, and edited where needed; everything else stays byte for byte.
No pattern here can backtrack, so that time is linear in the packet's size.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

MAX_BYTES = 16 << 20

TIFF = b"http://ns.adobe.com/tiff/1.0/"
EXIF = b"http://ns.adobe.com/exif/1.0/"
PROVENANCE = b"urn:pic-uie:xmp:1.0#"  # what made a result, see provenance.py
_NOTE = b"http://ns.adobe.com/xmp/note/"
_GOOGLE = b"http://ns.google.com/photos/"

# Namespace, beginning of the names in it, and what they point to: parts of the source that are not in the result.
_STALE: tuple[tuple[bytes, bytes, str], ...] = (
    (b"http://ns.adobe.com/hdr-gain-map/1.0/", b"", "gain map"),
    (b"http://ns.apple.com/HDRGainMap/1.0/", b"", "gain map"),
    (_GOOGLE + b"1.0/container/", b"", ""),
    (_GOOGLE + b"1.0/container/item/", b"", ""),
    (_GOOGLE + b"1.0/camera/", b"MicroVideo", "video"),
    (_GOOGLE + b"1.0/camera/", b"MotionPhoto", "video"),
    (_GOOGLE + b"1.0/depthmap/", b"", "depth map"),
    (_GOOGLE + b"1.0/image/", b"", "depth map"),
    (_GOOGLE + b"1.0/focus/", b"", "depth map"),
    (_GOOGLE + b"dd/1.0/", b"", "depth map"),  # and all namespaces below
    (b"http://ns.apple.com/pixeldatainfo/1.0/", b"", ""),
    (b"http://ns.apple.com/depthData/1.0/", b"", "depth map"),
    (b"http://ns.apple.com/depthBlurEffect/1.0/", b"", "depth map"),
    (b"http://purl.org/dc/terms/", b"provenance", "C2PA manifest"),
    (b"http://ns.adobe.com/xap/1.0/", b"Thumbnails", ""),
    (PROVENANCE, b"", ""),
)
_CONTENTS = ((b"GainMap", "gain map"), (b"MotionPhoto", "video"), (b"Depth", "depth map"))  # of a container's items

_TAG_PART = re.compile(rb"[\"'>]")
_NAME = re.compile(rb"[^\s=\"'<>/]++")
_ATTRIBUTE = re.compile(rb"\s++([^\s=\"'<>/]++)\s*+=\s*+([\"'])")


@dataclass(frozen=True)
class _Attribute:
    name: bytes
    start: int  # of the white space in front
    value: int
    end: int  # of the value; the closing quote follows


@dataclass(frozen=True)
class _Tag:
    name: bytes
    start: int
    end: int
    closes: bool  # </name>
    is_empty: bool  # <name/>
    attributes: tuple[_Attribute, ...]


def cleaned(packet: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Takes out what points to parts that are not in the result; returns the packet and the names of those parts."""
    if not any(uri in packet for uri, _, _ in _STALE):
        return packet, ()
    tags = list(_tags(packet))
    prefixes = _prefixes(packet, tags)
    cuts: list[tuple[int, int]] = []
    found: dict[str, None] = {}

    def is_stale(name: bytes) -> bool:
        prefix, _, local = name.partition(b":")
        for uri, beginning, what in _STALE:
            mine = prefixes.get(prefix, b"")
            below = uri.endswith(b"dd/1.0/") and mine.startswith(uri)
            if (mine == uri or below) and local.startswith(beginning):
                if what:
                    found[what] = None
                return True
        return False

    inside: int | None = None  # depth below a stale element
    start = 0
    for tag in tags:
        if inside is not None:
            inside += 0 if tag.is_empty else -1 if tag.closes else 1
            if inside == 0:
                cuts.append((start, tag.end))
                found |= {what: None for word, what in _CONTENTS if word in packet[start : tag.end]}
                inside = None
        elif not tag.closes and is_stale(tag.name):
            start = tag.start
            if tag.is_empty:
                cuts.append((tag.start, tag.end))
            else:
                inside = 1
        else:
            cuts += [(a.start, a.end + 1) for a in tag.attributes if is_stale(a.name)]
            cuts += [(a.start, a.end + 1) for a in tag.attributes if _declares_stale(packet, a)]
    return _spliced(packet, [(a, b, b"") for a, b in cuts]), tuple(found)


def with_values(packet: bytes, values: dict[tuple[bytes, bytes], bytes]) -> bytes:
    """Returns the packet with other values of properties that it has, by namespace and name."""
    if not any(name in packet for _, name in values):
        return packet
    tags = list(_tags(packet))
    prefixes = _prefixes(packet, tags)

    def value_of(name: bytes) -> bytes | None:
        prefix, _, local = name.partition(b":")
        return values.get((prefixes.get(prefix, b""), local))

    edits: list[tuple[int, int, bytes]] = []
    for tag, following in itertools.zip_longest(tags, tags[1:]):
        for attribute in tag.attributes:
            if (new := value_of(attribute.name)) is not None:
                edits.append((attribute.value, attribute.end, new))
        has_text = following is not None and following.closes and following.name == tag.name and not tag.is_empty
        if following is not None and has_text and (new := value_of(tag.name)) is not None:
            edits.append((tag.end, following.start, new))
    return _spliced(packet, edits)


def upright(packet: bytes, size: tuple[int, int] | None = None) -> bytes:
    """Returns a packet that says that the picture is upright, which it now is, and its size."""
    values = {(TIFF, b"Orientation"): b"1"}
    if size is not None:
        x, y = b"%d" % size[0], b"%d" % size[1]
        values |= {(TIFF, b"ImageWidth"): x, (TIFF, b"ImageLength"): y}
        values |= {(EXIF, b"PixelXDimension"): x, (EXIF, b"PixelYDimension"): y}
    return with_values(packet, values)


def has_properties(packet: bytes) -> bool:
    """Returns whether a packet says anything at all."""
    return any(
        tag.name.partition(b":")[2] not in (b"xmpmeta", b"RDF", b"Description")
        or any(not a.name.startswith((b"xmlns", b"rdf:", b"x:")) for a in tag.attributes)
        for tag in _tags(packet)
        if not tag.closes
    )


def end_of_descriptions(packet: bytes) -> tuple[int, bytes, bytes] | None:
    """Returns where a description can be added, the prefix of RDF there, and the quoted subject; None: nowhere."""
    about, end = b'""', None
    for tag in _tags(packet):
        prefix, _, local = tag.name.partition(b":")
        if tag.closes and local == b"RDF":
            end = tag.start, prefix
        for attribute in tag.attributes if local == b"Description" and about == b'""' else ():
            if attribute.name == prefix + b":about":
                about = packet[attribute.value - 1 : attribute.end + 1]
    return None if end is None else (*end, about)


def without_padding(packet: bytes) -> bytes:
    """Returns the packet without the white space that editors leave for edits in place."""
    end = packet.rfind(b"<?xpacket end")
    return packet if end < 0 else packet[:end].rstrip() + b"\n" + packet[end:]


def split(packet: bytes, extension: bytes | None, room: int) -> tuple[bytes, bytes | None]:
    """Returns the packet that fits into `room` bytes, and what continues in a JPEG's extended XMP."""
    if len(packet) > room:
        packet = without_padding(packet)
    if len(packet) > room:  # the whole of it becomes the extension, as far as there is none yet
        packet, extension = _pointer(), packet if extension is None else extension
    if extension is not None:
        packet = with_values(packet, {(_NOTE, b"HasExtendedXMP"): guid(extension)})
    return packet, extension


def without_extension(packet: bytes) -> bytes:
    """Returns the packet without the pointer to extended XMP."""
    tags = list(_tags(packet))
    prefixes = _prefixes(packet, tags)
    names = {prefix + b":HasExtendedXMP" for prefix, uri in prefixes.items() if uri == _NOTE}
    cuts = [(a.start, a.end + 1, b"") for tag in tags for a in tag.attributes if a.name in names]
    return _spliced(packet, cuts)


def guid(extension: bytes) -> bytes:
    """Returns the name of extended XMP: a hash of its bytes."""
    return hashlib.md5(extension, usedforsecurity=False).hexdigest().upper().encode("ascii")


def _pointer() -> bytes:
    return (
        b'<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">'
        b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" '
        b'xmlns:xmpNote="' + _NOTE + b'" xmpNote:HasExtendedXMP=""/></rdf:RDF></x:xmpmeta><?xpacket end="w"?>'
    )


def _declares_stale(packet: bytes, attribute: _Attribute) -> bool:
    uri = packet[attribute.value : attribute.end]
    return attribute.name.startswith(b"xmlns:") and any(uri == stale and not part for stale, part, _ in _STALE)


def _prefixes(packet: bytes, tags: list[_Tag]) -> dict[bytes, bytes]:
    return {
        a.name.removeprefix(b"xmlns:"): packet[a.value : a.end]
        for tag in tags
        for a in tag.attributes
        if a.name.startswith(b"xmlns:")
    }


def _spliced(packet: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    parts, at = [], 0
    for start, end, new in sorted(edits):
        if start >= at:
            parts += [packet[at:start], new]
            at = end
    return b"".join([*parts, packet[at:]])


def _tags(packet: bytes) -> Iterator[_Tag]:
    """Yields the tags of a packet up to the first that has no end."""
    at = 0
    while (start := packet.find(b"<", at)) >= 0:
        for opening, closing in ((b"<!--", b"-->"), (b"<![CDATA[", b"]]>"), (b"<?", b"?>"), (b"<!", b">")):
            if packet.startswith(opening, start):
                at = packet.find(closing, start + len(opening)) + len(closing)
                if at < len(closing):
                    return
                break
        else:
            closes = packet.startswith(b"</", start)
            name = _NAME.match(packet, start + 1 + closes)
            end = _end_of_tag(packet, start + 1)
            if end < 0:
                return
            at = end
            if name is not None:
                yield _Tag(
                    name.group(),
                    start,
                    end,
                    closes,
                    packet[end - 2 : end - 1] == b"/",
                    tuple(_attributes(packet, name.end(), end)),
                )


def _end_of_tag(packet: bytes, at: int) -> int:
    while (found := _TAG_PART.search(packet, at)) is not None:
        if found.group() == b">":
            return found.end()
        at = packet.find(found.group(), found.end()) + 1
        if at == 0:
            break
    return -1


def _attributes(packet: bytes, at: int, end: int) -> Iterator[_Attribute]:
    while (found := _ATTRIBUTE.match(packet, at, end)) is not None:
        close = packet.find(found.group(2), found.end(), end)
        if close < 0:
            return
        yield _Attribute(found.group(1), found.start(), found.end(), close)
        at = close + 1
