"""`pic-uie evaluate`, as a user runs it."""

import csv
import hashlib
import json
import subprocess
import sys
from pathlib import Path
from shutil import copyfile

import numpy as np
import pytest

from pic_uie import weights
from pic_uie.cli import methods
from pic_uie.cli.main import main
from pic_uie.datasets import lists

cv2 = pytest.importorskip("cv2", reason="the evaluate extra is not installed")

PROTOCOL = """
name: small
title: three pictures
metrics: [psnr, ssim, mse, pcqi, ciede2000, uiqm, uciqe, entropy]
resize: [paper-256, antialias-256, native]
references: target
names: folder
paper: {table: quality, column: uieb-90}
"""
STEMS = ("one", "two", "three")


def write(path, picture):
    path.parent.mkdir(exist_ok=True, parents=True)
    cv2.imwrite(str(path), picture[..., ::-1])


def scene(seed, height=300, width=400):
    random = np.random.default_rng(seed)
    coarse = random.integers(30, 220, (12, 16, 3), dtype=np.uint8)
    smooth = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC).astype(float)
    return np.clip(smooth + random.normal(0, 8, smooth.shape), 0, 255).astype(np.uint8)


@pytest.fixture
def case(tmp_path):
    """A data folder with three pairs, the pictures of two methods, and a protocol."""
    for seed, stem in enumerate(STEMS):
        reference = scene(seed)
        write(tmp_path / "data/target" / f"{stem}.png", reference)
        write(tmp_path / "data/input" / f"{stem}.png", (reference * 0.5 + 30).astype(np.uint8))
        write(tmp_path / "good" / f"{stem}.png", (reference * 0.95 + 5).astype(np.uint8))
        write(tmp_path / "poor" / f"{stem}.png", (reference * 0.7 + 40).astype(np.uint8))
    (tmp_path / "small.yaml").write_text(PROTOCOL)
    return tmp_path


def evaluate(case, *options, method="good"):
    folders = ["--data", str(case / "data"), "--predictions", str(case / method)]
    return main(["evaluate", "--protocol", str(case / "small.yaml"), *folders, *options])


def test_report_json_and_csv_tell_one_story(case, capsys):
    assert evaluate(case, "-o", str(case / "out/good"), "--name", "Good") == 0
    captured = capsys.readouterr()
    assert "Good on small: 3 pictures" in captured.out
    assert "paper's" not in captured.out  # these are other pictures
    assert "small 3/3" in captured.err
    document = json.loads((case / "out/good.json").read_text())
    assert document["format"] == "pic-uie-evaluation-1"
    assert document["names"]["count"] == 3
    assert len(document["names"]["sha256"]) == 64
    assert {"python", "numpy", "pic-uie"} <= document["versions"].keys()
    assert list(document["results"]) == ["paper-256", "antialias-256", "native"]
    rows = list(csv.DictReader((case / "out/good.csv").open()))
    assert len(rows) == 9
    for resize, section in document["results"].items():
        values = [float(row["psnr"]) for row in rows if row["resize"] == resize]
        assert values == [image["psnr"] for image in section["images"]]
        summary = section["summary"]["psnr"]
        assert summary["mean"] == pytest.approx(np.mean(values))
        assert summary["low"] <= summary["mean"] <= summary["high"]
        assert f"{summary['mean']:.3f}" in captured.out


def test_values_do_not_depend_on_the_number_of_jobs(case):
    for jobs in ("1", "3"):
        assert evaluate(case, "--jobs", jobs, "-o", str(case / jobs), "-q") == 0
    first, second = (json.loads((case / f"{jobs}.json").read_text())["results"] for jobs in ("1", "3"))
    assert first == second


def test_the_native_score_is_the_metric_of_the_files(case):
    from pic_uie.evaluation.metrics import psnr

    assert evaluate(case, "--resize", "native", "--metrics", "psnr", "-o", str(case / "r"), "-q") == 0
    images = json.loads((case / "r.json").read_text())["results"]["native"]["images"]
    expected = psnr((scene(0) * 0.95 + 5).astype(np.uint8), scene(0))
    assert {image["name"]: image["psnr"] for image in images}["one"] == pytest.approx(expected)


def test_equal_pictures_have_an_infinite_psnr_that_survives_the_file(case, capsys):
    for name in ("a", "b"):
        assert evaluate(case, "--metrics", "psnr", "-o", str(case / name), "-q", method="data/target") == 0
    assert "inf" in capsys.readouterr().out
    json.loads((case / "a.json").read_text(), parse_constant=pytest.fail)  # strict JSON
    assert main(["evaluate", "compare", str(case / "a.json"), str(case / "b.json")]) == 0
    assert "+0.000 .. +0.000" in capsys.readouterr().out


