"""Every command that takes a method by name."""

import json
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from PIL import Image  # noqa: E402

from helpers.water import write_pairs  # noqa: E402
from pic_uie.bench import systems  # noqa: E402
from pic_uie.cli.main import main  # noqa: E402
from pic_uie.evaluation import results  # noqa: E402
from pic_uie.paper.baselines.lite_enhance_net import LiteEnhanceNet  # noqa: E402
from pic_uie.synthetic import render_pair  # noqa: E402
from pic_uie.weights import DEFAULT_PATH  # noqa: E402


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("weights") / "lite.safetensors"
    LiteEnhanceNet().save(path)
    return path


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    folder = write_pairs(tmp_path_factory.mktemp("pictures"), 3, 48, 40)
    (folder / "list.txt").write_text("00\n01\n02\n")
    (folder / "protocol.yaml").write_text(
        "name: small\ntitle: three\nmetrics: [psnr, ssim]\nresize: [native]\ninputs: input\nreferences: target\n"
        "names: list\ncounts: [3]\n"
    )
    return folder


def evaluate(pictures, *words):
    how = ["--protocol", str(pictures / "protocol.yaml"), "--data", str(pictures), "--list", str(pictures / "list.txt")]
    return main(["evaluate", *how, "--jobs", "1", "-q", *words])


def test_summary_of_a_system(capsys):
    assert main(["model", "summary", "--method", "lite-enhance-net"]) == 0
    total = capsys.readouterr().out.splitlines()[-1].split()
    assert total[:3] == ["total", "13,688", "1.1849"]


def test_summary_says_the_nearest_name(capsys):
    assert main(["model", "summary", "--method", "lite-enhance"]) == 2
    assert "did you mean 'lite-enhance-net'" in capsys.readouterr().err


def test_a_system_is_scored_by_name(pictures, weights, tmp_path, capsys):
    stem = tmp_path / "result"
    assert evaluate(pictures, "--method", "lite-enhance-net", "--weights", str(weights), "-o", str(stem)) == 0
    result = json.loads(stem.with_suffix(".json").read_text())
    assert result["method"] == "LiteEnhanceNet"
    assert result["source"]["method"] == "lite-enhance-net"
    other = tmp_path / "other"  # the file says itself what it holds
    assert evaluate(pictures, "--weights", str(weights), "-o", str(other)) == 0
    assert results.read(other.with_suffix(".json")).scores == results.read(stem.with_suffix(".json")).scores


def test_the_score_is_of_the_systems_own_pictures(pictures, weights, tmp_path):
    from pic_uie.paper.baselines import load

    assert evaluate(pictures, "--weights", str(weights), "-o", str(tmp_path / "r")) == 0
    scores = results.read(tmp_path / "r.json").scores["native"]
    model, _ = load(weights)
    for stem in ("00", "01", "02"):
        source, target = (np.asarray(Image.open(pictures / kind / f"{stem}.png")) for kind in ("input", "target"))
        with torch.inference_mode():
            enhanced = model(torch.tensor(source / 255.0).float().permute(2, 0, 1)[None])[0].permute(1, 2, 0).numpy()
        mse = np.mean((np.rint(enhanced * 255) / 255 - target / 255.0) ** 2)
        assert scores[stem]["psnr"] == pytest.approx(-10 * np.log10(mse), abs=1e-4)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--method", "lite"], 2, "no weights in this package"),
        (["--method", "nu2nt", "--weights", "W"], 2, "did you mean 'nu2net'"),
        (["--method", "nu2net", "--weights", "W"], 1, "holds weights of lite-enhance-net, not of nu2net"),
        (["--method", "nu2net", "--weights", "OURS"], 1, "not weights of a baseline"),
        (["--method", "pic-uie", "--weights", "W"], 1, "not PIC-UIE weights"),
        (["--method", "nu2net", "--predictions", "DIR"], 2, "finished pictures take --name"),
    ],
)
def test_what_does_not_fit_is_refused(pictures, weights, capsys, words, code, message):
    real = {"W": str(weights), "OURS": str(DEFAULT_PATH), "DIR": str(pictures / "input")}
    assert evaluate(pictures, *(real.get(word, word) for word in words)) == code
    assert message in capsys.readouterr().err


