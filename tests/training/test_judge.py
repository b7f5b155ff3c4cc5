"""The rule by which weights replace others: each clause can refuse."""

import numpy as np
import pytest

for package in ("torch", "cv2", "av", "skimage"):
    pytest.importorskip(package)


@pytest.fixture(scope="module")
def judge(benchmark_module):
    return benchmark_module("judge")


@pytest.fixture
def scores(judge):
    def make(gain=0.0, ssim=0.0, sets=("held out", "zero-shot"), jitter=0.2, **harm):
        noise = np.random.default_rng(0).normal(0.0, 0.1, 60)
        quality = {name: {"PSNR": 20.0 + gain * (1 + noise), "SSIM": 0.9 + ssim * (1 + noise)} for name in sets}
        kinds = {kind: 0.5 * bound for kind, bound in judge.bounds().items()}
        kinds |= {kind.replace("_", " "): value for kind, value in harm.items()}
        return judge.Scores(quality, kinds, {"L": jitter, "b": jitter})

    return make


def test_a_sure_gain_that_breaks_nothing_replaces(judge, scores):
    assert judge.verdict(scores(), scores(gain=0.2)).startswith("replaces A: gain +0.2")
    assert judge.verdict(scores(), scores(ssim=0.003)).startswith("replaces A: gain +0.1")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"gain": 0.0}, "breaks nothing"),
        ({"gain": -0.1, "ssim": 0.01}, "PSNR on held out"),
        ({"gain": 0.5, "ssim": -0.001}, "SSIM on zero-shot"),
        ({"gain": 0.2, "jitter": 0.23}, "jitter L"),
        ({"gain": 0.2, "white_sheet": 5.0}, "ΔE00 white sheet"),
        ({"gain": 0.2, "land": 11.2}, "ΔE00 land"),
    ],
)
def test_every_clause_can_refuse(judge, scores, changes, reason):
    text = judge.verdict(scores(), scores(**changes))
    assert text.startswith("does not replace A")
    assert reason in text


def test_weights_that_harm_are_replaced_by_level_ones_that_do_not(judge, scores):
    harmful = scores(white_sheet=14.0)
    assert judge.verdict(harmful, scores()).startswith("replaces A: gain +0.000")
    assert "A breaks ΔE00 white sheet" in judge.verdict(harmful, scores())
    assert judge.verdict(harmful, scores(gain=-0.1)).startswith("does not replace A")
    assert judge.verdict(harmful, scores(white_sheet=6.0)).startswith("does not replace A")


def test_what_was_not_judged_is_not_replaced(judge, scores):
    text = judge.verdict(scores(sets=("zero-shot",)), scores(gain=0.2, sets=("zero-shot",)))
    assert text.startswith("does not replace A: gain +0.2")
    assert "not judged: held out" in text


def test_each_set_counts_half_however_many_pictures_it_has(judge):
    low, high = judge.interval_of_sets([np.full(10, 1.0), np.full(1000, 0.0)])
    assert low == pytest.approx(0.5)
    assert high == pytest.approx(0.5)


def test_the_table_shows_every_set_kind_and_verdict(judge, scores, capsys):
    judge.report({"old": scores(), "new": scores(gain=0.2, grey=9.0)})
    text = capsys.readouterr().out
    for part in (
        "A: old",
        "B: new",
        "held out, PSNR (60)",
        "zero-shot, SSIM",
        "jitter b",
        "9.00 !",
        "breaks ΔE00 grey",
    ):
        assert part in text
