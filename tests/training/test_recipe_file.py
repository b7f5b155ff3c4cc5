"""Paths in a recipe: beside its file first, then in the current folder."""

from pathlib import Path

import pytest

from pic_uie.errors import ConfigError
from pic_uie.training.recipe_file import load_recipe

RECIPE = "start: weights/a.safetensors\nteaching:\n  share: 0.5\n  teachers: [weights/a.safetensors]\n"


def make(folder, text=RECIPE):
    (folder / "weights").mkdir(parents=True)
    (folder / "weights" / "a.safetensors").touch()
    (folder / "recipe.yaml").write_text(text)
    return folder / "recipe.yaml"


def test_a_path_is_relative_to_the_file_that_it_is_written_in(tmp_path, monkeypatch):
    path = make(tmp_path / "configs")
    make(tmp_path)  # the same name in the current folder does not win
    monkeypatch.chdir(tmp_path)
    for given in (path, path.relative_to(tmp_path)):
        recipe = load_recipe(given)
        assert recipe.start == str(given.parent / "weights" / "a.safetensors")
        assert recipe.teaching.teachers == (recipe.start,)


def test_what_does_not_lie_beside_the_file_is_relative_to_the_current_folder(tmp_path, monkeypatch):
    make(tmp_path)
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "recipe.yaml").write_text(RECIPE)
    monkeypatch.chdir(tmp_path)
    assert load_recipe("configs/recipe.yaml").start == "weights/a.safetensors"


def test_overrides_are_relative_to_the_current_folder(tmp_path):
    path = make(tmp_path / "configs")
    assert load_recipe(path, ["start=weights/a.safetensors"]).start == "weights/a.safetensors"


def test_a_path_that_is_no_text_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="start"):
        load_recipe(make(tmp_path / "configs", "start: 3\n"))


@pytest.mark.parametrize("name", ["release", "candidates/before", "candidates/real", "candidates/white"])
def test_the_recipes_here_find_their_weights_from_any_folder(name, root, tmp_path, monkeypatch):
    for folder, path in ((root, f"configs/{name}.yaml"), (tmp_path, root / f"configs/{name}.yaml")):
        monkeypatch.chdir(folder)
        recipe = load_recipe(path)
        assert len(recipe.teaching.teachers) == 2
        assert all(Path(found).is_file() for found in (recipe.start, *recipe.teaching.teachers))


def test_part_of_the_kinds_of_a_settling_leaves_the_others_at_their_defaults(tmp_path):
    (tmp_path / "recipe.yaml").write_text("settling: {steps: 10}\n")
    kinds = load_recipe(tmp_path / "recipe.yaml", ["settling.kinds.plain=0.1"]).settling.kinds
    assert (kinds.plain, kinds.sheet) == (0.1, 1.0)
    assert kinds.good == kinds.land == kinds.dark == kinds.grey == 0.0
