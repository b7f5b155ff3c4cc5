"""Five hundred mutated files: a picture or a documented error each (benchmarks/fuzz.py runs a hundred thousand)."""

import pytest


@pytest.fixture(scope="module")
def fuzz(benchmark_module):
    return benchmark_module("fuzz")


@pytest.mark.no_cover  # what it reaches by chance is no measure
def test_mutated_files_are_read_or_refused(fuzz):
    files = fuzz.corpus()
    outcomes = [fuzz.attempt(mutated) for mutated in (fuzz.mutation(files, number) for number in range(550))]
    assert outcomes.count("refused") > 150
    assert outcomes.count("read") > 50


def test_the_corpus_is_valid_and_mutations_are_reproducible(fuzz):
    files = fuzz.corpus()
    assert all(fuzz.attempt(data) == "read" for data in files)
    assert all(fuzz.mutation(files, n) == fuzz.mutation(files, n) for n in range(20))
