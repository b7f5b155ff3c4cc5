"""Edits the index of MP4 files as cameras, other writers and vandals do."""

import struct

from pic_uie.video.boxes import Node, box, read_layout
from pic_uie.video.samples import handler


def edit(path, change):
    """Lets `change(moov)` edit the index, which lies behind the data in the files that these tests make."""
    layout = read_layout(path)
    data = path.read_bytes()
    place = next(place for place in layout.places if place.name == b"moov")
    assert place.start > next(place.start for place in layout.places if place.name == b"mdat")
    change(layout.moov)
    path.write_bytes(data[: place.start] + layout.moov.to_bytes() + data[place.end :])
    return path


def tracks(moov, kind=b"vide"):
    return [trak for trak in moov.all(b"trak") if handler(trak) == kind]


def table(trak, name):
    return trak.at(b"mdia", b"minf", b"stbl", name)


def rename_entry(moov, name):
    """Calls the codec of the video by another name."""
    stsd = table(tracks(moov)[0], b"stsd")
    stsd.data = stsd.data[:12] + name + stsd.data[16:]


def long_offsets(moov, shift=0):
    """64-bit chunk offsets for all tracks, `shift` bytes further on."""
    for trak in moov.all(b"trak"):
        stbl = trak.at(b"mdia", b"minf", b"stbl")
        node = stbl.child(b"stco")
        count = int.from_bytes(node.data[4:8], "big")
        values = [at + shift for at in struct.unpack_from(f">{count}I", node.data, 8)]
        stbl.replace(b"stco", Node(b"co64", node.data[:8] + struct.pack(f">{count}Q", *values)))


def long_times(moov):
    """Version 1 of all headers: 64-bit times."""
    _lengthen(moov.child(b"mvhd"), ">IIII", ">QQIQ")
    for trak in moov.all(b"trak"):
        _lengthen(trak.child(b"tkhd"), ">IIIII", ">QQIIQ")
        _lengthen(trak.at(b"mdia", b"mdhd"), ">IIII", ">QQIQ")
        if (elst := trak.at(b"edts", b"elst")) is not None:
            count = int.from_bytes(elst.data[4:8], "big")
            edits = [struct.unpack_from(">IiI", elst.data, 8 + 12 * i) for i in range(count)]
            packed = b"".join(struct.pack(">QqI", *one) for one in edits)
            elst.data = b"\1" + elst.data[1:8] + packed


def _lengthen(node, short, long):
    values = struct.unpack_from(short, node.data, 4)
    node.data = b"\1" + node.data[1:4] + struct.pack(long, *values) + node.data[4 + struct.calcsize(short) :]


def maker_data(moov):
    """What makers put into `udta`, and a box that nobody knows."""
    udta = moov.child(b"udta") or Node(b"udta")
    boxes = box(b"GPMF", bytes(range(200))) + box(b"\xa9xyz", struct.pack(">HH", 16, 0) + b"+27.5916+086.564/")
    udta.data += boxes + box(b"FIRM", b"H22.01.01.00.00\0")
    moov.replace(b"udta", udta)
    moov.children.append(Node(b"dji ", bytes(range(100))))
