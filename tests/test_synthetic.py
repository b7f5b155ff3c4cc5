"""Synthetic water: the physics has the right limits, the scenes are reproducible and differ from one another."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pic_uie.synthetic import WATER_TYPES, inverse_depth, photograph, render_pair
from pic_uie.synthetic.scene import render
from pic_uie.synthetic.water import OCEANIC_TYPES, direct_transmission, draw_water, submerge, water

GREY = np.full((3, 1, 1), 0.5, np.float32)


def at(distance: float) -> np.ndarray:
    return np.full((1, 1), distance, np.float32)


@pytest.mark.parametrize("name", WATER_TYPES)
def test_distance_takes_every_channel_to_the_veiling_light(name):
    waters = water(name, 3.0)
    gaps = [np.abs(submerge(GREY, at(z), waters)[:, 0, 0] - waters.veil) for z in (0.5, 2.0, 8.0, 32.0, 500.0)]
    direct = [direct_transmission(at(z), waters)[:, 0, 0] for z in (0.5, 2.0, 8.0, 32.0)]
    assert all(np.all(far < near) for near, far in itertools.pairwise(direct))
    assert np.all(gaps[-1] < 1e-3)
    assert gaps[2].sum() < gaps[0].sum()


@pytest.mark.parametrize("name", WATER_TYPES)
def test_no_water_in_between_leaves_the_scene(name):
    """At the surface and at distance 0 nothing is taken and nothing is added."""
    rng = np.random.default_rng(1)
    radiance = rng.random((3, 4, 5), dtype=np.float32)
    np.testing.assert_allclose(submerge(radiance, np.zeros((4, 5), np.float32), water(name, 0.0)), radiance, rtol=1e-6)


@pytest.mark.parametrize("name", OCEANIC_TYPES)
def test_red_goes_first_in_the_ocean(name):
    red, green, blue = water(name, 5.0).direct
    assert red > green
    assert red > blue
    below = water(name, 5.0).downwelling
    assert below[0] == below.min()


def test_coastal_water_takes_blue_before_green():
    for name in ("5C", "7C", "9C"):
        _, green, blue = water(name, 1.0).direct
        assert blue > green


def test_types_are_ordered_from_clear_to_turbid():
    greens = [float(water(name, 1.0).direct[1]) for name in WATER_TYPES]
    assert greens == sorted(greens)


def test_attenuation_and_backscatter_are_separate_coefficients():
    deep = water("II", 10.0)
    assert not np.allclose(deep.direct, deep.backscatter)


def test_down_welling_light_follows_jerlovs_transmittance():
    np.testing.assert_allclose(water("I", 2.0).downwelling, np.array([0.805, 0.961, 0.982]) ** 2, rtol=1e-5)


def test_light_adds_up():
    """The model is linear in the scene: the part that the water adds does not depend on it."""
    waters, distance = water("3C", 2.0), at(3.0)
    black = submerge(np.zeros_like(GREY), distance, waters)
    np.testing.assert_allclose(
        submerge(2 * GREY, distance, waters) - black, 2 * (submerge(GREY, distance, waters) - black), rtol=1e-4
    )


@pytest.mark.parametrize(("name", "depth"), [("4C", 1.0), ("", 1.0), ("I", -1.0), ("I", float("nan"))])
def test_impossible_water_is_refused(name, depth):
    with pytest.raises(ValueError, match=r"water type|depth"):
        water(name, depth)


def test_same_seed_same_bytes_and_other_seed_other_picture():
    first, again, other = render_pair(48, 64, 5), render_pair(48, 64, 5), render_pair(48, 64, 6)
    for one, two in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, two)
    assert np.mean(first.input != other.input) > 0.5


def test_the_scene_does_not_depend_on_the_water():
    clear, murky = render_pair(48, 64, 5, "I"), render_pair(48, 64, 5, "7C")
    np.testing.assert_array_equal(clear.reference, murky.reference)
    ratio = clear.distance / murky.distance
    np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-4)


@pytest.mark.parametrize("size", [(16, 16), (17, 31), (64, 48), (33, 200)])
def test_shapes_types_and_finite_values(size):
    for seed in range(6):
        pair = render_pair(*size, seed)
        assert pair.input.shape == pair.reference.shape == (*size, 3)
        assert pair.input.dtype == pair.reference.dtype == np.uint8
        assert pair.distance.shape == size
        assert pair.distance.dtype == np.float32
        assert np.all(np.isfinite(pair.distance))
        assert pair.distance.min() > 0


def test_the_composition_is_the_same_at_another_size():
    small, large = render_pair(64, 96, 3), render_pair(128, 192, 3)
    shrunk = large.distance.reshape(64, 2, 96, 2).mean(axis=(1, 3))
    assert np.corrcoef(np.log(small.distance).ravel(), np.log(shrunk).ravel())[0, 1] > 0.95


def test_pictures_look_like_water():
    """Over many seeds: less red than in the reference, less contrast, and a usable range of brightness."""
    pairs = [render_pair(48, 64, seed, name) for seed in range(4) for name in OCEANIC_TYPES]
    red_loss = [
        p.reference[..., 0].mean() / p.reference.mean() - p.input[..., 0].mean() / p.input.mean() for p in pairs
    ]
    contrast = [p.reference.std() - p.input.mean(axis=-1).std() for p in pairs]
    assert np.mean(red_loss) > 0.15
    assert np.mean(contrast) > 5
    assert all(30 < p.input.mean() < 200 for p in pairs)


def test_far_pixels_lose_more_contrast_than_near_ones():
    scene = render(96, 128, np.random.default_rng(2))
    seen = submerge(scene.radiance, scene.distance, water("III", 3.0))
    near = scene.distance < np.quantile(scene.distance, 0.3)
    far = scene.distance > np.quantile(scene.distance, 0.7)
    kept = [seen[:, part].std(axis=1).mean() / scene.radiance[:, part].std(axis=1).mean() for part in (near, far)]
    assert kept[1] < 0.7 * kept[0]


def test_drawn_water_covers_every_type():
    rng = np.random.default_rng(0)
    assert {draw_water(rng).name for _ in range(200)} == set(WATER_TYPES)


@pytest.mark.parametrize(("height", "width", "seed", "name"), [(8, 64, 0, None), (64, 64, -1, None), (64, 64, 0, "X")])
def test_impossible_pictures_are_refused(height, width, seed, name):
    with pytest.raises(ValueError, match=r"got|unknown"):
        render_pair(height, width, seed, name)


def test_inverse_depth_is_bright_where_near():
    np.testing.assert_array_equal(inverse_depth(np.array([[1.0, 4.0, 1e9]], np.float32)), [[255, 64, 0]])
    np.testing.assert_array_equal(inverse_depth(np.full((2, 2), 3.0, np.float32)), np.zeros((2, 2)))


def test_srgb_encoding_at_known_points():
    linear = np.array([-1.0, 0.0, 0.2159, 0.5, 1e6], np.float32)
    encoded = photograph.encode(np.broadcast_to(linear, (3, 1, 5)))
    assert encoded.shape == (1, 5, 3)
    np.testing.assert_array_equal(encoded[0, :, 1], [0, 0, 128, 188, 255])


def test_forward_scatter_keeps_flat_areas_and_spreads_a_point():
    optical = np.ones((32, 48), np.float32)
    flat = np.full((3, 32, 48), 0.3, np.float32)
    np.testing.assert_allclose(photograph.scatter_blur(flat, optical, 2.0), flat, rtol=1e-5)
    point = np.zeros((3, 32, 48), np.float32)
    point[:, 16, 24] = 1.0
    spread = photograph.scatter_blur(point, optical, 2.0)
    assert spread.shape == point.shape
    np.testing.assert_allclose(spread.sum(), 3.0, rtol=1e-4)
    np.testing.assert_allclose(spread[:, 16, 20:29], spread[:, 16, 20:29][:, ::-1], atol=1e-6)
    np.testing.assert_allclose(spread[:, 14, 24], spread[:, 16, 22], atol=1e-6)
