"""Orderings: taken from figures and from words, judged by sign and by the paired interval."""

import numpy as np
import pytest

pytest.importorskip("torch")
from pic_uie.evaluation import paper
from pic_uie.evaluation.compare import compare
from pic_uie.evaluation.results import Result
from pic_uie.reproduction.orderings import Ordering, judge, published


def result(name, psnr):
    scores = {"paper-256": {str(index): {"psnr": float(value)} for index, value in enumerate(psnr)}}
    return Result(name, {}, {"name": "x"}, {"sha256": "same"}, scores)


def test_orderings_of_the_figures():
    found = published(paper.table("matched-capacity"), "uieb-90", ("psnr",))
    assert [(ordering.better, ordering.worse) for ordering in found] == [
        ("Structured corrections", "Direct YCbCr residual"),
        ("Structured corrections", "Direct RGB residual"),
        ("Direct RGB residual", "Direct YCbCr residual"),
    ]
    assert [ordering.margin for ordering in found] == pytest.approx([3.257, 3.197, 0.060])


def test_orderings_of_the_words_stand_where_figures_do_not():
    found = published(paper.table("width-scan"), "lsui", ("psnr",))
    worded = {ordering.worse for ordering in found if ordering.margin is None}
    assert worded == {"w=8", "w=12", "w=24", "w=32", "w=48", "w=64", "w=128"}  # 96 and 160 have figures
    assert {ordering.better for ordering in found if ordering.margin is None} == {"w=16"}
    in_uieb = published(paper.table("width-scan"), "uieb-90", ("psnr",))
    assert {ordering.worse for ordering in in_uieb if ordering.margin is None} == {"w=8", "w=12"}


@pytest.mark.parametrize(
    ("gap", "word"),
    [(1.0, "holds"), (-1.0, "reversed"), (0.0, "tied")],
)
def test_verdicts_follow_the_sign(gap, word):
    values = np.linspace(18, 25, 20)
    spread = np.tile([0.1, -0.1], 10) if gap else 0.0
    claim = Ordering("uieb-90", "psnr", "good", "poor", 0.5)
    verdict = judge(claim, compare(result("poor", values), result("good", values + gap + spread)))
    assert verdict.margin == pytest.approx(gap)
    assert verdict.word == word


def test_a_small_difference_is_called_uncertain():
    values, noise = np.linspace(18, 25, 20), np.tile([3.0, -2.9], 10)
    claim = Ordering("uieb-90", "psnr", "good", "poor", 0.5)
    assert judge(claim, compare(result("poor", values), result("good", values + noise))).word.startswith(
        "holds, within"
    )
    assert judge(claim, None).word == "not measured"
