"""`pic-uie reproduce`, as a user runs it: train, resume, share, collect."""

import json
import shutil

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("torch")
pytest.importorskip("cv2", reason="the evaluate extra is not installed")
from pic_uie import weights
from pic_uie.cli.training_progress import TrainingProgress
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
        assert verdict["verdict"] in ("holds" if right else "reversed", "within the noise")
    page = (tmp_path / "matched-capacity.md").read_text()
    assert "| Direct RGB residual | 9,427 | 20.940 |" in page
    assert "2 measured orderings with Structured corrections: " in page

    assert report["names"]["uieb-90"]["count"] == 3

    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/*.safetensors")}
    assert reproduce("matched-capacity", tmp_path) == 0  # again: nothing is trained
    assert "epoch 1:" not in capsys.readouterr().err
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/*.safetensors")}
    assert load(tmp_path / "matched-capacity.json") == report

    for unused in ("settling.samples=7", "teaching.mixture=0.1", "augmentation.kinds.good=0.9"):  # as other defaults
        assert reproduce("matched-capacity", tmp_path, more=[unused]) == 0
        assert reproduce("matched-capacity", tmp_path, "--collect", more=[unused]) == 0
        assert "epoch 1:" not in capsys.readouterr().err
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


def test_what_was_trained_elsewhere_is_scored_when_it_is_collected(reproduce, tmp_path, capsys):
    assert reproduce("depth-controls", tmp_path / "there", "--only", "no-depth") == 0
    report = load(tmp_path / "there/depth-controls.json")
    kept = tmp_path / "here/no-depth"
    kept.mkdir(parents=True)
    for name in ("config.yaml", "metrics.csv", "last.safetensors"):
        shutil.copy(tmp_path / "there/no-depth" / name, kept / name)
    assert reproduce("depth-controls", tmp_path / "here", "--collect") == 0
    assert load(tmp_path / "here/depth-controls.json") == report
    (kept / "metrics.csv").write_text("loss\n1\n")
    assert reproduce("depth-controls", tmp_path / "here", "--collect") == 1
    assert "is not the curve of a training" in capsys.readouterr().err


def test_what_is_collected_is_of_the_pictures_and_weights_at_hand(reproduce, water, tmp_path, capsys):
    assert reproduce("lut-grid", tmp_path, "--only", "lut-5", "--only", "paper") == 0
    first = load(tmp_path / "lut-grid.json")
    two = tmp_path / "two.txt"
    two.write_text("\n".join((water / "held-out.txt").read_text().split()[:2]) + "\n")
    assert reproduce("lut-grid", tmp_path, "--collect", "--validation", str(two)) == 0
    assert load(tmp_path / "lut-grid.json")["names"]["uieb-90"]["count"] == 2
    assert reproduce("lut-grid", tmp_path, "--collect") == 0
    assert load(tmp_path / "lut-grid.json") == first
    shutil.copy(tmp_path / "paper/last.safetensors", tmp_path / "paper/kept")
    (tmp_path / "paper/last.safetensors").write_bytes(b"junk")
    assert reproduce("lut-grid", tmp_path, "--collect") != 0
    (tmp_path / "paper/last.safetensors").unlink()  # a score alone cannot be made again
    assert reproduce("lut-grid", tmp_path, "--collect", "--validation", str(two)) == 1
    assert "is of other pictures" in capsys.readouterr().err
    for missing in (["--seeds-from", str(tmp_path / "nope")], ["-o", str(tmp_path / "nope")]):
        assert reproduce("lut-grid", tmp_path, "--collect", *missing) == 1
        assert "nope is not a folder" in capsys.readouterr().err


def test_an_interrupted_table_goes_on_to_the_same_weights(reproduce, tmp_path, monkeypatch):
    only = ["--only", "11x11", "--only", "9x9"]
    assert reproduce("lut-grid", tmp_path / "whole", *only, epochs="2") == 0
    original = TrainingProgress.epoch
    seen = []

    def stop_after_three(self, row):
        original(self, row)
        seen.append(row)
        if len(seen) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(TrainingProgress, "epoch", stop_after_three)
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


def test_what_cannot_be_scored_is_reported_before_the_training(reproduce, water, tmp_path, capsys):
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


def test_wrong_words_are_reported(reproduce, tmp_path, capsys):
    assert reproduce("lut-gird", tmp_path) == 2
    assert "'lut-grid'" in capsys.readouterr().err
    assert reproduce("lut-grid", tmp_path, "--only", "6x6") == 2
    assert reproduce("quality", tmp_path, "--method", "nameless", settings=[]) == 2
    assert "NAME=PATH" in capsys.readouterr().err
    assert reproduce("quality", tmp_path, "--plan", settings=[]) == 2
    assert "quality trains nothing" in capsys.readouterr().err


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
    report = load(tmp_path / "out/quality-small.json")
    assert len(report["paper"]) == 14
    ours = report["ours"]
    assert ours["PIC-UIE"]["psnr"]["mean"] == "inf"
    expected = [
        psnr(*(np.asarray(Image.open(folder / path.name)) for folder in (tmp_path / "darker", data / "target")))
        for path in (data / "target").iterdir()
    ]
    assert ours["SMDR-IS"]["psnr"]["mean"] == pytest.approx(np.mean(expected))
    printed = capsys.readouterr().out
    assert "PSNR: PIC-UIE better than SMDR-IS" in printed
    assert "Measured here: small, native, 11 pictures, the whole folder" in printed
    assert "these are pictures of one's own: the paper's levels do not compare" in printed
    assert "to the paper's" not in printed
    assert {verdict["verdict"] for verdict in report["orderings"]} == {"holds"}


def test_a_quality_table_per_protocol_without_an_empty_column(reproduce, water, tmp_path):
    pictures = tmp_path / "u45"
    (pictures / "input").mkdir(parents=True)
    source = sorted((water / "data/input").iterdir())
    for number in range(45):
        (pictures / "input" / f"{number}.png").write_bytes(source[number % len(source)].read_bytes())
    protocol = tmp_path / "mine.yaml"
    protocol.write_text("{name: mine, metrics: [uiqm], names: folder, paper: {table: no-reference, column: c60}}")
    out = tmp_path / "out"
    for name in ("mine", "other"):
        chosen = tmp_path / f"{name}.yaml"
        chosen.write_text(protocol.read_text().replace("mine", name))
        command = ["--protocol", str(chosen), "--method", f"PIC-UIE={pictures / 'input'}", "--data", str(pictures)]
        assert reproduce("quality", out, *command, settings=[]) == 0
    pages = [(out / f"quality-{name}.md").read_text() for name in ("mine", "other")]
    for page in pages:
        for table in page.split("**")[2::2]:
            rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")][1:]
            columns = list(zip(*(row for row in rows if row[0] != "---"), strict=True))
            assert all(any(cell != "-" for cell in column) for column in columns)


def test_three_seeds_tell_the_noise(reproduce, tmp_path, capsys):
    only = ["--only", "5x5", "--only", "9x9"]
    for seed in (0, 1, 2):
        assert reproduce("lut-grid", tmp_path / f"s{seed}", f"seed={seed}", *(only if seed == 0 else only[2:])) == 0
    capsys.readouterr()
    more = ["--seeds-from", str(tmp_path / "s1"), "--seeds-from", str(tmp_path / "s2")]
    assert reproduce("lut-grid", tmp_path / "s0", "seed=0", "--collect", *more) == 0
    assert "(3 seeds)" in capsys.readouterr().out
    report = load(tmp_path / "s0/lut-grid.json")
    files = [load(tmp_path / f"s{seed}/paper/score-uieb-90.json") for seed in (0, 1, 2)]
    means = [file["results"]["paper-256"]["summary"]["psnr"]["mean"] for file in files]
    full = next(row for row in report["rows"] if row["config"] == "paper")["columns"]["uieb-90"]["psnr"]
    assert full["ours_seeds"] == pytest.approx(means)
    assert full["ours"]["mean"] == pytest.approx(np.mean(means))
    assert report["noise"]["uieb-90"]["psnr"] == {"deviation": pytest.approx(np.std(means, ddof=1)), "freedom": 2}
    verdict = next(o for o in report["orderings"] if o["worse"] == "5x5" and o["metric"] == "psnr")
    assert verdict["reach"] == pytest.approx(4.303 * np.std(means, ddof=1) * (1 / 3 + 1) ** 0.5)
    assert reproduce("lut-grid", tmp_path / "s0", "seed=0", "--collect", "--seeds-from", str(tmp_path / "s0")) == 2
    assert "seeds must differ" in capsys.readouterr().err


def test_all_tables_are_collected_into_pages_and_a_summary(reproduce, tmp_path, capsys):
    assert reproduce("lut-grid", tmp_path / "runs", "--only", "5x5", "--only", "9x9") == 0
    capsys.readouterr()
    assert reproduce("all", tmp_path / "runs", "--collect", "--pages", str(tmp_path / "pages")) == 0
    pages = {path.name for path in (tmp_path / "pages").iterdir()}
    assert {"summary.md", "lut-grid.md", "width-scan.md", "loss-terms.json"} <= pages
    summary = (tmp_path / "pages/summary.md").read_text()
    assert "| lut-grid | 2 of 4 | uieb-90 PSNR |" in summary
    assert "| width-scan | 1 of 10 |" in summary
    assert not (tmp_path / "runs/width-scan.md").exists()
    assert reproduce("all", tmp_path / "runs", "--collect", "--only", "5x5") == 2


@pytest.mark.parametrize("option", [["--epochs", "4"], ["--only", "x"], ["--lsui", "y"], ["--collect"], ["seed=1"]])
def test_quality_refuses_what_only_trainings_have(reproduce, tmp_path, option, capsys):
    assert reproduce("quality", tmp_path, *option, settings=[]) == 2
    assert f"{'key=value' if '=' in option[0] else option[0]} is for tables of trainings" in capsys.readouterr().err
