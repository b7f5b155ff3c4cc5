"""What `bench --all` measured, beside the paper's figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pic_uie.bench.systems import OURS, OURS_EAGER, reasons
from pic_uie.evaluation.tables import number, render
from pic_uie.paper import tables as paper
from pic_uie.paper.baselines import BASELINES, UNPUBLISHED


def table(document: Mapping[str, Any]) -> str:
    """Returns the table, and the reason of every dash below it."""
    sizes = list(document["rows"][0]["sizes"])
    header = ["system", "parameters", "the paper", "GFLOPs 256", "the paper", "the paper's ms"]
    for size in sizes:
        header += [f"ms {size}", "x ours"]
    rows = [_row(row, sizes) for row in document["rows"]]
    is_whole = len(document["rows"]) > len(BASELINES)
    if is_whole:
        cells = paper.table("quality").row("WF-Diff").group("cost")
        printed = [number(cells.get(key), digits) for key, digits in (("params", 0), ("gflops", 2), ("ms", 2))]
        rows.append(["WF-Diff", "-", printed[0], "-", printed[1], printed[2], *["-"] * (2 * len(sizes))])
    facts, protocol = document["machine"], document["protocol"]
    how = f"{protocol['threads']} thread(s), {protocol['clock']} time, load before {facts['load_before']}"
    about = f"{facts['processor']}, {how}; the paper: RTX 4090"
    notes = reasons(document) + (list(UNPUBLISHED.values()) if is_whole else [])
    return "\n".join([about, render(header, rows), *(f"- {note}" for note in notes)])


def _row(row: Mapping[str, Any], sizes: list[str]) -> list[str]:
    name = row["method"]
    is_ours = name in (OURS, OURS_EAGER)
    title = {OURS: "PIC-UIE", OURS_EAGER: "PIC-UIE on PyTorch"}.get(name) or BASELINES[name].title
    printed = paper.table("quality").row(paper.ours() if is_ours else title).group("cost")
    at_256 = row["sizes"].get("256", {}).get("gflops")
    cells = [title, f"{row['params']:,}", number(printed.get("params"), 0)]
    cells += [number(at_256, 3), number(printed.get("gflops"), 3), number(printed.get("ms"), 2)]
    for size in sizes:
        found = row["sizes"][size]
        cells += [number(found.get("ms"), 1), number(found.get("ratio"), 1)]
    return cells
