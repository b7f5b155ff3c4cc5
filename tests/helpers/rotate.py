"""Turns the picture of an MP4 file by its track header, as cameras do."""

import struct

from pic_uie.video.boxes import read_layout
from pic_uie.video.samples import handler

MATRICES = {90: (0, -1, 1, 0), -90: (0, 1, -1, 0), 180: (-1, 0, 0, -1)}  # counter-clockwise


def turn(path, degrees):
    data = bytearray(path.read_bytes())
    a, b, c, d = (number << 16 for number in MATRICES[degrees])
    for trak in read_layout(path).moov.all(b"trak"):
        if handler(trak) == b"vide":
            at = data.index(trak.child(b"tkhd").data) + 40
            data[at : at + 36] = struct.pack(">9i", a, b, 0, c, d, 0, 0, 0, 1 << 30)
    path.write_bytes(data)
