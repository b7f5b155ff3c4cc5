"""Orderings: taken from figures and from words, judged by sign and by the paired interval."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")
from pic_uie.evaluation.compare import compare
from pic_uie.evaluation.results import Result
from pic_uie.paper import tables as paper
from pic_uie.paper.reproduction.orderings import Ordering, judge, published
from pic_uie.paper.reproduction.seeds import averaged, pooled


def result(name, values, metric="psnr"):
    scores = {"paper-256": {str(index): {metric: float(value)} for index, value in enumerate(values)}}
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
    assert judge(claim, compare(result("poor", values), result("good", values + noise))).word == "within the noise"
    assert judge(claim, None).word == "not measured"


def test_an_ordering_must_rise_above_what_another_seed_changes():
    values = np.linspace(18, 25, 20)
    claim = Ordering("uieb-90", "psnr", "good", "poor", 0.5)
    differences = compare(result("poor", values), result("good", values + 0.3 + np.tile([0.1, -0.1], 10)))
    assert judge(claim, differences).word == "holds"
    assert judge(claim, differences, reach=0.31).word == "within the noise"
    assert judge(claim, differences, reach=0.29).word == "holds"


def test_the_papers_margin_is_ruled_out_only_beyond_all_noise():
    values = np.linspace(18, 25, 20)
    differences = compare(result("poor", values), result("good", values + 0.3 + np.tile([0.1, -0.1], 10)))
    claim = Ordering("uieb-90", "psnr", "good", "poor", 0.8)
    assert judge(claim, differences).size == "ruled out"
    assert judge(claim, differences, reach=0.49).size == "ruled out"
    assert judge(claim, differences, reach=0.51).size == "possible"
    assert judge(replace(claim, margin=0.31), differences, reach=0.001).size == "possible"  # the pictures allow it
    assert judge(replace(claim, margin=0.05), differences).size == "ruled out"  # ours is larger
    assert judge(replace(claim, margin=None), differences).size is None
    assert judge(claim, None).size is None


def test_of_a_metric_where_less_is_better_the_margin_has_the_papers_sign():
    values = np.linspace(0.1, 0.3, 20)
    better = result("good", values - 0.05 + np.tile([0.001, -0.001], 10), metric="lpips")
    claim = Ordering("uieb-90", "lpips", "good", "poor", 0.05)
    verdict = judge(claim, compare(result("poor", values, metric="lpips"), better))
    assert (verdict.word, verdict.size) == ("holds", "possible")


def test_noise_is_pooled_over_rows_with_several_seeds():
    noise = pooled([[20.0, 20.2, 20.4], [21.0], [22.0, 22.4]])
    assert noise.freedom == 3
    assert noise.deviation == pytest.approx(((0.08 + 0.08) / 3) ** 0.5)
    assert noise.reach(3, 1) == pytest.approx(3.182 * noise.deviation * (1 / 3 + 1) ** 0.5)
    assert pooled([[20.0], [21.0]]) is None
    one, two = result("a", [1.0, 3.0]), result("a", [3.0, 5.0])
    assert averaged([one, two]).scores["paper-256"]["1"]["psnr"] == 4.0
