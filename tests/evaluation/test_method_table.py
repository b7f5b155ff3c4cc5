"""A table of one's own: seeds, ranks, ties, tests and the three forms it is written in."""

import csv
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from pic_uie.cli.main import main
from pic_uie.errors import ConfigError, DataError
from pic_uie.evaluation import method_text, statistics
from pic_uie.evaluation.compare import compare, summary_table
from pic_uie.evaluation.method_table import build
from pic_uie.evaluation.results import Result, read

PICTURES = [f"p{number:02}" for number in range(30)]


def result(method, shift, seed=0, names="a" * 64, protocol="uieb-90", spread=1.0):
    random = np.random.default_rng(seed)
    base = np.random.default_rng(99).normal(20, 2, len(PICTURES))
    noise = spread * random.normal(0, 0.1, len(PICTURES))
    scores = {
        name: {"psnr": float(base[i] + shift + noise[i]), "mse": float(0.01 - 0.001 * shift)}
        for i, name in enumerate(PICTURES)
    }
    facts = {"sha256": names, "file": "names.txt", "list": None, "count": len(PICTURES)}
    return Result(method, {"kind": "pictures"}, {"name": protocol}, facts, {"paper-256": scores})


def test_seeds_are_averaged_and_have_a_deviation():
    seeds = [result("ours", 1.0, seed) for seed in (1, 2, 3)]
    table = build([*seeds, result("other", 0.0)])
    means = [np.mean([row["psnr"] for row in seed.scores["paper-256"].values()]) for seed in seeds]
    cell = table.cells["ours"]["psnr"]
    assert table.seeds == {"ours": 3, "other": 1}
    assert cell.mean == pytest.approx(np.mean(means))
    assert cell.deviation == pytest.approx(np.std(means, ddof=1))
    assert table.cells["other"]["psnr"].deviation is None
    by_picture = np.mean([[row["psnr"] for row in seed.scores["paper-256"].values()] for seed in seeds], axis=0)
    assert (cell.interval.low, cell.interval.high) == statistics.bootstrap_interval(list(by_picture))


def test_best_and_second_follow_the_direction_and_ties_are_ties():
    table = build([result("a", 0.0), result("b", 1.0), result("c", 2.0)])
    assert [table.cells[name]["psnr"].rank for name in "abc"] == [None, 2, 1]
    assert [table.cells[name]["mse"].rank for name in "abc"] == [None, 2, 1]  # lower is better
    tied = build([result("a", 0.0, 1), result("b", 0.0, 2), result("c", -1.0)])
    assert [tied.cells[name]["mse"].rank for name in "abc"] == [1, 1, None]  # two firsts: no second


def test_holm_against_values_from_a_textbook():
    # Holm's step-down: 0.01·4, 0.02·3, 0.03·2 lifted to 0.06, 0.04·1 lifted to 0.06
    assert statistics.holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert statistics.holm([0.9, 0.8]) == [1.0, 1.0]
    assert statistics.holm([]) == []


def test_student_interval():
    low, high = statistics.student_interval([1.0, 2.0, 3.0])
    assert (low, high) == pytest.approx((2 - 4.303 / math.sqrt(3), 2 + 4.303 / math.sqrt(3)))
    assert statistics.student_interval([1.0]) == (None, None)
    assert statistics.student_quantile(1000) == pytest.approx(1.96)


def test_tests_are_corrected_for_the_whole_table():
    table = build([result("ours", 0.0), result("near", 0.001, 5), result("far", 1.0, 6)], against="ours")
    assert set(table.tests) == {"near", "far"}
    far, near = table.tests["far"]["psnr"], table.tests["near"]["psnr"]
    assert far.p < 1e-6
    assert far.holm >= 3 * far.p  # the smallest or the second of four tests: two methods, two metrics
    assert far.low < far.difference < far.high
    assert near.holm >= near.p
    assert "not distinguished" in method_text.plain(table)


def test_lists_and_protocols_do_not_mix():
    with pytest.raises(DataError, match="different lists"):
        build([result("a", 0.0), result("b", 0.0, names="b" * 64)])
    with pytest.raises(DataError, match="different protocols"):
        build([result("a", 0.0), result("b", 0.0, protocol="lsui")])
    with pytest.raises(DataError, match="given twice"):
        build([result("a", 0.0), result("a", 0.0)])
    with pytest.raises(ConfigError, match="no method 'c'"):
        build([result("a", 0.0), result("b", 0.0)], against="c")
    with pytest.raises(ConfigError, match="do not share the resizing 'native'"):
        build([result("a", 0.0), result("b", 0.0)], resize="native")
    lacking = result("b", 0.0)
    del lacking.scores["paper-256"]["p07"]
    with pytest.raises(DataError, match="only one of a and b has p07"):
        build([result("a", 0.0), lacking])
    other = replace(result("b", 0.0), scores={"native": result("b", 0.0).scores["paper-256"]})
    with pytest.raises(DataError, match="no common way of resizing: paper-256; native"):
        build([result("a", 0.0), other])


def shifted(name, by):
    """A result that lies above that of `result("base", 0.0)` by a value of its own for each picture."""
    base = result("base", 0.0)
    scores = {
        key: {"psnr": row["psnr"] + more} for (key, row), more in zip(base.scores["paper-256"].items(), by, strict=True)
    }
    return replace(base, method=name, scores={"paper-256": scores})


