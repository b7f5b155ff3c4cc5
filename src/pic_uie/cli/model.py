"""`pic-uie model summary`: what a model is made of and what it costs."""

from __future__ import annotations

import argparse

from pic_uie.cli.exit_codes import OK
from pic_uie.errors import EnvironmentMissingError

SIZES = {"256": (256, 256), "1080p": (1080, 1920), "4K": (2160, 3840)}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the sub-verb and its options."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    summary = actions.add_parser("summary", help="print parts, parameters and GFLOPs at 256, 1080p and 4K")
    what = summary.add_mutually_exclusive_group()
    what.add_argument("--config", metavar="FILE", help="a configuration file, e.g. configs/variants/width-32.yaml")
    what.add_argument("--method", metavar="SYSTEM", help="a system of the paper's tables, e.g. nu2net")


def run(arguments: argparse.Namespace) -> int:
    """Prints the table."""
    from pic_uie.training.config import OURS, Recipe
    from pic_uie.training.recipe_file import load_recipe

    recipe = load_recipe(arguments.config) if arguments.config else Recipe(method=arguments.method or OURS)
    if recipe.method != OURS:
        return _summarise_system(recipe.method)
    from pic_uie.complexity import part_gflops, parts

    table = parts(recipe.model)
    _print_header()
    for part in table:
        _print_row(part.name, part.parameters, [part_gflops(part, height * width) for height, width in SIZES.values()])
    totals = [sum(part_gflops(part, height * width) for part in table) for height, width in SIZES.values()]
    _print_row("total", sum(part.parameters for part in table), totals)
    return OK


def _summarise_system(name: str) -> int:
    try:
        from pic_uie.paper.baselines import find
        from pic_uie.paper.baselines.cost import parts
    except ImportError as error:
        raise EnvironmentMissingError("the other systems need PyTorch: pip install 'pic-uie[train]'") from error
    system = find(name)
    costs: dict[str, list[float | None]] = {}
    parameters: dict[str, int] = {}
    for height, width in SIZES.values():
        try:
            system.check_size(height, width)
        except ValueError:
            found = parts(system(), None)
        else:
            found = parts(system(), (height, width))
        for part, (count, cost) in found.items():
            parameters[part] = count
            costs.setdefault(part, []).append(cost)
    _print_header()
    for part, row in costs.items():
        _print_row(part, parameters[part], row)
    if system.passes > 1:
        print(f"GFLOPs are of {system.passes} passes a picture")
    if system.fixed:
        print(f"{system.title} takes pictures of {system.fixed}x{system.fixed} only")
    return OK


def _print_header() -> None:
    print(f"{'part':<16}{'parameters':>12}" + "".join(f"{'GFLOPs ' + name:>16}" for name in SIZES))


def _print_row(name: str, parameters: int, costs: list[float] | list[float | None]) -> None:
    cells = (f"{'-' if cost is None else format(cost, '.4f'):>16}" for cost in costs)
    print(f"{name:<16}{parameters:>12,}" + "".join(cells))
