"""`pic-uie data`: prints the known lists; checks and converts data sets as published."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pic_uie.cli.exit_codes import FAILED, NOTHING_MATCHED, OK
from pic_uie.cli.options import fraction
from pic_uie.errors import ConfigError

NAMES = "uieb, lsui, u45, c60, uiqad, flsea or urpc"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the sub-verbs."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser(
        "lists", help="print the test lists that come with the package", description="Prints the known lists."
    )
    check = actions.add_parser("check", help="check a folder against the data set as published")
    prepare = actions.add_parser("prepare", help="convert a published data set to the layout that pic-uie reads")
    for action, does in ((check, "Compares a folder with"), (prepare, "Links the pictures of")):
        action.description = f"{does} a data set as published."
        action.add_argument("name", metavar="NAME", help=NAMES)
        action.add_argument("folder", type=Path, metavar="DIR", help="where it was unpacked")
    prepare.add_argument("-o", "--output", required=True, type=Path, metavar="DIR", help="an empty or new folder")
    prepare.add_argument("--copy", action="store_true", help="copy the pictures instead of linking to them")
    prepare.add_argument(
        "--scene", action="append", default=[], metavar="NAME", help="flsea: only this scene; may be repeated"
    )
    prepare.add_argument("--classes", metavar="A,B", help="urpc: default holothurian,echinus,scallop,starfish")
    prepare.add_argument(
        "--split",
        nargs=3,
        type=fraction,
        metavar=("TRAIN", "VAL", "TEST"),
        help="urpc: shares, where no split is published (default 0.7 0.1 0.2)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Prints what is known, found or done."""
    from pic_uie.datasets import published
    from pic_uie.datasets.folders import NoPicturesError
    from pic_uie.datasets.prepare import Wishes, check, prepare
    from pic_uie.datasets.voc import CLASSES

    if arguments.action == "lists":
        return _lists()
    facts = published.get(arguments.name)
    if arguments.action == "prepare":
        _refuse_foreign(arguments)
    try:
        found = check(arguments.name, arguments.folder)
        if arguments.action == "check":
            print(facts.title)
            print("\n".join(f"  {line}" for line in (*found.facts, *facts.notes)))
            for complaint in found.complaints:
                print(f"not as published: {complaint}")
            if not found.complaints:
                print("as published")
            return FAILED if found.complaints else OK
        wishes = Wishes(
            copy=arguments.copy,
            scenes=arguments.scene,
            classes=_classes(arguments.classes) if arguments.classes else CLASSES,
            shares=arguments.split,
        )
        for line in prepare(arguments.name, arguments.folder, arguments.output, wishes):
            print(line)
    except NoPicturesError as error:
        print(f"pic-uie: {error}", file=sys.stderr)
        return NOTHING_MATCHED
    for complaint in found.complaints:
        print(f"not as published: {complaint}")
    return OK


def _refuse_foreign(arguments: argparse.Namespace) -> None:
    for option, owner in (("scene", "flsea"), ("classes", "urpc"), ("split", "urpc")):
        if getattr(arguments, option) and arguments.name != owner:
            raise ConfigError(f"--{option} is for {owner}, not for {arguments.name}: leave it out")


def _classes(text: str) -> list[str]:
    names = [word.strip() for word in text.split(",")]
    if not all(names) or len(set(names)) < len(names):
        raise ConfigError(f"--classes takes different names with commas between them, got {text!r}")
    return names


def _lists() -> int:
    from pic_uie.datasets import lists
    from pic_uie.datasets.stems import read_stems

    for name, facts in lists.known().items():
        print(f"{name}: {len(read_stems(lists.path(name)))} pictures, sha256 {facts.sha256}")
        print(f"  {facts.used_by}")
    return OK
