"""Outputs are settled before any work starts: no collisions, no source overwritten."""

from pathlib import Path

import pytest

from pic_uie.batch.mapping import output_folder, plan
from pic_uie.batch.sources import Source
from pic_uie.errors import ConfigError


def sources(*names):
    return [Source(Path(name), Path(name)) for name in names]


def outputs(planned):
    return [str(job.output) for job in planned.jobs]


def test_beside_the_source_with_the_suffix():
    assert outputs(plan(sources("d/a.jpg", "b.tar.png", "c"))) == [
        "d/a_enhanced.jpg",
        "b.tar_enhanced.png",
        "c_enhanced",
    ]
    assert outputs(plan(sources("a.jpg"), suffix=" (2)")) == ["a (2).jpg"]


def test_a_folder_mirrors_the_tree_and_keeps_names():
    assert outputs(plan(sources("x/a.jpg", "x/y/a.jpg"), folder=Path("out"))) == ["out/x/a.jpg", "out/x/y/a.jpg"]


def test_a_format_changes_the_suffix_only_where_it_must():
    planned = plan(sources("a.JPEG", "b.png", "dive.day1"), folder=Path("out"), file_format="jpeg")
    assert outputs(planned) == ["out/a.JPEG", "out/b.jpg", "out/dive.day1.jpg"]


def test_one_file_takes_its_format_from_its_name():
    (job,) = plan(sources("a.jpg"), output="b.TIF").jobs
    assert (job.output, job.file_format) == (Path("b.TIF"), "tiff")
    (job,) = plan(sources("a.jpg"), output="b.TIF", file_format="png").jobs
    assert job.file_format == "png"


@pytest.mark.parametrize(
    ("output", "count", "named_file", "expected"),
    [
        (None, 1, True, None),
        ("b.jpg", 1, True, None),
        ("out/", 1, True, "out"),
        ("out", 1, True, "out"),
        ("out.jpg/", 2, True, "out.jpg"),
        ("out", 5, False, "out"),
    ],
)
def test_file_or_folder(output, count, named_file, expected):
    folder = output_folder(output, count, named_file=named_file)
    assert folder == (None if expected is None else Path(expected))


def test_an_existing_folder_is_a_folder_whatever_its_name(tmp_path):
    (tmp_path / "out.jpg").mkdir()
    assert output_folder(str(tmp_path / "out.jpg"), 1, named_file=True) == tmp_path / "out.jpg"


@pytest.mark.parametrize(("count", "named_file"), [(2, True), (1, False)])
def test_one_file_for_several_inputs_is_refused(count, named_file):
    with pytest.raises(ConfigError, match=r"for a folder write -o b\.jpg/"):
        output_folder("b.jpg", count, named_file=named_file)


def test_a_file_of_an_unknown_format_is_refused():
    with pytest.raises(ConfigError, match=r"-o b\.gif does not end like a picture or video that can be written"):
        output_folder("b.gif", 1, named_file=True)
    assert output_folder("dive.2024", 2, named_file=True) == Path("dive.2024")


def test_two_inputs_for_one_output_are_refused_with_both_names():
    two = [Source(Path("x/a.jpg"), Path("a.jpg")), Source(Path("y/a.jpg"), Path("a.jpg"))]
    with pytest.raises(
        ConfigError, match=r"x/a\.jpg and y/a\.jpg would both be written to out/a\.jpg; nothing was done"
    ):
        plan(two, folder=Path("out"))
    with pytest.raises(ConfigError, match="would both be written"):
        plan(sources("a.png", "a.tif"), folder=Path("out"), file_format="jpeg")


def test_a_source_is_never_an_output(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.jpg").write_bytes(b"a")
    for options in ({"output": "a.jpg"}, {"output": str(tmp_path / "a.jpg")}, {"folder": Path()}):
        with pytest.raises(ConfigError, match="A source is never overwritten"):
            plan(sources("a.jpg"), **options)
    Path("link").symlink_to(tmp_path, target_is_directory=True)
    with pytest.raises(ConfigError, match="never overwritten"):
        plan(sources("a.jpg"), folder=Path("link"))
    Path("other.jpg").hardlink_to("a.jpg")
    with pytest.raises(ConfigError, match="never overwritten"):
        plan(sources("a.jpg"), output="other.jpg")


def test_results_of_an_earlier_run_are_not_enhanced_again():
    planned = plan(sources("a.jpg", "a_enhanced.jpg", "a_enhanced_enhanced.jpg", "b_enhanced.png", "c.png"))
    assert outputs(planned) == ["a_enhanced.jpg", "b_enhanced_enhanced.png", "c_enhanced.png"]
    assert planned.earlier_results == [Path("a_enhanced.jpg"), Path("a_enhanced_enhanced.jpg")]
    # in another folder there is nothing to confuse
    assert len(plan(sources("a.jpg", "a_enhanced.jpg"), folder=Path("out")).jobs) == 2


@pytest.mark.parametrize("suffix", ["", "/", "a/b"])
def test_impossible_suffixes(suffix):
    with pytest.raises(ConfigError, match="--suffix"):
        plan(sources("a.jpg"), suffix=suffix)
