"""What is measured of a trained row: PSNR and SSIM of every picture under the paper's protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pic_uie.datasets.names import Names
from pic_uie.evaluation import results
from pic_uie.evaluation.cases import Case, Folders, gather
from pic_uie.evaluation.metrics import choose
from pic_uie.evaluation.predictions import from_weights
from pic_uie.evaluation.protocols import Protocol
from pic_uie.evaluation.resize import Resize
from pic_uie.evaluation.results import Result
from pic_uie.evaluation.scoring import Task, score
from pic_uie.paper.reproduction.correlations import WEIGHTS

RESIZE: Resize = "paper-256"
METRICS = ("psnr", "ssim")


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
        scores: Column -> result; of several seeds the mean of each picture.
        correlations: Picture -> correlation of -log t with depth; None where it was not measured.
        means: Column -> metric -> mean of each seed.
    """

    scores: Mapping[str, Result]
    correlations: Mapping[str, float] | None = None
    means: Mapping[str, Mapping[str, Sequence[float]]] = field(default_factory=dict)


def pictures_of(test: TestSet) -> tuple[Protocol, Names, list[Case]]:
    """Finds the pictures of a test set.

    Raises:
        DataError: Some are missing.
    """
    protocol = Protocol(
        name=test.column,
        title=f"held out, in the place of the paper's {test.column}",
        metrics=METRICS,
        resize=(RESIZE,),
        references="target",
        names="list" if test.list_file else "folder",
    )
    folders = Folders(test.data / protocol.inputs, test.data / "target")
    return protocol, *gather(protocol, folders, test.list_file)


def measure(
    run: Path,
    name: str,
    test: TestSet,
    jobs: int,
    on_done: Callable[[], None] = lambda: None,
    say: Callable[[str], None] = lambda line: None,
) -> Result:
    """Scores the run's final weights on a test set; a result of the same weights and pictures is not made again."""
    protocol, names, cases = pictures_of(test)
    source = from_weights(run / WEIGHTS, name)
    stored = run / f"{test.file}.json"
    if stored.is_file():
        before = results.read(stored)
        if before.names["sha256"] == names.sha256 and before.source == source.description:
            return before
    say(f"scoring {run}")
    scores = score(cases, Task(choose(METRICS), protocol.resize, source.enhance), jobs, on_done)
    result = Result(name, source.description, asdict(protocol), names.facts(), scores)
    result.write(run / test.file)
    return result
