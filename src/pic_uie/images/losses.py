"""What a format has no place for, in words; and the little of it that finds another place."""

from __future__ import annotations

from dataclasses import replace

from pic_uie.images import exif as exif_tree
from pic_uie.images import exif_write, formats, ifd, iptc
from pic_uie.images.exif import Exif
from pic_uie.images.formats import FORMATS, READABLE
from pic_uie.images.interface import Format
from pic_uie.images.picture import Picture, Text

_IN_EXIF = {"Title": 0x010E, "Description": 0x010E, "Author": 0x013B, "Copyright": 0x8298}


def losses(picture: Picture, file_format: str | None = None, *, keep_metadata: bool = True) -> tuple[str, ...]:
    """Says what of a picture a format has no place for; arguments as for `encode`."""
    kind = FORMATS[file_format] if file_format else formats.result_of(READABLE[picture.format])
    bits = picture.coding.bits or picture.bits
    lost = {
        "transparency, which was put on white": picture.has_alpha and not kind.alpha,
        f"{bits} bits, which were rounded to {kind.depth}": bits > kind.depth,
    }
    if keep_metadata:
        lost |= _lost_metadata(picture, kind)
    said = [f"{kind.title} has no place for its {what}" for what, is_lost in lost.items() if is_lost]
    if picture.scale is not None and kind.depth < 16:
        said.append(f"its samples from {picture.scale[0]} to {picture.scale[1]} became 0 to {(1 << kind.depth) - 1}")
    return tuple(said)


def into_exif(tree: Exif | None, texts: tuple[Text, ...], kind: Format) -> tuple[Exif | None, tuple[Text, ...]]:
    """Puts the texts that a format has no place for into EXIF tags that are free; returns EXIF and the other texts."""
    if "texts" in kind.keeps or "EXIF" not in kind.keeps or not texts:
        return tree, texts
    main = dict(tree.main) if tree else {}
    left: list[Text] = []
    for text in texts:
        tag = _IN_EXIF.get(text.keyword)
        if tag is None or tag in main:
            left.append(text)
        else:
            value = text.value.encode("utf-8", "replace").replace(b"\0", b"") + b"\0"
            main[tag] = ifd.Entry(ifd.ASCII, len(value), value)
    return replace(tree or Exif(), main=main) if main else tree, tuple(left)


def _lost_metadata(picture: Picture, kind: Format) -> dict[str, bool]:
    metadata, block = picture.metadata, picture.metadata.iptc
    tree, texts = into_exif(metadata.exif, metadata.texts, kind)
    comments = kind.keeps & {"texts", "comments"}
    unplaced = [text.keyword for text in texts if "texts" not in comments and not (comments and is_comment(text))]
    names = ", ".join(dict.fromkeys(_name(payload) for _, payload in metadata.segments))
    note = tree is not None and exif_tree.MAKER_NOTE in tree.photo
    return {
        "EXIF": bool(metadata.exif) and "EXIF" not in kind.keeps,
        "maker note, which is too long": (
            note and kind.exif_bytes is not None and exif_write.loses_maker_note(tree or Exif(), kind.exif_bytes)
        ),
        "maker note, which may not be moved": note and kind.moves_maker_note(tree or Exif()),
        "XMP": bool(metadata.xmp) and "XMP" not in kind.keeps,
        "extended XMP": bool(metadata.xmp_extension) and "extended XMP" not in kind.keeps,
        "IPTC records": bool(block and iptc.records(block)) and "IPTC" not in kind.keeps,
        "Photoshop resources": bool(block and iptc.has_more_than_records(block)) and "Photoshop" not in kind.keeps,
        f"texts ({', '.join(dict.fromkeys(unplaced))})": bool(unplaced),
        f"application segments ({names})": bool(metadata.segments) and "segments" not in kind.keeps,
        "colour profile": not kind.profile and picture.colour.converted,
    }


def is_comment(text: Text) -> bool:
    """Returns whether a text is what a JPEG has its comment for."""
    return text.keyword == "Comment"


def _name(payload: bytes) -> str:
    word = payload[:16].split(b"\0")[0]
    return word.decode("ascii") if word.isascii() and word.isalnum() else "unknown"
