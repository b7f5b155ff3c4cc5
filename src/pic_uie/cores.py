"""How many cores this process may use: counted once, for threads, processes and reports alike."""

from __future__ import annotations

import os


def usable_cores() -> int:
    """Returns how many cores this process may use: those it is bound to, where the system reports them."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
