"""Files, folders, globs and lists."""

import os
from pathlib import Path

import pytest

from helpers.pictures import reef, saved
from pic_uie.batch.sources import find
from pic_uie.errors import ConfigError

PICTURE = saved(reef(16, 16), "PNG")


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("b.png", "a.png", "day 1/c.png", "day 1/deep/d.png", "day 2/ü 海.png", "no-suffix", ".hidden.png"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(PICTURE)
    (tmp_path / "notes.txt").write_text("no picture")
    (tmp_path / "broken.jpg").write_text("no picture, but called one")
    return tmp_path


def names(found):
    return [str(source.path) for source in found.sources]


def relatives(found):
    return [str(source.relative) for source in found.sources]


def test_a_folder_gives_its_pictures_by_content_or_name(tree):
    found = find(["."])
    assert names(found) == ["a.png", "b.png", "broken.jpg", "no-suffix"]
    assert found.ignored == [Path("notes.txt")]


def test_recursive_goes_to_the_bottom_and_mirrors(tree):
    found = find([str(tree)], recursive=True)
    expected = ["a.png", "b.png", "broken.jpg", "no-suffix", "day 1/c.png", "day 1/deep/d.png", "day 2/ü 海.png"]
    assert relatives(found) == expected


def test_globs_with_spaces_and_stars(tree):
    assert names(find(["day 1/*.png"])) == ["day 1/c.png"]
    found = find(["day*/**/*.png"])
    assert names(found) == ["day 1/c.png", "day 1/deep/d.png", "day 2/ü 海.png"]
    assert relatives(found) == names(found)
    assert relatives(find([f"{tree}/day 1/**/*.png"])) == ["c.png", "deep/d.png"]
    assert names(find(["*.gif"])) == []


def test_a_file_whose_name_looks_like_a_glob(tree):
    (tree / "a[1].png").write_bytes(PICTURE)
    (tree / "@me.png").write_bytes(PICTURE)
    assert names(find(["a[1].png", "@me.png"])) == ["a[1].png", "@me.png"]


def test_lists_with_comments_folders_and_missing_files(tree):
    (tree / "list.txt").write_text(
        "# dives\nday 1/c.png\n\nday 2\nmissing.png\n/abs/x.png\n../up.png\n", encoding="utf-8"
    )
    found = find(["@list.txt"])
    assert names(found) == ["day 1/c.png", "day 2/ü 海.png", "missing.png", "/abs/x.png", "../up.png"]
    assert relatives(found) == ["day 1/c.png", "ü 海.png", "missing.png", "x.png", "up.png"]


def test_a_list_from_windows(tree):
    (tree / "list.txt").write_bytes("\ufeffday 2/ü 海.png\r\n".encode())
    assert names(find(["@list.txt"])) == ["day 2/ü 海.png"]


def test_an_unreadable_folder_is_not_passed_over(tree):
    (tree / "day 1" / "deep").chmod(0)
    if os.access(tree / "day 1" / "deep", os.R_OK):
        pytest.skip("this user may read everything (root)")
    found = find(["."], recursive=True)
    (tree / "day 1" / "deep").chmod(0o700)
    assert relatives(found)[-1] == "day 1/deep"


def test_impossible_names_are_kept_to_be_reported(tree):
    long = "a" * 300 + ".jpg"
    assert names(find([long, long + "/b.jpg"])) == [long, long + "/b.jpg"]


def test_a_list_that_cannot_be_read(tree):
    with pytest.raises(ConfigError, match=r"cannot read the list none\.txt"):
        find(["@none.txt"])


def test_each_file_once_however_it_is_named(tree):
    assert names(find(["a.png", "./a.png", str(tree / "a.png"), "*.png", "."])) == [
        "a.png",
        "b.png",
        "broken.jpg",
        "no-suffix",
    ]


def test_a_named_file_is_never_passed_over(tree):
    assert names(find(["notes.txt", "missing.jpg"])) == ["notes.txt", "missing.jpg"]


def test_links_to_folders_are_not_followed_and_loops_end(tree):
    (tree / "day 1" / "loop").symlink_to(tree, target_is_directory=True)
    (tree / "day 1" / "self.png").symlink_to(tree / "day 1" / "self.png")
    found = find(["day 1"], recursive=True)
    assert relatives(found) == ["c.png", "self.png", "deep/d.png"]


def test_a_fifo_called_a_picture_is_reported_and_one_called_otherwise_is_ignored(tree):
    os.mkfifo(tree / "day 1" / "pipe.png")
    os.mkfifo(tree / "day 1" / "pipe")
    found = find(["day 1"])
    assert relatives(found) == ["c.png", "pipe.png"]
    assert found.ignored == [Path("day 1/pipe")]


def test_the_folder_of_results_is_no_source(tree):
    (tree / "out").mkdir()
    (tree / "out" / "a.png").write_bytes(PICTURE)
    assert "out/a.png" not in relatives(find(["."], recursive=True, outside=Path("out")))
    assert names(find(["**/a.png"], outside=Path("out"))) == ["a.png"]
    # but a folder that is named as source and as output is searched: the plan refuses to overwrite
    assert names(find(["out"], outside=Path("out"))) == ["out/a.png"]


def test_a_deep_tree_takes_no_look_at_the_whole_path_of_each_folder(tmp_path, monkeypatch):
    """Resolving the name of each folder takes time with the cube of the depth: a minute for a thousand levels."""
    deepest = tmp_path / "in" / "/".join("d" * 60)
    deepest.mkdir(parents=True)
    (deepest / "a.png").write_bytes(PICTURE)
    skipped = deepest.parents[20] / "out"
    (skipped / "below").mkdir(parents=True)
    (skipped / "below" / "b.png").write_bytes(PICTURE)
    (tmp_path / "link").symlink_to(skipped)
    resolved, resolve = [], os.path.realpath
    monkeypatch.setattr(os.path, "realpath", lambda path, **options: resolved.append(path) or resolve(path, **options))
    found = find([str(tmp_path / "in")], recursive=True, outside=tmp_path / "link")
    assert names(found) == [str(deepest / "a.png")]
    assert len(resolved) < 10
