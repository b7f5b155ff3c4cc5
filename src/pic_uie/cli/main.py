"""Finds the verb, runs it, and turns errors into messages and exit codes."""

from __future__ import annotations

import argparse
import glob
import importlib
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from pic_uie import __version__
from pic_uie.cli.exit_codes import ENVIRONMENT, FAILED, INTERRUPTED, OK, USAGE
from pic_uie.cli.output import named_files, refuse_inputs
from pic_uie.cli.signals import keyboard_interrupts
from pic_uie.cli.streams import drop_output, open_streams, say
from pic_uie.errors import ConfigError, EnvironmentMissingError, PicUieError

# Verb -> one-line help. Each lives in the module of its name with `add_arguments(parser)` and `run(arguments) -> int`.
VERBS: dict[str, str] = {
    "enhance": "enhance pictures and videos: files, folders, globs, lists or standard input",
    "report": "merge or summarise the reports of runs",
    "look": "show, mix and export looks (saved corrections)",
    "stream": "enhance raw frames from standard input to standard output",
    "compare": "draw a picture before and after enhancement, side by side or split",
    "inspect": "show what the model did to a picture: corrections, steps, statistics",
    "page": "serve the page that enhances pictures in the browser, on this computer only",
    "doctor": "show what this installation has and what is missing",
    "evaluate": "score weights or finished pictures under a protocol; compare results",
    "data": "show the known test lists; check and prepare published data sets",
    "bench": "measure speed and memory on this machine; collect results from many machines",
    "train": "train the model on paired pictures",
    "reproduce": "train or score the rows of one of the paper's tables, and compare with its figures",
    "figure": "draw a figure of the paper from data",
    "depth": "estimate depth maps with a monocular ONNX network",
    "synth": "render synthetic underwater pictures with their references and depth",
    "model": "describe the model: parts, parameters, GFLOPs",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs `pic-uie` and returns its exit code."""
    open_streams()
    argv = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(prog="pic-uie", description="Enhance underwater pictures and videos.")
    parser.add_argument("--version", action="version", version=f"pic-uie {__version__}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name, help_text in VERBS.items():
        verb = verbs.add_parser(name, help=help_text, description=help_text)
        if name in argv[:1]:  # only the verb in use is imported: start-up stays short
            module = importlib.import_module(f"pic_uie.cli.{name}")
            module.add_arguments(verb)
    if argv and (advice := _verb_forgotten(argv)):
        parser.error(advice)
    arguments, rest = parser.parse_known_args(argv)
    if rest:  # argparse takes key=value words in one place only; they may stand anywhere
        if "overrides" not in arguments or any(word.startswith("-") or "=" not in word for word in rest):
            parser.error(f"unrecognized arguments: {' '.join(rest)}")
        arguments.overrides += rest
    subverb = getattr(arguments, "subverb", None)
    if subverb and argv[1] != subverb:
        parser.error(f"options of `{arguments.verb} {subverb}` go after {subverb}, not before it")
    try:
        if output := getattr(arguments, "output", None):
            refuse_inputs([Path(output)], named_files(arguments))
        with keyboard_interrupts():
            code = int(module.run(arguments))
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader of our output, as in `| head`, has seen enough
        drop_output()
        return OK
    except KeyboardInterrupt:
        return INTERRUPTED
    except EnvironmentMissingError as error:
        return _fail(error, ENVIRONMENT)
    except ConfigError as error:
        return _fail(error, USAGE)
    except PicUieError as error:
        return _fail(error, FAILED)
    except OSError as error:  # most likely standard output on a full disk: files that are read and written say more
        drop_output()
        where = f"{error.filename}: " if error.filename else ""
        return _fail(EnvironmentMissingError(f"{where}{error.strerror or error}"), ENVIRONMENT)


def _fail(error: PicUieError, code: int) -> int:
    say(f"pic-uie: {error}")
    return code


def _verb_forgotten(argv: Sequence[str]) -> str | None:
    """Returns what to type instead of `pic-uie reef.jpg`, or None."""
    word = argv[0]
    if word in VERBS or word.startswith("-"):
        return None
    if os.path.lexists(word) or "." in word or "/" in word or glob.has_magic(word):
        return f"{word!r} is not a verb; to enhance pictures, run: pic-uie enhance {shlex.join(argv)}"
    return None
