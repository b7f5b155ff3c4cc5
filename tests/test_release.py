"""The weights in the package and the recipe they came from."""

from pathlib import Path

import numpy as np

from pic_uie import Enhancer, typed_yaml, weights
from pic_uie.config import ModelConfig
from pic_uie.synthetic import render_pair
from pic_uie.training.config import Recipe
from pic_uie.training.recipe_file import load_recipe


def cast(pixels):
    """How far the mean colour is from grey, in levels."""
    red, green, blue = pixels.reshape(-1, 3).mean(axis=0)
    return np.ptp([red, green, blue])


def contrast(pixels):
    return pixels.mean(axis=2).std()


def test_default_weights_are_the_papers_model_and_named_in_the_model_card(root):
    checked = weights.load()
    assert checked.config == ModelConfig() == typed_yaml.load(Recipe, root / "configs" / "release.yaml").model
    card = (root / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert checked.sha256 in card
    assert weights.load("bright").sha256 in card


def test_every_teacher_of_the_release_is_here_with_its_recipe(root):
    recipe = load_recipe(root / "configs" / "release.yaml")
    assert recipe.start in recipe.teaching.teachers
    assert [Path(name).stem for name in recipe.teaching.teachers] == ["bright", "keeping"]
    for name, made_by in zip(recipe.teaching.teachers, ("steady", "keeping"), strict=True):
        teacher = typed_yaml.load(Recipe, root / "configs" / "teachers" / f"{made_by}.yaml")
        assert weights.load(root / name).config == teacher.model == recipe.model
        assert teacher.teaching.share == 0.0


def test_default_weights_take_the_cast_away_and_bring_contrast_back():
    enhancer = Enhancer()
    before = [render_pair(240, 320, seed).input for seed in range(12)]
    after = [enhancer.enhance(pixels) for pixels in before]
    assert np.mean([cast(pixels) for pixels in after]) < 0.75 * np.mean([cast(pixels) for pixels in before])
    assert np.mean([contrast(pixels) for pixels in after]) > 1.5 * np.mean([contrast(pixels) for pixels in before])
