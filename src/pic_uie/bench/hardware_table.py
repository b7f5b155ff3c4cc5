"""Benchmarks of many machines as rows of the paper's cross-hardware table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pic_uie.errors import DataError
from pic_uie.evaluation.tables import number, render
from pic_uie.paper import tables as paper

PAPER_GPU = "RTX 4090"  # its figures stand in the paper's efficiency table, the other machines' in its own
SHOWN = ("1080p", "4k")
IDLE = 0.25  # processes per core that an idle machine may have had before the first run
SPREAD = 1.5  # slowest over fastest run beyond which something else was running


def cross_hardware(documents: Sequence[Mapping[str, Any]]) -> str:
    """Returns the paper's rows, then ours in the order given."""
    rows = [
        [row.name, "the paper", str(row.cells["type"]), *(number(row.group(size).get("fps"), 1) for size in SHOWN)]
        for row in paper.table("cross-hardware").rows
    ]
    flagship = paper.table("efficiency-downstream").row(paper.ours())
    rows.append(
        [PAPER_GPU, "the paper", "GPU / 48 GB", *(number(flagship.group(size).get("fps"), 1) for size in SHOWN)]
    )
    for document in documents:
        for row in _rows(document):
            fps = [row["sizes"].get(size, {}).get("fps") for size in SHOWN]
            rows.append([_hardware(document, row), row["engine"], row["device"]["type"], *(number(f, 1) for f in fps)])
    return render(["hardware", "engine", "type / memory", "1080p FPS ↑", "4K FPS ↑"], rows)


def details(document: Mapping[str, Any]) -> str:
    """Returns everything that one benchmark measured: one line per engine and size."""
    ours = paper.table("quality").row(paper.ours()).group("cost")
    native = paper.table("efficiency-downstream").row(paper.ours())
    published = {"256": ours.get("gflops"), **{size: native.group(size).get("gflops") for size in SHOWN}}
    lines = []
    for row in _rows(document):
        for size, m in row["sizes"].items():
            times = [number(m.get(key), 2) for key in ("ms_mean", "ms_median")]
            counts = [number(m["gflops"], 3), number(published.get(size), 3)]
            lines.append([row["engine"], size, *counts, *times, number(m.get("fps"), 1), number(m.get("peak_mb"), 0)])
    header = ["engine", "size", "GFLOPs", "the paper", "mean ms", "median ms", "FPS ↑", "peak MB ↓"]
    m, params = document["machine"], document["model"]["params"]
    about = f"{m['processor']}, {m['cores']} cores, {m['memory_gb']} GB, {m['system']} {m['architecture']}"
    return f"{about}\n{params:,} parameters (the paper {ours.get('params'):,})\n{render(header, lines)}"


def doubts(document: Mapping[str, Any]) -> list[str]:
    """Returns why these timings should not be quoted: a machine that was busy, or runs that differ too much."""
    load, cores = document["machine"].get("load_before"), document["machine"]["cores"]
    found = []
    if load is not None and load > IDLE * cores:
        found.append(f"the machine was busy before the first run: load {load} on {cores} cores")
    for row in _rows(document):
        for size, m in row["sizes"].items():
            if "ms_max" in m and m["ms_max"] > SPREAD * m["ms_min"]:
                found.append(f"{row['engine']} {size}: runs took {m['ms_min']:.1f} to {m['ms_max']:.1f} ms")
    return found


def _hardware(document: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    if row["device"]["type"] != "CPU":
        return str(row["device"]["name"])
    return f"{row['device']['name']} ({row['threads'] or document['machine']['cores']} threads)"


def _rows(document: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    try:
        rows: Sequence[Mapping[str, Any]] = document["rows"]
        complete = all(row["engine"] and row["device"]["type"] and row["sizes"] for row in rows)
    except (KeyError, TypeError) as error:
        raise DataError(f"a benchmark file is damaged: {type(error).__name__} {error}") from error
    if not rows or not complete:
        raise DataError("a benchmark file has no measurements")
    return rows
