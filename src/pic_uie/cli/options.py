"""Types of command-line values that several verbs share."""

from __future__ import annotations

import argparse


def count(text: str) -> int:
    """A whole number from 1."""
    return _whole_number(text, 1, None)


def thread_count(text: str) -> int:
    """As many threads as the engine can use."""
    from pic_uie.enhancer import MAX_THREADS

    return _whole_number(text, 1, MAX_THREADS)


def percentage(text: str) -> int:
    """A whole number from 1 to 100."""
    return _whole_number(text, 1, 100)


def fraction(text: str) -> float:
    """A number from 0 to 1."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0.0 <= value <= 1.0:
        raise argparse.ArgumentTypeError(f"a number from 0 to 1 is needed, got {text!r}")
    return value


def _whole_number(text: str, low: int, high: int | None) -> int:
    wanted = f"from {low}" if high is None else f"from {low} to {high}"
    try:
        value = int(text)
    except ValueError:
        value = low - 1
    if value < low or (high is not None and value > high):
        raise argparse.ArgumentTypeError(f"a whole number {wanted} is needed, got {text!r}")
    return value
