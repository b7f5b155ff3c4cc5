"""Whether enhancement helps a detector: one is trained and tested on the raw set, one on the enhanced set."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pic_uie.errors import ConfigError, DataError, EnvironmentMissingError
from pic_uie.evaluation.documents import read_document
from pic_uie.files import atomic_write

FORMAT = "pic-uie-detector-1"
RESULT = "test.json"


@dataclass(frozen=True)
class Settings:
    """How both detectors are trained; the defaults are the paper's, which leaves picture size, batch and seed open.

    Attributes:
        model: `yolo11n.yaml` starts from scratch; a checkpoint on this machine starts from that.
        epochs: At most.
        patience: Epochs without progress on the validation split after which training ends.
        size: Side of the pictures for the detector.
        batch: Pictures a step.
        seed: Of everything random.
        device: Of torch, e.g. cpu or 0.
    """

    model: str = "yolo11n.yaml"
    epochs: int = 300
    patience: int = 100
    size: int = 640
    batch: int = 16
    seed: int = 0
    device: str = "cpu"

    def __post_init__(self) -> None:
        """Refuses checkpoints that would have to be fetched."""
        if not self.model.endswith((".yaml", ".yml")) and not Path(self.model).is_file():
            raise ConfigError(
                f"the checkpoint {self.model} is not on this machine and nothing is ever fetched: "
                "name a file, or yolo11n.yaml to start from scratch"
            )


def ultralytics() -> Any:
    """Returns the module, kept off the network, or says how to get it."""
    os.environ.setdefault("YOLO_OFFLINE", "true")  # read when it is imported
    try:
        import ultralytics as module
    except ImportError as error:
        raise EnvironmentMissingError(
            f"detection needs Ultralytics: install it with `pip install 'pic-uie[detection]'` ({error})"
        ) from error
    return module


def train_and_test(data: Path, folder: Path, settings: Settings) -> dict[str, float]:
    """Trains a detector and tests its best validation checkpoint; a finished folder is read instead.

    Args:
        data: YAML of the data set.
        folder: The run's folder.
        settings: How.

    Returns:
        map50 and map50_95 on the test split.

    Raises:
        ConfigError: The folder holds a run under other settings.
        DataError: Its result is damaged.
        EnvironmentMissingError: Ultralytics is not installed, or left no checkpoint.
    """
    known: dict[str, Any] = {"format": FORMAT, "settings": asdict(settings)}
    if Path(settings.model).is_file():
        known["model_sha256"] = hashlib.sha256(Path(settings.model).read_bytes()).hexdigest()
    finished = folder / RESULT
    if finished.is_file():
        stored = read_document(finished, "pic-uie evaluate detection", format=FORMAT)
        if {key: stored.get(key) for key in known} != known:
            raise ConfigError(f"{folder} holds a detector that was trained under other settings: give -o another name")
        if not isinstance(stored.get("test"), dict):
            raise DataError(f"{finished} is damaged: remove it, and the detector is trained again")
        return dict(stored["test"])
    yolo = ultralytics().YOLO
    common = {"data": str(data), "imgsz": settings.size, "batch": settings.batch, "device": settings.device}
    yolo(settings.model).train(
        **common,
        epochs=settings.epochs,
        patience=settings.patience,
        seed=settings.seed,
        deterministic=True,
        project=str(folder.parent.resolve()),
        name=folder.name,
        exist_ok=True,
        amp=False,  # its self-test would fetch a network
        plots=False,
    )
    best = folder / "weights" / "best.pt"
    if not best.is_file():
        raise EnvironmentMissingError(f"Ultralytics left no {best}: its output above says why")
    metrics = yolo(str(best)).val(**common, split="test", plots=False, project=str(folder.resolve()), name="test")
    values = {"map50": float(metrics.box.map50), "map50_95": float(metrics.box.map)}
    document = {**known, "ultralytics": _version(), "test": values}
    atomic_write(finished, (json.dumps(document, indent=1) + "\n").encode())
    return values


def table(scores: Mapping[str, Mapping[str, float]]) -> str:
    """Returns both detectors beside the paper's figure, with the difference to the raw set."""
    from pic_uie.evaluation import paper
    from pic_uie.evaluation.tables import number, render

    raw = scores["raw"]["map50"]
    rows = [
        [name, number(row["map50"], 3), number(row["map50_95"], 3), number(row["map50"] - raw, 3, signed=True)]
        for name, row in scores.items()
    ]
    theirs = paper.table("efficiency-downstream").row(paper.ours()).group("detection")["map50"]
    rows.append(["the paper's, on URPC2019", number(theirs, 3), "-", "-"])
    return render(["trained and tested on", "mAP@50", "mAP@50-95", "mAP@50 to raw"], rows)


def _version() -> str:
    try:
        return version("ultralytics")
    except PackageNotFoundError:
        return "unknown"
