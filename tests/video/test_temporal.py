"""θ over time: cuts, flashes, fades, and filters against their definition."""

from fractions import Fraction

import numpy as np
import pytest

from helpers import clips
from pic_uie import _native
from pic_uie.corrections import identity
from pic_uie.video.temporal import Causal, ZeroPhase, describe, flatten, half_window, unflatten
from pic_uie.yuv import Yuv

WIDTH, HEIGHT = 96, 64


def frame(kind, index, brightness=1.0):
    y, cb, cr = clips.scene(kind, index, WIDTH, HEIGHT)
    y = np.clip(y * brightness, 16, 235).astype(np.uint8)
    return Yuv(y, cb, cr)


def cuts(frames):
    scenes = np.stack([describe(one) for one in frames])
    return [i for i in range(len(frames)) if _native.is_cut(scenes, i)]


def causal_cuts(frames):
    causal = Causal()
    return [i for i, one in enumerate(frames) if causal.push(one, identity())[1]]


def test_hard_cuts_are_found():
    frames = [frame(kind, i) for kind in (1, 2, 3) for i in range(12)]
    assert cuts(frames) == causal_cuts(frames) == [0, 12, 24]


@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_flash_is_no_cut(length):
    frames = [frame(1, i, 2.5 if 10 <= i < 10 + length else 1.0) for i in range(25)]
    assert cuts(frames) == [0]


def test_a_fade_is_no_cut():
    before, after = frame(1, 0), frame(2, 0)
    frames = [
        Yuv(
            *(
                np.round((1 - w) * a + w * b).astype(np.uint8)
                for a, b in zip(planes(before), planes(after), strict=True)
            )
        )
        for w in np.linspace(0, 1, 25)
    ]
    assert cuts(frames) == causal_cuts(frames) == [0]


def planes(one):
    return one.y, one.cb, one.cr


def thetas(values):
    like = identity()
    return [unflatten(flatten(like) * 0 + flatten(like) + _only_bias(like, value), like) for value in values]


def _only_bias(like, value):
    row = np.zeros_like(flatten(like))
    at = sum(getattr(like, name).size for name in ("t", "v", "a", "tone", "lut", "matrix"))
    row[at] = value
    return row


def test_zero_phase_is_the_weighted_mean_and_stops_at_cuts():
    rng = np.random.default_rng(2)
    values = rng.uniform(-0.2, 0.2, 40)
    kinds = [1] * 17 + [2] * 23
    half = half_window(Fraction(25))
    smoother = ZeroPhase(half, identity())
    got = []
    for i, (kind, theta) in enumerate(zip(kinds, thetas(values), strict=True)):
        got += list(smoother.push(i, describe(frame(kind, i)), theta))
    got += list(smoother.flush())
    assert [item for item, _, _ in got] == list(range(40))
    assert [item for item, _, cut in got if cut] == [0, 17]
    weights = 1 + np.cos(np.pi * np.arange(half + 1) / (half + 1))
    for i, theta, _ in got:
        near = [j for j in range(40) if abs(i - j) <= half and kinds[j] == kinds[i]]
        w = np.array([weights[abs(i - j)] for j in near])
        assert theta.bias[0] == pytest.approx(float(w @ values[near] / w.sum()), abs=1e-6)


def test_causal_filter_forgets_at_cuts_and_remembers_behind_a_flash():
    causal = Causal(30.0)
    values = [0.1] * 20 + [0.5] * 1 + [0.1] * 9 + [-0.3] * 10
    frames = [frame(1, i, 2.5 if i == 20 else 1.0) for i in range(30)] + [frame(2, i) for i in range(10)]
    got = [causal.push(one, theta)[0].bias[0] for one, theta in zip(frames, thetas(values), strict=True)]
    assert got[19] == pytest.approx(0.1, abs=1e-6)
    assert got[21] == pytest.approx(0.1, abs=1e-6)  # the flash left nothing
    assert got[30] == pytest.approx(-0.3, abs=1e-6)  # nothing of the scene before
