"""What the boxes of a HEIF file say: colours, metadata, orientation, and what lies beside the picture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pic_uie.errors import ImageError
from pic_uie.images import av1, boxes, xmp
from pic_uie.images import exif as exif_tree
from pic_uie.images.description import CodePoints
from pic_uie.images.ifd import IfdError
from pic_uie.images.interface import Opened
from pic_uie.images.picture import Coding, Metadata

SEQUENCES = {b"avis", b"msf1", b"hevc", b"hevx"}
_C2PA = bytes.fromhex("d8fec3d61b0e483c92975828877ec481")
_MAX_METADATA = 64 << 20
_BEFORE_HEADER = 64 << 10  # what may lie between an EXIF item's start and its TIFF header
_EXTRAS = ((b"hdrgainmap", "gain map"), (b"depth", "depth map"), (b"alpha", ""), (b"matte", "portrait mattes"))
_COARSEST = 255
_QUALITIES = (0, 7, 23, 33, 53, 76, 94, 100), (0, 10, 30, 40, 60, 80, 95, 100)  # quantiser of libaom -> libheif's scale


class HeifFile:
    """What the boxes of a HEIF file say."""

    def __init__(self, data: bytes, title: str) -> None:
        self.data, self.title = data, title
        if data[8:12] in SEQUENCES:
            raise ImageError(
                f"an {title} with several frames (an animation): only single pictures can be enhanced; "
                "extract them first"
            )
        try:
            self.meta = boxes.read_meta(data)
        except boxes.BoxError as error:
            raise ImageError(f"damaged {title}: {error}") from error
        self.properties = {box.name: box for box in self.meta.of(self.meta.primary) if box.name != b"colr"}

    def opened(
        self,
        width: int,
        height: int,
        samples: Callable[[], NDArray[Any]],
        bits: int,
        is_grey: bool | None = None,
        orientation: int = 1,
    ) -> Opened:
        """Returns the header with colours and metadata."""
        notes = list[str]()
        exif = self._exif(notes)
        packet, stale = self._xmp()
        profile, said = self._colours()
        grey = self.is_grey if is_grey is None else is_grey
        left_out = [*self._extras(), *stale]
        return Opened(
            width,
            height,
            samples,
            "grey" if grey else "rgb",
            profile,
            said,
            Metadata(exif, packet),
            Coding(
                quality=self._quality(),
                subsampled=self._subsampled(),
                bits=bits,
                bytes_per_pixel=len(self.data) / max(1, width * height),
            ),
            orientation=orientation,
            left_out=tuple(dict.fromkeys(left_out)),
            notes=tuple(notes),
        )

    def without_metadata(self) -> bytes:
        """Returns the file with its metadata hidden from the decoder, which would parse it at any cost."""
        hidden = bytearray(self.data)
        start, end = self.meta.box.start, self.meta.box.end
        for name in (b"Exif", b"mime"):
            at = hidden.find(b"infe", start, end)
            while at >= 0:
                place = hidden.find(name, at, min(at + 20, end))
                if place >= 0:
                    hidden[place : place + 4] = b"skip"
                at = hidden.find(b"infe", at + 4, end)
        return bytes(hidden)

    def _colours(self) -> tuple[bytes | None, CodePoints | None]:
        profile, said = None, None
        for box in self.meta.of(self.meta.primary):
            content = self.data[box.content : box.end] if box.name == b"colr" else b""
            if content[:4] in (b"prof", b"rICC") and profile is None:
                profile = content[4:]
            elif content[:4] == b"nclx" and len(content) >= 11 and said is None:
                said = CodePoints(int.from_bytes(content[4:6], "big"), int.from_bytes(content[6:8], "big"))
        return profile, said

    def _exif(self, notes: list[str]) -> exif_tree.Exif | None:
        for number, item in self.meta.items.items():
            block = boxes.content(self.data, self.meta, number, _MAX_METADATA) if item.kind == b"Exif" else None
            if block is None or len(block) < 8:
                continue
            start = 4 + int.from_bytes(block[:4], "big")
            header = block[start:] if start < min(len(block), _BEFORE_HEADER) else block[4:]
            try:
                return exif_tree.parse(header.removeprefix(exif_tree.PREFIX))
            except IfdError as error:
                notes.append(f"its EXIF is damaged ({error}) and was dropped")
        return None

    def _xmp(self) -> tuple[bytes | None, tuple[str, ...]]:
        for number, item in self.meta.items.items():
            if item.kind == b"mime" and item.content_type == b"application/rdf+xml":
                packet = boxes.content(self.data, self.meta, number, xmp.MAX_BYTES)
                if packet is not None:
                    return xmp.cleaned(packet)
        return None, ()

    def _extras(self) -> list[str]:
        """Names the pictures beside the primary one that describe it as it was."""
        found: list[str] = []
        if any(item.kind == b"tmap" for item in self.meta.items.values()):
            found.append("gain map")
        for box in self.meta.properties:
            if box.name == b"auxC":
                kind = self.data[box.content + 4 : box.end].lower()
                found.append(next((name for word, name in _EXTRAS if word in kind), "auxiliary picture"))
        for box in boxes.boxes(self.data, 0, len(self.data)):
            if box.name == b"uuid" and self.data.startswith(_C2PA, box.content):
                found.append("C2PA manifest")
            elif box.name in (b"moov", b"mpvd"):
                found.append("video")
        pictures = [i for i in self.meta.items.values() if i.kind in (b"av01", b"hvc1", b"grid", b"iden", b"iovl")]
        tiles = {to for kind, _, targets in self.meta.references if kind == b"dimg" for to in targets}
        beside = {at for kind, at, _ in self.meta.references if kind in (b"thmb", b"auxl")}
        if len(pictures) > 1 + len(tiles) + len(beside):
            found.append("other pictures")
        return [name for name in found if name]

    def _quality(self) -> int | None:
        """Returns the quality of libheif's scale that quantises as the source does, from the headers of its stream."""
        tiles = next((to for kind, at, to in self.meta.references if kind == b"dimg" and at == self.meta.primary), ())
        number = tiles[0] if tiles else self.meta.primary
        config = self.properties.get(b"av1C")
        if number not in self.meta.items or config is None or self.meta.items[number].kind != b"av01":
            return None
        stream = boxes.content(self.data, self.meta, number, len(self.data)) or b""
        index = av1.quantiser(self.data[config.content + 4 : config.end] + stream)
        fineness = None if index is None else 100 * (1 - index / _COARSEST)
        return None if fineness is None else max(1, round(float(np.interp(fineness, *_QUALITIES))))

    @property
    def bits(self) -> int:
        """Bits per channel of an AVIF's stream."""
        config = self.properties.get(b"av1C")
        flags = self.data[config.content + 2] if config is not None else 0
        return 8 if not flags & 0x40 else 12 if flags & 0x20 else 10

    @property
    def orientation(self) -> int:
        """The EXIF orientation that says the same as rotation and mirror of the file."""
        turn, mirror = (self.properties.get(name) for name in (b"irot", b"imir"))
        angle = self.data[turn.content] & 3 if turn is not None else 0
        if mirror is None:
            return (1, 8, 3, 6)[angle]
        return ((4, 2), (5, 7), (2, 4), (7, 5))[angle][self.data[mirror.content] & 1]

    @property
    def is_grey(self) -> bool:
        """Whether an AVIF's stream has luminance alone."""
        config = self.properties.get(b"av1C")
        return config is not None and bool(self.data[config.content + 2] & 0x10)

    def _subsampled(self) -> bool | None:
        config = self.properties.get(b"av1C")
        return None if config is None else self.data[config.content + 2] & 0x0C == 0x0C
