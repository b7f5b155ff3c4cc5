"""Matching on sequences whose homographies are known."""

import json

import numpy as np
import pytest

from helpers.samples import random_parameters
from pic_uie import Enhancer, weights
from pic_uie.cli.main import main
from pic_uie.config import ModelConfig
from pic_uie.datasets import sequences
from pic_uie.errors import ConfigError, DataError
from pic_uie.images import read_rgb8

cv2 = pytest.importorskip("cv2", reason="the evaluate extra is not installed")
from pic_uie.evaluation import matching  # noqa: E402

SIZE = 240


def texture(seed=0):
    """A large textured plane that frames look at."""
    random = np.random.default_rng(seed)
    layers = [
        cv2.resize(random.random((side, side, 3)), (600, 600), interpolation=cv2.INTER_CUBIC) for side in (15, 60, 150)
    ]
    return np.clip(255 * np.mean(layers, axis=0), 0, 255).astype(np.uint8)


def homography(step):
    """From the plane to frame number `step`: the camera drifts, turns and tilts a little."""
    angle = np.deg2rad(2.0 * step)
    turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [2e-5 * step, 1e-5, 1]])
    shift = np.array([[1, 0, -150.0 - 4 * step], [0, 1, -160.0 + 3 * step], [0, 0, 1]])
    return shift @ turn


def frames(folder, count, contrast=1.0, seed=0):
    folder.mkdir(parents=True, exist_ok=True)
    plane = texture(seed)
    for step in range(count):
        view = cv2.warpPerspective(plane, homography(step), (SIZE, SIZE), flags=cv2.INTER_AREA)
        dull = (110 + contrast * (view.astype(float) - 110)).round().astype(np.uint8)
        cv2.imwrite(str(folder / f"frame{step}.png"), dull[..., ::-1])


def test_the_known_homography_is_found():
    plane = texture()
    first, second = (cv2.warpPerspective(plane, homography(step), (SIZE, SIZE)) for step in (0, 3))
    found = matching.match(matching.features(first), matching.features(second))
    assert found.matches > 30
    assert found.inliers > 0.9 * found.matches
    corners = np.array([[20, 20], [220, 20], [220, 220], [20, 220]], np.float64)[:, None]
    truth = cv2.perspectiveTransform(corners, homography(3) @ np.linalg.inv(homography(0)))
    ours = cv2.perspectiveTransform(corners, found.homography)
    assert np.abs(truth - ours).max() < 1.0


def test_unrelated_pictures_have_few_inliers_and_flat_ones_none():
    one, two = (matching.features(texture(seed)[:SIZE, :SIZE]) for seed in (1, 2))
    assert matching.match(one, two).inliers < 0.1 * len(one.points)
    flat = matching.features(np.full((64, 64, 3), 90, np.uint8))
    assert matching.match(flat, one) == matching.PairMatch(len(one.points) / 2, 0, 0)
    assert matching.match(one, flat).matches == 0


def test_a_match_must_be_clearly_better_than_the_next():
    descriptors = np.zeros((2, 128), np.float32)
    descriptors[0, 0], descriptors[1, 0] = 4.0, -6.0  # distances 4 and 6 from the origin: a ratio of 0.67
    points = np.zeros((2, 2), np.float32)
    query = matching.Features(points[:1], np.zeros((1, 128), np.float32))
    assert matching.match(query, matching.Features(points, descriptors)).matches == 1
    descriptors[1, 0] = -5.0  # a ratio of 0.8
    assert matching.match(query, matching.Features(points, descriptors)).matches == 0


def test_frames_around_the_middle(tmp_path):
    names = [f"f{number}" for number in range(21)]
    for name in names:
        cv2.imwrite(str(tmp_path / f"{name}.png"), np.zeros((8, 8, 3), np.uint8))
    (chosen,) = sequences.find(tmp_path, 4, 4).values()
    assert [path.stem for path in chosen] == ["f4", "f8", "f12", "f16"]  # symmetric about f10, in natural order
    (every,) = sequences.find(tmp_path, None, 5).values()
    assert [path.stem for path in every] == ["f0", "f5", "f10", "f15", "f20"]
    with pytest.raises(DataError, match="need 25"):
        sequences.find(tmp_path, 4, 8)
    with pytest.raises(ConfigError):
        sequences.find(tmp_path, 1)


