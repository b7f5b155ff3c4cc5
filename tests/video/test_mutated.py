"""Three hundred mutated videos: a video or a documented error each (benchmarks/fuzz_video.py runs twenty thousand)."""

import pytest

from helpers import clips  # noqa: F401 (skips without PyAV)


@pytest.fixture(scope="module")
def fuzz(benchmark_module):
    return benchmark_module("fuzz_video")


@pytest.mark.no_cover  # what it reaches by chance is no measure
def test_mutated_files_are_read_or_refused(fuzz):
    outcomes = [fuzz.attempt(fuzz.mutation(number)) for number in range(300)]
    assert outcomes.count("refused") > 100
    assert outcomes.count("exchanged") > 50
    assert outcomes.count("written anew") > 20


def test_the_corpus_is_valid_and_mutations_are_reproducible(fuzz):
    assert {fuzz.attempt(data) for data in fuzz.corpus()} == {"exchanged", "written anew"}
    assert all(fuzz.mutation(n) == fuzz.mutation(n) for n in range(20))


@pytest.mark.parametrize("number", [233, 304, 1928])
def test_what_was_found_stays_mended(fuzz, number):
    """An edit list beyond its field, a track without a header, frames further apart than a table can say."""
    assert fuzz.attempt(fuzz.mutation(number)) in ("refused", "exchanged")
