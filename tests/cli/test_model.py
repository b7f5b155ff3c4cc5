"""`pic-uie model summary`, as a user runs it."""

import pytest

from pic_uie.cli.main import main


def test_summary_of_the_paper_model(capsys):
    assert main(["model", "summary"]) == 0
    total = capsys.readouterr().out.splitlines()[-1].split()
    assert total == ["total", "9,486", "0.0945", "1.8294", "7.2042"]


def test_summary_of_a_variant(capsys, root):
    assert main(["model", "summary", "--config", str(root / "configs/variants/lut-5.yaml")]) == 0
    assert "7,582" in capsys.readouterr().out


def test_unknown_key_is_a_usage_error(capsys, tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text("model:\n  widht: 3\n")
    assert main(["model", "summary", "--config", str(path)]) == 2
    assert "did you mean 'width'" in capsys.readouterr().err


def test_no_verb_is_a_usage_error(capsys):
    with pytest.raises(SystemExit) as stop:
        main([])
    assert stop.value.code == 2
    assert "VERB" in capsys.readouterr().err
