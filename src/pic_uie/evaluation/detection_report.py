"""Detectors of several methods and seeds as one table: means, their intervals over seeds, differences to raw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pic_uie.evaluation import statistics
from pic_uie.evaluation.tables import interval, number, render
from pic_uie.paper import tables as paper

FORMAT = "pic-uie-detection-1"
RAW = "raw"

Tests = Mapping[str, Mapping[int, Mapping[str, Any]]]  # method -> seed -> what `train_and_test` returned


def document(tests: Tests, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Returns everything for JSON: each detector, and per method the mean, deviation and interval over seeds."""
    methods = {}
    for name, by_seed in tests.items():
        methods[name] = {
            "seeds": {str(seed): dict(test) for seed, test in by_seed.items()},
            "map50": over_seeds([test["map50"] for test in by_seed.values()]),
            "map50_95": over_seeds([test["map50_95"] for test in by_seed.values()]),
        }
        if name != RAW:
            shared = [seed for seed in by_seed if seed in tests[RAW]]
            paired = [by_seed[seed]["map50"] - tests[RAW][seed]["map50"] for seed in shared]
            methods[name]["map50_to_raw"] = over_seeds(paired)
    return {"format": FORMAT, **facts, "methods": methods}


def over_seeds(values: Sequence[float]) -> dict[str, float | None]:
    """Returns mean, sample deviation and the 95 % interval of Student's t; None for a single seed."""
    low, high = statistics.student_interval(values)
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return {"mean": float(np.mean(values)), "deviation": spread, "low": low, "high": high}


def table(report: Mapping[str, Any]) -> str:
    """Returns the table for a terminal, with the paper's figure below."""
    rows = []
    for name, method in report["methods"].items():
        seeds = len(method["seeds"])
        to_raw = method.get("map50_to_raw")
        rows.append(
            [
                name,
                str(seeds),
                _with_deviation(method["map50"]),
                _interval(method["map50"]),
                _with_deviation(method["map50_95"]),
                number(to_raw["mean"], 3, signed=True) if to_raw else "-",
                _interval(to_raw, signed=True) if to_raw else "-",
            ]
        )
    theirs = paper.table("efficiency-downstream").row(paper.ours()).group("detection")["map50"]
    rows.append(["the paper's, on URPC2019", "-", number(theirs, 3), "-", "-", "-", "-"])
    header = ["trained and tested on", "seeds", "mAP@50", "95 % interval", "mAP@50-95", "to raw", "95 % interval"]
    return render(header, rows)


def _with_deviation(values: Mapping[str, float | None]) -> str:
    spread = values["deviation"]
    return number(values["mean"], 3) + (f" ± {spread:.3f}" if spread is not None else "")


def _interval(values: Mapping[str, float | None], signed: bool = False) -> str:
    return interval(values["low"], values["high"], 3, signed)
