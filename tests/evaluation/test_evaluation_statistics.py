import math

import numpy as np
import pytest
from scipy import stats

from pic_uie.evaluation.statistics import bootstrap_interval, wilcoxon


@pytest.mark.parametrize("count", [5, 14, 90])
@pytest.mark.parametrize("shift", [0.0, 0.3])
def test_wilcoxon_is_scipys_exact_test(count, shift):
    differences = np.random.default_rng(count).normal(shift, 1.0, count)
    assert wilcoxon(differences) == pytest.approx(stats.wilcoxon(differences, method="exact").pvalue, rel=1e-9)


def test_wilcoxon_of_many_is_the_normal_approximation():
    differences = np.random.default_rng(5).normal(0.05, 1.0, 500).round(1)  # with ties and zeros
    expected = stats.wilcoxon(differences, zero_method="wilcox", correction=False, method="approx").pvalue
    assert wilcoxon(differences) == pytest.approx(expected, rel=1e-9)


def test_wilcoxon_with_ties_is_the_exact_permutation_distribution():
    differences = np.array([1.0, 1.0, -1.0, 2.0, 2.0, 3.0, -0.5])
    ranks = stats.rankdata(np.abs(differences))
    observed = ranks[differences > 0].sum()
    signs = (np.arange(2**7)[:, None] >> np.arange(7)) & 1
    sums = signs @ ranks
    tail = min((sums <= observed).mean(), (sums >= observed).mean())
    assert wilcoxon(differences) == pytest.approx(2 * tail)


def test_no_difference_at_all():
    assert wilcoxon([0.0] * 8) == 1.0
    assert bootstrap_interval([2.5] * 8) == (2.5, 2.5)


def test_the_interval_covers_the_true_mean_about_as_often_as_it_says():
    random = np.random.default_rng(7)
    covered = [low <= 0.0 <= high for low, high in (bootstrap_interval(random.normal(size=60)) for _ in range(100))]
    assert 88 <= sum(covered) <= 100


def test_the_interval_is_scipys_and_repeats():
    values = np.random.default_rng(8).normal(24.0, 3.0, 90)
    low, high = bootstrap_interval(values)
    expected = stats.bootstrap((values,), np.mean, method="percentile", n_resamples=10_000, rng=1).confidence_interval
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=0.05)
    assert bootstrap_interval(values) == (low, high)


def test_an_infinite_value_leaves_an_interval():
    low, high = bootstrap_interval([20.0, 21.0, 22.0, math.inf])
    assert 20.0 <= low < math.inf
    assert high == math.inf
