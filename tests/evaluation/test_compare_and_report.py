import math

import pytest

from pic_uie.errors import DataError
from pic_uie.evaluation import report
from pic_uie.evaluation.compare import compare, worst
from pic_uie.evaluation.results import Result, read

PAPER = {"table": "quality", "column": "uieb-90"}


def result(scores, method="ours", sha256="a" * 64, paper=PAPER, resize="paper-256"):
    protocol = {"name": "uieb-90", "title": "", "paper": paper}
    return Result(method, {"kind": "pictures"}, protocol, {"sha256": sha256, "file": "names.txt"}, {resize: scores})


def pictures(**values):
    """Twelve pictures p00..p11 from one function per metric."""
    return {f"p{i:02}": {metric: value(i) for metric, value in values.items()} for i in range(12)}


A = result(pictures(psnr=lambda i: 20.0 + i, mse=lambda i: 0.01))
B = result(pictures(psnr=lambda i: 19.0 + 2 * i, mse=lambda i: 0.001 * (i + 1)), method="other")


def test_wins_follow_the_direction_of_each_metric():
    differences = compare(A, B)
    psnr, mse = differences["psnr"], differences["mse"]
    assert (psnr.wins, psnr.losses) == (10, 1)  # p01 is even
    assert (mse.wins, mse.losses) == (9, 2)  # lower is better
    assert psnr.mean_b - psnr.mean_a == pytest.approx(4.5)
    assert psnr.low < 4.5 < psnr.high


def test_the_worst_ten_are_where_the_second_falls_behind():
    differences = compare(A, B)
    assert [name for name, _ in worst(differences["psnr"], "psnr")] == [f"p{i:02}" for i in range(10)]
    assert [name for name, _ in worst(differences["mse"], "mse")] == [f"p{i:02}" for i in range(11, 1, -1)]
    assert worst(differences["psnr"], "psnr")[0] == ("p00", -1.0)


def test_swapping_the_two_mirrors_the_result():
    there, back = compare(A, B)["psnr"], compare(B, A)["psnr"]
    assert back.p_value == there.p_value
    assert (back.wins, back.losses) == (there.losses, there.wins)
    assert back.by_name == {name: -value for name, value in there.by_name.items()}


def test_what_shares_nothing_is_refused():
    with pytest.raises(DataError, match="share no metric"):
        compare(A, result(pictures(uiqm=lambda i: 3.0)))
    with pytest.raises(DataError, match="no common way of resizing"):
        compare(A, result(pictures(psnr=lambda i: 3.0), resize="native"))
    with pytest.raises(DataError, match="different lists"):
        compare(A, result(pictures(psnr=lambda i: 3.0), sha256="b" * 64))
    fewer = dict(list(pictures(psnr=lambda i: 3.0).items())[:-1])
    with pytest.raises(DataError, match="p11"):
        compare(A, result(fewer))


def test_the_report_sets_ours_beside_the_paper():
    lines = report.text(A).splitlines()
    psnr = next(line for line in lines if line.startswith("PSNR"))
    assert psnr.split()[2] == "25.500"
    assert psnr.split()[-2:] == ["24.137", "+1.363"]
    table = lines[lines.index("beside the paper's uieb-90") :]
    assert table[1].split() == ["method", "PSNR", "↑", "MSE", "↓"]
    assert table[-2].split() == ["PIC-UIE", "24.137", "0.00606"]
    assert table[-1].split() == ["ours,", "paper-256", "25.500", "0.01000"]


def test_the_report_claims_no_difference_where_the_paper_resized_otherwise():
    native = report.text(result(pictures(psnr=lambda i: 20.0), resize="native"))
    assert "the paper  difference" not in native
    assert "ours, native" in native


def test_the_report_does_without_the_paper():
    assert "paper's" not in report.text(result(pictures(psnr=lambda i: 20.0), paper=None))
    assert "none of these metrics" in report.text(result(pictures(uiqm=lambda i: 3.0)))


def test_a_result_comes_back_from_its_file_as_it_was(tmp_path):
    scores = pictures(psnr=lambda i: math.inf if i == 3 else 20.0 + i / 7)
    json_path, csv_path = result(scores).write(tmp_path / "v1.5")
    assert (json_path.name, csv_path.name) == ("v1.5.json", "v1.5.csv")
    assert read(json_path).scores == {"paper-256": scores}
    assert "paper-256,p03,inf" in csv_path.read_text()


def test_a_result_without_the_hash_of_its_list_is_refused(tmp_path):
    json_path, _ = result(pictures(psnr=lambda i: 20.0), sha256="").write(tmp_path / "r")
    with pytest.raises(DataError, match="no hash of their list"):
        read(json_path)