def test_compare(case, capsys):
    for method in ("good", "poor"):
        assert evaluate(case, "-o", str(case / method), "-q", method=method) == 0
    capsys.readouterr()
    files = [str(case / "good.json"), str(case / "poor.json")]
    output = case / "differences.csv"
    assert main(["evaluate", "compare", *files, "--metric", "psnr", "--resize", "native", "-o", str(output)]) == 0
    out = capsys.readouterr().out
    psnr_row = next(line for line in out.splitlines() if line.startswith("PSNR"))
    assert psnr_row.split()[-1] == "0:3"  # poor is worse on all three
    assert psnr_row.split()[-2] == "0.25"  # two-sided exact p of three equal signs: 2/8
    rows = list(csv.DictReader(output.open()))
    worst = min(rows, key=lambda row: float(row["psnr"]))["name"]
    listed = [line.split()[0] for line in out.splitlines()[-3:]]
    assert sorted(listed) == sorted(STEMS)
    assert listed[0] == worst


def test_compare_refuses_what_cannot_be_compared(case, capsys):
    assert evaluate(case, "-o", str(case / "all"), "-q") == 0
    (case / "names.txt").write_text("one\ntwo\n")
    assert evaluate(case, "-o", str(case / "two"), "-q", "--list", str(case / "names.txt"), "--allow-extra") == 0
    both, other = str(case / "all.json"), str(case / "two.json")
    assert main(["evaluate", "compare", both, other]) == 1
    assert "different lists" in capsys.readouterr().err
    assert main(["evaluate", "compare", both, both, "--metric", "psrn"]) == 2
    assert "did you mean 'psnr'" in capsys.readouterr().err
    assert main(["evaluate", "compare", both, both, "--resize", "from-256"]) == 2
    assert main(["evaluate", "compare", both, str(case / "nowhere.json")]) == 1
    document = json.loads((case / "all.json").read_text())
    document["results"]["native"]["images"][0]["psnr"] = "nan"
    (case / "nan.json").write_text(json.dumps(document))
    capsys.readouterr()
    assert main(["evaluate", "compare", both, str(case / "nan.json")]) == 1
    assert "not a number" in capsys.readouterr().err
    for text in ("{}", "[1]", "no json"):
        (case / "bad.json").write_text(text)
        assert main(["evaluate", "compare", both, str(case / "bad.json")]) == 1


@pytest.mark.parametrize(("changes", "engine"), [({}, "native"), ({"chroma": "curves"}, "torch")])
def test_weights_are_run_on_the_inputs(case, changes, engine):
    pytest.importorskip("torch")
    from pic_uie.model import ModelConfig, PicUie

    PicUie(ModelConfig(**changes)).save(case / "fresh.safetensors")
    options = ["--protocol", str(case / "small.yaml"), "--data", str(case / "data"), "-o", str(case / "w")]
    options += ["--weights", str(case / "fresh.safetensors"), "--metrics", "psnr", "--resize", "native,from-256", "-q"]
    assert main(["evaluate", *options]) == 0
    document = json.loads((case / "w.json").read_text())
    assert document["method"] == "fresh"
    assert document["source"]["kind"] == "weights"
    assert document["source"]["engine"] == engine
    assert len(document["source"]["weights_sha256"]) == 64
    first, second = (document["results"][resize]["summary"]["psnr"]["mean"] for resize in ("native", "from-256"))
    assert first == pytest.approx(second, abs=1.0)
    assert first != second


def test_both_engines_score_alike(case):
    pytest.importorskip("torch")
    from pic_uie import Enhancer, weights
    from pic_uie.evaluation.predictions import torch_enhance
    from pic_uie.model import PicUie

    PicUie().save(case / "fresh.safetensors")
    checked = weights.load(case / "fresh.safetensors")
    difference = torch_enhance(checked)(scene(5)).astype(int) - Enhancer(checked).enhance(scene(5))
    assert np.abs(difference).max() <= 1


def test_missing_prediction_is_named(case, capsys):
    (case / "good/two.png").unlink()
    assert evaluate(case) == 1
    assert "lacks two" in capsys.readouterr().err


def test_wrong_size_is_named_with_both_sizes_and_the_remedy(case, capsys):
    write(case / "good/two.png", scene(1, 256, 256))
    assert evaluate(case, "-q") == 1
    err = capsys.readouterr().err
    assert "two: the prediction is 256x256, the original 400x300" in err
    assert "from-256" in err


def test_from_256_takes_only_pictures_of_256(case, capsys):
    assert evaluate(case, "--resize", "from-256", "-q") == 1
    assert "400x300" in capsys.readouterr().err
    for seed, stem in enumerate(STEMS):
        write(case / "good" / f"{stem}.png", cv2.resize(scene(seed), (256, 256)))
    assert evaluate(case, "--resize", "from-256", "--metrics", "psnr", "-q") == 0
    assert "inf" in capsys.readouterr().out


