"""Before and after at a glance: a contact sheet as one JPEG, or a page that needs nothing but itself."""

from __future__ import annotations

import base64
import bisect
import html
import os
import urllib.parse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pic_uie import images
from pic_uie.batch.ledger import Outcome, shown
from pic_uie.images import Picture
from pic_uie.images.colour import flattened
from pic_uie.writing import write_file

WIDTH, HEIGHT = 360, 270  # of a small picture, at most
_QUALITY = 85
_COLUMNS, _GAP, _LABEL = 2, 6, 22  # pairs in a row of a sheet; pixels between pictures; pixels for a name
_SHEET_LIMIT = 100  # pairs: a JPEG has at most 65,535 rows, and a sheet is to be looked at
_PAGE_LIMIT = 2000  # pairs: about 60 MB
_PAPER, _INK = (255, 255, 255), (40, 40, 40)

_STYLE = """body{font:15px system-ui,sans-serif;margin:2em auto;max-width:80em;background:#fff;color:#222}
figure{display:inline-block;margin:0 1em 1.5em 0;vertical-align:top}
img{display:inline-block;margin-right:4px;vertical-align:top}
figcaption{font-size:13px;overflow-wrap:anywhere;max-width:730px}"""


def thumbnail(picture: Picture) -> bytes:
    """Returns a small JPEG of a picture; transparency is left out."""
    bare = Picture(picture.pixels, bits=8 * picture.pixels.itemsize)  # without the file's own channels
    pixels = flattened(images.fitted(bare, max(WIDTH, HEIGHT)).pixels)
    channels = (0, 0, 0) if pixels.shape[2] < 3 else (0, 1, 2)
    small = images.fitted(Picture(np.ascontiguousarray(pixels[:, :, channels])), _long_side(pixels))
    return images.encode(small, file_format="jpeg", quality=_QUALITY)


class Preview:
    """Collects pairs during a run, and writes them at its end, by name.

    Args:
        path: The file to write.
        page: Whether it is a page (HTML) or a contact sheet (JPEG).
    """

    def __init__(self, path: Path, *, page: bool) -> None:
        self._path, self._page = path, page
        self._limit = _PAGE_LIMIT if page else _SHEET_LIMIT
        self._pairs: list[tuple[str, str, bytes, bytes]] = []
        self._count = 0

    def add(self, outcome: Outcome) -> None:
        """Takes the small pictures of an outcome; of too many, those with the first names are kept."""
        if outcome.preview is None or outcome.status != "done":
            return
        self._count += 1
        bisect.insort(self._pairs, (outcome.input, outcome.output or "", *outcome.preview))
        del self._pairs[self._limit :]

    def write(self) -> str | None:
        """Writes the file, if there is anything to show; returns what to say about it.

        Raises:
            EnvironmentMissingError: It cannot be written.
        """
        if not self._pairs:
            return None
        data = self._html() if self._page else self._sheet()
        write_file(self._path, data)
        left_out = f", the first {len(self._pairs)} of {self._count} pictures" if self._count > len(self._pairs) else ""
        return f"before and after: {shown(self._path)}{left_out}"

    def _sheet(self) -> bytes:
        from PIL import Image, ImageDraw

        cell = 2 * WIDTH + 2 * _GAP, HEIGHT + _LABEL + _GAP
        columns = min(_COLUMNS, len(self._pairs))
        rows = -(-len(self._pairs) // columns)
        sheet = Image.new("RGB", (columns * (cell[0] + _GAP), rows * cell[1] + _GAP), _PAPER)
        draw = ImageDraw.Draw(sheet)
        for number, (name, _, before, after) in enumerate(self._pairs):
            x, y = _GAP + number % columns * (cell[0] + _GAP), _GAP + number // columns * cell[1]
            left, right = (Image.fromarray(_decoded(data)) for data in (before, after))
            sheet.paste(left, (x, y))
            sheet.paste(right, (x + left.width + _GAP, y))
            draw.text((x, y + left.height + 3), _label(name), _INK)
        return images.encode(Picture(np.asarray(sheet)), file_format="jpeg", quality=_QUALITY)

    def _html(self) -> bytes:
        figures = "\n".join(self._figure(*pair) for pair in self._pairs)
        title = f"{self._count} pictures before and after"
        return (
            f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{title}</title>\n<style>{_STYLE}</style>\n'
            f"<h1>{title}</h1>\n{figures}\n</html>\n"
        ).encode()

    def _figure(self, source: str, output: str, before: bytes, after: bytes) -> str:
        pictures = "".join(
            f'<a href="{html.escape(self._link(place))}"><img src="data:image/jpeg;base64,'
            f'{base64.b64encode(data).decode()}" alt="{words}"></a>'
            for place, data, words in ((source, before, "before"), (output, after, "after"))
        )
        return f"<figure>{pictures}<figcaption>{html.escape(shown(source))}</figcaption></figure>"

    def _link(self, place: str) -> str:
        if "://" in place:
            return place
        relative = os.path.relpath(place, self._path.parent)
        return urllib.parse.quote(os.fsencode(relative.replace(os.sep, "/")))


def _long_side(pixels: NDArray[np.uint8]) -> int:
    """The longer side of a picture that fits into WIDTH x HEIGHT."""
    height, width = pixels.shape[:2]
    return max(1, int(max(height, width) * min(1.0, WIDTH / width, HEIGHT / height)))


def _decoded(data: bytes) -> NDArray[np.uint8]:
    return np.asarray(images.decode(data).pixels, np.uint8)


def _label(name: str) -> str:
    # the font that comes with Pillow has Latin letters only
    text = shown(name).encode("latin-1", "replace").decode("latin-1")
    return text if len(text) <= 100 else f"...{text[-97:]}"
