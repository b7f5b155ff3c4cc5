"""Whether enhancement helps a detector: one is trained and tested on each method's copy of a set.

Ultralytics trains and tests. It is under the AGPL-3.0: nothing else here imports it, and it is an extra of its own.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pic_uie.errors import ConfigError, DataError, EnvironmentMissingError
from pic_uie.evaluation.documents import read_document
from pic_uie.files import atomic_write

FORMAT = "pic-uie-detector-2"
RESULT, BEGUN, BOXES = "test.json", "settings.json", "boxes.json"
CONFIDENCE = 0.25  # of the boxes that a figure draws; mAP counts all
OWN = ("data", "imgsz", "batch", "device", "epochs", "patience", "seed", "deterministic", "project", "name", "exist_ok",
       "amp", "plots", "resume", "split", "model")  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """How all detectors are trained; the defaults are the paper's, which leaves picture size, batch and seed open.

    Attributes:
        model: `yolo11n.yaml` starts from scratch; a checkpoint on this machine starts from that.
        epochs: At most.
        patience: Epochs without progress on the validation split after which training ends.
        size: Side of the pictures for the detector.
        batch: Pictures a step.
        seed: Of everything random.
        device: Of torch, e.g. cpu or 0.
        options: Other options of Ultralytics' training, such as workers or optimizer.
    """

    model: str = "yolo11n.yaml"
    epochs: int = 300
    patience: int = 100
    size: int = 640
    batch: int = 16
    seed: int = 0
    device: str = "cpu"
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuses checkpoints that would have to be fetched, and options that we set ourselves."""
        if not self.model.endswith((".yaml", ".yml")) and not Path(self.model).is_file():
            raise ConfigError(
                f"the checkpoint {self.model} is not on this machine and nothing is ever fetched: "
                "name a file, or yolo11n.yaml to start from scratch"
            )
        taken = [name for name in self.options if name in OWN]
        if taken:
            raise ConfigError(f"{', '.join(taken)} cannot be given as an option: the command sets it")

    @property
    def known(self) -> dict[str, Any]:
        """What decides a detector: where it runs and how many processes feed it do not."""
        facts = {key: value for key, value in asdict(self).items() if key != "device"}
        facts["options"] = {key: value for key, value in self.options.items() if key != "workers"}
        if Path(self.model).is_file():
            facts["model_sha256"] = hashlib.sha256(Path(self.model).read_bytes()).hexdigest()
        return facts


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


def check_device(device: str) -> None:
    """Raises EnvironmentMissingError unless PyTorch has the device: rather now than after the set is enhanced."""
    import torch

    if device == "cpu":
        return
    if device == "mps":
        there = torch.backends.mps.is_available()
    else:
        words = [word.removeprefix("cuda:").removeprefix("cuda") or "0" for word in device.split(",")]
        there = all(word.isdigit() and int(word) < torch.cuda.device_count() for word in words)
    if not there:
        count = torch.cuda.device_count()
        raise EnvironmentMissingError(f"PyTorch has no device {device!r} ({count} CUDA devices): try --device cpu")


