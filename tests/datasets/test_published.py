"""Data sets as they are published: recognised, complained about, and brought into shape."""

import numpy as np
import pytest
import yaml
from PIL import Image

from pic_uie.cli.main import main
from pic_uie.datasets import published, sequences
from pic_uie.datasets.published import Part, Published


def picture(path, size=(8, 6)):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.zeros((size[1], size[0], 3), np.uint8)).save(path)


@pytest.fixture
def small_uieb(monkeypatch, tmp_path):
    """UIEB with three pairs instead of 890, in the folders of its authors."""
    parts = {"input": Part(("raw-890", "input"), 3), "target": Part(("reference-890", "target"), 3)}
    monkeypatch.setitem(published.SETS, "uieb", Published("UIEB, small", parts))
    for folder in ("raw-890", "reference-890"):
        for name in ("2_img_", "10909", "zz"):
            picture(tmp_path / "UIEB" / folder / f"{name}.png")
    return tmp_path / "UIEB"


def test_a_set_as_published(small_uieb, capsys):
    assert main(["data", "check", "uieb", str(small_uieb)]) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[-1] == "as published"
    assert "list ranker-90: 1 of 90 are here" in printed  # 10909


def test_what_is_not_as_published_is_said(small_uieb, capsys):
    (small_uieb / "raw-890/zz.png").unlink()
    picture(small_uieb / "reference-890/10909.png", (9, 6))
    assert main(["data", "check", "uieb", str(small_uieb)]) == 1
    printed = capsys.readouterr().out
    assert "not as published: input has 2 pictures, published are 3" in printed
    assert "1 pictures have no partner: zz" in printed
    assert "1 pairs differ in size: 10909" in printed


@pytest.mark.parametrize("option", [[], ["--copy"]])
def test_a_set_is_brought_into_shape(small_uieb, tmp_path, option, capsys):
    assert main(["data", "prepare", "uieb", str(small_uieb), "-o", str(tmp_path / "shape"), *option]) == 0
    for part in ("input", "target"):
        files = sorted((tmp_path / "shape" / part).iterdir())
        assert [file.name for file in files] == ["10909.png", "2_img_.png", "zz.png"]
        assert all(file.is_symlink() == (not option) for file in files)
        assert files[0].read_bytes()
    assert main(["data", "prepare", "uieb", str(small_uieb), "-o", str(tmp_path / "shape")]) == 2
    assert "is there already" in capsys.readouterr().err
    assert main(["data", "prepare", "uieb", str(small_uieb), "-o", str(small_uieb / "shape")]) == 2
    assert "lies in the data set" in capsys.readouterr().err


def test_a_folder_that_is_something_else(tmp_path, capsys):
    picture(tmp_path / "holiday/a.png")
    assert main(["data", "check", "lsui", str(tmp_path)]) == 1
    assert "is not lsui as published" in capsys.readouterr().err
    assert main(["data", "check", "uieb90", str(tmp_path)]) == 2
    assert "did you mean 'uieb'?" in capsys.readouterr().err
    assert main(["data", "check", "flsea", str(tmp_path / "nowhere")]) == 1


def test_uiqad_is_sorted_by_size(tmp_path, capsys):
    for name, size in (("a", (1920, 1080)), ("deep/b", (3840, 2160)), ("deep/c", (640, 480)), ("deep/d", (1920, 1080))):
        picture(tmp_path / "UIQAD" / f"{name}.png", size)
    assert main(["data", "prepare", "uiqad", str(tmp_path / "UIQAD"), "-o", str(tmp_path / "shape")]) == 0
    assert sorted(path.stem for path in (tmp_path / "shape/1080p").iterdir()) == ["a", "d"]
    assert [path.stem for path in (tmp_path / "shape/4k").iterdir()] == ["b"]
    assert (
        main(["evaluate", "--protocol", "uiqad-4k", "--data", str(tmp_path / "shape"), "--metrics", "uciqe", "-q"]) == 0
    )
    printed = capsys.readouterr().out
    assert "native" in printed
    assert "0.3203" in printed  # the paper's
    (tmp_path / "UIQAD/deep/b.png").unlink()
    assert main(["data", "check", "uiqad", str(tmp_path / "UIQAD")]) == 1
    assert "no picture has the size of 4k" in capsys.readouterr().out


