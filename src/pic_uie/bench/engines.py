"""What `pic-uie bench` can run: the native engine, and PyTorch on every device that it finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from pic_uie import weights as weights_file
from pic_uie.bench import machine
from pic_uie.enhancer import Enhancer
from pic_uie.images import RGB8


@dataclass(frozen=True)
class Runner:
    """A model with its input in place.

    Attributes:
        run: Enhances the picture once.
        synchronise: Waits until the device has nothing left to do.
        peak_bytes: The most memory held: the process's on a processor, the allocator's on a graphics card.
    """

    run: Callable[[], object]
    synchronise: Callable[[], object]
    peak_bytes: Callable[[], int]


@dataclass(frozen=True)
class Engine:
    """A way to run the model.

    Attributes:
        prepare: Picture, weights file (None = released), threads (None = default) to a runner.
        device: Name of the device and its kind, or None where this machine has none.
    """

    prepare: Callable[[RGB8, Path | None, int | None], Runner]
    device: Callable[[], dict[str, str] | None]


def available() -> dict[str, dict[str, str]]:
    """Returns the engines that this machine has, each with its device."""
    devices = {name: engine.device() for name, engine in ENGINES.items()}
    return {name: device for name, device in devices.items() if device is not None}


def _prepare_native(picture: RGB8, weights: Path | None, threads: int | None) -> Runner:
    enhancer = Enhancer(weights, threads)
    result = np.empty_like(picture)
    return Runner(lambda: enhancer.enhance(picture, out=result), _nothing, machine.peak_resident_bytes)


def _prepare_torch(kind: str) -> Callable[[RGB8, Path | None, int | None], Runner]:
    def prepare(picture: RGB8, weights: Path | None, threads: int | None) -> Runner:
        import torch

        from pic_uie.model import PicUie

        if threads is not None:
            torch.set_num_threads(threads)
        model = PicUie.load(weights or weights_file.DEFAULT_PATH).eval().to(kind)
        tensor = torch.from_numpy(picture.astype(np.float32) / 255).permute(2, 0, 1)[None].contiguous().to(kind)

        def run() -> object:
            with torch.inference_mode():
                return model(tensor)

        if kind == "cuda":
            torch.cuda.reset_peak_memory_stats()
            return Runner(run, torch.cuda.synchronize, lambda: int(torch.cuda.max_memory_allocated()))
        if kind == "mps":
            return Runner(run, torch.mps.synchronize, lambda: int(torch.mps.driver_allocated_memory()))
        return Runner(run, _nothing, machine.peak_resident_bytes)

    return prepare


def _nothing() -> None:
    """A processor has finished when the call returns."""


def _processor() -> dict[str, str] | None:
    return {"name": machine.processor(), "type": "CPU"}


def _torch_processor() -> dict[str, str] | None:
    return _processor() if find_spec("torch") else None


def _torch_cuda() -> dict[str, str] | None:
    torch = _torch()
    if torch is None or not torch.cuda.is_available():
        return None
    properties = torch.cuda.get_device_properties(0)
    return {"name": properties.name, "type": f"GPU / {properties.total_memory / machine.GIGABYTE:.0f} GB"}


def _torch_mps() -> dict[str, str] | None:
    torch = _torch()
    if torch is None or not torch.backends.mps.is_available():
        return None
    return {"name": f"{machine.processor()} GPU", "type": "GPU / shared memory"}


def _torch() -> Any:
    if not find_spec("torch"):
        return None
    import torch

    return torch


ENGINES: dict[str, Engine] = {
    "native": Engine(_prepare_native, _processor),  # 8-bit picture in, 8-bit picture out
    "torch-cpu": Engine(_prepare_torch("cpu"), _torch_processor),
    "torch-cuda": Engine(_prepare_torch("cuda"), _torch_cuda),
    "torch-mps": Engine(_prepare_torch("mps"), _torch_mps),
}