def train_and_test(data: Path, folder: Path, settings: Settings) -> dict[str, Any]:
    """Trains a detector and tests its best validation checkpoint.

    A finished folder is read instead; a training that was killed continues behind its last whole epoch.

    Args:
        data: YAML of the data set.
        folder: The run's folder.
        settings: How.

    Returns:
        map50 and map50_95 on the test split, and map50 of each class.

    Raises:
        ConfigError: The folder holds a run under other settings, or an option is not one of Ultralytics'.
        DataError: Its result is damaged.
        EnvironmentMissingError: Ultralytics is not installed, or left no checkpoint.
    """
    known: dict[str, Any] = {"format": FORMAT, "settings": settings.known}
    for note in (folder / RESULT, folder / BEGUN):
        if note.is_file():
            stored = read_document(note, "pic-uie evaluate detection", format=FORMAT)
            if {key: stored.get(key) for key in known} != known:
                raise ConfigError(
                    f"{folder} holds a detector that was trained under other settings: give -o another name"
                )
    finished = folder / RESULT
    if finished.is_file():
        test = read_document(finished, "pic-uie evaluate detection", format=FORMAT).get("test")
        if not isinstance(test, dict):
            raise DataError(f"{finished} is damaged: remove it, and the detector is tested again")
        return dict(test)
    folder.mkdir(parents=True, exist_ok=True)
    atomic_write(folder / BEGUN, (json.dumps(known, indent=1) + "\n").encode())
    yolo = ultralytics().YOLO
    common = {"data": str(data), "imgsz": settings.size, "batch": settings.batch, "device": settings.device}
    _train(yolo, folder, settings, common)
    best = folder / "weights" / "best.pt"
    if not best.is_file():
        raise EnvironmentMissingError(f"Ultralytics left no {best}: its output above says why")
    detector = yolo(str(best))
    workers = {key: value for key, value in settings.options.items() if key == "workers"}
    places = {"project": str(folder.resolve()), "name": "test", "exist_ok": True}
    metrics = detector.val(**common, **workers, **places, split="test", plots=False)
    names = getattr(metrics, "names", {})
    by_class = zip(getattr(metrics.box, "ap_class_index", ()), getattr(metrics.box, "ap50", ()), strict=True)
    test = {
        "map50": float(metrics.box.map50),
        "map50_95": float(metrics.box.map),
        "classes": {str(names.get(int(number), number)): float(value) for number, value in by_class},
    }
    atomic_write(folder / BOXES, (json.dumps(_boxes(detector, data, settings), indent=1) + "\n").encode())
    document = {**known, "ultralytics": _version("ultralytics"), "torch": _version("torch"), "test": test}
    atomic_write(finished, (json.dumps(document, indent=1) + "\n").encode())
    return test


def _train(yolo: Any, folder: Path, settings: Settings, common: Mapping[str, Any]) -> None:
    last = folder / "weights" / "last.pt"
    if last.is_file():
        try:
            yolo(str(last)).train(resume=True, device=settings.device)
        except AssertionError as error:  # "training to N epochs is finished, nothing to resume"
            if "finished" not in str(error):
                raise
        return
    try:
        yolo(settings.model).train(
            **common,
            **settings.options,
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
    except SyntaxError as error:  # how Ultralytics refuses an option that it does not know
        raise ConfigError(f"Ultralytics refuses an option: {error}") from error


def _boxes(detector: Any, data: Path, settings: Settings) -> dict[str, list[list[float]]]:
    """Test picture -> class, confidence and box (left, top, right, bottom in shares), for figures."""
    pictures = (data.parent / "test.txt").read_text(encoding="utf-8").splitlines()
    found: dict[str, list[list[float]]] = {}
    for picture in pictures:  # one at a time: a list would be held in memory whole
        (result,) = detector.predict(
            picture, imgsz=settings.size, device=settings.device, conf=CONFIDENCE, verbose=False, save=False
        )
        rows = zip(result.boxes.cls.tolist(), result.boxes.conf.tolist(), result.boxes.xyxyn.tolist(), strict=True)
        found[Path(picture).stem] = [
            [int(kind), round(sure, 4), *(round(x, 5) for x in box)] for kind, sure, box in rows
        ]
    return found


def read_boxes(folder: Path) -> dict[str, list[Sequence[float]]]:
    """Reads the boxes of a tested detector.

    Raises:
        DataError: There are none, or the file is something else.
    """
    document = read_document(folder / BOXES, "pic-uie evaluate detection")
    try:
        found = {str(name): [tuple(float(x) for x in row) for row in rows] for name, rows in document.items()}
        if any(len(row) != 6 for rows in found.values() for row in rows):
            raise ValueError("a box has six numbers")
    except (TypeError, ValueError) as error:
        raise DataError(f"{folder / BOXES} is damaged: {error}") from error
    return {name: list(rows) for name, rows in found.items()}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
