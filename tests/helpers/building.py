"""Targets of the Makefile, built once at a time: tests run in several processes."""

import fcntl
import subprocess


def make(root, target):
    """Runs make; returns what it did."""
    (root / "build").mkdir(exist_ok=True)
    with open(root / "build" / "make.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return subprocess.run(["make", target], cwd=root, capture_output=True, text=True, check=False)
