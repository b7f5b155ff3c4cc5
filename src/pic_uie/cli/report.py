"""`pic-uie report`: merges and summarises what `pic-uie enhance --report` wrote."""

from __future__ import annotations

import argparse
import heapq
import math
import re
from array import array
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from pic_uie.batch import reports
from pic_uie.batch.ledger import shown
from pic_uie.cli.exit_codes import OK
from pic_uie.cli.streams import say

_REASONS, _SLOWEST = 10, 5
_BINS, _BAR = 10, 40


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the two sub-verbs."""
    verbs = parser.add_subparsers(dest="subverb", required=True, metavar="merge|summary")
    merge = verbs.add_parser(
        "merge", help="merge the reports of shards, or of runs that continued each other, into one"
    )
    merge.add_argument("files", nargs="+", type=Path, metavar="FILE", help="reports (.jsonl or .parquet)")
    merge.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="report to write")
    summary = verbs.add_parser(
        "summary", help="print counts, reasons for failures, rate, the slowest files and a histogram"
    )
    summary.add_argument("files", nargs="+", type=Path, metavar="FILE", help="reports (.jsonl or .parquet)")


def run(arguments: argparse.Namespace) -> int:
    """Merges or summarises."""
    if arguments.subverb == "merge":
        reports.refuse_another_file(arguments.output)
        count = reports.merge(arguments.files, arguments.output)
        say(f"{count} files: {shown(arguments.output)}")
        return OK
    print("\n".join(summary(arguments.files)))
    return OK


def summary(files: Sequence[Path]) -> list[str]:
    """Returns the lines of a summary."""
    counts, reasons = Counter[str](), Counter[str]()
    times, slowest = array("d"), list[tuple[float, str]]()
    first, last, read, written = math.inf, -math.inf, 0, 0
    for path in files:
        for entry in reports.read(path):
            counts[entry["status"]] += 1
            if entry["status"] == "failed":
                reasons[_reason(str(entry.get("error")))] += 1
            if entry["status"] != "done":
                continue
            seconds = reports.seconds(entry)
            times.append(seconds)
            (heapq.heappush if len(slowest) < _SLOWEST else heapq.heappushpop)(slowest, (seconds, entry["input"]))
            read, written = read + (entry.get("bytes_in") or 0), written + (entry.get("bytes_out") or 0)
            if entry.get("finished") is not None:
                first, last = min(first, entry["finished"]), max(last, entry["finished"])
    lines = [f"{sum(counts.values())} files: " + ", ".join(f"{counts[name]} {name}" for name in sorted(counts))]
    if counts["done"]:
        lines.append(f"{read / 1e9:.3f} GB read, {written / 1e9:.3f} GB written")
    if last > first:
        lines.append(f"{(counts['done'] - 1) / (last - first):.2f} pictures/s over {last - first:.0f} s")
    if reasons:
        lines += ["", "failed:", *(f"{count:>9}  {reason}" for reason, count in reasons.most_common(_REASONS))]
        if len(reasons) > _REASONS:
            lines.append(f"           and {len(reasons) - _REASONS} other reasons")
    if times:
        lines += ["", "slowest:", *(f"{seconds:>8.2f} s  {shown(name)}" for seconds, name in sorted(slowest)[::-1])]
        lines += ["", "seconds per picture:", *_histogram(sorted(times))]
    return lines


def _histogram(times: Sequence[float]) -> list[str]:
    """Returns ten bars whose bounds grow by equal factors, with the median and the 95th percentile below them."""
    low, high = max(times[0], 1e-4), max(times[-1], 1.1e-4)
    factor = max((high / low) ** (1 / _BINS), 1.01)
    bins = Counter(min(_BINS - 1, int(math.log(max(value, low) / low) / math.log(factor))) for value in times)
    longest = max(bins.values())
    lines = []
    for index in range(_BINS):
        bounds = f"{low * factor**index:>8.3f} to {low * factor ** (index + 1):<8.3f}"
        lines.append(f"{bounds} {bins[index]:>9}  {'#' * math.ceil(_BAR * bins[index] / longest)}".rstrip())
    middle, late = (times[min(len(times) - 1, int(share * len(times)))] for share in (0.5, 0.95))
    return [*lines, f"median {middle:.3f} s, 95 % below {late:.3f} s"]


def _reason(error: str) -> str:
    """Returns what failures have in common: numbers and names of files are left out."""
    text = re.sub(r"\S*/\S*", "...", shown(error))
    return re.sub(r"\d+", "#", text)[:120]
