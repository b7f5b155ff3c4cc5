"""Finds the verb, runs it, and turns errors into messages and exit codes."""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from pic_uie import __version__
from pic_uie.cli.exit_codes import ENVIRONMENT, FAILED, INTERRUPTED, OK, USAGE
from pic_uie.cli.output import named_files, refuse_inputs
from pic_uie.errors import ConfigError, EnvironmentMissingError, PicUieError

# Verb -> one-line help. Each lives in the module of its name with `add_arguments(parser)` and `run(arguments) -> int`.
VERBS: dict[str, str] = {
    "enhance": "enhance pictures: files, folders, globs, lists or standard input",
    "compare": "draw a picture before and after, side by side or split",
    "inspect": "show what the model did to a picture: corrections, steps, statistics",
    "doctor": "say what this installation runs with and what is missing",
    "evaluate": "score weights or finished pictures under a protocol; compare results",
    "bench": "measure speed and memory on this machine; collect rows of many machines",
    "train": "train the model on paired pictures",
    "reproduce": "train or score the rows of a table of the paper, beside the paper's figures",
    "figure": "draw a figure of the paper from data",
    "depth": "make depth maps with a monocular ONNX network",
    "synth": "render synthetic underwater pictures with their reference and depth",
    "model": "describe the model: parts, parameters, GFLOPs",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs `pic-uie` and returns its exit code."""
    _open_streams()
    argv = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(prog="pic-uie", description="Enhance underwater pictures.")
    parser.add_argument("--version", action="version", version=f"pic-uie {__version__}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name, help_text in VERBS.items():
        verb = verbs.add_parser(name, help=help_text, description=help_text)
        if name in argv[:1]:  # only the verb in use is imported: start-up stays short
            module = importlib.import_module(f"pic_uie.cli.{name}")
            module.add_arguments(verb)
    arguments, rest = parser.parse_known_args(argv)
    if rest:  # argparse takes key=value words in one place only; they may stand anywhere
        if "overrides" not in arguments or any(word.startswith("-") or "=" not in word for word in rest):
            parser.error(f"unrecognized arguments: {' '.join(rest)}")
        arguments.overrides += rest
    subverb = getattr(arguments, "subverb", None)
    if subverb and argv[1] != subverb:
        parser.error(f"options of `{arguments.verb} {subverb}` go behind {subverb}, not in front of it")
    try:
        if output := getattr(arguments, "output", None):
            refuse_inputs([Path(output)], named_files(arguments))
        code = int(module.run(arguments))
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader of our output, as in `| head`, has seen enough
        _drop_output()
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
        _drop_output()
        where = f"{error.filename}: " if error.filename else ""
        return _fail(EnvironmentMissingError(f"{where}{error.strerror or error}"), ENVIRONMENT)


def _open_streams() -> None:
    """Lets messages go nowhere where the caller closed a stream, and names that no encoding knows be printed."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 (for as long as we run)
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """Lets what standard output no longer takes go nowhere, so that the interpreter does not stumble over it."""
    try:
        sys.stdout.flush()
    except OSError:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (for as long as we run)


def _fail(error: PicUieError, code: int) -> int:
    print(f"pic-uie: {error}", file=sys.stderr)
    return code
