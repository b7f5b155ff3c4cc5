"""Brings what lies outside docs/ onto the site: README and its neighbours, the files they link to, the help texts.

A hook of MkDocs (mkdocs.yml). Pages keep the links that work in the repository; this turns them into the site's.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from pic_uie.cli.main import VERBS

ROOT = Path(__file__).parents[1]
PAGES = {
    "README.md": "index.md",
    "MODEL_CARD.md": "model-card.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
}
EXTRA_FILES = {"web/icon.svg": "images/icon.svg"}
# A browser that keeps to it asks no other host, whatever the theme's scripts contain.
POLICY = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'self' 'unsafe-inline' data: blob:\">"
_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)")


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages and files that are not in docs/."""
    sources = {name: (ROOT / name).read_text(encoding="utf-8") for name in PAGES}
    for name, text in sources.items():
        files.append(File.generated(config, PAGES[name], content=_LINK.sub(lambda link: _on_site(link[1]), text)))
    files.append(File.generated(config, "command-line.md", content=_command_line()))
    linked = {link: link for text in sources.values() for link in _LINK.findall(text) if _is_plain_file(link)}
    for source, target in {**linked, **EXTRA_FILES}.items():
        files.append(File.generated(config, target, abs_src_path=str(ROOT / source)))
    return files


def on_post_page(output: str, **_: Any) -> str:
    """Forbids a page to load anything from another host."""
    return output.replace("<head>", f"<head>{POLICY}", 1)


def on_post_template(output: str, template_name: str, **_: Any) -> str:
    """Does the same for the page of addresses that do not exist."""
    return on_post_page(output) if template_name.endswith(".html") else output


def _on_site(link: str) -> str:
    """Returns where a link of README.md leads on the site; one that leads nowhere stays and stops the strict build."""
    return PAGES.get(link) or link.removeprefix("docs/")


def _is_plain_file(link: str) -> bool:
    return link not in PAGES and not link.startswith("docs/") and (ROOT / link).is_file()


def _command_line() -> str:
    """Returns the help texts of all verbs as a page."""
    os.environ["COLUMNS"] = "100"
    parts = ["# Command line\n\nThe help texts, as `pic-uie VERB --help` prints them.\n"]
    for verb, summary in VERBS.items():
        parser = argparse.ArgumentParser(prog=f"pic-uie {verb}", description=summary)
        importlib.import_module(f"pic_uie.cli.{verb}").add_arguments(parser)
        parts.append(f"## {verb}\n")
        parts += [f"```text\n{each.format_help()}```\n" for each in (parser, *_subparsers(parser))]
    return "\n".join(parts)


def _subparsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.values()
