"""`pic-uie doctor`."""

from helpers.samples import random_parameters
from pic_uie import weights
from pic_uie.cli.exit_codes import ENVIRONMENT, OK
from pic_uie.cli.main import main
from pic_uie.config import ModelConfig
from pic_uie.enhancer import instruction_sets


def test_doctor_names_the_instruction_set_that_runs(tmp_path, capsys):
    path = tmp_path / "weights.safetensors"
    saved = weights.save(path, ModelConfig(), random_parameters(0))
    assert main(["doctor", "--weights", str(path)]) == OK
    output = capsys.readouterr().out
    lines = dict(line.split(maxsplit=1) for line in output.splitlines())
    assert lines["instructions"].startswith(instruction_sets()[0])
    assert saved.short_hash in lines["weights"]
    assert lines["engine"] == "ready"
    assert lines["formats"].startswith("JPEG, PNG, TIFF, WebP, BMP, AVIF")
    assert lines["libvips"].startswith("8.")


def test_doctor_needs_libvips(capsys, no_libvips):
    assert main(["doctor"]) == ENVIRONMENT
    captured = capsys.readouterr()
    assert "NOT READY" in captured.out
    assert "pip install 'pyvips[binary]'" in captured.err


def test_doctor_says_what_is_missing(tmp_path, capsys):
    assert main(["doctor", "--weights", str(tmp_path / "none")]) == ENVIRONMENT
    captured = capsys.readouterr()
    assert "NOT READY" in captured.out
    assert "No such file" in captured.err
