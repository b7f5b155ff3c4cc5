"""Plans: every trained table names existing recipes, and a row differs from the full model by what it is about."""

import dataclasses

import pytest

pytest.importorskip("torch")
from pic_uie.errors import ConfigError
from pic_uie.paper import tables as paper
from pic_uie.paper.reproduction.plan import TRAINED, choose, plan
from pic_uie.training.config import Recipe


@pytest.mark.parametrize("name", TRAINED)
def test_every_row_but_the_full_model_changes_something(root, name):
    runs = plan(paper.table(name), root / "configs", ["seed=5"])
    assert len({run.config for run in runs}) == len(runs)
    (full,) = (run for run in runs if run.is_full)
    assert full.recipe == dataclasses.replace(Recipe(), seed=5)
    for run in runs:
        assert run.recipe.seed == 5
        assert run.is_full or run.recipe != full.recipe


def test_what_a_row_is_about_wins_over_the_common_recipe(root):
    runs = plan(paper.table("thumbnail"), root / "configs", ["model.thumbnail=64", "model.width=8"])
    assert [run.recipe.model.thumbnail for run in runs] == [128, 192, 64, 384]
    assert {run.recipe.model.width for run in runs} == {8}


def test_the_width_scan_covers_the_widths_that_the_words_are_about(root):
    table = paper.table("width-scan")
    widths = [run.recipe.model.width for run in plan(table, root / "configs")]
    assert widths == [8, 12, 16, 24, 32, 48, 64, 96, 128, 160]
    for ordering in table.orderings:
        assert {ordering.better, *ordering.worse} <= {row.name for row in table.rows}


def test_rows_are_chosen_by_name_or_configuration(root):
    runs = plan(paper.table("leave-one-out"), root / "configs")
    assert [run.config for run in choose(runs, ["w/o CCM", "paper"])] == ["no-ccm", "paper"]
    assert choose(runs, []) == runs
    with pytest.raises(ConfigError, match="'no-ccm'"):
        choose(runs, ["no-cmm"])


def test_a_missing_configs_folder_is_reported(tmp_path):
    with pytest.raises(ConfigError, match="--configs DIR"):
        plan(paper.table("lut-grid"), tmp_path)
