"""What a person sees of a run: a bar with the remaining time on a terminal, a line per epoch elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from pic_uie.cli.progress import Shown
from pic_uie.errors import EnvironmentMissingError


class TrainingProgress(Shown):
    """Reports steps and epochs; with `events`, also to TensorBoard."""

    def __init__(self, events: Path | None, enabled: bool) -> None:
        self.enabled = enabled
        console = Console(stderr=True)
        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.description}"),
        )
        self.bar = Bar(*columns, console=console) if enabled and console.is_terminal else None
        self.task = self.bar.add_task("", total=None) if self.bar else None
        self.writer = _writer(events) if events and enabled else None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        if self.writer:
            self.writer.close()

    def step(self, done: int, total: int) -> None:
        """Moves the bar."""
        if self.bar and self.task is not None:
            self.bar.update(self.task, completed=done, total=total)

    def epoch(self, row: dict[str, float]) -> None:
        """Reports the epoch's figures."""
        quality = f", PSNR {row['psnr']:.3f} dB, SSIM {row['ssim']:.4f}" if "psnr" in row else ""
        line = f"epoch {row['epoch']:.0f}: loss {row['loss_total']:.4f}{quality}, {row['seconds']:.1f} s"
        if self.bar and self.task is not None:
            self.bar.update(self.task, description=line)
        elif self.enabled:
            sys.stderr.write(line + "\n")
            sys.stderr.flush()
        if self.writer:
            for name, value in row.items():
                self.writer.add_scalar(name, value, int(row["epoch"]))


def _writer(folder: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise EnvironmentMissingError("--tensorboard needs TensorBoard: pip install 'pic-uie[tensorboard]'") from error
    return SummaryWriter(str(folder))
