"""`pic-uie model summary`: what the model is made of and what it costs."""

from __future__ import annotations

import argparse

from pic_uie.cli.exit_codes import OK

SIZES = {"256": (256, 256), "1080p": (1080, 1920), "4K": (2160, 3840)}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the sub-verb and its options."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    summary = actions.add_parser("summary", help="parts, parameters and GFLOPs at 256, 1080p and 4K")
    summary.add_argument("--config", metavar="FILE", help="a configuration file, e.g. configs/variants/width-32.yaml")


def run(arguments: argparse.Namespace) -> int:
    """Prints the table."""
    from pic_uie.complexity import part_gflops, parts
    from pic_uie.training.config import Recipe
    from pic_uie.typed_yaml import load

    recipe = load(Recipe, arguments.config) if arguments.config else Recipe()
    table = parts(recipe.model)
    header = f"{'part':<16}{'parameters':>12}" + "".join(f"{'GFLOPs ' + name:>16}" for name in SIZES)
    print(header)
    for part in table:
        costs = (part_gflops(part, height * width) for height, width in SIZES.values())
        print(f"{part.name:<16}{part.parameters:>12,}" + "".join(f"{cost:>16.4f}" for cost in costs))
    totals = (sum(part_gflops(part, height * width) for part in table) for height, width in SIZES.values())
    print(f"{'total':<16}{sum(part.parameters for part in table):>12,}" + "".join(f"{cost:>16.4f}" for cost in totals))
    return OK
