"""GIF: single pictures are read; results are PNG."""

from __future__ import annotations

from pic_uie.errors import ImageError
from pic_uie.images.damage import Reader
from pic_uie.images.interface import Format, Opened
from pic_uie.images.picture import Metadata, Space, Text

_SPACES: dict[str, Space] = {"b-w": "grey", "srgb": "rgb"}
_EXTENSION, _IMAGE, _COMMENT = 0x21, 0x2C, 0xFE
_MAX_COMMENT_BYTES = 1 << 20
_WIDEST_CODE, _MAX_BLOCK_BYTES = 12, 255


def sniff(head: bytes) -> bool:
    """Recognises a GIF by its first bytes."""
    return head[:6] in (b"GIF87a", b"GIF89a")


def open_gif(data: bytes, salvage: bool) -> Opened:
    """Counts the frames and reads the header."""
    frames, comments, first = _blocks(data)
    if frames > 1:
        raise ImageError(
            "a GIF with several frames (an animation): only single pictures can be enhanced; extract them first"
        )
    reader = Reader("gifload", data, title="GIF", salvage=salvage, count_rows=lambda: _whole_rows(data, first))
    texts = tuple(Text("Comment", comment.decode("utf-8", "replace")) for comment in comments)
    space = _SPACES.get(reader.image.interpretation, "rgb")
    return Opened(
        reader.width,
        reader.height,
        reader.samples,
        space,
        metadata=Metadata(texts=texts),
        damage=reader.damage,
    )


def _blocks(data: bytes) -> tuple[int, list[bytes], int]:
    """Walks the blocks of a GIF in time linear in its size.

    Returns the number of pictures (up to two), the comments, and where the first picture begins.
    """
    at = 13 + (3 << ((data[10] & 7) + 1) if len(data) > 10 and data[10] & 0x80 else 0)
    frames, comments, first = 0, list[bytes](), len(data)
    while at < len(data) and frames < 2:
        if data[at] == _IMAGE and at + 9 < len(data):
            frames, first = frames + 1, min(first, at)
            at, _ = _sub_blocks(data, _compressed(data, at) + 1, 0)
        elif data[at] == _EXTENSION and at + 1 < len(data):
            is_comment = data[at + 1] == _COMMENT
            at, content = _sub_blocks(data, at + 2, _MAX_COMMENT_BYTES if is_comment else 0)
            if is_comment and content:
                comments.append(content)
        else:
            break
    return frames, comments[:64], first


def _compressed(data: bytes, picture: int) -> int:
    """Returns where a picture's compressed data begins, with the byte that says how wide its first codes are."""
    local = data[picture + 9]
    return picture + 10 + (3 << ((local & 7) + 1) if local & 0x80 else 0)


def _whole_rows(data: bytes, picture: int) -> int:
    """Counts the rows that the compressed data of a picture reaches to; interlaced ones come in another order."""
    if picture + 10 > len(data):
        return 0
    start = _compressed(data, picture)
    width, height = (int.from_bytes(data[at : at + 2], "little") for at in (picture + 5, picture + 7))
    end, stream = _sub_blocks(data, start + 1, len(data))
    if end > len(data):  # the decoder does not look at a block that was cut
        stream = stream[:-_MAX_BLOCK_BYTES]
    first_bits = data[start] if start < len(data) else 0
    if not width or not 1 <= first_bits < _WIDEST_CODE:
        return 0
    return min(height, _unpacked_size(stream, first_bits, width * height) // width)


def _unpacked_size(stream: bytes, first_bits: int, most: int) -> int:
    """Counts the pixels that LZW codes stand for: of every code, only its length is kept."""
    clear, end = 1 << first_bits, (1 << first_bits) + 1
    lengths, width, before = [1] * (end + 1), first_bits + 1, 0
    bits = held = total = 0
    for byte in stream:
        bits, held = bits | byte << held, held + 8
        while held >= width:
            code = bits & ((1 << width) - 1)
            bits, held = bits >> width, held - width
            if code == clear:
                del lengths[end + 1 :]
                width, before = first_bits + 1, 0
                continue
            if code == end or total >= most or code > len(lengths) or (code == len(lengths) and not before):
                return total
            if before and len(lengths) < 1 << _WIDEST_CODE:
                lengths.append(before + 1)
            before = lengths[code] if code < len(lengths) else before
            total += before
            if len(lengths) == 1 << width and width < _WIDEST_CODE:
                width += 1
    return total


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
