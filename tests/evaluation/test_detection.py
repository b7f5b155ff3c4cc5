"""Detection: the enhanced copy of a YOLO set, and the calls to Ultralytics through a stand-in of the same interface."""

import json
import os
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image

from helpers.samples import random_parameters
from pic_uie import Enhancer, weights
from pic_uie.cli.main import main
from pic_uie.config import ModelConfig
from pic_uie.errors import ConfigError, DataError
from pic_uie.evaluation import detection, yolo_copy, yolo_set
from pic_uie.evaluation.predictions import from_weights


@pytest.fixture
def small_set(tmp_path):
    """Three splits with labels; one picture without objects; val given as a list file."""
    random = np.random.default_rng(0)
    root = tmp_path / "urchins"
    for split, count in (("train", 3), ("val", 2), ("test", 2)):
        (root / "images" / split).mkdir(parents=True)
        (root / "labels" / split).mkdir(parents=True)
        for number in range(count):
            picture = random.integers(0, 255, (40, 56, 3), dtype=np.uint8)
            Image.fromarray(picture).save(root / "images" / split / f"{split}{number}.png")
            if (split, number) != ("train", 2):
                (root / "labels" / split / f"{split}{number}.txt").write_text(f"0 0.5 0.5 0.{number + 1} 0.2\n")
    (root / "val.txt").write_text("./images/val/val0.png\nimages/val/val1.png\n")
    file = root / "data.yaml"
    file.write_text("{train: images/train, val: val.txt, test: [images/test], names: {0: urchin}, nc: 1}")
    return file


@pytest.fixture
def weights_file(tmp_path):
    weights.save(tmp_path / "w.safetensors", ModelConfig(), random_parameters(4))
    return tmp_path / "w.safetensors"


def test_the_copy_has_the_same_labels_and_splits_and_other_pictures(small_set, weights_file, tmp_path):
    data = yolo_set.read(small_set)
    assert {split: len(pictures) for split, pictures in data.splits.items()} == {"train": 3, "val": 2, "test": 2}
    enhancer = Enhancer(weights_file, threads=1)
    maker = yolo_copy.of(from_weights(weights_file), data)
    copy = yolo_set.read(yolo_copy.write(data, tmp_path / "copy", maker))
    assert copy.facts == {"names": {0: "urchin"}, "nc": 1}
    for split in yolo_set.SPLITS:
        for ours, theirs in zip(copy.splits[split], data.splits[split], strict=True):
            assert ours.name == theirs.name
            np.testing.assert_array_equal(Image.open(ours), enhancer.enhance(np.asarray(Image.open(theirs))))
            labels = [yolo_set.label_file(picture) for picture in (ours, theirs)]
            assert labels[0].exists() == labels[1].exists()
            if labels[0].exists():
                assert labels[0].read_text() == labels[1].read_text()
    assert not (tmp_path / "copy/labels/train/train2.txt").exists()


def test_an_interrupted_copy_goes_on(small_set, weights_file, tmp_path):
    data = yolo_set.read(small_set)
    maker = yolo_copy.of(from_weights(weights_file), data)
    yolo_copy.write(data, tmp_path / "copy", maker)
    first, second = (tmp_path / f"copy/images/train/train{number}.png" for number in (0, 1))
    first.unlink()
    before = second.stat().st_mtime_ns
    yolo_copy.write(data, tmp_path / "copy", maker)
    assert first.exists()
    assert second.stat().st_mtime_ns == before


def test_another_set_does_not_get_the_pictures_of_this_one(small_set, weights_file, tmp_path, capsys):
    command = [
        "evaluate",
        "detection",
        "--method",
        f"ours={weights_file}",
        "--prepare",
        "-q",
        "-o",
        str(tmp_path / "out"),
    ]
    assert main([*command, str(small_set)]) == 0
    os.utime(small_set.parent / "images/train/train0.png")
    assert main([*command, str(small_set)]) == 0
    moved = small_set.parent.rename(tmp_path / "moved") / small_set.name
    assert main([*command, str(moved)]) == 0
    Image.new("RGB", (56, 40)).save(moved.parent / "images/train/train0.png")
    assert main([*command, str(moved)]) == 2
    assert "another data set, or this one has changed" in capsys.readouterr().err


