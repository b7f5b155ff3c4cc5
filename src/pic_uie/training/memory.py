"""Keeps freed memory in the process: a third of a training step would otherwise be page faults."""

from __future__ import annotations

import ctypes
import sys

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # of glibc's mallopt
LARGEST = 2**31 - 1


def keep_freed_memory() -> bool:
    """Stops glibc from mapping and unmapping the large tensors of every step; returns whether it could."""
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # absent from other C libraries
    return mallopt is not None and bool(mallopt(M_MMAP_MAX, 0) and mallopt(M_TRIM_THRESHOLD, LARGEST))