def test_raw_against_enhanced_as_a_user_runs_it(tmp_path, capsys):
    for sequence, seed in (("wreck", 0), ("reef", 1)):
        frames(tmp_path / "raw" / sequence, 5, contrast=0.12, seed=seed)
        frames(tmp_path / "clear" / sequence, 5, seed=seed)
    weights.save(tmp_path / "w.safetensors", ModelConfig(), random_parameters(2))
    options = ["--frames", "3", "--stride", "2", "--method", f"Clear={tmp_path / 'clear'}"]
    options += ["--method", f"Net={tmp_path / 'w.safetensors'}"]
    command = ["evaluate", "matching", str(tmp_path / "raw"), *options, "-o", str(tmp_path / "m.json"), "-q"]
    assert main(command) == 0
    assert "means over 4 adjacent pairs of 2 sequences; 3 frames around the middle, stride 2" in capsys.readouterr().out
    document = json.loads((tmp_path / "m.json").read_text())
    assert document["protocol"]["sequences"]["reef"] == ["frame0.png", "frame2.png", "frame4.png"]
    raw, clear = (document["methods"][name] for name in ("raw", "Clear"))
    assert clear["summary"]["inliers"] > raw["summary"]["inliers"]
    net = document["methods"]["Net"]
    assert net["source"]["weights_sha256"] == weights.load(tmp_path / "w.safetensors").sha256
    frame = read_rgb8(tmp_path / "raw/reef/frame0.png"), read_rgb8(tmp_path / "raw/reef/frame2.png")
    expected = [matching.features(Enhancer(tmp_path / "w.safetensors").enhance(picture)) for picture in frame]
    first = next(pair for pair in net["pairs"] if pair["sequence"] == "reef")
    assert first["keypoints"] == (len(expected[0].points) + len(expected[1].points)) / 2
    for row in (raw, clear, net):
        assert row["summary"]["matches"] == np.mean([pair["matches"] for pair in row["pairs"]])
        assert len(row["pairs"]) == 4


def test_what_is_missing_is_reported(tmp_path, capsys):
    frames(tmp_path / "raw" / "wreck", 3)
    frames(tmp_path / "clear" / "wreck", 2)
    matching_command = ["evaluate", "matching", str(tmp_path / "raw"), "-q"]
    assert main([*matching_command, "--method", f"Clear={tmp_path / 'clear'}"]) == 1
    assert "lacks wreck/frame2" in capsys.readouterr().err
    assert main([*matching_command, "--paper", "--stride", "2"]) == 2
    (tmp_path / "empty").mkdir()
    assert main(["evaluate", "matching", str(tmp_path / "empty")]) == 3


def test_flsea_is_matched_where_it_lies(tmp_path, capsys):
    for scene in ("canyons/a", "canyons/b", "red_sea/c", "red_sea/d", "red_sea/e"):
        frames(tmp_path / "flsea" / scene / "imgs", 4)
        frames(tmp_path / "flsea" / scene / "depth", 4, contrast=0.0)
        frames(tmp_path / "clear" / scene / "imgs", 4)
    command = ["evaluate", "matching", str(tmp_path / "flsea"), "-q", "--method", f"Clear={tmp_path / 'clear'}"]
    assert main([*command, "--frames", "2", "-o", str(tmp_path / "m.json")]) == 0
    assert "means over 5 adjacent pairs of 5 sequences" in capsys.readouterr().out
    document = json.loads((tmp_path / "m.json").read_text())
    raw, clear = (document["methods"][name]["summary"] for name in ("raw", "Clear"))
    assert raw == clear  # the same frames, found in imgs/ on both sides; the flat depth maps are no frames
    assert raw["matches"] > 30
    assert main([*command, "--paper", "--scene", "a", "--scene", "red_sea/c"]) == 1  # too short for a stride of four
    frames(tmp_path / "long" / "one", 13)
    assert main(["evaluate", "matching", str(tmp_path / "long"), "--paper", "-q"]) == 2
    assert "the paper takes 5 scenes and 1 are here" in capsys.readouterr().err