def test_the_files_of_the_set_are_not_overwritten(small_set, weights_file, capsys):
    root = small_set.parent
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    for place in (root, root / "labels/train", root / "labels/train/detectors"):
        options = ["--method", f"ours={weights_file}", "--prepare", "-q", "-o", str(place)]
        assert main(["evaluate", "detection", str(small_set), *options]) == 2
        assert "is a part of the data set" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in before} == before


def test_a_split_that_is_a_picture(small_set):
    small_set.write_text(small_set.read_text().replace("val.txt", "images/val/val0.png"))
    with pytest.raises(DataError, match="is not a text file that names pictures"):
        yolo_set.read(small_set)


def test_labels_are_where_yolo_looks(tmp_path):
    assert yolo_set.label_file(tmp_path / "images/a/images/b/c.d.png") == tmp_path / "images/a/labels/b/c.d.txt"
    assert yolo_set.label_file(tmp_path / "pictures/c.png") == tmp_path / "pictures/c.txt"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"test": None}, "no test split"),
        ({"names": None}, "no `names`"),
        ({"train": "images/nowhere"}, "neither a folder nor a file"),
        ({"val": "images/train"}, "in two splits"),
    ],
)
def test_sets_that_cannot_be_compared_on_are_refused(small_set, change, message):
    values = {**yaml.safe_load(small_set.read_text()), **change}
    small_set.write_text(yaml.safe_dump({key: value for key, value in values.items() if value is not None}))
    with pytest.raises(DataError, match=message):
        yolo_set.read(small_set)


def test_a_bad_picture_is_named(small_set, weights_file, tmp_path):
    (small_set.parent / "images/test/test1.png").write_bytes(b"no picture")
    data = yolo_set.read(small_set)
    with pytest.raises(DataError, match=r"1 pictures could not be made(.|\n)*test1\.png"):
        yolo_copy.write(data, tmp_path / "copy", yolo_copy.of(from_weights(weights_file), data))


class Calls(list):
    """What was asked of the stand-in; `killed` lets a training die behind its first epoch."""

    killed = False


@pytest.fixture
def stand_in(monkeypatch):
    """A module with the part of Ultralytics' interface that is used; it scores by the brightness of the test split."""
    calls = Calls()

    class YOLO:
        def __init__(self, model):
            self.model = model

        def train(self, *, resume=False, **settings):
            if resume:
                assert Path(self.model).name == "last.pt"
                calls.append(("resume", self.model))
                Path(self.model).with_name("best.pt").write_text(Path(self.model).read_text())
                return
            wanted = ("epochs", "patience", "imgsz", "batch", "seed")
            chosen, others = {name: settings[name] for name in wanted}, settings.get("optimizer")
            calls.append(("train", self.model, chosen, others))
            weights = Path(settings["project"]) / settings["name"] / "weights"
            weights.mkdir(parents=True)
            (weights / "last.pt").write_text(settings["data"])
            labels = Path(settings["data"]).parent / "labels"
            (labels / "train.cache").write_text("as Ultralytics does")
            if calls.killed:
                raise KeyboardInterrupt
            (weights / "best.pt").write_text(settings["data"])

        def val(self, *, data, split, **others):
            assert Path(self.model).read_text() == data  # tested on the set it was trained on
            values = yaml.safe_load(Path(data).read_text())
            pictures = (Path(values["path"]) / values[split]).read_text().split()
            brightness = float(np.mean([np.asarray(Image.open(picture)).mean() / 255 for picture in pictures]))
            calls.append(("val", split, len(pictures)))
            box = types.SimpleNamespace(map50=brightness, map=brightness / 2, ap_class_index=[0], ap50=[brightness])
            return types.SimpleNamespace(box=box, names={0: "urchin"})

        def predict(self, picture, **others):
            kinds, sure, box = np.array([0.0]), np.array([0.9]), np.array([[0.1, 0.2, 0.5, 0.6]])
            return [types.SimpleNamespace(boxes=types.SimpleNamespace(cls=kinds, conf=sure, xyxyn=box))]

    module = types.ModuleType("ultralytics")
    module.YOLO = YOLO
    monkeypatch.setitem(sys.modules, "ultralytics", module)
    return calls


