"""The boxes of an MP4 or QuickTime file: the `moov` box as a tree that is written as it was read, the rest as places.

Nothing but `moov` is read into memory, and every size is checked against the file before it is believed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import BinaryIO

from pic_uie.errors import VideoError

_CONTAINERS = frozenset({b"moov", b"trak", b"mdia", b"minf", b"stbl", b"edts", b"dinf"})
_MAX_MOOV = 256 << 20  # a day of video with telemetry stays below a tenth of it
_MAX_TOP = 100_000  # boxes in a file; fragmented files have many
_MAX_NODES = 100_000  # boxes in `moov`
_LARGE, _TO_THE_END = 1, 0


@dataclass
class Node:
    """A box of `moov`: its bytes, or its children."""

    name: bytes
    data: bytes = b""
    children: list[Node] | None = None

    def child(self, name: bytes) -> Node | None:
        """Returns the first child of that name."""
        return next((node for node in self.children or () if node.name == name), None)

    def all(self, name: bytes) -> list[Node]:
        """Returns the children of that name."""
        return [node for node in self.children or () if node.name == name]

    def at(self, *names: bytes) -> Node | None:
        """Returns the box at the end of a path of names."""
        node: Node | None = self
        for name in names:
            node = node.child(name) if node is not None else None
        return node

    def replace(self, name: bytes, node: Node | None) -> None:
        """Puts a box in the place of all children of that name, or takes these out; a new one comes last."""
        children, placed = [], node is None
        for old in self.children or ():
            if old.name != name:
                children.append(old)
            elif not placed and node is not None:
                children.append(node)
                placed = True
        if not placed and node is not None:
            children.append(node)
        self.children = children

    def to_bytes(self) -> bytes:
        """Returns the box as it is written."""
        content = self.data if self.children is None else b"".join(node.to_bytes() for node in self.children)
        return box(self.name, content)


@dataclass(frozen=True)
class Place:
    """A box of the file: its name, and where it and its content lie."""

    name: bytes
    start: int
    content: int
    end: int


@dataclass(frozen=True)
class Layout:
    """A file's boxes.

    Attributes:
        size: Bytes of the file.
        places: The outer boxes.
        tail: Where bytes begin that are no box: some cameras put their own data behind the last one.
        moov: The index of the tracks.
        cut: The box that is longer than the file, if any.
    """

    size: int
    places: tuple[Place, ...]
    tail: int
    moov: Node
    cut: Place | None

    @property
    def fragmented(self) -> bool:
        """Whether samples are described outside of `moov`."""
        return self.moov.child(b"mvex") is not None or any(place.name == b"moof" for place in self.places)


def box(name: bytes, content: bytes) -> bytes:
    """Returns a box around its content."""
    return (8 + len(content)).to_bytes(4, "big") + name + content


def full_box(name: bytes, version: int, flags: int, content: bytes) -> Node:
    """Returns a box with a version and flags."""
    return Node(name, bytes([version]) + flags.to_bytes(3, "big") + content)


def read_layout(path: str | Path) -> Layout:
    """Reads the boxes of a file.

    Raises:
        VideoError: Not such a file, no index, or one that makes no sense.
        OSError: It cannot be read.
    """
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        places, tail, cut = _places(file, size)
        found = [place for place in places if place.name == b"moov"]
        if not found:
            what = "it was cut off before its index was written" if cut or places else "it has no boxes"
            raise VideoError(f"not a complete MP4 or QuickTime file: {what}; a tool such as untrunc may repair it")
        place = found[0]
        if place.end - place.content > _MAX_MOOV:
            raise VideoError(f"damaged: an index of {(place.end - place.content) >> 20} MB")
        file.seek(place.content)
        content = file.read(place.end - place.content)
    count = [0]
    moov = Node(b"moov", children=_children(content, count, 0))
    return Layout(size, tuple(places), tail, moov, cut)


def is_whole(path: str | PurePath) -> bool:
    """Returns whether the outer boxes of a file end inside of it, index and samples among them.

    Raises:
        OSError: It cannot be read.
    """
    with open(path, "rb") as file:
        places, _, cut = _places(file, os.fstat(file.fileno()).st_size)
    return cut is None and {b"moov", b"mdat"} <= {place.name for place in places}


def _places(file: BinaryIO, size: int) -> tuple[list[Place], int, Place | None]:
    places: list[Place] = []
    at = 0
    while at + 8 <= size and len(places) < _MAX_TOP:
        file.seek(at)
        head = file.read(16)
        length, name, content = int.from_bytes(head[:4], "big"), head[4:8], at + 8
        if length == _LARGE:
            length, content = int.from_bytes(head[8:16], "big"), at + 16
        elif length == _TO_THE_END:
            length = size - at
        if length < content - at or not _is_name(name):
            return places, at, None
        if at + length > size:
            known = name in (b"mdat", b"moov", b"free", b"moof")
            return places, at, Place(name, at, content, at + length) if known else None
        places.append(Place(name, at, content, at + length))
        at += length
    return places, at, None


def _children(data: bytes, count: list[int], depth: int) -> list[Node]:
    nodes: list[Node] = []
    at = 0
    while at + 8 <= len(data):
        length, name, content = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8], at + 8
        if length == _LARGE:
            length, content = int.from_bytes(data[at + 8 : at + 16], "big"), at + 16
        elif length == _TO_THE_END:
            length = len(data) - at
        if length < content - at or at + length > len(data):
            raise VideoError(f"damaged: box {_shown(name)} of its index does not fit into the box around it")
        count[0] += 1
        if count[0] > _MAX_NODES:
            raise VideoError(f"damaged: its index has more than {_MAX_NODES} boxes")
        inner = data[content : at + length]
        if name in _CONTAINERS and depth < 8:
            nodes.append(Node(name, children=_children(inner, count, depth + 1)))
        else:
            nodes.append(Node(name, inner))
        at += length
    if any(data[at:]):
        raise VideoError("damaged: its index ends inside of a box")
    return nodes


def _is_name(name: bytes) -> bool:
    return len(name) == 4 and all(32 <= byte < 127 or byte == 0xA9 for byte in name)


def _shown(name: bytes) -> str:
    return repr(name.decode("latin-1"))
