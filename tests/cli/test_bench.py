"""`pic-uie bench`, as a user runs it; nothing here asserts a time."""

import json

import pytest

from helpers.command import exit_code
from pic_uie.bench import efficiency
from pic_uie.bench.hardware_table import doubts
from pic_uie.cli.main import main

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    from pic_uie.model import PicUie

    path = tmp_path_factory.mktemp("weights") / "fresh.safetensors"
    PicUie().save(path)
    return str(path)


def test_bench_writes_what_table_reads(weights, tmp_path, capsys):
    output = tmp_path / "here.json"
    options = [
        "--engines",
        "native,torch-cpu",
        "--sizes",
        "256,64x48",
        "--warm-up",
        "1",
        "--runs",
        "3",
        "--threads",
        "1",
    ]
    assert main(["bench", "--weights", weights, *options, "-o", str(output)]) == 0
    captured = capsys.readouterr()
    assert "9,486 parameters (the paper 9,486)" in captured.out
    assert "torch-cpu 64x48" in captured.err
    document = json.loads(output.read_text())
    native, reference = document["rows"]
    assert (native["engine"], reference["engine"]) == ("native", "torch-cpu")
    assert native["sizes"]["256"]["gflops"] == pytest.approx(0.094, abs=5e-4)
    for measured in [*native["sizes"].values(), *reference["sizes"].values()]:
        assert measured["ms_min"] <= measured["ms_median"] <= measured["ms_max"]
        assert measured["fps"] == pytest.approx(1e3 / measured["ms_mean"])
        assert measured["peak_mb"] > 10
    assert {"processor", "cores", "memory_gb", "system"} <= document["machine"].keys()

    del document["rows"][1]
    document["rows"][0]["sizes"] = {"1080p": {"fps": 12.34}, "4k": {"error": "out of memory"}}
    other = tmp_path / "other.json"
    other.write_text(json.dumps(document))
    assert main(["bench", "table", str(output), str(other)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("Jetson Orin NX") and line.endswith("5.9") for line in lines)
    assert any(line.startswith("RTX 4090") and line.endswith("55.0") for line in lines)
    assert lines[-1].split()[-2:] == ["12.3", "-"]


@pytest.mark.parametrize(
    ("load", "slowest", "expected"),
    [
        (0.1, 11.0, []),
        (None, 11.0, []),
        (3.0, 11.0, ["busy"]),
        (0.1, 40.0, ["10.0 to 40.0"]),
        (3.0, 40.0, ["busy", "40"]),
    ],
)
def test_disturbed_timings_are_not_to_be_quoted(load, slowest, expected):
    sizes = {"256": {"ms_min": 10.0, "ms_max": slowest}, "4k": {"error": "out of memory"}}
    row = {"engine": "native", "device": {"type": "CPU"}, "sizes": sizes}
    found = doubts({"machine": {"load_before": load, "cores": 2}, "rows": [row]})
    assert len(found) == len(expected)
    assert all(word in doubt for word, doubt in zip(expected, found, strict=True))


def test_a_size_that_the_machine_cannot_carry_is_a_row_with_the_reason(weights, monkeypatch):
    def too_much(plan):
        raise MemoryError

    class Here:
        """Runs in this process, so that the failure can be staged."""

        def __init__(self, **_):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return False

        def submit(self, function, plan):
            return function(plan)

    monkeypatch.setattr(efficiency, "measure", too_much)
    monkeypatch.setattr(efficiency, "ProcessPoolExecutor", Here)
    document = efficiency.bench(["torch-cpu"], ["256"], weights)
    assert "MemoryError" in document["rows"][0]["sizes"]["256"]["error"]


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--sizes", "8k"], 2, "WIDTHxHEIGHT"),
        (["--sizes", "0x4"], 2, "WIDTHxHEIGHT"),
        (["--engines", "torch-cp"], 2, "did you mean 'torch-cpu'"),
        (["--runs", "0"], 2, "timed run"),
        (["--threads", "0"], 2, "threads"),
        (["--weights", "nowhere.safetensors"], 1, "cannot read"),
    ],
)
def test_bad_options(weights, capsys, options, code, message):
    assert exit_code(["bench", "--weights", weights, "--engines", "torch-cpu", *options]) == code
    assert message in capsys.readouterr().err


def test_an_engine_that_is_not_here(weights, capsys):
    if torch.cuda.is_available():
        pytest.skip("this machine has CUDA")
    assert main(["bench", "--weights", weights, "--engines", "torch-cuda"]) == 4
    assert "torch-cpu" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["", "{}", '{"format": "pic-uie-bench-1"}', '{"format": "pic-uie-bench-1", "rows": []}']
)
def test_what_is_no_benchmark_is_refused(tmp_path, capsys, text):
    path = tmp_path / "bad.json"
    path.write_text(text)
    assert main(["bench", "table", str(path)]) == 1
    assert "bench" in capsys.readouterr().err
    assert main(["bench", "table", str(tmp_path / "nowhere.json")]) == 1
