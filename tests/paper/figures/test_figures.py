"""Figures: what is drawn is what the data say; as PNG and PDF, and as a user asks for them."""

import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from helpers.samples import random_parameters
from pic_uie import Enhancer, weights
from pic_uie.cli.main import main
from pic_uie.config import ModelConfig
from pic_uie.errors import ConfigError, DataError
from pic_uie.evaluation.results import Result
from pic_uie.inspection.report import inspect
from pic_uie.paper import tables as paper
from pic_uie.synthetic import render_pair

pytest.importorskip("matplotlib", reason="the figures extra is not installed")
from pic_uie.paper.figures import bubbles, canvas, capacity, corrections, depth, grid


@pytest.fixture
def mine(tmp_path):
    """Weights and a result that they made."""
    saved = weights.save(tmp_path / "w.safetensors", ModelConfig(width=8), random_parameters(1, ModelConfig(width=8)))
    scores = {"paper-256": {str(n): {"psnr": 20.0 + n} for n in range(9)}}
    source = {"kind": "weights", "weights_sha256": saved.sha256}
    result = Result("Mine", source, {"name": "x"}, {"sha256": "s"}, scores)
    result.write(tmp_path / "mine")
    return result, tmp_path


def texts(figure):
    figure.draw_without_rendering()
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def test_bubbles_are_the_papers_rows_and_ours(mine):
    result, folder = mine
    methods = bubbles.published("uieb-90", "psnr")
    ours = bubbles.measured(result, "uieb-90", "psnr", [folder / "w.safetensors"], None)
    assert (ours.params, ours.quality) == (3934, 24.0)
    figure = bubbles.draw([*methods, ours], "uieb-90", "psnr", x="gflops")
    drawn = [tuple(path.get_offsets()[0]) for path in figure.axes[0].collections if len(path.get_offsets()) == 1]
    for row in paper.table("quality").rows:
        assert (row.cells["cost"]["gflops"], row.group("uieb-90")["psnr"]) in drawn
    assert (ours.gflops, 24.0) in drawn
    labels = {text.get_text() for text in figure.axes[0].texts}
    assert {"Mine (measured: x, the whole folder)", "PIC-UIE (the paper)", "SMDR-IS"} <= labels
    with pytest.raises(ConfigError, match="--weights"):
        bubbles.measured(result, "uieb-90", "psnr", [], None)


def test_a_bubble_is_drawn_where_it_belongs(mine):
    result, folder = mine
    candidates = [folder / "w.safetensors"]
    theirs = replace(result, protocol={"name": "lsui", "paper": {"table": "quality", "column": "lsui"}})
    assert bubbles.measured(theirs, "lsui", "psnr", candidates, None).name == "Mine (measured: the whole folder)"
    with pytest.raises(ConfigError, match="is on lsui, not on uieb-90: choose --column lsui"):
        bubbles.measured(theirs, "uieb-90", "psnr", candidates, None)
    sized = replace(result, protocol={"name": "uiqad-4k", "paper": {"table": "efficiency-downstream", "column": "4k"}})
    with pytest.raises(ConfigError, match="is on 4k, not on uieb-90: evaluate under uieb-90 or lsui"):
        bubbles.measured(sized, "uieb-90", "psnr", candidates, None)
    own = replace(result, protocol={"name": "mine", "paper": {"table": "quality", "column": "uieb-90"}})
    assert bubbles.measured(own, "uieb-90", "psnr", candidates, None).name == "Mine (measured: mine, the whole folder)"
    scores = {"native": {"0": {"psnr": 99.0}}}
    with pytest.raises(ConfigError, match="was made at native"):
        bubbles.measured(replace(result, scores=scores), "uieb-90", "psnr", candidates, None)
    both = replace(result, scores=scores | result.scores)
    assert bubbles.measured(both, "uieb-90", "psnr", candidates, None).quality == 24.0


def test_bubbles_are_coloured_by_flops_and_stand_at_the_papers_time():
    figure = bubbles.draw(bubbles.published("uieb-90", "psnr"), "uieb-90", "psnr")
    axes, bar = figure.axes
    assert axes.get_xlabel().startswith("milliseconds")
    assert bar.get_ylabel() == "GFLOPs at 256×256"