@pytest.fixture
def flsea(tmp_path):
    """Frames in imgs/ beside depth maps, at the depth of FLSea."""
    for area, scenes in (("canyons", ("flatiron", "u_canyon")), ("red_sea", ("pier_path", "sub_pier", "dice_path"))):
        for scene in scenes:
            for number in (1, 2, 10):
                picture(tmp_path / "FLSea" / area / scene / "imgs" / f"f{number}.png")
                picture(tmp_path / "FLSea" / area / scene / "depth" / f"f{number}.png")
                picture(tmp_path / "FLSea" / area / scene / "seaErra" / f"f{number}.png")
    return tmp_path / "FLSea"


def test_sequences_are_found_at_any_depth_and_depth_maps_are_none(flsea):
    found = sequences.find(flsea)
    assert list(found) == [
        "canyons/flatiron", "canyons/u_canyon", "red_sea/dice_path", "red_sea/pier_path", "red_sea/sub_pier",
    ]  # fmt: skip
    assert [path.name for path in found["canyons/flatiron"]] == ["f1.png", "f2.png", "f10.png"]
    assert {path.parent.name for paths in found.values() for path in paths} == {"imgs"}
    assert list(sequences.find(flsea, scenes=["pier_path", "canyons/u_canyon"])) == [
        "canyons/u_canyon", "red_sea/pier_path",
    ]  # fmt: skip


def test_flsea_is_checked_and_prepared(flsea, tmp_path, capsys):
    assert main(["data", "check", "flsea", str(flsea)]) == 0
    assert "red_sea/pier_path: 3 frames" in capsys.readouterr().out
    command = ["data", "prepare", "flsea", str(flsea), "--scene", "u_canyon", "-o", str(tmp_path / "shape")]
    assert main(command) == 0
    assert sorted(path.name for path in tmp_path.glob("shape/canyons/u_canyon/*")) == ["f1.png", "f10.png", "f2.png"]
    assert list(sequences.find(tmp_path / "shape", scenes=["u_canyon"])) == ["canyons/u_canyon"]
    assert main([*command[:-1], str(tmp_path / "again"), "--scene", "atlantis"]) == 2
    assert "no scene 'atlantis'" in capsys.readouterr().err


VOC = """<annotation><size><width>1</width><height>1</height></size>
<object><name>echinus</name><bndbox><xmin>11</xmin><ymin>21</ymin><xmax>30</xmax><ymax>40</ymax></bndbox></object>
<object><name>waterweeds</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax></bndbox></object>
<object><name>scallop</name><bndbox><xmin>90</xmin><ymin>70</ymin><xmax>120</xmax><ymax>80</ymax></bndbox></object>
</annotation>"""


@pytest.fixture
def urpc(tmp_path):
    for number in range(10):
        picture(tmp_path / "URPC/train/image" / f"{number:06}.jpg", (100, 80))
        (tmp_path / "URPC/train/box").mkdir(exist_ok=True)
        (tmp_path / "URPC/train/box" / f"{number:06}.xml").write_text(VOC)
    return tmp_path / "URPC"


def test_voc_becomes_yolo(urpc, tmp_path, capsys):
    assert main(["data", "check", "urpc", str(urpc)]) == 0
    assert "echinus: 10 boxes" in capsys.readouterr().out
    assert main(["data", "prepare", "urpc", str(urpc), "-o", str(tmp_path / "yolo")]) == 0
    printed = capsys.readouterr().out
    assert "split by a hash of the name" in printed
    assert "10 boxes left out" in printed  # the waterweeds
    labels = sorted(tmp_path.glob("yolo/labels/*/*.txt"))
    assert len(labels) == 10
    # xmin 11 counts from 1: the box covers 10..30 of 100 and 20..40 of 80; the last is cut off at the right edge
    assert labels[0].read_text() == "1 0.200000 0.375000 0.200000 0.250000\n2 0.945000 0.931250 0.110000 0.137500\n"
    facts = yaml.safe_load((tmp_path / "yolo/data.yaml").read_text())
    assert facts["names"] == {0: "holothurian", 1: "echinus", 2: "scallop", 3: "starfish"}
    from pic_uie.evaluation import yolo_set

    data = yolo_set.read(tmp_path / "yolo/data.yaml")
    assert {split: len(pictures) for split, pictures in data.splits.items()} == {"train": 7, "val": 1, "test": 2}
    box = yolo_set.boxes(labels[0])[0]
    assert box[1:] == pytest.approx((0.10, 0.25, 0.30, 0.50))


