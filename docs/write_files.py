"""Writes the table of formats in docs/files.md from what the format modules say of themselves.

    python docs/write_files.py          # prints it
    python docs/write_files.py --write  # puts it into docs/files.md

tests/images/test_table.py checks that the file is up to date, and every claim against real files.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pic_uie.images import formats
from pic_uie.images.description import CodePoints, Gamma
from pic_uie.images.interface import Format

DOCUMENT = Path(__file__).with_name("files.md")
BEGIN, END = "<!-- table: python docs/write_files.py --write -->", "<!-- end of the table -->"
_COLUMNS = ("format", "results", "bits", "kept", "converted", "refused")
_WORDS = {CodePoints: "code points", Gamma: "gamma"}
_ORDER = ("EXIF", "XMP", "extended XMP", "IPTC", "Photoshop", "texts", "comments", "segments")
_NAMES = {"Photoshop": "Photoshop resources", "segments": "GoPro, FLIR and other segments"}


def table() -> str:
    """Returns the table."""
    rows = [_COLUMNS, tuple("---" for _ in _COLUMNS), *(_row(kind) for kind in formats.readable())]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def with_table(document: str) -> str:
    """Returns the document with the table of today."""
    before, rest = document.split(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.split(END)[1]}"


def _row(kind: Format) -> tuple[str, ...]:
    written = formats.result_of(kind)
    kept = ["ICC profile"] if kind.profile and kind.name != "raw" else []
    kept += [_WORDS[words] for words in kind.describes]
    kept += [_NAMES.get(name, name) for name in _ORDER if name in kind.keeps]
    kept += ["transparency"] if kind.alpha and kind.name not in ("raw", "heic") else []
    kept += ["CMYK"] if kind.cmyk else []
    bits = {8: "8", 12: "8, 10, 12", 16: "8, 16"}[kind.depth] if kind.name != "raw" else "16"
    results = "the same" if written is kind else written.title
    return (f"**{kind.title}** {kind.suffixes[0]}", results, bits, ", ".join(kept), kind.converts, kind.refuses)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        DOCUMENT.write_text(with_table(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        sys.stdout.write(table() + "\n")
