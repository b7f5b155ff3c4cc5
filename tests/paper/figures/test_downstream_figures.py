"""The match-line figure and the detection figure: what is drawn is what was found."""

import json

import numpy as np
import pytest
from PIL import Image

from pic_uie.cli.main import main
from pic_uie.errors import ConfigError, DataError

pytest.importorskip("matplotlib", reason="the figures extra is not installed")
cv2 = pytest.importorskip("cv2", reason="the evaluate extra is not installed")
from pic_uie.evaluation.matching import raw_frames  # noqa: E402
from pic_uie.paper.figures import detection, matching  # noqa: E402


@pytest.fixture
def frames(tmp_path):
    """Two scenes of three frames: a textured plane that moves by 5 pixels a frame."""
    random = np.random.default_rng(0)
    for scene in ("reef", "wreck"):
        plane = cv2.resize(
            random.integers(0, 255, (50, 70, 3), dtype=np.uint8), (420, 300), interpolation=cv2.INTER_CUBIC
        )
        (tmp_path / "frames" / scene).mkdir(parents=True)
        for step in range(3):
            Image.fromarray(plane[:200, 5 * step : 5 * step + 300]).save(tmp_path / "frames" / scene / f"{step}.png")
    return tmp_path / "frames"


def test_every_line_joins_a_match(frames):
    paths = sorted((frames / "reef").iterdir())
    drawn = matching.measure({"raw": raw_frames}, "reef", paths, 1)
    found = drawn["raw"].found
    assert found.inliers > 20
    moves = found.points[found.is_inlier][:, 1] - found.points[found.is_inlier][:, 0]
    np.testing.assert_allclose(np.median(moves, axis=0), [-5, 0], atol=0.2)
    figure = matching.draw(drawn)
    (axes,) = figure.axes
    lines = [line for line in axes.lines if line.get_color() in (matching.KEPT, matching.REJECTED)]
    assert len(lines) == min(matching.LINES, found.matches)
    ends = np.array([line.get_xydata().ravel() for line in lines])
    expected = found.points.reshape(-1, 4) + np.array([0.0, 0.0, 300.0, 0.0])
    nearest = np.abs(ends[:, None] - expected[None]).max(axis=2).min(axis=1)
    assert nearest.max() < 1e-3
    assert f"{found.matches:,} matches, {found.inliers:,} inliers" in figure.texts[1].get_text()
    with pytest.raises(ConfigError, match="has 2 pairs"):
        matching.measure({"raw": raw_frames}, "reef", paths, 2)


def test_the_match_figure_as_a_user_asks_for_it(frames, tmp_path, capsys):
    command = ["figure", "matching", str(frames), "--method", f"Twin={frames}", "--scene", "wreck", "--dpi", "60"]
    assert main([*command, "-o", str(tmp_path / "m.png")]) == 0
    assert Image.open(tmp_path / "m.png").size[0] == 456
    assert main([*command, "--pair", "9", "-o", str(tmp_path / "n.png")]) == 2
    assert main(["figure", "matching", str(frames), "--method", f"raw={frames}", "-o", str(tmp_path / "n.png")]) == 2
    assert "another name" in capsys.readouterr().err


@pytest.fixture
def tested(tmp_path):
    """What `evaluate detection` leaves, for raw and one method, with known boxes."""
    output = tmp_path / "out"
    for method in ("raw", "ours"):
        for split in ("train", "val", "test"):
            for kind in ("images", "labels"):
                (output / method / kind / split).mkdir(parents=True)
            for number in range(4):
                stem = f"{split}{number}"
                Image.new("RGB", (80, 60), (9 * number, 50, 60)).save(
                    output / method / "images" / split / f"{stem}.png"
                )
                labels = "0 0.5 0.5 0.2 0.4\n" * number
                (output / method / "labels" / split / f"{stem}.txt").write_text(labels)
        splits = "{train: images/train, val: images/val, test: images/test, names: [urchin, scallop]}"
        (output / method / "data.yaml").write_text(splits)
        (output / method / "method.json").write_text("{}")
        (output / method / "seed-0").mkdir()
        boxes = {f"test{n}": [[1, 0.8, 0.1, 0.1, 0.6, 0.5]] * (n if method == "ours" else 0) for n in range(4)}
        (output / method / "seed-0/boxes.json").write_text(json.dumps(boxes))
    return output


def test_labels_raw_and_methods_stand_side_by_side(tested):
    classes, rows = detection.load(tested, [], 0)
    assert classes == ["urchin", "scallop"]
    assert list(rows) == ["test3", "test2", "test1"]  # those with the most labels
    assert list(rows["test3"]) == ["labels", "raw", "ours"]
    assert [len(panel.boxes) for panel in rows["test2"].values()] == [2, 0, 2]
    assert rows["test2"]["labels"].boxes[0] == pytest.approx((0, 1.0, 0.4, 0.3, 0.6, 0.7))
    figure = detection.draw(classes, rows)
    counts = [len(axes.patches) // 2 for axes in figure.axes]  # each box has a dark edge below
    assert counts == [3, 0, 3, 2, 0, 2, 1, 0, 1]
    corner = figure.axes[2].patches[1].get_bbox()
    assert (corner.x0, corner.y0, corner.x1, corner.y1) == pytest.approx((8, 6, 48, 30))


def test_the_detection_figure_as_a_user_asks_for_it(tested, tmp_path, capsys):
    command = ["figure", "detection", str(tested), "--dpi", "60", "-o", str(tmp_path / "d.png")]
    assert main([*command, "--pictures", "test1"]) == 0
    assert Image.open(tmp_path / "d.png").size[0] > 300
    assert main([*command, "--overwrite", "--pictures", "train1"]) == 2
    assert "train1 is not in the test split" in capsys.readouterr().err
    assert main([*command, "--overwrite", "--seed", "7"]) == 1
    assert "no tested detector of seed 7" in capsys.readouterr().err
    (tested / "raw/seed-0/boxes.json").write_text('{"test1": [[1, 2]]}')
    with pytest.raises(DataError, match="damaged"):
        detection.load(tested, ["test1"], 0)