def test_two_detectors_under_the_same_settings(small_set, weights_file, stand_in, tmp_path, capsys):
    output = tmp_path / "out"
    command = ["evaluate", "detection", str(small_set), "--method", f"ours={weights_file}", "-o", str(output), "-q"]
    assert main([*command, "--epochs", "7"]) == 0
    trainings = [call for call in stand_in if call[0] == "train"]
    assert len(trainings) == 2
    assert trainings[0] == trainings[1]
    assert trainings[0][1] == "yolo11n.yaml"
    assert trainings[0][2] == {"epochs": 7, "patience": 100, "imgsz": 640, "batch": 16, "seed": 0}
    assert [call[1:] for call in stand_in if call[0] == "val"] == [("test", 2), ("test", 2)]
    methods = json.loads((output / "detection.json").read_text())["methods"]
    scores = {name: method["seeds"]["0"] for name, method in methods.items()}
    raw = np.mean([np.asarray(Image.open(path)).mean() / 255 for path in small_set.parent.glob("images/test/*")])
    assert scores["raw"]["map50"] == pytest.approx(raw)
    assert scores["ours"]["map50"] != scores["raw"]["map50"]
    assert "0.751" in capsys.readouterr().out  # the paper's

    assert main([*command, "--epochs", "7"]) == 0  # finished detectors are read
    assert len(stand_in) == 4
    assert main([*command, "--epochs", "8"]) == 2
    assert "other settings" in capsys.readouterr().err
    finished = next(output.rglob(detection.RESULT))
    finished.write_text(json.dumps({**json.loads(finished.read_text()), "test": None}))
    assert main([*command, "--epochs", "7"]) == 1
    assert "is damaged" in capsys.readouterr().err


@pytest.fixture
def detect(small_set, weights_file, tmp_path):
    """Runs the command with our weights as one method."""

    def run(*options):
        words = ["--method", f"ours={weights_file}", "-o", str(tmp_path / "out"), "-q", *map(str, options)]
        return main(["evaluate", "detection", str(small_set), *words])

    return run


def test_a_killed_training_is_resumed(detect, stand_in, tmp_path):
    stand_in.killed = True
    assert detect() == 130
    stand_in.killed = False
    assert detect() == 0
    assert [call[0] for call in stand_in] == ["train", "resume", "val", "train", "val"]
    assert stand_in[1][1] == str(tmp_path / "out/raw/seed-0/weights/last.pt")


def test_a_killed_training_is_not_resumed_under_other_settings(detect, stand_in, capsys):
    stand_in.killed = True
    assert detect() == 130
    assert detect("--epochs", 9) == 2
    assert "other settings" in capsys.readouterr().err


def test_nothing_is_written_into_the_users_folders(detect, stand_in, small_set):
    before = sorted(small_set.parent.rglob("*"))
    assert detect() == 0
    assert sorted(small_set.parent.rglob("*")) == before


def test_several_seeds_have_a_deviation_and_an_interval(detect, stand_in, tmp_path, capsys):
    assert detect("--seeds", "3,5") == 0
    assert [call[2]["seed"] for call in stand_in if call[0] == "train"] == [3, 3, 5, 5]
    ours = json.loads((tmp_path / "out/detection.json").read_text())["methods"]["ours"]
    assert list(ours["seeds"]) == ["3", "5"]
    assert ours["map50"]["deviation"] == 0.0  # the stand-in does not depend on the seed
    assert ours["map50_to_raw"]["low"] == pytest.approx(ours["map50_to_raw"]["mean"])
    assert "± 0.000" in capsys.readouterr().out


def test_as_many_methods_as_one_likes_also_as_folders(detect, stand_in, small_set, tmp_path, capsys):
    black = tmp_path / "black"
    for picture in small_set.parent.rglob("images/*/*.png"):
        target = black / picture.relative_to(small_set.parent).with_suffix(".jpg")
        target.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (56, 40)).save(target)
    flat = tmp_path / "flat"
    flat.mkdir()
    for picture in black.rglob("*.jpg"):
        (flat / picture.name).write_bytes(picture.read_bytes())
    assert detect("--method", f"black={black}", "--method", f"flat={flat}") == 0
    methods = json.loads((tmp_path / "out/detection.json").read_text())["methods"]
    assert list(methods) == ["raw", "ours", "black", "flat"]
    assert methods["black"]["map50"]["mean"] == methods["flat"]["map50"]["mean"] == 0.0
    (flat / "test1.jpg").unlink()
    assert detect("--method", f"other={flat}") == 1
    assert "lacks images/test/test1" in capsys.readouterr().err


def test_other_pictures_under_the_name_of_a_method_are_refused(detect, stand_in, tmp_path, weights_file, capsys):
    assert detect() == 0
    weights.save(weights_file, ModelConfig(), random_parameters(5))
    assert detect() == 2
    assert "pictures of another method of that name" in capsys.readouterr().err


