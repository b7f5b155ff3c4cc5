"""Skips are counted with their remedy; PIC_UIE_STRICT=1 lets only those pass that nothing could enable."""

from types import SimpleNamespace

import pytest

from helpers import skips


def skipped(why):
    return SimpleNamespace(outcome="skipped", longrepr=("test_x.py", 3, f"Skipped: {why}"))


@pytest.mark.parametrize(
    ("why", "strict", "outcome"),
    [
        ("could not import 'torch': No module named 'torch'", "1", "failed"),
        ("exiftool is not installed", "1", "failed"),
        ("npm not installed: apt install npm", "1", "failed"),
        ("exiftool is not installed", "0", "skipped"),
        ("this user may read everything (root)", "1", "skipped"),
        ("no CUDA device", "1", "skipped"),
        ("the real videos are not here (PIC_UIE_DATA)", "1", "skipped"),
    ],
)
def test_what_could_be_installed_fails_where_it_should_be(monkeypatch, why, strict, outcome):
    monkeypatch.setenv("PIC_UIE_STRICT", strict)
    report = skipped(why)
    skips.judge(report)
    assert report.outcome == outcome
    if outcome == "failed":
        assert why in report.longrepr


def test_an_expected_failure_is_no_skip(monkeypatch):
    monkeypatch.setenv("PIC_UIE_STRICT", "1")
    report = SimpleNamespace(outcome="skipped", wasxfail="known", longrepr="")
    skips.judge(report)
    assert report.outcome == "skipped"


@pytest.mark.parametrize(
    ("why", "how"),
    [
        ("clang++ is not installed: apt install clang", "apt install clang"),
        ("exiftool is not installed", "apt install libimage-exiftool-perl"),
        ("could not import 'pic_uie._training'", "pip install -e ."),
        ("could not import 'cv2'", "pip install -e '.[train,test]'"),
        ("the real videos are not here (PIC_UIE_DATA)", "point PIC_UIE_DATA at the research data"),
    ],
)
def test_every_reason_has_its_remedy(why, how):
    assert skips.remedy(why) == how
