"""`pic-uie synth`: three folders that match, nothing overwritten, nothing half done."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from pic_uie.cli.main import main
from pic_uie.synthetic import inverse_depth, render_pair

BASE = ["synth", "--size", "48x32", "-q"]


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_writes_what_the_library_renders(tmp_path):
    assert main([*BASE, "--count", "2", "--seed", "3", "--water", "II", "-o", str(tmp_path)]) == 0
    files = names(tmp_path / "input")
    assert len(files) == 2
    assert files == names(tmp_path / "target") == names(tmp_path / "depth")
    pair = render_pair(32, 48, 4, "II")
    for folder, pixels in (("input", pair.input), ("target", pair.reference), ("depth", inverse_depth(pair.distance))):
        np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / folder / files[1])), pixels)


def test_resumes_without_touching_finished_pictures(tmp_path):
    command = [*BASE, "--count", "3", "-o", str(tmp_path)]
    assert main(command) == 0
    first, second, _ = names(tmp_path / "input")
    (tmp_path / "depth" / first).unlink()
    stamp = (tmp_path / "input" / second).stat().st_mtime_ns
    assert main(command) == 0
    assert (tmp_path / "depth" / first).exists()
    assert (tmp_path / "input" / second).stat().st_mtime_ns == stamp
    assert main([*command, "--overwrite"]) == 0
    assert (tmp_path / "input" / second).stat().st_mtime_ns != stamp


def test_other_settings_never_land_on_the_same_files(tmp_path):
    for extra in ([], ["--water", "I"], ["--size", "32x32"]):
        assert main([*BASE, "--count", "1", *extra, "-o", str(tmp_path)]) == 0
    assert len(names(tmp_path / "input")) == 3


@pytest.mark.parametrize(
    "extra",
    [
        ["--count", "0"],
        ["--count", "-3"],
        ["--count", "1", "--size", "0x10"],
        ["--count", "1", "--size", "big"],
        ["--count", "1", "--size", "99999x99999"],
        ["--count", "1", "--seed", "-1"],
    ],
)
def test_bad_options_are_usage_errors(tmp_path, extra, capsys):
    with pytest.raises(SystemExit) as caught:
        main([*BASE, *extra, "-o", str(tmp_path / "out")])
    assert caught.value.code == 2
    assert "got" in (message := capsys.readouterr().err) or "is not" in message or "side" in message
    assert not (tmp_path / "out").exists()


def test_unknown_water_names_the_types(tmp_path, capsys):
    assert main([*BASE, "--count", "1", "--water", "2C", "-o", str(tmp_path / "out")]) == 2
    assert "'2C'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_file_in_the_way_is_an_error(tmp_path, capsys):
    (tmp_path / "taken").write_text("mine")
    assert main([*BASE, "--count", "1", "-o", str(tmp_path / "taken")]) == 4
    assert "taken" in capsys.readouterr().err
    assert (tmp_path / "taken").read_text() == "mine"
