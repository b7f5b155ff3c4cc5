"""What is measured of a trained row: PSNR and SSIM under the paper's protocol, and the correlation with depth."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from pic_uie import weights
from pic_uie.errors import DataError
from pic_uie.evaluation import results
from pic_uie.evaluation.folders import Folders, gather
from pic_uie.evaluation.metrics import choose
from pic_uie.evaluation.predictions import from_weights
from pic_uie.evaluation.protocols import Protocol
from pic_uie.evaluation.resize import Resize
from pic_uie.evaluation.results import Result
from pic_uie.evaluation.scoring import Task, score
from pic_uie.files import atomic_write
from pic_uie.model import PicUie
from pic_uie.training.pairs import Pairs
from pic_uie.training.validation import depth_correlations

RESIZE: Resize = "paper-256"
METRICS = ("psnr", "ssim")
WEIGHTS = "last.safetensors"  # not the best: nothing is chosen on the pictures that are scored
CORRELATION = "depth-correlation.json"
CORRELATION_FORMAT = "pic-uie-depth-correlation-1"


@dataclass(frozen=True)
class TestSet:
    """Pictures to score on, and the paper's column that they stand for.

    Attributes:
        column: `uieb-90` or `lsui`.
        data: Folder with input/ and target/.
        list_file: Names of the pictures; None = all of the folder.
    """

    column: str
    data: Path
    list_file: Path | None = None

    @property
    def file(self) -> str:
        """Name of the result in a run folder, without suffix."""
        return f"score-{self.column}"


@dataclass(frozen=True)
class Measured:
    """All that is known of a finished row.

    Attributes:
        scores: Column -> result.
        correlations: Picture -> correlation of -log t with depth; None where it was not measured.
    """

    scores: Mapping[str, Result]
    correlations: Mapping[str, float] | None = None


def measure(run: Path, name: str, test: TestSet, jobs: int, on_done: Callable[[], None] = lambda: None) -> Result:
    """Scores the run's final weights on a test set; a result of the same weights and pictures is not made again."""
    protocol = Protocol(
        name=test.column,
        title=f"held out, in the place of the paper's {test.column}",
        metrics=METRICS,
        resize=(RESIZE,),
        references="target",
        names="list" if test.list_file else "folder",
    )
    folders = Folders(test.data / protocol.inputs, test.data / "target")
    names, cases = gather(protocol, folders, test.list_file)
    source = from_weights(run / WEIGHTS, name)
    stored = run / f"{test.file}.json"
    if stored.is_file():
        before = results.read(stored)
        if before.names["sha256"] == names.sha256 and before.source == source.description:
            return before
    scores = score(cases, Task(choose(METRICS), protocol.resize, source.enhance), jobs, on_done)
    facts = {"count": len(names.stems), "sha256": names.sha256, "file": names.file, "file_sha256": names.file_sha256}
    result = Result(name, source.description, asdict(protocol), facts, scores)
    result.write(run / test.file)
    return result


def measure_depth(run: Path, pairs: Pairs) -> dict[str, float]:
    """Correlates -log t of the run's final weights with depth, per picture, and writes it to the run folder."""
    checked = weights.load(run / WEIGHTS)
    values = depth_correlations(PicUie.from_weights(checked), pairs)
    document = {"format": CORRELATION_FORMAT, "weights_sha256": checked.sha256, "correlations": values}
    atomic_write(run / CORRELATION, (json.dumps(document, indent=1) + "\n").encode())
    return values


def read_depth(path: Path) -> dict[str, float]:
    """Reads what `measure_depth` wrote.

    Raises:
        DataError: It cannot be read or is something else.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["format"] != CORRELATION_FORMAT:
            raise DataError(f"{path} has format {document['format']!r}, expected {CORRELATION_FORMAT!r}")
        return {str(name): float(value) for name, value in document["correlations"].items()}
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path} is not a file of depth correlations: {type(error).__name__} {error}") from error
