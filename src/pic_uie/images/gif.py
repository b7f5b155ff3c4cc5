"""GIF: single pictures are read; results are PNG."""

from __future__ import annotations

from typing import Any

from pic_uie.errors import ImageError
from pic_uie.images import vips
from pic_uie.images.interface import Format, Opened
from pic_uie.images.picture import Metadata, Space, Text

_SPACES: dict[str, Space] = {"b-w": "grey", "srgb": "rgb"}
_EXTENSION, _IMAGE, _COMMENT = 0x21, 0x2C, 0xFE
_MAX_COMMENT_BYTES = 1 << 20


def sniff(head: bytes) -> bool:
    """Recognises a GIF by its first bytes."""
    return head[:6] in (b"GIF87a", b"GIF89a")


def open_gif(data: bytes, salvage: bool) -> Opened:
    """Counts the frames and reads the header."""
    frames, comments = _blocks(data)
    if frames > 1:
        raise ImageError(
            "a GIF with several frames (an animation): only single pictures can be enhanced; extract them first"
        )
    image: Any = vips.open_lazily("gifload", data, title="GIF", salvage=salvage)
    texts = tuple(Text("Comment", comment.decode("utf-8", "replace")) for comment in comments)
    space = _SPACES.get(image.interpretation, "rgb")
    return Opened(
        image.width,
        image.height,
        lambda: vips.samples(image, "GIF", "gifload"),
        space,
        metadata=Metadata(texts=texts),
    )


def _blocks(data: bytes) -> tuple[int, list[bytes]]:
    """Walks the blocks of a GIF: counts pictures (up to two) and gathers comments, in time linear in its size."""
    at = 13 + (3 << ((data[10] & 7) + 1) if len(data) > 10 and data[10] & 0x80 else 0)
    frames, comments = 0, list[bytes]()
    while at < len(data) and frames < 2:
        if data[at] == _IMAGE and at + 9 < len(data):
            frames += 1
            local = data[at + 9]
            at += 10 + (3 << ((local & 7) + 1) if local & 0x80 else 0) + 1  # the byte that starts the compressed data
            at, _ = _sub_blocks(data, at, 0)
        elif data[at] == _EXTENSION and at + 1 < len(data):
            is_comment = data[at + 1] == _COMMENT
            at, content = _sub_blocks(data, at + 2, _MAX_COMMENT_BYTES if is_comment else 0)
            if is_comment and content:
                comments.append(content)
        else:
            break
    return frames, comments[:64]


def _sub_blocks(data: bytes, at: int, wanted: int) -> tuple[int, bytes]:
    parts, size = list[bytes](), 0
    while at < len(data) and data[at]:
        if size < wanted:
            parts.append(data[at + 1 : at + 1 + data[at]])
            size += data[at]
        at += 1 + data[at]
    return at + 1, b"".join(parts)


FORMAT = Format(
    "gif",
    "GIF",
    (".gif",),
    sniff,
    open_gif,
    result="png",
    profile=False,
    keeps=frozenset({"comments"}),
    converts="palettes to colours",
    refuses="animations",
)
