"""`pic-uie reproduce`, as a user runs it: train, resume, share, collect."""

import json

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("torch")
pytest.importorskip("cv2", reason="the evaluate extra is not installed")
from pic_uie import weights
from pic_uie.cli.training_progress import Progress
from pic_uie.evaluation.metrics import psnr


def load(path):
    return json.loads(path.read_text(), parse_constant=pytest.fail)  # strict JSON


def test_a_table_from_nothing_to_a_verdict(reproduce, water, tmp_path, capsys):
    assert reproduce("matched-capacity", tmp_path) == 0
    out, err = capsys.readouterr()
    assert "3/3 Structured corrections: 1 epochs on 8 pairs" in err
    report = load(tmp_path / "matched-capacity.json")
    assert [row["params"] for row in report["rows"]] == [9427, 9427, 9486]
    means = {}
    for row in report["rows"]:
        score = load(tmp_path / row["config"] / "score-uieb-90.json")
        values = [image["psnr"] for image in score["results"]["paper-256"]["images"]]
        cell = row["columns"]["uieb-90"]["psnr"]
        means[row["name"]] = np.mean(values)
        assert len(values) == 3
        assert score["source"]["weights_sha256"] == weights.load(tmp_path / row["config"] / "last.safetensors").sha256
        assert cell["ours"]["mean"] == pytest.approx(means[row["name"]])
        assert f"{means[row['name']]:.3f}" in out
    for row in report["rows"][:2]:
        expected = means[row["name"]] - means["Structured corrections"]
        assert row["columns"]["uieb-90"]["psnr"]["ours_difference"]["mean"] == pytest.approx(expected)
        assert row["columns"]["uieb-90"]["psnr"]["paper_difference"] < -3
    assert len(report["orderings"]) == 3
    for verdict in report["orderings"]:
        right = means[verdict["better"]] > means[verdict["worse"]]
        assert verdict["verdict"].startswith("holds" if right else "reversed")
    page = (tmp_path / "matched-capacity.md").read_text()
    assert "| Direct RGB residual | 9,427 | 20.940 |" in page
    assert "2 measured orderings with Structured corrections" in page

    assert report["names"]["uieb-90"]["count"] == 3

    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/*.safetensors")}
    assert reproduce("matched-capacity", tmp_path) == 0  # again: nothing is trained
    assert "epoch 1:" not in capsys.readouterr().err
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/*.safetensors")}
    assert load(tmp_path / "matched-capacity.json") == report

    assert reproduce("matched-capacity", tmp_path, epochs="2") == 2  # another budget needs another folder
    assert "optimization.epochs: 1 there, 2 here" in capsys.readouterr().err
    assert reproduce("matched-capacity", tmp_path, "--collect", epochs="2") == 2
    assert "run of another recipe" in capsys.readouterr().err


def test_rows_may_be_trained_apart_and_tables_share_them(reproduce, tmp_path, capsys):
    assert reproduce("leave-one-out", tmp_path, "--plan") == 0
    assert capsys.readouterr().out.count("train ") == 8
    assert list(tmp_path.iterdir()) == []
    assert reproduce("leave-one-out", tmp_path, "--only", "no-depth", "--only", "Full model") == 0
    report = load(tmp_path / "leave-one-out.json")
    assert len(report["missing"]) == 6
    assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == {"no-depth", "paper"}
    capsys.readouterr()
    assert reproduce("depth-controls", tmp_path, "--only", "no-depth") == 0
    assert "epoch 1:" not in capsys.readouterr().err  # the other table's training
    rows = {row["config"]: row for row in load(tmp_path / "depth-controls.json")["rows"]}
    values = load(tmp_path / "no-depth/depth-correlation.json")["correlations"]
    assert len(values) == 3
    assert rows["no-depth"]["correlation"]["ours"]["mean"] == pytest.approx(np.mean(list(values.values())))
    assert rows["paper"]["correlation"]["ours"] is None
    assert rows["paper"]["correlation"]["paper"]["positive"] == 88
    assert rows["depth-noise"]["columns"]["uieb-90"]["psnr"]["ours"] is None
    assert reproduce("depth-controls", tmp_path, "--collect") == 0
    assert "not trained yet: Shuffled between pictures, Spatial random noise" in capsys.readouterr().out


def test_an_interrupted_table_goes_on_to_the_same_weights(reproduce, tmp_path, monkeypatch):
    only = ["--only", "11x11", "--only", "9x9"]
    assert reproduce("lut-grid", tmp_path / "whole", *only, epochs="2") == 0
    original = Progress.epoch
    seen = []

    def stop_after_three(self, row):
        original(self, row)
        seen.append(row)
        if len(seen) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "epoch", stop_after_three)
    assert reproduce("lut-grid", tmp_path / "broken", *only, epochs="2") == 130
    assert not (tmp_path / "broken/lut-grid.json").exists()
    assert reproduce("lut-grid", tmp_path / "broken", *only, epochs="2") == 0
    assert len(seen) == 4  # one epoch was left
    for config in ("paper", "lut-11"):
        weights_files = [tmp_path / run / config / "last.safetensors" for run in ("whole", "broken")]
        assert weights_files[0].read_bytes() == weights_files[1].read_bytes()
    assert load(tmp_path / "broken/lut-grid.json") == load(tmp_path / "whole/lut-grid.json")


def test_pictures_that_were_trained_on_are_never_scored(reproduce, water, tmp_path, capsys):
    assert reproduce("lut-grid", tmp_path, "--only", "9x9") == 0
    stems = sorted(path.stem for path in (water / "data/input").iterdir())
    (tmp_path / "others.txt").write_text("\n".join(stems[:3]))
    before = (tmp_path / "paper/score-uieb-90.json").read_bytes()
    assert reproduce("lut-grid", tmp_path, "--only", "9x9", "--validation", str(tmp_path / "others.txt")) == 2
    assert "other pictures to train on" in capsys.readouterr().err
    assert (tmp_path / "paper/score-uieb-90.json").read_bytes() == before


def test_what_cannot_be_scored_is_told_before_the_training(reproduce, water, tmp_path, capsys):
    (tmp_path / "others.txt").write_text("nobody\n")
    assert reproduce("lut-grid", tmp_path, "--only", "9x9", "--validation", str(tmp_path / "others.txt")) == 1
    assert "lacks nobody" in capsys.readouterr().err
    assert not (tmp_path / "paper").exists()


def test_a_second_data_set_is_the_papers_lsui(reproduce, water, tmp_path, capsys):
    assert reproduce("lut-grid", tmp_path, "--only", "5x5", "--only", "9x9", "--lsui", str(water / "data")) == 0
    report = load(tmp_path / "lut-grid.json")
    assert report["names"]["lsui"]["count"] == 11
    cells = report["rows"][0]["columns"]
    assert cells["lsui"]["psnr"]["paper"] == 21.194
    assert cells["lsui"]["ssim"]["ours"]["mean"] < 1.0
    assert report["metrics"] == {"uieb-90": ["psnr", "ssim"], "lsui": ["psnr", "ssim"]}


def test_wrong_words_are_told(reproduce, tmp_path, capsys):
    assert reproduce("lut-gird", tmp_path) == 2
    assert "'lut-grid'" in capsys.readouterr().err
    assert reproduce("lut-grid", tmp_path, "--only", "6x6") == 2
    assert reproduce("quality", tmp_path, "--method", "nameless") == 2
    assert "NAME=PATH" in capsys.readouterr().err


def test_quality_of_a_protocol_that_the_paper_lacks_is_refused_before_the_work(reproduce, tmp_path, capsys):
    protocol = tmp_path / "mine.yaml"
    protocol.write_text(
        "{name: mine, title: mine, metrics: [psnr], resize: [native], references: target, names: folder}"
    )
    assert reproduce("quality", tmp_path / "out", "--protocol", str(protocol), settings=[]) == 2
    assert "the paper has no table for protocol 'mine'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_quality_sets_methods_into_the_papers_table(reproduce, water, tmp_path, capsys):
    protocol = tmp_path / "small.yaml"
    protocol.write_text(
        "{name: small, metrics: [psnr, ssim], resize: [native], references: target, names: folder,"
        " paper: {table: quality, column: uieb-90}}"
    )
    data = water / "data"
    (tmp_path / "darker").mkdir()
    for path in (data / "target").iterdir():
        Image.fromarray((np.asarray(Image.open(path)) * 0.8).astype(np.uint8)).save(tmp_path / "darker" / path.name)
    methods = ["--method", f"PIC-UIE={data / 'target'}", "--method", f"SMDR-IS={tmp_path / 'darker'}"]
    assert reproduce("quality", tmp_path / "out", "--protocol", str(protocol), *methods, settings=[]) == 0
    report = load(tmp_path / "out/quality.json")
    assert len(report["rows"]) == 16
    ours = {row["name"]: row["values"] for row in report["rows"] if row["source"] == "ours"}
    assert ours["PIC-UIE"]["psnr"] == "inf"
    expected = [
        psnr(*(np.asarray(Image.open(folder / path.name)) for folder in (tmp_path / "darker", data / "target")))
        for path in (data / "target").iterdir()
    ]
    assert ours["SMDR-IS"]["psnr"] == pytest.approx(np.mean(expected))
    assert "PSNR: PIC-UIE against SMDR-IS" in capsys.readouterr().out
    assert all(verdict["holds"] for verdict in report["orderings"])
