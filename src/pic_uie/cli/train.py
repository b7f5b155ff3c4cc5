"""`pic-uie train`: from paired pictures to weights."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from pathlib import Path

from pic_uie.cli.exit_codes import OK
from pic_uie.cli.options import count
from pic_uie.errors import ConfigError, EnvironmentMissingError
from pic_uie.typed_yaml import load


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="e.g. optimization.epochs=100")
    parser.add_argument("--config", metavar="FILE", help="a recipe; without it the paper's (configs/paper.yaml)")
    parser.add_argument("--data", required=True, type=Path, metavar="DIR", help="has input/, target/ and depth/")
    parser.add_argument("--list", type=Path, metavar="FILE", help="stems to use; without it all in DIR")
    parser.add_argument("--validation", type=Path, metavar="FILE", help="stems to set aside and measure on")
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="DIR", help="the run's folder")
    parser.add_argument("--resume", action="store_true", help="go on with the run in the output folder")
    parser.add_argument("--threads", type=count, metavar="N", help="CPU threads (default: all cores)")
    parser.add_argument("--device", default="cpu", help="of PyTorch, e.g. cuda")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="keep the resized arrays here for the next run")
    parser.add_argument("--tensorboard", action="store_true", help="also write events for TensorBoard")


def run(arguments: argparse.Namespace) -> int:
    """Trains."""
    try:
        import torch
        import torch.distributed as dist
    except ImportError as error:
        raise EnvironmentMissingError("training needs PyTorch: pip install 'pic-uie[train]'") from error
    from pic_uie.cli.training_progress import Progress
    from pic_uie.training.config import Recipe
    from pic_uie.training.loop import train
    from pic_uie.training.pairs import load_pairs, split_stems

    recipe = load(Recipe, arguments.config or os.devnull, arguments.overrides)
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    kept, held_out = split_stems(arguments.data, arguments.list, arguments.validation)
    pairs = load_pairs(arguments.data, kept, recipe.size, recipe.uses_depth, arguments.cache)
    validation = None
    if held_out:
        validation = load_pairs(arguments.data, held_out, recipe.size, recipe.uses_depth, arguments.cache)

    chief = int(os.environ.get("RANK", "0")) == 0
    device = arguments.device
    if "WORLD_SIZE" in os.environ:  # started by torchrun
        if device == "cuda":
            device = f"cuda:{os.environ.get('LOCAL_RANK', '0')}"  # each process its own
            torch.cuda.set_device(device)
        dist.init_process_group("nccl" if device.startswith("cuda") else "gloo")
    if chief:
        _prepare(arguments.output, arguments.resume)
        print(f"pic-uie train: {len(pairs)} pairs, {len(held_out)} held out, to {arguments.output}", file=sys.stderr)
    if dist.is_initialized():
        dist.barrier()
    try:
        with Progress(arguments.output if arguments.tensorboard else None, enabled=chief) as progress:
            train(
                recipe,
                pairs,
                validation,
                arguments.output,
                device=device,
                on_step=progress.step,
                on_epoch=progress.epoch,
            )
        if dist.is_initialized():
            gc.collect()  # DistributedDataParallel keeps the group in reference cycles
            dist.barrier()  # nobody leaves while another still talks to it
    except KeyboardInterrupt:
        if chief:
            print("interrupted: the same command with --resume goes on behind the last whole epoch", file=sys.stderr)
        raise
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
    return OK


def _prepare(folder: Path, resume: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder} is a file: give -o another name")
    if folder.is_dir() and any(folder.iterdir()) and not resume:
        raise ConfigError(f"{folder} is not empty: add --resume to go on with its run, or give -o another name")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentMissingError(f"cannot make the folder {folder}: {error.strerror}") from error
