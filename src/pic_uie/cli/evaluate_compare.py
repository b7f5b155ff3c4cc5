"""`pic-uie evaluate compare A.json B.json`: whether B differs from A, and where it loses most."""

from __future__ import annotations

import argparse
from pathlib import Path

from pic_uie.cli.exit_codes import OK
from pic_uie.cli.output import require_suffix, write
from pic_uie.errors import ConfigError, did_you_mean


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    parser.add_argument("a", type=Path, metavar="A.json", help="result of the first method")
    parser.add_argument("b", type=Path, metavar="B.json", help="result of the second method")
    parser.add_argument("--metric", help="list the worst ten by this metric (default: the first)")
    parser.add_argument("--resize", metavar="NAME", help="way of resizing to compare by (default: the first of both)")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.csv", help="write the difference of every picture")


def run(arguments: argparse.Namespace) -> int:
    """Prints means, differences and the paired test, then the worst ten by name."""
    from pic_uie.evaluation import results
    from pic_uie.evaluation.compare import choose_resize, compare, identified, summary_table, to_csv, worst_table

    require_suffix(arguments.output, ".csv")
    a, b = results.read(arguments.a), results.read(arguments.b)
    resize = choose_resize(a, b, arguments.resize)
    differences = compare(a, b, resize)
    metric = arguments.metric or next(iter(differences))
    if metric not in differences:
        raise ConfigError(f"the results do not share the metric {metric!r}: {did_you_mean(metric, differences)}")
    if arguments.output:
        write(arguments.output, to_csv(differences))
    count = len(differences[metric].by_name)
    protocols = list(dict.fromkeys((a.protocol["name"], b.protocol["name"])))
    print(f"{' against '.join(protocols)}, {resize}, {count} pictures, {identified(a.names)}")
    if len(protocols) > 1:
        print("two protocols: that their pictures have the same names does not make them the same pictures")
    print(summary_table(differences, a.method, b.method))
    print(f"\nwhere B fares worst against A\n{worst_table(differences[metric], metric)}")
    return OK