def test_bench_of_one_system_gives_a_dash_with_the_reason(tmp_path, capsys):
    file = tmp_path / "b.json"
    words = [
        "bench",
        "--method",
        "lite-enhance-net",
        "--sizes",
        "256,1080p",
        "--runs",
        "2",
        "--threads",
        "1",
        "--limit",
        "0.01",
    ]
    assert main([*words, "-q", "-o", str(file)]) == 0
    out = capsys.readouterr().out
    assert "LiteEnhanceNet" in out
    assert "s a run: over the limit" in out
    assert out.splitlines()[5].endswith("-")
    rows = json.loads(file.read_text())["rows"]
    assert [row["method"] for row in rows] == ["pic-uie", "pic-uie (PyTorch)", "lite-enhance-net"]
    assert rows[2]["sizes"]["256"]["gflops"] == pytest.approx(1.185, abs=5e-4)
    assert rows[2]["sizes"]["256"]["ratio"] > 1.0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is limited on Linux only")
def test_bench_says_what_did_not_fit_into_memory(monkeypatch):
    monkeypatch.setattr(systems, "_memory_allowed", lambda: 200_000_000)
    plan = systems.Plan("shallow-uwnet", 1080, 1920, None, threads=1, runs=1, seconds=60.0, clock="wall")
    assert systems.in_fresh_process(plan) == {"error": "out of memory: needs more than 0.2 GB"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--method", "nu2nt"], "did you mean 'nu2net'"),
        (["--all", "--weights", "x.safetensors"], "name it with --method"),
        (["--all", "--engines", "native"], "leave it out"),
        (["--method", "nu2net", "--limit", "0"], "must be positive"),
        (["--method", "nu2net", "--clock", "cpu", "--threads", "2"], "needs --threads 1"),
    ],
)
def test_bench_refuses_what_makes_no_sense(capsys, words, message):
    assert main(["bench", *words]) == 2
    assert message in capsys.readouterr().err


def test_a_grid_runs_weights_on_the_first_folder(pictures, weights, tmp_path):
    pytest.importorskip("matplotlib")
    words = ["figure", "grid", f"input={pictures / 'input'}", f"lite={weights}"]
    assert main([*words, "--pictures", "00", "-o", str(tmp_path / "two.png")]) == 0
    assert main([*words, f"ours={DEFAULT_PATH}", "--pictures", "00", "-o", str(tmp_path / "three.png")]) == 0
    two, three = (Image.open(tmp_path / f"{name}.png").size for name in ("two", "three"))
    assert three[0] > two[0]


def test_a_grid_of_weights_alone_is_refused(weights, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    assert main(["figure", "grid", f"lite={weights}", "-o", str(tmp_path / "g.png")]) == 1
    assert "name one, as in input=DIR" in capsys.readouterr().err


def test_matching_takes_weights_of_a_system(pictures, weights, tmp_path, capsys):
    pytest.importorskip("cv2")
    frames = tmp_path / "frames" / "scene"
    frames.mkdir(parents=True)
    for seed in range(2):
        Image.fromarray(render_pair(96, 96, seed).input).save(frames / f"{seed}.png")
    words = ["evaluate", "matching", str(tmp_path / "frames"), "--method", f"lite={weights}", "-q"]
    assert main([*words, "-o", str(tmp_path / "m.json")]) == 0
    source = json.loads((tmp_path / "m.json").read_text())["methods"]["lite"]["source"]
    assert source["method"] == "lite-enhance-net"


def test_a_size_that_a_system_cannot_take_is_an_error_with_the_remedy():
    from pic_uie.errors import DataError
    from pic_uie.paper.baselines.method import enhance_with

    class Fixed(LiteEnhanceNet):
        fixed = 256

    with pytest.raises(DataError, match=r"256x256 only, got 40x48: resize them, or .* --resize from-256"):
        enhance_with(Fixed())(np.zeros((48, 40, 3), np.uint8))


def test_detection_copies_a_set_with_the_pictures_of_a_system(weights, tmp_path):
    for split in ("train", "val", "test"):
        for kind in ("images", "labels"):
            (tmp_path / "set" / kind / split).mkdir(parents=True)
        Image.fromarray(render_pair(32, 32, len(split)).input).save(tmp_path / "set" / "images" / split / "a.png")
        (tmp_path / "set" / "labels" / split / "a.txt").write_text("0 0.5 0.5 0.2 0.2\n")
    data = tmp_path / "set" / "data.yaml"
    data.write_text(f"path: {tmp_path / 'set'}\ntrain: images/train\nval: images/val\ntest: images/test\nnames: [a]\n")
    words = ["evaluate", "detection", str(data), "--method", f"lite={weights}", "--prepare", "-q"]
    assert main([*words, "-o", str(tmp_path / "out")]) == 0
    copies = {path.parent.name for path in (tmp_path / "out" / "lite").rglob("a.png")}
    assert copies == {"train", "val", "test"}
