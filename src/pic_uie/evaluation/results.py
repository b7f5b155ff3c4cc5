"""A result: per-image values, means with intervals, and all that is needed to repeat it; as JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
import math
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from pic_uie.errors import DataError
from pic_uie.evaluation import statistics
from pic_uie.evaluation.documents import read_document
from pic_uie.writing import write_file

FORMAT = "pic-uie-evaluation-1"
PACKAGES = ("pic-uie", "numpy", "opencv-python-headless", "opencv-python", "torch", "pyvips")

Values = Mapping[str, Mapping[str, float]]  # picture -> metric -> value


@dataclass(frozen=True)
class Summary:
    """The mean of one metric with its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Result:
    """One method under one protocol.

    Attributes:
        method: What tables call it.
        source: Where the predictions came from.
        protocol: The protocol as a mapping.
        names: The list of pictures: hash, file, count.
        scores: Way of resizing -> picture -> metric -> value.
        versions: Of the packages that computed it.
        assets: Hashes of the published parameters that were used.
    """

    method: str
    source: Mapping[str, str]
    protocol: Mapping[str, Any]
    names: Mapping[str, Any]
    scores: Mapping[str, Values]
    versions: Mapping[str, str] = field(default_factory=lambda: versions())
    assets: Mapping[str, str] = field(default_factory=dict)

    def summaries(self, resize: str) -> dict[str, Summary]:
        """Returns mean and interval of each metric under one way of resizing."""
        images = self.scores[resize]
        metrics = next(iter(images.values())).keys()
        return {metric: summarise([values[metric] for values in images.values()]) for metric in metrics}

    def to_json(self) -> str:
        """Returns JSON that `read` takes back; an infinite PSNR is written as the text "inf"."""
        document = {
            "format": FORMAT,
            "method": self.method,
            "source": dict(self.source),
            "protocol": dict(self.protocol),
            "names": dict(self.names),
            "bootstrap": {
                "level": statistics.LEVEL,
                "resamples": statistics.RESAMPLES,
                "seed": statistics.SEED,
                "method": "percentile",
            },
            "versions": dict(self.versions),
            "assets": dict(self.assets),
            "results": {resize: self._section(resize) for resize in self.scores},
        }
        return json.dumps(document, indent=1, allow_nan=False) + "\n"

    def to_csv(self) -> str:
        """Returns one line per way of resizing and picture, each with the list of pictures and its hash."""
        metrics = list(next(iter(next(iter(self.scores.values())).values())))
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        listed = self.names.get("list") or self.names.get("file") or "whole folder"
        writer.writerow(["resize", "name", *metrics, "list", "list_sha256"])
        for resize, images in self.scores.items():
            for name, values in images.items():
                own = [values[metric] for metric in metrics]
                writer.writerow([resize, name, *own, listed, self.names["sha256"]])
        return text.getvalue()

    def write(self, stem: Path) -> tuple[Path, Path]:
        """Writes STEM.json and STEM.csv; returns their paths."""
        paths = result_paths(stem)
        for path, text in zip(paths, (self.to_json(), self.to_csv()), strict=True):
            write_file(path, text.encode("utf-8", "surrogateescape"))
        return paths

    def _section(self, resize: str) -> dict[str, Any]:
        summaries = {metric: _plain(vars(summary)) for metric, summary in self.summaries(resize).items()}
        images = [{"name": name, **_plain(values)} for name, values in self.scores[resize].items()]
        return {"summary": summaries, "images": images}


def result_paths(stem: Path) -> tuple[Path, Path]:
    """Returns STEM.json and STEM.csv."""
    return stem.with_name(f"{stem.name}.json"), stem.with_name(f"{stem.name}.csv")


def summarise(values: list[float]) -> Summary:
    """Returns the plain mean of per-image values with its bootstrap interval."""
    low, high = statistics.bootstrap_interval(values)
    return Summary(float(np.mean(values)), low, high)


def read(path: Path) -> Result:
    """Reads a result file.

    Raises:
        DataError: It cannot be read, is not a result, or has values that are not numbers.
    """
    document = read_document(path, "pic-uie evaluate", format=FORMAT)
    try:
        scores = {resize: _read_images(section["images"]) for resize, section in document["results"].items()}
        if not document["names"].get("sha256") or not scores or not all(scores.values()):
            raise DataError(f"{path} has no pictures, or no hash of their list, so it cannot be compared")
        count = document["names"].get("count")
        if count is not None and any(len(images) != count for images in scores.values()):
            raise DataError(f"{path} lacks pictures, or has too many: its list has {count}; score the method again")
        shown = (document["method"], document["protocol"]["name"], document["names"]["sha256"])
        if not all(isinstance(text, str) for text in shown):
            raise TypeError("method, protocol.name and names.sha256 must be texts")
        return Result(
            document["method"],
            document["source"],
            document["protocol"],
            document["names"],
            scores,
            document["versions"],
            document["assets"],
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise DataError(f"{path} is a damaged result: {type(error).__name__} {error}") from error


def versions() -> dict[str, str]:
    """Returns the versions of Python and of the packages at hand that influence the numbers."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _read_images(images: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    scores: dict[str, dict[str, float]] = {}
    for image in images:
        if not isinstance(image["name"], str):
            raise TypeError(f"the name of a picture must be a text, got {image['name']!r}")
        if image["name"] in scores:
            raise ValueError(f"{image['name']} is there twice")
        values = {metric: float(value) for metric, value in image.items() if metric != "name"}
        wrong = [metric for metric, value in values.items() if math.isnan(value)]
        if wrong:
            raise ValueError(f"{image['name']}: {', '.join(wrong)} is not a number")
        scores[image["name"]] = values
    if len({frozenset(values) for values in scores.values()}) > 1:
        raise ValueError("some pictures lack a metric that others have")
    return scores


def _plain(values: Mapping[str, float]) -> dict[str, float | str]:
    return {name: value if math.isfinite(value) else str(value) for name, value in values.items()}
