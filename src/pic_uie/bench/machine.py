"""The machine that a benchmark runs on, described for a table."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

from pic_uie.cores import usable_cores

GIGABYTE = 1 << 30


def describe() -> dict[str, str | int | float]:
    """Returns processor, cores that may be used, memory and operating system."""
    return {
        "processor": processor(),
        "cores": usable_cores(),
        "memory_gb": round(_memory_bytes() / GIGABYTE, 1),
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
    }


def processor() -> str:
    """Returns the processor's name as the system reports it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    for key in ("model name", "Model", "Hardware"):
        for line in lines:
            name, _, value = line.partition(":")
            if name.strip() == key and value.strip():
                return value.strip()
    return platform.processor() or platform.machine()


def load_average() -> float | None:
    """Returns how many processes wanted to run over the last minute; None where the system does not say."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def peak_resident_bytes() -> int:
    """Returns the most memory that this process has held so far; 0 where the system does not say."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        peak = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
        return int(peak.split()[1]) * 1024
    except (OSError, StopIteration):
        pass
    try:
        import resource
    except ImportError:
        return 0
    peak_units = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak_units if sys.platform == "darwin" else peak_units * 1024


def _memory_bytes() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0
