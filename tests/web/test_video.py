"""Videos on the page: played with the effect, exported with the same frames, times and sound."""

import zipfile
from fractions import Fraction

import numpy as np
import pytest

from helpers.scenes import scene, write
from pic_uie.enhancer import Enhancer
from pic_uie.look import Look
from pic_uie.video.temporal import Causal
from pic_uie.yuv import Yuv

av = pytest.importorskip("av", reason="PyAV is not installed: pip install 'pic-uie[video]'")
from helpers import clips  # noqa: E402
from helpers.rotate import turn  # noqa: E402

pytestmark = clips.needs_ffmpeg
WIDTH, HEIGHT = 192, 108


def clip(path, frames=75, **options):
    """Three seconds with sound."""
    tags = {"tags": (1, 1, 1, 1)} | options
    return clips.write(path, frames, WIDTH, HEIGHT, **tags)


def times(path):
    base = Fraction(clips.video_stream(path)["time_base"])
    return [time * base for time in clips.frame_times(path)]


def sound(path):
    """Times and content of the sound's packets."""
    for stream in clips.streams(path):
        if stream["codec_type"] == "audio":
            base = Fraction(stream["time_base"])
            return [(int(pts) * base, found) for pts, _, found in clips.packet_hashes(path, stream["index"])]
    return []


