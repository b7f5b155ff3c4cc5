"""Looks: kept and read back exactly, applied again to the same bytes, mixed, averaged, refused when they are none."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.engines import ENHANCERS, MAXIMUM, pixels
from helpers.samples import EXTREMES, extreme_corrections, some_look
from pic_uie import Corrections, Enhancer, Look, Strengths, Yuv
from pic_uie.corrections import ARRAYS, NUMBERS
from pic_uie.errors import CorrectionsError, LookError
from pic_uie.look import MAX_BYTES, Source
from pic_uie.strengths import GROUPS

PARTS = (*ARRAYS, *NUMBERS)
NONE = dict.fromkeys(GROUPS, 0.0)
unit = st.floats(0.0, 1.0)


def numbers(theta):
    return np.concatenate([np.ravel(getattr(theta, name)) for name in PARTS])


@pytest.mark.parametrize("enhancer", ENHANCERS.values(), ids=ENHANCERS)
@pytest.mark.parametrize("dtype", MAXIMUM)
@pytest.mark.parametrize(("height", "width", "channels"), [(1, 1, 3), (37, 61, 3), (40, 50, 4), (33, 700, 1)])
def test_a_look_repeats_the_bytes_of_its_own_source(enhancer, dtype, height, width, channels):
    img = pixels(3, height, width, dtype, channels)
    look = Look.from_json(enhancer.look(img).to_json())
    assert np.array_equal(enhancer.apply(img, look), enhancer.enhance(img))
    half = enhancer.apply(img, look.scaled(strength=0.5))
    assert np.array_equal(half, enhancer.enhance(img, strength=0.5))


@pytest.mark.parametrize("enhancer", ENHANCERS.values(), ids=ENHANCERS)
def test_the_look_that_comes_with_a_picture_is_its_look(enhancer):
    img = pixels(4, 90, 70, np.uint8)
    for strengths in (Strengths(), Strengths(strength=0.3), Strengths(haze=0.2), Strengths(strength=0.0)):
        result, look = enhancer.enhance_with_look(img, strengths)
        assert look == replace(enhancer.look(img), strengths=strengths)
        assert np.array_equal(result, enhancer.enhance(img, **strengths.as_dict()))
        assert np.array_equal(result, enhancer.apply(img, look))


@pytest.mark.parametrize("enhancer", ENHANCERS.values(), ids=ENHANCERS)
@pytest.mark.parametrize("dtype", MAXIMUM)
def test_nothing_of_all_groups_is_the_input(enhancer, dtype):
    img = pixels(5, 45, 67, dtype, 4)
    assert np.array_equal(enhancer.enhance(img, **NONE), img)
    assert np.array_equal(enhancer.apply(img, enhancer.look(img).scaled(**NONE)), img)
    assert not np.array_equal(enhancer.enhance(img, **NONE | {"contrast": 1.0}), img)


def test_frames_of_video_have_looks_too():
    enhancer = next(iter(ENHANCERS.values()))
    samples = np.random.default_rng(0).integers(16, 236, 48 * 64 * 3 // 2, dtype=np.uint8)
    frame = Yuv.i420(samples, 64, 48)
    result, again = enhancer.enhance(frame), enhancer.apply(frame, enhancer.look(frame))
    untouched = enhancer.apply(frame, enhancer.look(frame).scaled(**NONE))
    for plane in ("y", "cb", "cr"):
        assert np.array_equal(getattr(again, plane), getattr(result, plane))
        assert np.array_equal(getattr(untouched, plane), getattr(frame, plane))


def test_a_group_is_turned_down_under_the_same_statistics():
    enhancer = next(iter(ENHANCERS.values()))
    img = pixels(6, 50, 60, np.float32)
    theta = enhancer.predict(img)
    expected = enhancer.execute(img, theta.scaled(haze=0.25), statistics=enhancer.measure(img, theta))
    assert np.array_equal(enhancer.enhance(img, haze=0.25), expected)
    assert np.array_equal(enhancer.apply(img, enhancer.look(img).scaled(haze=0.5).scaled(haze=0.5)), expected)


@pytest.mark.parametrize("theta", [*(extreme_corrections(name) for name in EXTREMES)])
def test_files_are_small_and_exact(tmp_path, theta):
    look = replace(some_look(1), theta=theta, source=Source("réf 🐠\udcff.jpg", "0" * 64), software="x")
    look = look.scaled(haze=0.1, strength=1 / 3)
    path = tmp_path / "a.look.json"
    look.save(path)
    assert path.stat().st_size < MAX_BYTES == 64 << 10
    again = Look.load(path)
    assert again == look
    assert again.sha256 == look.sha256
    values = json.loads(path.read_text())
    assert values["strengths"]["haze"] == 0.1
    assert np.allclose(values["corrections"]["tone"], theta.tone)


def test_the_hash_is_of_what_decides_on_pixels():
    look = some_look(2)
    other_hash = [
        look.scaled(haze=0.5),
        look.scaled(strength=0.5),
        replace(look, weights="f" * 64),
        replace(look, theta=replace(look.theta, blend=0.123)),
        replace(look, statistics=some_look(3).statistics),
    ]
    assert len({each.sha256 for each in [look, *other_hash]}) == 6
    assert replace(look, source=Source("other"), software="other").sha256 == look.sha256
    assert pickle.loads(pickle.dumps(look)) == look  # noqa: S301


def test_strengths_may_be_edited_by_hand():
    text = some_look(2).to_json()
    assert Look.from_json(text.replace('"haze": 1.0', '"haze": 0.4')).strengths == Strengths(haze=0.4)
    assert Look.from_json(text.replace('    "haze": 1.0,\n', "")).strengths == Strengths()


def broken(**changes):
    values = json.loads(some_look(2).to_json())
    for name, value in changes.items():
        if value is None:
            del values[name]
        else:
            values[name] = values[name] | value if isinstance(value, dict) and name in values else value
    return json.dumps(values)


TEXT = some_look(2).to_json()
PACKED = json.loads(TEXT)["corrections"]["t"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a look: a look is a file that"),
        ("[]", "not a look"),
        ("{" * 5000, "not a look"),
        ('{"format": "pic-uie-corrections-1"}', "not a look"),
        (TEXT[:-200], "cut off or damaged"),
        (TEXT + " " * MAX_BYTES, "cut off or damaged"),
        (broken(format="pic-uie-look-2"), "'pic-uie-look-2', this version reads 'pic-uie-look-1': update pic-uie"),
        (broken(weights=None), "without weights"),
        (broken(weights="abc"), "64 hexadecimal digits"),
        (broken(weights=7), "64 hexadecimal digits"),
        (broken(wheights="abc"), "did you mean 'weights'"),
        (broken(strengths={"haze": 1.5}), r"haze must be a number in \[0, 1\], got 1.5"),
        (broken(strengths={"haze": True}), "haze must be a number"),
        (broken(strengths={"haze": "1"}), "haze must be a number"),
        (broken(strengths={"fog": 1}), "unknown strength 'fog'"),
        (broken(strengths=[]), "names with numbers"),
        (broken(statistics={"mean": [0, 0]}), "mean must have shape"),
        (broken(statistics={"mean": [0.5, 0, 0]}), "checksum"),
        (broken(statistics={"more": 1}), "statistics must have"),
        (broken(corrections={"blend": 0.123}), "checksum"),
        (broken(corrections={"t": {"shape": [32, 32], "float32": "AAAA"}}), r"t has 3 bytes, its shape \[32, 32\]"),
        (broken(corrections={"t": PACKED | {"float32": "%" + PACKED["float32"][1:]}}), "t is not base64"),
        (broken(corrections={"t": PACKED | {"shape": [-1, 1024]}}), "t has no shape"),
        (broken(corrections={"t": PACKED | {"shape": [1e9, 10**30]}}), "t has no shape"),
        (broken(corrections={"t": 1}), "t must have shape, float32"),
        (broken(corrections={"tone": [0, 1e400]}), "makes no sense"),
        (broken(source={"name": 7}), "must be texts"),
        (broken(checksum="0" * 64), "checksum"),
    ],
)
def test_what_is_no_look_is_refused(text, message):
    with pytest.raises(LookError, match=message):
        Look.from_json(text)


@given(place=st.integers(0, len(TEXT) - 1), letter=st.characters(codec="ascii"))
@settings(max_examples=300, deadline=None)
def test_no_damage_to_corrections_goes_unseen(place, letter):
    text = TEXT[:place] + letter + TEXT[place + 1 :]
    try:
        look = Look.from_json(text)
    except LookError:
        return
    assert look.theta == some_look(2).theta
    assert look.statistics == some_look(2).statistics


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "a.look.json").write_bytes(b"\xff\xd8\xff\xe0")
    (tmp_path / "b.look.json").write_bytes(b" " * (MAX_BYTES + 1))
    for path, message in [
        (tmp_path / "none.look.json", "cannot read the look .*none.look.json: No such file"),
        (tmp_path, "a folder or device"),
        (tmp_path / "a.look.json", "a.look.json is not a look"),
        (tmp_path / "b.look.json", "larger than 64 KB"),
        ("a\0b", "not a possible file name"),
    ]:
        with pytest.raises(LookError, match=message):
            Look.load(path)


def test_fields_too_fine_for_a_file():
    with pytest.raises(LookError, match="more than the 64 KB of a look"):
        some_look(0, field_size=64).to_json()
    assert len(some_look(0, field_size=48).to_json()) < MAX_BYTES


def test_other_weights_and_other_shapes_are_refused():
    enhancer = next(iter(ENHANCERS.values()))
    with pytest.raises(LookError, match=r"belongs to weights 01234567, these are .*--weights FILE"):
        enhancer.apply(pixels(0, 8, 8), some_look(0))
    with pytest.raises(LookError, match="use its own with --weights bright, or make"):
        enhancer.apply(pixels(0, 8, 8), Enhancer("bright").look(pixels(0, 8, 8)))
    with pytest.raises(ValueError, match="look must be a Look, got Corrections"):
        enhancer.apply(pixels(0, 8, 8), some_look(0).theta)
    with pytest.raises(LookError, match="belongs to weights"):
        some_look(0).interpolate(replace(some_look(1), weights="f" * 64), 0.5)
    with pytest.raises(LookError, match="cannot be averaged: cannot average t of shape"):
        Look.mean([some_look(0), some_look(1, field_size=16)])
    with pytest.raises(LookError, match="cannot be mixed"):
        some_look(0).interpolate(some_look(1, grid=5), 0.5)
    with pytest.raises(LookError, match="cannot be mixed: weight"):
        some_look(0).interpolate(some_look(1), 1.5)
    with pytest.raises(LookError, match="at least one"):
        Look.mean([])
    with pytest.raises(CorrectionsError, match="haze"):
        some_look(0).scaled(haze=float("nan"))


@given(seed=st.integers(0, 500), weight=unit, values=st.tuples(unit, unit, unit, unit, unit))
@settings(deadline=None)
def test_mixing_is_valid_and_meets_its_ends(seed, weight, values):
    first, second = some_look(seed), some_look(seed + 1).scaled(**dict(zip((*GROUPS, "strength"), values, strict=True)))
    mixed = first.interpolate(second, weight)
    assert Look.from_json(mixed.to_json()) == mixed
    assert first.interpolate(second, 0.0).sha256 == first.sha256
    assert first.interpolate(second, 1.0).sha256 == second.sha256


@given(seeds=st.lists(st.integers(0, 500), min_size=1, max_size=9), name=st.sampled_from(EXTREMES))
@settings(deadline=None)
def test_one_odd_look_does_not_tint_the_mean(seeds, name):
    rest = [some_look(seed) for seed in seeds]
    assert Look.mean(rest[:1]).sha256 == rest[0].sha256
    odd = replace(rest[0], theta=extreme_corrections(name))
    mean = Look.mean([*rest, odd])
    assert Look.from_json(mean.to_json()) == mean
    if len(rest) > 1:
        each = np.stack([numbers(look.theta) for look in rest])
        assert np.all(numbers(mean.theta) >= each.min(axis=0) - 1e-6)
        assert np.all(numbers(mean.theta) <= each.max(axis=0) + 1e-6)


def test_the_mean_of_equal_looks_is_that_look_and_an_odd_colour_is_not_pooled():
    look = some_look(7)
    assert np.array_equal(numbers(Look.mean([look] * 5).theta), numbers(look.theta))
    odd = replace(look, statistics=replace(look.statistics, mean=look.statistics.mean + np.array([0.4, 0.3, -0.3])))
    pooled = Look.mean([look, odd, look, look]).statistics
    assert np.allclose(pooled.mean, look.statistics.mean, rtol=1e-12)
    assert np.allclose(pooled.covariance, look.statistics.covariance, rtol=1e-12)


@given(gaps=st.lists(st.integers(1, 3), min_size=2, max_size=40), others=st.data(), weight=unit)
@settings(deadline=None)
def test_curves_stay_increasing_however_flat(gaps, others, weight):
    """Neighbours that are the next float32, near 0.5 and near another place: mixing rounds many of them together."""

    def curve(start):
        ulps = np.cumsum(others.draw(st.permutations(gaps)))
        values = np.float32(start).view(np.uint32) + ulps.astype(np.uint32)
        return np.concatenate([[0.0], values.view(np.float32), [1.0]]).astype(np.float32)

    base = {name: getattr(some_look(1).theta, name) for name in PARTS}
    first, second = (Corrections(**base | {"tone": curve(start)}) for start in (0.499999, 0.7))
    first.interpolate(second, weight)
    first.scaled(contrast=weight)
    first.scaled(contrast=float(np.nextafter(np.float32(1), np.float32(0))))
    Look.mean([replace(some_look(1), theta=theta) for theta in (first, second, second, first)])
