"""Finds the verb, runs it, and turns errors into messages and exit codes."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from pic_uie import __version__
from pic_uie.cli.exit_codes import ENVIRONMENT, FAILED, INTERRUPTED, USAGE
from pic_uie.errors import ConfigError, EnvironmentMissingError, PicUieError

# Verb -> one-line help. Each lives in the module of its name with `add_arguments(parser)` and `run(arguments) -> int`.
VERBS: dict[str, str] = {
    "enhance": "enhance pictures: files, folders, globs, lists or standard input",
    "compare": "draw a picture before and after, side by side or split",
    "depth": "make depth maps with a monocular ONNX network",
    "model": "describe the model: parts, parameters, GFLOPs",
    "synth": "render synthetic underwater pictures with their reference and depth",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs `pic-uie` and returns its exit code."""
    argv = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(prog="pic-uie", description="Enhance underwater pictures.")
    parser.add_argument("--version", action="version", version=f"pic-uie {__version__}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name, help_text in VERBS.items():
        verb = verbs.add_parser(name, help=help_text, description=help_text)
        if name in argv[:1]:  # only the verb in use is imported: start-up stays short
            module = importlib.import_module(f"pic_uie.cli.{name}")
            module.add_arguments(verb)
    arguments = parser.parse_args(argv)
    try:
        return int(module.run(arguments))
    except KeyboardInterrupt:
        return INTERRUPTED
    except EnvironmentMissingError as error:
        return _fail(error, ENVIRONMENT)
    except ConfigError as error:
        return _fail(error, USAGE)
    except PicUieError as error:
        return _fail(error, FAILED)


def _fail(error: PicUieError, code: int) -> int:
    print(f"pic-uie: {error}", file=sys.stderr)
    return code
