"""The test lists that come with the package."""

import hashlib
import itertools

import pytest

from pic_uie.cli.main import main
from pic_uie.datasets import lists
from pic_uie.datasets.names import name_set
from pic_uie.datasets.stems import read_stems
from pic_uie.errors import ConfigError


@pytest.mark.parametrize("name", lists.known())
def test_every_list_has_the_hash_that_is_written_beside_it(name):
    data = lists.path(name).read_bytes()
    assert hashlib.sha256(data).hexdigest() == lists.known()[name].sha256
    stems = read_stems(lists.path(name))
    assert len(stems) == 90
    assert name_set(stems).sha256 == lists.known()[name].sha256  # so that any spelling of the list is recognised
    assert lists.known()[name].used_by


def test_the_lists_overlap_at_chance_level():
    sets = [set(read_stems(lists.path(name))) for name in lists.known()]
    overlaps = [len(one & two) for one, two in itertools.combinations(sets, 2)]
    assert (min(overlaps), max(overlaps)) == (6, 19)


def test_a_list_is_found_by_name_or_file(tmp_path, monkeypatch):
    assert lists.find("smdr-90") == lists.path("smdr-90")
    assert lists.find("mine.txt").name == "mine.txt"
    with pytest.raises(ConfigError, match=r"did you mean 'ranker-90'\?"):
        lists.find("ranker90")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").write_text("a\n")
    assert lists.find("mine").read_text() == "a\n"


def test_another_spelling_of_a_list_is_recognised():
    stems = [f"{stem}.png" for stem in read_stems(lists.path("ranker-90"))][::-1]
    assert name_set(stem.removesuffix(".png") for stem in stems).facts()["list"] == "ranker-90"
    assert name_set(stems[:-1]).facts()["list"] is None


def test_the_command_prints_names_hashes_and_users(capsys):
    assert main(["data", "lists"]) == 0
    printed = capsys.readouterr().out
    for name, facts in lists.known().items():
        assert f"{name}: 90 pictures, sha256 {facts.sha256}" in printed
    assert "NU2Net" in printed


def test_an_unknown_list_is_refused_with_the_nearest(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["evaluate", "--protocol", "uieb-90", "--list", "smdr90"])
    assert stop.value.code == 2
    assert "did you mean 'smdr-90'?" in capsys.readouterr().err
