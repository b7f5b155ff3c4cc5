"""An AVIF of two tiles, put together from the definition of a grid (ISO/IEC 23008-12, 6.6.2.3)."""

import struct

from helpers.pictures import saved
from pic_uie.images import boxes
from pic_uie.images.heif_write import box, code_points


def avif_grid(pixels):
    """Two tiles side by side; each is the stream of a file that Pillow wrote."""
    half = pixels.shape[1] // 2
    streams, config = [], b""
    for part in (pixels[:, :half], pixels[:, half:]):
        data = saved(part, "AVIF", quality=100, subsampling="4:4:4")
        meta = boxes.read_meta(data)
        streams.append(boxes.content(data, meta, meta.primary, len(data)))
        config = next(data[b.start : b.end] for b in meta.properties if b.name == b"av1C")
    height, width = pixels.shape[:2]
    grid = struct.pack(">BBBBHH", 0, 0, 0, 1, width, height)
    contents = [grid, *streams]
    infos = b"".join(
        box(b"infe", struct.pack(">IHH", (2 << 24) | (i > 1), i, 0) + kind + b"\0")
        for i, kind in ((1, b"grid"), (2, b"av01"), (3, b"av01"))
    )
    properties = config + box(b"ispe", bytes(4) + struct.pack(">II", half, height))
    properties += box(b"ispe", bytes(4) + struct.pack(">II", width, height))
    properties += box(b"pixi", bytes(4) + bytes((3, 8, 8, 8))) + code_points(1, 13)
    ties = struct.pack(">I", 3) + struct.pack(">HB3B", 1, 3, 3, 4, 5)
    ties += b"".join(struct.pack(">HB4B", i, 4, 0x81, 2, 4, 5) for i in (2, 3))

    def meta_box(start):
        rows = b""
        for number, content in enumerate(contents, 1):
            rows += struct.pack(">4H2I", number, 0, 0, 1, start, len(content))
            start += len(content)
        return box(
            b"meta",
            bytes(4)
            + box(b"hdlr", bytes(8) + b"pict" + bytes(13))
            + box(b"pitm", bytes(4) + struct.pack(">H", 1))
            + box(b"iloc", b"\1\0\0\0\x44\0\0\3" + rows)
            + box(b"iinf", bytes(4) + struct.pack(">H", 3) + infos)
            + box(b"iref", bytes(4) + box(b"dimg", struct.pack(">4H", 1, 2, 2, 3)))
            + box(b"iprp", box(b"ipco", properties) + box(b"ipma", bytes(4) + ties)),
        )

    head = box(b"ftyp", b"avif" + bytes(4) + b"avifmif1miaf")
    size = len(head) + len(meta_box(0)) + 8
    return head + meta_box(size) + box(b"mdat", b"".join(contents))
