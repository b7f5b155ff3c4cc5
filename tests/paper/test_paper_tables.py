"""The data file against what the paper's text says about its own tables."""

import pytest

from pic_uie import complexity
from pic_uie.errors import ConfigError
from pic_uie.evaluation.metrics import METRICS
from pic_uie.paper import tables as paper
from pic_uie.training.config import Recipe
from pic_uie.typed_yaml import load

ABLATIONS = ["matched-capacity", "representation", "leave-one-out", "depth-controls", "thumbnail", "lut-grid"]
ABLATIONS += ["loss-terms", "width-scan"]


def psnr(table, row, data="uieb-90"):
    return paper.table(table).row(row).group(data)["psnr"]


def test_every_table_is_there():
    assert set(paper.names()) == {"quality", "no-reference", "efficiency-downstream", "cross-hardware", *ABLATIONS}
    counts = {name: len(paper.table(name).rows) for name in paper.names()}
    assert counts["quality"] == counts["no-reference"] == counts["efficiency-downstream"] == 14
    assert (counts["cross-hardware"], counts["leave-one-out"], counts["loss-terms"]) == (6, 8, 7)


def test_the_full_model_is_the_same_in_every_ablation():
    for name in ABLATIONS:
        (full,) = (row for row in paper.table(name).rows if row.cells["config"] == "paper")
        assert full.group("uieb-90")["psnr"] == psnr("quality", paper.ours())


def ranks(table, column, metric):
    rows = [(row.group(column).get(metric), row.name) for row in paper.table(table).rows]
    present = [pair for pair in rows if pair[0] is not None]
    best_first = METRICS[metric].higher_is_better if metric in METRICS else True
    return [name for _, name in sorted(present, reverse=best_first)]


def test_best_and_second_best_cells():
    for metric in ("psnr", "ssim", "mse", "lpips"):
        assert ranks("quality", "uieb-90", metric)[0] == "PIC-UIE"
    assert ranks("quality", "uieb-90", "pcqi")[:2] == ["DM-underwater", "PIC-UIE"]
    assert ranks("quality", "lsui", "psnr")[:2] == ["NU2Net", "PIC-UIE"]
    assert ranks("quality", "lsui", "lpips")[:2] == ["HCLR-Net", "WaterMamba"]
    assert ranks("no-reference", "u45", "niqe")[:2] == ["FUnIE-GAN", "DTIUIE"]
    assert ranks("no-reference", "u45", "uciqe")[:2] == ["SS-UIE", "PIC-UIE"]
    assert ranks("no-reference", "c60", "entropy")[:2] == ["WaterMamba", "SMDR-IS"]
    assert ranks("efficiency-downstream", "4k", "fps")[:2] == ["PIC-UIE", "FUnIE-GAN"]
    assert ranks("efficiency-downstream", "matching", "inliers")[:2] == ["PIC-UIE", "SMDR-IS"]
    assert ranks("efficiency-downstream", "detection", "map50")[:2] == ["NU2Net", "PIC-UIE"]


def test_differences_that_the_text_quotes():
    assert psnr("quality", "PIC-UIE") - psnr("quality", "SMDR-IS") == pytest.approx(0.427)
    full = psnr("leave-one-out", "Full model")
    assert full - psnr("leave-one-out", "w/o covariance calibration") == pytest.approx(0.910)
    assert full - psnr("leave-one-out", "w/o CCM") == pytest.approx(0.730)
    assert full - psnr("representation", "w/o RGB statistics") == pytest.approx(0.551)
    assert full - psnr("matched-capacity", "Direct RGB residual") == pytest.approx(3.197)
    assert psnr("width-scan", "w=96") - full == pytest.approx(0.201)
    assert psnr("width-scan", "w=160", "lsui") - psnr("width-scan", "w=16", "lsui") == pytest.approx(-0.338)
    losses = [full - row.group("uieb-90")["psnr"] for row in paper.table("loss-terms").rows if row.name != "Full model"]
    assert (min(losses), max(losses)) == pytest.approx((0.359, 0.456))


@pytest.mark.parametrize("table", ABLATIONS)
def test_rows_name_a_configuration_of_that_many_parameters(table, root):
    for row in paper.table(table).rows:
        name = row.cells["config"]
        path = root / "configs" / ("paper.yaml" if name == "paper" else f"variants/{name}.yaml")
        config = load(Recipe, path).model
        if "params" in row.cells:
            assert complexity.parameter_count(config) == row.cells["params"]
        if "gflops" in row.cells:
            assert complexity.predictor_gflops(config) == pytest.approx(row.cells["gflops"], abs=6e-5)


def test_unknown_names_are_refused_with_the_nearest():
    with pytest.raises(ConfigError, match="'quality'"):
        paper.table("qualty")
    with pytest.raises(ConfigError, match="'PIC-UIE'"):
        paper.table("quality").row("PIC-UI")
