"""`pic-uie report`, and reports as tables."""

import json

import pytest

from helpers.command import enhance, exit_code, make
from pic_uie.cli import exit_codes
from pic_uie.cli.main import main


def entry(name, status="done", **values):
    base = {"input": name, "output": f"out/{name}", "status": status, "error": None, "notes": [], "width": 4}
    base |= {"height": 3, "bytes_in": 1000, "bytes_out": 2000, "milliseconds": {"read": 1.0, "enhance": 99.0}}
    return base | {"finished": 1e9} | values


def written(path, *entries):
    path.write_text("".join(json.dumps(one) + "\n" for one in entries))
    return path


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_merging_keeps_the_best_of_each_file(here):
    written(here / "1.jsonl", entry("a", "failed", error="busy"), entry("b"), entry("c", "failed", error="first"))
    written(here / "2.jsonl", entry("a"), entry("b", "skipped"), entry("c", "failed", error="second"), entry("d"))
    assert main(["report", "merge", "1.jsonl", "2.jsonl", "-o", "all.jsonl"]) == 0
    merged = {one["input"]: one for one in read(here / "all.jsonl")}
    assert {name: one["status"] for name, one in merged.items()} == {
        "a": "done",
        "b": "done",
        "c": "failed",
        "d": "done",
    }
    assert merged["c"]["error"] == "second"
    assert merged["b"]["bytes_out"] == 2000


def test_lines_to_a_table_and_back(here):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    original = [entry("a"), entry("ü \udcff", "failed", error="x", milliseconds={}), entry("c", "skipped", width=None)]
    written(here / "1.jsonl", *original)
    assert main(["report", "merge", "1.jsonl", "-o", "t.parquet"]) == 0
    assert main(["report", "merge", "t.parquet", "-o", "2.jsonl"]) == 0
    back = read(here / "2.jsonl")
    assert back[0] == original[0]
    assert back[1]["input"] == "ü \\xff"
    assert back[2] == original[2]


def test_the_command_writes_a_table(here, capsys):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    make(here / "a.png")
    (here / "b.jpg").write_text("x")
    assert enhance("a.png", "b.jpg", "--report", "run.parquet", "-q") == exit_codes.FAILED
    table = parquet.read_table(here / "run.parquet").to_pydict()
    assert table["input"] == ["a.png", "b.jpg"] or table["input"] == ["b.jpg", "a.png"]
    assert set(table["status"]) == {"done", "failed"}
    assert sum(time is not None for time in table["enhance_ms"]) == 1
    assert not (here / "run.parquet.jsonl").exists()
    assert enhance("a.png", "--overwrite", "--report", "run.parquet", "-q") == 0  # a report is replaced by a report
    make(here / "picture.parquet")
    assert enhance("a.png", "--overwrite", "--report", "picture.parquet") == exit_codes.USAGE


def test_a_summary_has_counts_reasons_rate_slowest_and_a_histogram(here, capsys):
    entries = [entry(f"{n}.jpg", finished=1e9 + n, milliseconds={"enhance": 10.0 * 2 ** (n % 8)}) for n in range(101)]
    entries += [entry("slow.jpg", finished=1e9, milliseconds={"enhance": 60_000.0})]
    entries += [entry(f"b{n}", "failed", error=f"cannot write /out/{n}.jpg: no permission") for n in range(3)]
    entries += [entry("s", "skipped")]
    written(here / "r.jsonl", *entries)
    assert main(["report", "summary", "r.jsonl"]) == 0
    text = capsys.readouterr().out
    assert "106 files: 102 done, 3 failed, 1 skipped" in text
    assert "1.01 pictures/s over 100 s" in text
    assert "        3  cannot write ... no permission" in text
    assert "   60.00 s  slow.jpg" in text
    counted = [int(line.split()[3]) for line in text.splitlines() if " to " in line]
    assert len(counted) == 10
    assert sum(counted) == 102


def test_a_report_that_was_cut_by_a_crash_is_read_to_its_last_whole_line(here, capsys):
    path = written(here / "r.jsonl", entry("a"), entry("b"))
    path.write_text(path.read_text()[:-20])
    assert main(["report", "summary", "r.jsonl"]) == 0
    assert "1 files: 1 done" in capsys.readouterr().out


@pytest.mark.parametrize(
    "content", ["hello\n", '{"a": 1}\n', "[1]\n", '{"input": 3, "status": "done"}\n', "[" * 99999 + "\n"]
)
def test_what_is_no_report_is_refused(here, content, capsys):
    (here / "x.jsonl").write_text(content)
    assert main(["report", "summary", "x.jsonl"]) == exit_codes.FAILED
    assert "line 1 of x.jsonl does not belong to a report" in capsys.readouterr().err


def test_merging_replaces_neither_inputs_nor_pictures(here):
    written(here / "1.jsonl", entry("a"))
    before = (here / "1.jsonl").read_bytes()
    assert exit_code(["report", "merge", "1.jsonl", "-o", "1.jsonl"]) == exit_codes.USAGE
    assert (here / "1.jsonl").read_bytes() == before
    picture = make(here / "a.png").read_bytes()
    assert exit_code(["report", "merge", "1.jsonl", "-o", "a.png"]) == exit_codes.USAGE
    assert (here / "a.png").read_bytes() == picture
    assert exit_code(["report", "merge", "missing.jsonl", "-o", "2.jsonl"]) == exit_codes.FAILED