def test_results_on_different_lists_are_not_drawn_together(mine):
    result, _ = mine
    other = replace(result, names={"sha256": "t", "file": "b.txt"})
    bubbles.refuse_mixture([result, result])
    with pytest.raises(DataError, match="different lists"):
        bubbles.refuse_mixture([result, other])


def test_a_label_that_had_to_move_away_is_tied_to_its_point():
    figure = canvas.new_figure(3, 3)
    axes = figure.add_subplot()
    places = [(0.5 + 0.012 * n, 0.5 + 0.02 * (n % 3)) for n in range(12)]
    axes.scatter(*zip(*places, strict=True))
    canvas.place_labels(axes, [(x, y, 4.0, f"label {n}", {}) for n, (x, y) in enumerate(places)])
    leads = [text for text in axes.texts if text.get_text() == ""]
    assert 0 < len(leads) < len(places)


def test_labels_keep_out_of_each_others_way():
    figure = canvas.new_figure(5, 4)
    axes = figure.add_subplot()
    places = [(0.5, 0.5), (0.51, 0.5), (0.5, 0.53), (0.9, 0.9)]
    axes.scatter(*zip(*places, strict=True))
    canvas.place_labels(axes, [(x, y, 3.0, f"label {n}", {}) for n, (x, y) in enumerate(places)])
    boxes = [text.get_window_extent() for text in axes.texts if text.get_text()]
    for number, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[number + 1 :])


def test_the_capacity_scan_draws_figures_words_and_ours():
    row = {"width": 8, "columns": {"uieb-90": {"psnr": {"ours": None, "ours_difference": None}}}}
    measured = {"ours": {"mean": 20.0}, "ours_difference": {"mean": -0.3, "low": -0.5, "high": -0.1}}
    ours = {"epochs": 5, "metrics": {"uieb-90": ["psnr"]}, "rows": [{**row, "name": "w=8"}, {**row, "name": "w=24"}]}
    ours["rows"][0] = {"name": "w=8", "width": 8, "columns": {"uieb-90": {"psnr": measured}}}
    figure = capacity.draw(ours)
    assert {"+0.201", "+0.117", "−0.301", "−0.338"} <= set(texts(figure))
    first, second = figure.axes
    assert [text for text in texts(figure) if "below" in text] == [
        "8, 12: below 16", "8, 12: below 16", "24 to 160: all below 16",
    ]  # fmt: skip
    papers = next(line for line in second.lines if line.get_label().startswith("the paper"))
    assert list(papers.get_xdata()) == [16, 96, 160]  # no point where the paper has only a sentence
    (line,) = (container[0] for container in first.containers)
    np.testing.assert_allclose(line.get_xydata(), [[8, -0.3]])


def test_the_depth_diagnostic_counts_every_picture():
    random = np.random.default_rng(0)
    values = {str(n): float(value) for n, value in enumerate(random.uniform(-1, 1, 50))}
    figure = depth.draw({"mine": values})
    heights = [patch.get_height() for patch in figure.axes[0].containers[0]]
    assert sum(heights) == 50
    positive = sum(value > 0 for value in values.values())
    assert f"positive on {positive} of 50" in figure.legends[0].get_texts()[0].get_text()


def test_crops_are_found_where_the_structure_is_and_never_stretched():
    picture = np.full((120, 200, 3), 90, np.uint8)
    picture[70:100, 130:180] = np.random.default_rng(0).integers(0, 255, (30, 50, 3))
    left, top, width, height = grid.busiest(picture)
    assert left <= 135 / 200
    assert left + width >= 175 / 200
    assert top <= 75 / 120
    assert top + height >= 95 / 120
    rows, columns = grid.fit(picture, (0.1, 0.1, 0.4, 0.5), aspect=1.0)
    assert (rows.stop - rows.start) == (columns.stop - columns.start) == 60
    for text in ("0,0,2,1", "1,2,3", "a,b,c,d", "0.9,0,0.2,0.1", "0,0,0,1"):
        with pytest.raises(ConfigError):
            grid.parse_crop(text)


@pytest.fixture
def folders(tmp_path):
    random = np.random.default_rng(3)
    for method in ("one", "two"):
        (tmp_path / method).mkdir()
        for stem in ("a", "b"):
            Image.fromarray(random.integers(0, 255, (60, 90, 3), dtype=np.uint8)).save(
                tmp_path / method / f"{stem}.png"
            )
    return tmp_path