def test_a_published_split_wins(urpc, tmp_path, capsys):
    lists = urpc / "ImageSets/Main"
    lists.mkdir(parents=True)
    for split, stems in (("train", range(6)), ("val", (6, 7)), ("test", (8, 9))):
        (lists / f"{split}.txt").write_text("".join(f"{stem:06}\n" for stem in stems))
    assert main(["data", "prepare", "urpc", str(urpc), "-o", str(tmp_path / "yolo")]) == 0
    assert "split by ImageSets/Main" in capsys.readouterr().out
    assert sorted(path.stem for path in tmp_path.glob("yolo/images/test/*")) == ["000008", "000009"]
    (lists / "test.txt").write_text("000000\n")
    assert main(["data", "prepare", "urpc", str(urpc), "-o", str(tmp_path / "again")]) == 1
    assert "000000 is in two splits: train and test" in capsys.readouterr().err


def test_nothing_of_a_voc_set_is_left_out_silently(urpc, tmp_path, capsys):
    picture(urpc / "train/image/bare.jpg", (100, 80))
    assert main(["data", "check", "urpc", str(urpc)]) == 1
    assert "not as published: 1 pictures have no annotation and are left out: bare.jpg" in capsys.readouterr().out
    lists = urpc / "ImageSets/Main"
    lists.mkdir(parents=True)
    for split, stems in (("train", range(4)), ("val", (6, 7))):
        (lists / f"{split}.txt").write_text("".join(f"{stem:06}\n" for stem in stems))
    assert main(["data", "prepare", "urpc", str(urpc), "-o", str(tmp_path / "hashed")]) == 0
    assert "split by a hash of the name, since ImageSets/Main has no test.txt" in capsys.readouterr().out
    (lists / "test.txt").write_text("000008\n000009\n")
    assert main(["data", "prepare", "urpc", str(urpc), "-o", str(tmp_path / "listed")]) == 0
    assert "split by ImageSets/Main; 2 pictures are in none of its lists and left out" in capsys.readouterr().out


def test_classes_are_names_with_commas_between(urpc, tmp_path, capsys):
    command = ["data", "prepare", "urpc", str(urpc), "-o", str(tmp_path / "yolo"), "--classes"]
    assert main([*command, "scallop, echinus"]) == 0
    assert next(iter(sorted(tmp_path.glob("yolo/labels/*/*.txt")))).read_text().splitlines()[0].startswith("1 0.2")
    for wrong in (",", "echinus,echinus", "echinus,"):
        assert main([*command, wrong]) == 2
        assert "different names" in capsys.readouterr().err


def test_the_names_of_a_folder_count_in_their_order(tmp_path, capsys):
    for part, count in (("raw-890", 3), ("reference-890", 3), ("input", 1), ("target", 1)):
        for number in range(count):
            picture(tmp_path / "UIEB" / part / f"{number}.png", (10, 10))
    main(["data", "check", "uieb", str(tmp_path / "UIEB")])
    assert "input: 3 pictures in " in capsys.readouterr().out.splitlines()[1]


NAN_BOX = "<annotation><object><name>x</name><bndbox><xmin>nan</xmin><ymin>1</ymin><xmax>2</xmax><ymax>2</ymax></bndbox></object></annotation>"  # fmt: skip # noqa: E501