@pytest.mark.parametrize(
    ("by", "word"),
    [
        (np.linspace(0.2, 0.5, 30), "better"),
        (-np.linspace(0.2, 0.5, 30), "worse"),
        (np.r_[-np.linspace(0.2, 0.5, 29), 30.0], "mixed"),  # the mean rises, the test is sure of a fall
        (np.r_[np.linspace(0.2, 0.5, 29), -math.inf], "mixed"),
        (np.tile([0.1, -0.1], 15), "not distinguished"),
    ],
)
def test_the_verdict_is_of_the_direction_that_was_tested(by, word):
    assert verdict(shifted("base", np.zeros(30)), shifted("other", by)) == word


@pytest.mark.filterwarnings("error")
def test_perfect_pictures_on_both_sides_leave_no_mean_but_a_direction():
    base = shifted("base", np.r_[np.zeros(29), math.inf])
    assert verdict(base, shifted("other", np.r_[math.inf, np.linspace(0.2, 0.5, 29)])) == "better"


@pytest.mark.filterwarnings("error")
def test_perfect_pictures_have_no_interval_where_there_is_no_mean():
    first = shifted("one", np.r_[math.inf, np.zeros(29)])
    second = shifted("two", np.r_[np.zeros(29), math.inf])
    difference = compare(first, second)
    assert "  -  " in summary_table(difference, "one", "two").splitlines()[-1]
    seeds = build([first, replace(second, method="one")])
    assert "inf ± -" in method_text.plain(seeds)


def test_other_folders_under_the_name_of_a_protocol_are_refused():
    first, second = result("a", 0.0), result("b", 1.0)
    second = replace(second, protocol={**second.protocol, "inputs": "elsewhere"})
    with pytest.raises(DataError, match="different inputs under one name of protocol"):
        build([first, second])


def verdict(base, other):
    table = build([base, other], against="base")
    return method_text.markdown(table).splitlines()[-1].split(" | ")[-1].rstrip(" |")


def test_a_bar_in_a_name_stays_in_its_cell():
    text = method_text.markdown(build([result("a|b", 0.0), result("c", 1.0)]))
    assert r"| a\|b | 1 |" in text


def test_a_result_with_more_or_fewer_pictures_than_its_list_is_damaged(tmp_path):
    path = result("a", 0.0).write(tmp_path / "a")[0]
    whole = json.loads(path.read_text())
    images = whole["results"]["paper-256"]["images"]
    for wrong, words in ((images[:-1], "its list has 30"), ([*images[:-1], images[0]], "twice"),
                         ([*images[:-1], {**images[-1], "name": 7}], "must be a text")):  # fmt: skip
        whole["results"]["paper-256"]["images"] = wrong
        path.write_text(json.dumps(whole))
        with pytest.raises(DataError, match=words):
            read(path)


def test_the_command_writes_all_three_forms(tmp_path, capsys):
    for seed in (1, 2):
        result("PIC_UIE", 1.0, seed).write(tmp_path / f"ours{seed}")
    result("x", 0.0).write(tmp_path / "other")
    words = [str(tmp_path / name) for name in ("ours1.json", "ours2.json")] + [f"NU2Net={tmp_path / 'other.json'}"]
    files = [tmp_path / f"table{suffix}" for suffix in (".md", ".csv", ".tex")]
    options = [word for file in files for word in ("-o", str(file))]
    assert main(["evaluate", "table", *words, "--against", "PIC_UIE", *options]) == 0
    printed = capsys.readouterr().out
    assert "30 pictures, list names.txt, sha256 aaaaaaaaaaaaaaaa" in printed
    assert "paired Wilcoxon" in printed
    markdown, rows, latex = files[0].read_text(), list(csv.DictReader(files[1].open())), files[2].read_text()
    assert "| PIC_UIE | 2 | **" in markdown
    assert "| NU2Net | 1 | *" in markdown
    assert {(row["method"], row["metric"]) for row in rows} == {
        (method, metric) for method in ("PIC_UIE", "NU2Net") for metric in ("psnr", "mse")
    }
    assert float(rows[0]["mean"]) == pytest.approx(21, abs=1.5)
    assert all("list names.txt" in row["pictures"] for row in rows)
    assert r"PIC\_UIE & 2 & \textbf{" in latex
    assert r"NU2Net & 1 & \underline{" in latex
    assert latex.count(r"\toprule") == latex.count(r"\midrule") == latex.count(r"\bottomrule") == 1
    body = latex.split(r"\midrule")[1].split(r"\bottomrule")[0]
    assert all(line.count("&") == 3 and line.endswith(r"\\") for line in body.strip().splitlines())
    low, high = (f"{float(rows[0][end]):.3f}" for end in ("low", "high"))
    assert f"{low} to {high}" in body
    below = latex.split(r"\bottomrule")[1]
    assert "sha256 aaaaaaaaaaaaaaaa" in below  # typeset, not in a comment
    assert "differs from PIC\\_UIE (paired Wilcoxon" in below
    assert "%" not in latex.replace(r"\%", "")


def test_results_are_never_overwritten_and_other_files_are_refused(tmp_path, capsys):
    result("a", 0.0).write(tmp_path / "a")
    assert main(["evaluate", "table", str(tmp_path / "a.json"), "-o", str(tmp_path / "t.docx")]) == 2
    assert "must end in .md, .csv, .tex" in capsys.readouterr().err
    (tmp_path / "a.json").rename(tmp_path / "a.md")
    assert main(["evaluate", "table", str(tmp_path / "a.md"), "-o", str(tmp_path / "a.md")]) == 2
    assert "never overwritten" in capsys.readouterr().err
