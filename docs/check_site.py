"""Checks that no page of a built site can load anything from another host: python docs/check_site.py dist/docs."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

# What a browser fetches by itself. The href of a plain link is not among it: that is for the reader to follow.
_LOADING = {"src", "srcset", "poster", "data"}
_ELSEWHERE = re.compile(r"(?:https?:)?//", re.IGNORECASE)
_STYLE = re.compile(r"(?:url\(|@import)\s*['\"]?((?:https?:)?//[^'\")\s]*)", re.IGNORECASE)


class _Page(HTMLParser):
    """Collects what a page loads, and whether it forbids the browser to load from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.is_confined = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        loading = (
            _LOADING | {"href"} if tag in ("link", "use", "image") and values.get("rel") != "canonical" else _LOADING
        )
        self.loads += [value for name, value in values.items() if name in loading]
        if values.get("http-equiv") == "Content-Security-Policy":
            self.is_confined = values.get("content", "").startswith("default-src 'self'")


def problems(site: Path) -> Iterator[str]:
    """Yields a line for each page and style sheet that loads, or may load, something from another host."""
    pages = sorted(site.rglob("*.html"))
    if not pages:
        yield f"{site}: no pages; run `make docs`"
    for path in pages:
        text = path.read_text(encoding="utf-8")
        page = _Page()
        page.feed(text)
        if not page.is_confined:
            yield f"{path}: no Content-Security-Policy"
        yield from (f"{path}: loads {value}" for value in page.loads if _ELSEWHERE.match(value.strip()))
    for path in [*pages, *sorted(site.rglob("*.css"))]:
        yield from (f"{path}: loads {value}" for value in _STYLE.findall(path.read_text(encoding="utf-8")))


if __name__ == "__main__":
    found = list(problems(Path(sys.argv[1])))
    sys.stderr.write("".join(f"{line}\n" for line in found))
    sys.exit(1 if found else 0)