@pytest.mark.parametrize(
    "text", [NAN_BOX, "no xml", "<annotation><object><name>x</name></object></annotation>", "<!DOCTYPE a>"]
)
def test_annotations_that_are_none(urpc, text, capsys):
    (urpc / "train/box/000003.xml").write_text(text)
    assert main(["data", "check", "urpc", str(urpc)]) == 1
    assert "000003.xml is not a VOC annotation" in capsys.readouterr().err


def test_what_fails_leaves_nothing_behind(urpc, tmp_path, capsys):
    (urpc / "train/image/000004.jpg").write_bytes(b"no picture")
    assert main(["data", "check", "urpc", str(urpc)]) == 1
    assert "not as published: 1 pictures cannot be read: image/000004.jpg" in capsys.readouterr().out
    before = sorted(tmp_path.iterdir())
    assert main(["data", "prepare", "urpc", str(urpc), "-o", str(tmp_path / "yolo")]) == 1
    assert sorted(tmp_path.iterdir()) == before
    picture(urpc / "train/image/000004.jpg", (100, 80))
    (tmp_path / "yolo").mkdir()
    assert main(["data", "prepare", "urpc", str(urpc), "-o", str(tmp_path / "yolo")]) == 0
    assert sorted(path.name for path in (tmp_path / "yolo").iterdir()) == ["data.yaml", "images", "labels"]
    assert sorted(tmp_path.iterdir()) == sorted([*before, tmp_path / "yolo"])


def test_pictures_that_cannot_be_told_apart_or_read_are_complaints(tmp_path, capsys):
    for place in ("a", "b"):
        picture(tmp_path / "UIQAD" / place / "same.png", (1920, 1080))
    (tmp_path / "UIQAD/a/junk.png").write_bytes(b"junk")
    assert main(["data", "check", "uiqad", str(tmp_path / "UIQAD")]) == 1
    printed = capsys.readouterr().out
    assert "1080p has several files named same" in printed
    assert "1 pictures cannot be read: a/junk.png" in printed
    assert main(["data", "prepare", "uiqad", str(tmp_path / "UIQAD"), "-o", str(tmp_path / "shape")]) == 1
    assert "two pictures would be same in 1080p" in capsys.readouterr().err


def test_classes_without_a_box_are_refused(urpc, tmp_path, capsys):
    command = ["data", "prepare", "urpc", str(urpc), "-o", str(tmp_path / "yolo"), "--classes"]
    assert main([*command, "echinus,Scallop"]) == 2
    assert "no box is labelled Scallop: there are echinus, scallop, waterweeds" in capsys.readouterr().err
    for annotation in urpc.rglob("*.xml"):
        annotation.write_text(VOC.replace("echinus", "crab").replace("scallop", "eel"))
    assert main([*command[:-1]]) == 2
    assert "there are crab, eel, waterweeds" in capsys.readouterr().err
    assert not (tmp_path / "yolo").exists()


def test_lists_and_shares_that_contradict_each_other(urpc, tmp_path, capsys):
    for folder in ("one", "two"):
        lists = urpc / folder / "ImageSets/Main"
        lists.mkdir(parents=True)
        for split, stem in (("train", 1), ("val", 2), ("test", 3)):
            (lists / f"{split}.txt").write_text(f"{stem:06}\n")
    command = ["data", "prepare", "urpc", str(urpc), "-o", str(tmp_path / "yolo")]
    assert main(command) == 1
    assert "two lists go by the name train" in capsys.readouterr().err
    for path in (urpc / "two").rglob("*.txt"):
        path.unlink()
    assert main([*command, "--split", "0.5", "0.2", "0.3"]) == 2
    assert "leave out the shares" in capsys.readouterr().err
    assert main(command) == 0


@pytest.mark.parametrize("option", [["--scene", "x"], ["--classes", "a"], ["--split", "0.5", "0.2", "0.3"]])
def test_options_of_another_set_are_refused(small_uieb, tmp_path, option, capsys):
    assert main(["data", "prepare", "uieb", str(small_uieb), "-o", str(tmp_path / "shape"), *option]) == 2
    assert f"{option[0]} is for" in capsys.readouterr().err
