"""Looks and videos: given, shared with pictures, saved."""

import numpy as np
import pytest
from PIL import Image

from helpers import clips
from pic_uie import Look
from pic_uie.cli.main import main
from pic_uie.video.convert import VideoSettings, enhance_video
from pic_uie.video.pipeline import Treatment

FAST = ["--preset", "ultrafast", "-q"]


@pytest.fixture
def card(tmp_path):
    """A folder with two pictures and two videos, of different scenes."""
    folder = tmp_path / "card"
    folder.mkdir()
    for kind in (1, 2):
        clips.write(folder / f"dive{kind}.mp4", 12, draw=lambda i, kind=kind: clips.scene(kind, i, 96, 64), sound=False)
        planes = clips.scene(kind + 2, 0, 96, 64)
        clips.frame_of(planes, "yuv420p").to_image().save(folder / f"reef{kind}.png")
    return folder


def test_pictures_and_videos_in_one_run(card, tmp_path):
    assert main(["enhance", str(card), "-o", str(tmp_path / "out"), *FAST]) == 0
    names = ["dive1.mp4", "dive2.mp4", "reef1.png", "reef2.png"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == names


def test_one_look_for_pictures_and_videos(card, tmp_path, capsys):
    out, again = tmp_path / "out", tmp_path / "again"
    assert main(["enhance", str(card), "-o", str(out), "--same-look", "--preset", "ultrafast"]) == 0
    assert "making one look for 4 files" in capsys.readouterr().err
    look = Look.load(out / "same.look.json")
    assert look.source.name == "4 files"
    assert main(["enhance", str(card), "-o", str(again), "--look", str(out / "same.look.json"), *FAST]) == 0
    for name in ("dive1.mp4", "dive2.mp4", "reef1.png", "reef2.png"):
        assert (out / name).read_bytes() == (again / name).read_bytes()


def test_videos_have_a_say_in_the_look_of_a_set(card, tmp_path):
    looks = {}
    for name in ("both", "pictures", "videos"):
        for path in card.glob({"pictures": "*.mp4", "videos": "*.png"}.get(name, "nothing")):
            path.rename(tmp_path / path.name)
        assert main(["enhance", str(card), "-o", str(tmp_path / name), "--same-look", *FAST]) == 0
        looks[name] = Look.load(tmp_path / name / "same.look.json").theta
        for path in [*tmp_path.glob("*.mp4"), *tmp_path.glob("*.png")]:
            path.rename(card / path.name)
    assert len({theta.matrix.tobytes() for theta in looks.values()}) == 3


def test_the_look_of_a_picture_for_a_video_and_the_other_way_round(card, tmp_path):
    enhance = ["enhance", str(card / "dive1.mp4"), *FAST]
    assert main([*enhance, "-o", str(tmp_path / "a.mp4"), "--look", str(card / "reef1.png")]) == 0
    save = ["enhance", str(card / "reef1.png"), "-o", str(tmp_path / "reef.png"), "--save-look", *FAST]
    assert main(save) == 0
    assert main([*enhance, "-o", str(tmp_path / "b.mp4"), "--look", str(tmp_path / "reef.look.json")]) == 0
    assert (tmp_path / "a.mp4").read_bytes() == (tmp_path / "b.mp4").read_bytes()
    picture = ["enhance", str(card / "reef1.png"), *FAST]
    assert main([*picture, "-o", str(tmp_path / "c.png"), "--look", str(card / "dive1.mp4")]) == 0
    assert not np.array_equal(np.asarray(Image.open(tmp_path / "c.png")), np.asarray(Image.open(tmp_path / "reef.png")))


def test_the_look_of_a_video_is_saved_if_it_has_one(card, tmp_path, capsys):
    command = ["enhance", str(card), "-o", str(tmp_path / "out"), "--save-look", *FAST]
    assert main(command) == 2
    assert "add --temporal lock" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert main([*command, "--temporal", "lock", "--haze", "0.5"]) == 0
    saved = sorted(path.name for path in (tmp_path / "out").glob("*.look.json"))
    assert saved == ["dive1.look.json", "dive2.look.json", "reef1.look.json", "reef2.look.json"]
    again = ["enhance", str(card / "dive1.mp4"), "-o", str(tmp_path / "again.mp4"), *FAST]
    assert main([*again, "--look", str(tmp_path / "out" / "dive1.look.json")]) == 0
    assert (tmp_path / "again.mp4").read_bytes() == (tmp_path / "out" / "dive1.mp4").read_bytes()


def test_groups_act_under_the_statistics_of_all_of_them(card, tmp_path, enhancer):
    """As for pictures: turning one group down moves nothing else."""
    groups = {"haze": 0.0, "contrast": 0.3, "balance": 0.5}
    treatment = Treatment(groups=tuple(groups.items()), temporal="off")
    output = tmp_path / "out.mp4"
    enhance_video(card / "dive1.mp4", output, enhancer, VideoSettings(treatment=treatment, crf=1))
    for ours, source in zip(clips.decoded(output), clips.decoded(card / "dive1.mp4"), strict=True):
        wanted = enhancer.apply(source, enhancer.look(source).scaled(**groups))
        own = enhancer.execute(source, enhancer.predict(source).scaled(**groups))
        error, other = (np.abs(ours.astype(int) - np.asarray(one)).mean() for one in (wanted, own))
        assert error < 2.5, (error, other)
        assert error < 0.8 * other, (error, other)