def planes(path):
    """The frames of a clip: its luma and chroma."""
    with av.open(str(path)) as source:
        for frame in source.decode(video=0):
            frame = frame.to_ndarray(format="yuv420p")
            height = frame.shape[0] * 2 // 3
            cb, cr = frame[height:].reshape(2, height // 2, -1)
            yield frame[:height], cb, cr


def wanted(path, rate=25.0, strength=1.0, **groups):
    """What `pic-uie stream` makes of the frames."""
    enhancer, smoother = Enhancer(), Causal(rate)
    for y, cb, cr in planes(path):
        frame = Yuv(y, cb, cr, matrix="bt709")
        theta, _ = smoother.push(frame, enhancer.predict(frame))
        yield enhancer.execute(frame, theta.scaled(**groups), strength=strength)


def distance(path, expected):
    """Mean absolute difference of luma and chroma over a clip, in levels."""
    found = list(planes(path))
    expected = list(expected)
    assert len(found) == len(expected)
    sums = [
        np.mean([np.abs(a.astype(int) - b).mean() for a, b in zip(one, (two.y, two.cb, two.cr), strict=True)])
        for one, two in zip(found, expected, strict=True)
    ]
    return float(np.mean(sums))


def test_an_export_keeps_frames_times_and_sound(visit, tmp_path):
    ticks = [24 * i + (5 if i % 3 else 0) for i in range(75)]  # not constant
    source = clip(tmp_path / "dive.mp4", times=ticks)
    page = visit()
    page.open(source)
    assert page.page.is_hidden("#format")
    result, name = page.download("#save-one", tmp_path / "result.mp4")
    assert name == "dive_enhanced.mp4"
    page.message("dive_enhanced.mp4 is saved.")
    assert times(result) == times(source)
    assert sound(result) == sound(source)
    assert len(sound(source)) > 100
    before, after = clips.video_stream(source), clips.video_stream(result)
    for key in ("width", "height", "codec_name", "pix_fmt", "color_space", "color_range", "duration"):
        assert after[key] == before[key], key
    form = clips.probe(result, "-show_format")["format"]
    assert form["tags"]["title"] == "a dive"
    data = result.read_bytes()
    assert data.index(b"moov") < data.index(b"mdat")  # plays while it loads
    as_command = distance(result, wanted(source))
    untouched = distance(result, (Yuv(*frame) for frame in planes(source)))
    assert as_command < 2.0 < untouched


def test_sliders_act_on_an_export(visit, tmp_path):
    source = clip(tmp_path / "dive.mp4", 25)
    page = visit()
    page.open(source)
    page.set(strength=60, haze=0)
    result, _ = page.download("#save-one", tmp_path / "result.mp4")
    assert distance(result, wanted(source, strength=0.6, haze=0.0)) < 2.0


def test_when_it_was_made_and_how_it_is_turned_stay(visit, tmp_path):
    source = clip(tmp_path / "dive.mov", 10)
    data = bytearray(source.read_bytes())
    at = data.index(b"mvhd") + 8
    data[at : at + 4] = (3_800_000_000).to_bytes(4, "big")
    source.write_bytes(data)
    turn(source, -90)
    page = visit()
    page.open(source)
    result, name = page.download("#save-one", tmp_path / "result.mov")
    assert name == "dive_enhanced.mov"
    made = clips.probe(result, "-show_format")["format"]["tags"]["creation_time"]
    assert made == clips.probe(source, "-show_format")["format"]["tags"]["creation_time"]
    turned = [clips.video_stream(path)["side_data_list"][0]["rotation"] for path in (source, result)]
    assert turned[0] == turned[1] != 0


def test_webm_stays_webm(visit, tmp_path):
    options = {"codec": "libvpx-vp9", "options": {"cpu-used": "8", "deadline": "realtime"}, "sound": False}
    source = clip(tmp_path / "dive.webm", 25, time_base=(1, 1000), **options)
    page = visit()
    page.open(source)
    result, name = page.download("#save-one", tmp_path / "result.webm")
    assert name == "dive_enhanced.webm"
    assert clips.video_stream(result)["codec_name"] == "vp9"
    assert times(result) == times(source)


def test_it_plays_and_jumps(visit, tmp_path):
    page = visit()
    page.open(clip(tmp_path / "dive.mp4"))
    page.page.click("#player .play")
    page.page.wait_for_selector("#player[data-playing]", state="attached")
    page.page.wait_for_selector("#player:not([data-playing])")  # at its end
    assert page.page.inner_text("#player output") == "0:03 / 0:03"
    page.page.locator("#player .seek").fill("1")
    page.page.wait_for_selector("#player output:has-text('0:01 / 0:03')")
    page.message("is open.")


PAINTED = """(side) => {
    const canvas = document.querySelector(`two-up .${side}`);
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let sum = 0;
    for (let i = 0; i < data.length; i += 4)
        sum = (sum * 31 + data[i] + 7 * data[i + 1] + 13 * data[i + 2]) % 1000000007;
    return sum;
}"""


def painted(page, until):
    """What is painted on both sides, once the view has come to it."""
    for _ in range(600):
        found = [page.page.evaluate(PAINTED, side) for side in ("before", "after")]
        if until(*found):
            return found
        page.page.wait_for_timeout(50)
    raise AssertionError(f"never seen: {found}")


def test_sliders_act_on_the_frame_in_view(visit, tmp_path):
    page = visit()
    page.open(clip(tmp_path / "dive.mp4", 10))
    _, full = painted(page, lambda before, after: before != after)
    page.set(strength=0)
    painted(page, lambda before, after: before == after)
    page.page.click("#reset")
    painted(page, lambda _, after: after == full)


def test_an_export_can_be_cancelled(visit, tmp_path):
    page = visit()
    page.open(clip(tmp_path / "long.mp4", 1500, sound=False))
    page.page.click("#save-one")
    page.message("% …")
    page.page.click("#cancel")
    page.message("Cancelled.")
    assert page.page.is_hidden("#progress")
    page.open(clip(tmp_path / "dive.mp4", 10))
    page.message("dive.mp4 is open.")
    result, _ = page.download("#save-one", tmp_path / "result.mp4")
    assert len(times(result)) == 10


def test_pictures_and_videos_go_into_one_archive(visit, tmp_path):
    page = visit()
    page.open(write(tmp_path / "reef.png", scene(60, 40, 3)), clip(tmp_path / "dive.mp4", 10))
    archive, _ = page.download("#save-all", tmp_path / "all.zip")
    page.message("2 files are in enhanced.zip.")
    with zipfile.ZipFile(archive) as found:
        assert found.testzip() is None
        assert found.namelist() == ["reef_enhanced.png", "dive_enhanced.mp4"]
        found.extract("dive_enhanced.mp4", tmp_path)
    assert len(times(tmp_path / "dive_enhanced.mp4")) == 10


def test_what_this_browser_cannot_decode_is_named(visit, tmp_path):
    page = visit()
    source = clip(tmp_path / "dive.mp4", 5, codec="libx265", options=clips.HEVC)
    page.page.set_input_files("#files", str(source))
    page.message("This browser cannot decode HEVC")
    page.open(clip(tmp_path / "good.mp4", 5))


def test_hdr_is_refused(visit, tmp_path):
    options = {"codec": "libvpx-vp9", "options": {"cpu-used": "8"}, "sound": False, "tags": (1, 9, 16, 9)}
    page = visit()
    page.page.set_input_files("#files", str(clip(tmp_path / "dive.webm", 5, **options)))
    page.message("HDR video is not supported here.")


@pytest.mark.parametrize(("keep", "words"), [(400, "damaged"), (0, "empty")])
def test_damaged_videos_are_reported(visit, tmp_path, keep, words):
    source = clip(tmp_path / "dive.mp4", 5)
    source.write_bytes(source.read_bytes()[:keep])
    page = visit()
    page.page.set_input_files("#files", str(source))
    page.message(words)


def test_it_works_without_a_network(visit, tmp_path):
    page = visit()
    page.page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    for _ in range(600):  # what videos need follows when the page itself is there
        if page.page.evaluate("caches.match('mediabunny/mediabunny.mjs').then(Boolean)"):
            break
        page.page.wait_for_timeout(50)
    page.context.set_offline(True)
    page.load()
    page.open(clip(tmp_path / "dive.mp4", 10))
    result, _ = page.download("#save-one", tmp_path / "result.mp4")
    assert len(times(result)) == 10


def test_the_library_is_loaded_with_the_first_video(visit, tmp_path):
    page = visit(service_workers="block")
    page.open(write(tmp_path / "reef.png", scene(60, 40, 3)))
    assert not [url for url in page.requests if "mediabunny" in url]
    page.open(clip(tmp_path / "dive.mp4", 5))
    page.message("dive.mp4 is open.")
    assert [url for url in page.requests if "mediabunny" in url]


def test_one_thread_is_enough(visit, plain_host, tmp_path):
    source = clip(tmp_path / "dive.mp4", 10)
    page = visit(plain_host, service_workers="block")
    assert page.page.get_attribute("body", "data-ready") == "1"
    page.open(source)
    result, _ = page.download("#save-one", tmp_path / "one.mp4")
    assert distance(result, wanted(source)) < 2.0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_all_of_it(visit, axe, tmp_path, scheme):
    phone = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True, "color_scheme": scheme}
    page = visit(**phone)
    page.open(clip(tmp_path / "dive.mp4", 10))
    assert page.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.page.evaluate(axe)
    found = page.page.evaluate("axe.run().then(({ violations }) => violations)")
    assert [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")] == []


def test_a_look_of_a_frame_is_a_look(visit, tmp_path):
    page = visit()
    page.open(clip(tmp_path / "dive.mp4", 10))
    path, name = page.download("#save-look", tmp_path / "dive_enhanced.look.json")
    assert name == "dive_enhanced.look.json"
    assert Look.load(path).source.name == "dive.mp4"