def test_every_figure_from_the_command_line(folders, mine, capsys):
    base = mine[1]
    correlations = {"format": "pic-uie-depth-correlation-1", "correlations": {"a": 0.5, "b": -0.1}}
    (base / "c.json").write_text(json.dumps(correlations))
    methods = [f"One={folders / 'one'}", f"Two={folders / 'two'}"]
    commands = {
        "bubbles": [str(base / "mine.json"), "--weights", str(base / "w.safetensors")],
        "grid": [*methods, "--pictures", "b", "--crop", "b=0.1,0.1,0.5,0.5", "--crop", "0.5,0.5,0.3,0.3"],
        "capacity": [],
        "depth": [f"mine={base / 'c.json'}"],
    }
    for figure, options in commands.items():
        for suffix, magic in ((".png", b"\x89PNG"), (".pdf", b"%PDF")):
            path = base / f"{figure}{suffix}"
            assert main(["figure", figure, *options, "--dpi", "40", "-o", str(path)]) == 0
            data = path.read_bytes()
            assert data.startswith(magic)
            assert main(["figure", figure, *options, "--dpi", "40", "-o", str(path)]) == 2  # is there already
            assert main(["figure", figure, *options, "--dpi", "40", "-o", str(path), "--overwrite"]) == 0
            assert path.read_bytes() == data


def test_what_cannot_be_drawn_is_reported(folders, mine, capsys):
    base = mine[1]
    (base / "other.json").write_text("{}")
    one = f"One={folders / 'one'}"
    (folders / "square").mkdir()
    Image.new("RGB", (64, 64)).save(folders / "square/a.png")
    cases = [
        (
            ["grid", one, f"Two={folders / 'square'}", "-o", str(base / "g.png")],
            1,
            "a is 64x64 in Two and 90x60 in One",
        ),
        (["grid", one, "-o", str(base / "g.jpg")], 2, ".png or .pdf"),
        (["grid", one, "--pictures", "z", "-o", str(base / "g.png")], 1, "lacks the picture z"),
        (["grid", one, "--crop", "q=0,0,1,1", "-o", str(base / "g.png")], 2, "no picture 'q'"),
        (["grid", one, one, "-o", str(base / "g.png")], 2, "two methods"),
        (["capacity", str(base / "other.json"), "-o", str(base / "g.png")], 1, "not a result of"),
        (["depth", f"w={base / 'w.safetensors'}", "-o", str(base / "g.png")], 2, "--data DIR"),
        (["depth", f"w={base / 'other.json'}", "-o", str(base / "g.png")], 1, "not a file of depth correlations"),
        (["bubbles", str(base / "mine.json"), "--x", "ms", "-o", str(base / "g.png")], 2, "--weights"),
    ]
    for arguments, code, message in cases:
        assert main(["figure", *arguments]) == code
        assert message in capsys.readouterr().err
    assert not (base / "g.png").exists()


@pytest.mark.parametrize("step", corrections.STEPS)
def test_every_step_of_the_model_is_drawn(step, tmp_path):
    pair = render_pair(60, 90, 4)
    weights.save(tmp_path / "w.safetensors", ModelConfig(), random_parameters(4))
    inspection = inspect(pair.input, Enhancer(tmp_path / "w.safetensors", threads=1), "scene")
    figure = corrections.draw(inspection, step)
    after = {"luminance": "y1", "tone": "y2"}.get(step)
    if after:
        drawn = np.asarray(figure.axes[len(figure.texts) // 2 - 1].images[0].get_array())
        np.testing.assert_allclose(drawn, getattr(inspection.steps, after).clip(0, 1))
    assert canvas.save(figure, "png", 30).startswith(b"\x89PNG")


def test_depth_of_weights_needs_depth_maps(tmp_path, mine):
    pytest.importorskip("torch")
    assert main(["synth", "--count", "3", "--size", "64x48", "-o", str(tmp_path / "data"), "-q"]) == 0
    values = depth.correlations(mine[1] / "w.safetensors", tmp_path / "data", None, 64)
    assert len(values) == 3
    assert all(-1 <= value <= 1 for value in values.values())
    dense = ModelConfig(output="rgb_residual")
    weights.save(tmp_path / "dense.safetensors", dense, random_parameters(1, dense))
    with pytest.raises(DataError, match="predicts no transmission"):
        depth.correlations(tmp_path / "dense.safetensors", tmp_path / "data", None, 64)