@pytest.mark.parametrize("damage", ["empty", "text", "truncated"])
def test_unreadable_pictures_are_all_named(case, capsys, damage):
    for stem in ("one", "three"):
        path = case / "good" / f"{stem}.png"
        data = path.read_bytes()
        path.write_bytes({"empty": b"", "text": b"not a picture", "truncated": data[: len(data) // 2]}[damage])
    assert evaluate(case, "-q") == 1
    err = capsys.readouterr().err
    assert "2 of 3 pictures could not be scored" in err
    assert "one:" in err
    assert "three:" in err
    assert "two:" not in err


def test_an_empty_folder_matches_nothing(case, capsys):
    (case / "empty").mkdir()
    assert evaluate(case, method="empty") == 3
    assert "no pictures" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--metrics", "psnr,sim"], "did you mean 'ssim'"),
        (["--resize", "paper256"], "did you mean 'paper-256'"),
        (["--jobs", "0"], "--jobs"),
        (["--protocol", "uieb_90"], "did you mean 'uieb-90'"),
        (["--protocol", "uieb-90"], "--list"),
    ],
)
def test_usage_errors(case, capsys, options, message):
    assert evaluate(case, *options) == 2
    assert message in capsys.readouterr().err


def test_more_usage_errors(case, capsys):
    assert main(["evaluate"]) == 2
    assert "uieb-90" in capsys.readouterr().err
    assert main(["evaluate", "--protocol", "u45"]) == 2
    assert "--inputs" in capsys.readouterr().err
    assert main(["evaluate", "--protocol", "lsui", "--predictions", str(case / "good")]) == 2
    assert "--references" in capsys.readouterr().err


def test_missing_parameters_are_reported_before_any_work(case, capsys, monkeypatch):
    monkeypatch.delenv("PIC_UIE_ASSETS", raising=False)
    (case / "good/one.png").write_bytes(b"would fail if it were read")
    assert evaluate(case, "--metrics", "lpips") == 4
    assert "--assets" in capsys.readouterr().err


def test_an_unwritable_output(case, capsys):
    (case / "file").write_text("in the way")
    assert evaluate(case, "-o", str(case / "file/out"), "-q") == 4
    assert "cannot write" in capsys.readouterr().err


def test_a_name_of_weights_comes_before_a_folder_and_a_path_is_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bright").mkdir()
    named, folder = methods.method("b=bright"), methods.method("b=./bright")
    assert named.enhance is not None
    assert named.description["weights_sha256"] == weights.load("bright").sha256
    assert (folder.enhance, folder.folder) == (None, Path("bright"))


def test_a_protocol_of_ones_own_has_a_name_of_its_own(case, capsys):
    (case / "small.yaml").write_text(PROTOCOL.replace("name: small", "name: uieb-90"))
    assert evaluate(case) == 2
    assert "give it a name of its own" in capsys.readouterr().err


def test_finished_pictures_beside_weights_are_still_pictures(case, capsys):
    copyfile(weights.DEFAULT_PATH, case / "good/model.safetensors")
    assert evaluate(case, "-q", "-o", str(case / "out")) == 0
    assert json.loads((case / "out.json").read_text())["source"] == {"kind": "pictures"}
    command = ["evaluate", "--protocol", str(case / "small.yaml"), "--data", str(case / "data")]
    assert main([*command, "--weights", str(case / "good"), "--method", "nu2net"]) != 0  # they are ours


def test_weights_that_know_the_list_are_reported(case, capsys, monkeypatch):
    names = "".join(f"{stem}\n" for stem in sorted(STEMS))
    facts = {"mine-3": lists.KnownList(hashlib.sha256(names.encode()).hexdigest(), "us")}
    monkeypatch.setattr(lists, "known", lambda: {**facts, "other": lists.KnownList("0" * 64, "them", held_out=True)})
    command = ["evaluate", "--protocol", str(case / "small.yaml"), "--data", str(case / "data"), "-q"]
    assert main(command) == 0
    assert "CAUTION: pic_uie was trained on pictures of mine-3; the known lists it has not seen: other" in (
        capsys.readouterr().out
    )
    assert main([*command, "--predictions", str(case / "good")]) == 0
    assert "CAUTION" not in capsys.readouterr().out
    facts["mine-3"] = lists.KnownList(facts["mine-3"].sha256, "us", held_out=True)
    assert main(command) == 0
    assert "CAUTION" not in capsys.readouterr().out


def test_scores_outlive_a_broken_pipe(case):
    command = [sys.executable, "-m", "pic_uie", "evaluate", "--protocol", str(case / "small.yaml"), "-q"]
    command += ["--data", str(case / "data"), "--predictions", str(case / "good"), "-o", str(case / "out")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        process.stdout.close()
        process.wait(60)
    assert json.loads((case / "out.json").read_text())["names"]["count"] == 3