def test_options_are_passed_on_but_not_those_that_the_command_sets(detect, stand_in, capsys):
    assert detect("--option", "optimizer=SGD") == 0
    assert stand_in[0][3] == "SGD"
    assert detect("--option", "imgsz=1") == 2
    assert "imgsz cannot be given" in capsys.readouterr().err


def test_a_device_that_is_not_there_is_refused_before_any_work(detect, stand_in, tmp_path, capsys):
    assert detect("--device", "97") == 4
    assert "no device '97'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_roboflows_paths_are_understood(small_set):
    root = small_set.parent
    for split, name in (("train", "train"), ("val", "valid"), ("test", "test")):
        for kind in ("images", "labels"):
            (root / name).mkdir(exist_ok=True)
            (root / kind / split).rename(root / name / kind)
    small_set.write_text(
        "{train: ../train/images, val: ../valid/images, test: ../test/images, nc: 1, names: ['urchin']}"
    )
    data = yolo_set.read(small_set)
    assert [picture.name for picture in data.splits["val"]] == ["val0.png", "val1.png"]
    assert yolo_set.label_file(data.splits["val"][0]).read_text() == "0 0.5 0.5 0.1 0.2\n"
    assert data.classes == ["urchin"]


def test_labels_as_boxes(tmp_path):
    (tmp_path / "a.txt").write_text("2 0.5 0.25 0.2 0.1\n\n")
    assert yolo_set.boxes(tmp_path / "a.txt") == [(2, 0.4, pytest.approx(0.2), 0.6, pytest.approx(0.3))]
    assert yolo_set.boxes(tmp_path / "none.txt") == []
    (tmp_path / "a.txt").write_text("2 0.5 0.25\n")
    with pytest.raises(DataError, match="not a class and four numbers"):
        yolo_set.boxes(tmp_path / "a.txt")


def test_without_ultralytics_the_remedy_is_reported(small_set, weights_file, monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "ultralytics", None)
    command = [
        "evaluate",
        "detection",
        str(small_set),
        "--method",
        f"ours={weights_file}",
        "-o",
        str(tmp_path / "o"),
        "-q",
    ]
    assert main(command) == 4
    assert "pic-uie[detection]" in capsys.readouterr().err
    assert not (tmp_path / "o").exists()
    assert main([*command, "--prepare"]) == 0
    assert len(list(tmp_path.glob("o/ours/images/*/*.png"))) == 7


def test_nothing_is_fetched(stand_in, monkeypatch):
    monkeypatch.delenv("YOLO_OFFLINE", raising=False)
    assert detection.ultralytics().YOLO
    assert os.environ["YOLO_OFFLINE"] == "true"
    with pytest.raises(ConfigError, match="nothing is ever fetched"):
        detection.Settings(model="yolo11n.pt")


def test_end_to_end_with_the_real_ultralytics(tmp_path, weights_file):
    pytest.importorskip("ultralytics", reason="the detection extra is not installed: no real detector is trained")
    random = np.random.default_rng(1)
    for split, count in (("train", 8), ("val", 4), ("test", 4)):
        for kind in ("images", "labels"):
            (tmp_path / "set" / kind / split).mkdir(parents=True)
        for number in range(count):
            picture = np.full((64, 64, 3), (20, 90, 120), np.uint8)
            x, y = random.integers(4, 36, 2)
            picture[y : y + 24, x : x + 24] = (220, 200, 40)
            Image.fromarray(picture).save(tmp_path / "set/images" / split / f"{number}.png")
            label = f"0 {(x + 12) / 64} {(y + 12) / 64} {24 / 64} {24 / 64}\n"
            (tmp_path / "set/labels" / split / f"{number}.txt").write_text(label)
    data = tmp_path / "set/data.yaml"
    data.write_text("{train: images/train, val: images/val, test: images/test, names: {0: square}}")
    command = [
        "evaluate",
        "detection",
        str(data),
        "--method",
        f"ours={weights_file}",
        "-o",
        str(tmp_path / "out"),
        "-q",
    ]
    assert main([*command, "--epochs", "1", "--size", "64", "--batch", "4"]) == 0
    assert 0.0 <= json.loads((tmp_path / "out/detection.json").read_text())["methods"]["raw"]["map50"]["mean"] <= 1.0
    assert set(detection.read_boxes(tmp_path / "out/raw/seed-0")) == {"0", "1", "2", "3"}
