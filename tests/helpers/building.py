"""Targets of the Makefile, built once in a run of the tests, whose processes share what is built."""

import fcntl
import os
import subprocess


def make(root, target):
    """Runs make, unless another process of this run has; returns what it did."""
    (root / "build").mkdir(exist_ok=True)
    run, made = os.environ.get("PYTEST_XDIST_TESTRUNUID"), root / "build" / f"made-{target}"
    with open(root / "build" / "make.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if run and made.exists() and made.read_text() == run:  # anew, it would be gone for a moment
            return subprocess.CompletedProcess(["make", target], 0, "", "")
        done = subprocess.run(["make", target], cwd=root, capture_output=True, text=True, check=False)
        if run and done.returncode == 0:
            made.write_text(run)
        return done
