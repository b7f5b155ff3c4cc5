"""`pic-uie train`: from paired pictures to weights."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pic_uie.cli.exit_codes import OK
from pic_uie.cli.options import LIST, add_threads, list_file
from pic_uie.errors import ConfigError, EnvironmentMissingError
from pic_uie.writing import make_folder

if TYPE_CHECKING:
    from pic_uie.training.config import Recipe
    from pic_uie.training.unlabelled import Answered


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    parser.add_argument(
        "overrides", nargs="*", metavar="key=value", help="change the recipe, e.g. optimization.epochs=100"
    )
    parser.add_argument("--config", metavar="FILE", help="recipe (default: the paper's, configs/paper.yaml)")
    parser.add_argument(
        "--data", required=True, type=Path, metavar="DIR", help="folder with input/, target/ and depth/"
    )
    parser.add_argument("--list", type=list_file, metavar=LIST, help="pictures to use (default: all in DIR)")
    parser.add_argument("--validation", type=list_file, metavar=LIST, help="pictures to hold out and score on")
    parser.add_argument("--unlabelled", type=Path, metavar="DIR", help="pictures without a target, for the teachers")
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="DIR", help="the run's folder")
    parser.add_argument("--resume", action="store_true", help="resume the run in the output folder")
    add_threads(parser)
    parser.add_argument("--device", default="cpu", help="PyTorch device, e.g. cuda (default cpu)")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="keep the resized arrays here for the next run")
    parser.add_argument("--tensorboard", action="store_true", help="also write events for TensorBoard")


def run(arguments: argparse.Namespace) -> int:
    """Trains."""
    try:
        import torch
        import torch.distributed as dist
    except ImportError as error:
        raise EnvironmentMissingError("training needs PyTorch: pip install 'pic-uie[train]'") from error
    from pic_uie.cli.training_progress import TrainingProgress
    from pic_uie.training.config import OURS
    from pic_uie.training.lesson import MakeLesson, OwnLesson
    from pic_uie.training.loop import train
    from pic_uie.training.pairs import load_pairs, split_stems
    from pic_uie.training.recipe_file import load_recipe

    recipe = load_recipe(arguments.config or os.devnull, arguments.overrides)
    make_lesson: MakeLesson = OwnLesson
    if recipe.method != OURS:
        from pic_uie.paper.baselines import find
        from pic_uie.paper.baselines.lesson import BaselineLesson

        find(recipe.method)  # an unknown name is reported before pictures are read
        make_lesson = BaselineLesson
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    kept, held_out = split_stems(arguments.data, arguments.list, arguments.validation)
    pairs = load_pairs(arguments.data, kept, recipe.size, recipe.uses_depth, arguments.cache)
    validation = None
    if held_out:
        validation = load_pairs(arguments.data, held_out, recipe.size, recipe.uses_depth, arguments.cache)

    real = _answered(recipe, arguments)
    chief = int(os.environ.get("RANK", "0")) == 0
    device = arguments.device
    if "WORLD_SIZE" in os.environ:  # started by torchrun
        if device == "cuda":
            device = f"cuda:{os.environ.get('LOCAL_RANK', '0')}"  # each process its own
            torch.cuda.set_device(device)
        dist.init_process_group("nccl" if device.startswith("cuda") else "gloo")
    if chief:
        _prepare(arguments.output, arguments.resume)
        unlabelled = f"{len(real.answers)} unlabelled pictures, " if real else ""
        facts = f"{len(pairs)} pairs, {unlabelled}{len(held_out)} held out"
        print(f"pic-uie train: {facts}, to {arguments.output}", file=sys.stderr)
    if dist.is_initialized():
        dist.barrier()
    try:
        with TrainingProgress(arguments.output if arguments.tensorboard else None, enabled=chief) as progress:
            train(
                recipe,
                pairs,
                validation,
                arguments.output,
                real=real,
                device=device,
                on_step=progress.step,
                on_epoch=progress.epoch,
                on_note=lambda note: print(f"pic-uie train: {note}", file=sys.stderr) if chief else None,
                make_lesson=make_lesson,
            )
        if dist.is_initialized():
            gc.collect()  # DistributedDataParallel keeps the group in reference cycles
            dist.barrier()  # nobody leaves while another still talks to it
    except KeyboardInterrupt:
        if chief:
            print("interrupted: run it with --resume to continue after the last complete epoch", file=sys.stderr)
        raise
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
    return OK


def _answered(recipe: Recipe, arguments: argparse.Namespace) -> Answered | None:
    from pic_uie.training.answering import answer
    from pic_uie.training.unlabelled import load_unlabelled

    teaching, folder = recipe.teaching, arguments.unlabelled
    if teaching.real and folder is None:
        raise ConfigError(
            f"teaching.real = {teaching.real}: the recipe needs pictures without a target: --unlabelled DIR"
        )
    if folder is None:
        return None
    if not teaching.real:
        raise ConfigError("the recipe uses no pictures without a target: set teaching.real, or leave out --unlabelled")
    return answer(load_unlabelled(folder, recipe.size), teaching.teachers, arguments.cache)


def _prepare(folder: Path, resume: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder} is a file: give -o another name")
    if folder.is_dir() and any(folder.iterdir()) and not resume:
        raise ConfigError(f"{folder} is not empty: add --resume to continue its run, or give -o another name")
    make_folder(folder)
