"""`pic-uie inspect`: a sheet, numbers, or both, on the native engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

import pic_uie
from helpers.samples import random_parameters
from pic_uie import weights
from pic_uie.cli.main import main
from pic_uie.config import ModelConfig
from pic_uie.synthetic import render_pair


@pytest.fixture
def scene(tmp_path):
    pixels = render_pair(48, 64, 2, "II").input
    Image.fromarray(pixels).save(tmp_path / "reef.png")
    return pixels


@pytest.fixture
def command(tmp_path, scene):
    weights.save(tmp_path / "w.safetensors", ModelConfig(), random_parameters(2))
    return ["inspect", str(tmp_path / "reef.png"), "--weights", str(tmp_path / "w.safetensors")]


def test_the_numbers_are_the_engines(tmp_path, scene, command, capsys):
    assert main([*command, "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    theta = pic_uie.Enhancer(tmp_path / "w.safetensors").predict(scene)
    assert pic_uie.Corrections.from_json(json.dumps(values["corrections"])) == theta


def test_the_steps_end_where_the_engine_does(tmp_path, scene):
    from pic_uie.inspection.report import inspect

    weights.save(tmp_path / "w.safetensors", ModelConfig(), random_parameters(2))
    enhancer = pic_uie.Enhancer(tmp_path / "w.safetensors")
    ours = inspect(scene, enhancer).steps.result
    theirs = enhancer.execute(scene.astype(np.float32) / 255, enhancer.predict(scene))
    np.testing.assert_allclose(ours, theirs, atol=2e-4)


def test_writes_the_sheet_once(tmp_path, command, capsys):
    sheet = tmp_path / "sheet.png"
    assert main([*command, "-o", str(sheet), "--dpi", "30"]) == 0
    assert Image.open(sheet).width > 400
    assert capsys.readouterr().out == ""
    sheet.write_bytes(b"mine")
    assert main([*command, "-o", str(sheet), "--dpi", "30"]) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert sheet.read_bytes() == b"mine"
    assert main([*command, "-o", str(sheet), "--dpi", "30", "--overwrite"]) == 0
    assert sheet.read_bytes() != b"mine"


@pytest.mark.parametrize(
    "extra", [[], ["-o", "sheet.gif"], ["--json", "--max-side", "-1"], ["-o", "s.png", "--dpi", "5"]]
)
def test_bad_options_are_usage_errors(command, extra, capsys):
    assert main([*command, *extra]) == 2
    assert "pic-uie:" in capsys.readouterr().err


def test_the_picture_is_never_replaced(tmp_path, scene, command):
    before = (tmp_path / "reef.png").read_bytes()
    assert main([*command, "-o", str(tmp_path / "reef.png"), "--overwrite"]) == 2
    assert (tmp_path / "reef.png").read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"no picture"])
def test_an_unreadable_picture_is_an_error(tmp_path, command, content, capsys):
    (tmp_path / "reef.png").write_bytes(content)
    assert main([*command, "--json"]) == 1
    assert "reef.png" in capsys.readouterr().err


def test_a_name_that_is_no_text_can_be_a_title(tmp_path, command):
    odd = tmp_path / os.fsdecode(b"reef\xff.png")
    odd.write_bytes((tmp_path / "reef.png").read_bytes())
    command = [str(odd) if word.endswith("reef.png") else word for word in command]
    assert main([*command, "-o", str(tmp_path / "sheet.png"), "--dpi", "30"]) == 0


def test_torch_is_never_imported(command):
    script = f"import sys; from pic_uie.cli.main import main; main({[*command, '--json']!r})"
    code = f"{script}; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
