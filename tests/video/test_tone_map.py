"""HDR → SDR: the curve as it is documented, real HDR files in, true SDR files out."""

import struct

import numpy as np
import pytest
from PIL import Image

from helpers import clips
from helpers.clips import av, needs_ffmpeg
from pic_uie.cli.main import main
from pic_uie.errors import VideoError
from pic_uie.video import tone_map
from pic_uie.video.boxes import Node, box, read_layout
from pic_uie.video.convert import VideoSettings, enhance_video
from pic_uie.video.pipeline import Treatment
from pic_uie.video.samples import VISUAL_HEADER, entries, entry_boxes
from pic_uie.video.tone_map import HLG, PQ

MASTERING = "master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,1)"
HDR10 = {"preset": "ultrafast", "x265-params": f"log-level=none:hdr10=1:{MASTERING}:max-cll=1000,400:crf=4"}
TAGS = {"PQ": (1, 9, PQ, 9), "HLG": (1, 9, HLG, 9)}
PATCHES = 8


def grey(code):
    return np.full((1, 3), code)


def patches(codes, colour=(512, 512), width=256, height=64):
    """A frame of upright stripes of 10-bit luma."""
    luma = np.repeat(np.round(64 + 876 * np.asarray(codes)), width // len(codes)).astype(np.uint16)
    chroma = np.ones((height // 2, width // 2), np.uint16)
    return [np.repeat(luma[None], height, 0), chroma * colour[0], chroma * colour[1]]


def write(path, kind, draw, options=clips.HEVC, frames=6):
    return clips.write(
        path, frames, 256, 64, codec="libx265", pixel_format="yuv420p10le", bits=10, tags=TAGS[kind], options=options,
        draw=draw,
    )  # fmt: skip


def convert(source, enhancer, **settings):
    output = source.with_name(f"sdr{source.suffix}")
    settings = {"tone_map": True, "treatment": Treatment(strength=0.0), "crf": 2, "preset": "ultrafast", **settings}
    return output, enhance_video(source, output, enhancer, VideoSettings(**settings))


def stripes(path):
    """Means of the stripes of the first frame, as 10-bit luma and chroma."""
    with av.open(str(path)) as container:
        frame = next(container.decode(video=0))
    assert frame.format.name == "yuv420p10le"
    found = []
    for plane, width in zip(frame.planes, (256, 128, 128), strict=True):
        samples = np.frombuffer(plane, "<u2").reshape(plane.height, -1)[:, :width]
        middle = samples.reshape(plane.height, PATCHES, -1)
        found.append(middle[8:-8, :, 4:-4].mean((0, 2)))
    return found


def test_pq_and_hlg_are_those_of_bt_2100():
    assert tone_map.pq_light(np.array([0.0, 0.5081, 0.5807, 0.7518, 1.0])) == pytest.approx(
        [0.0, 100.0, 203.0, 1000.0, 10_000.0], rel=2e-3, abs=1e-9
    )
    codes = np.linspace(0, 1, 200)
    assert np.allclose(tone_map.pq_code(tone_map.pq_light(codes)), codes, atol=1e-6)
    assert tone_map.hlg_light(grey(0.75))[0] == pytest.approx([203.0] * 3, rel=2e-3)  # reference white of BT.2408
    assert tone_map.hlg_light(grey(1.0))[0] == pytest.approx([1000.0] * 3, rel=1e-3)


def test_the_curve_is_the_documented_one():
    light = np.geomspace(1e-3, 10_000, 4000)
    mapped = tone_map.curve(light)
    assert (np.diff(mapped) >= -1e-9).all()
    assert mapped[light <= 87] == pytest.approx(light[light <= 87], rel=1e-6)
    assert (mapped <= light + 1e-9).all()
    assert mapped.max() == pytest.approx(tone_map.WHITE)
    assert tone_map.curve(np.array([203.0, 1000.0])) == pytest.approx([159.0, 203.0], rel=1e-3)


@pytest.mark.parametrize("transfer", [PQ, HLG])
def test_greys_rise_and_stay_grey(transfer):
    codes = np.linspace(0, 1, 300)
    mapped = tone_map.to_sdr(np.repeat(codes[:, None], 3, axis=1), transfer)
    assert np.abs(mapped - mapped[:, :1]).max() < 1e-3
    assert (np.diff(mapped[:, 0]) >= 0).all()
    assert mapped[0, 0] == 0.0
    assert mapped[-1, 0] == pytest.approx(1.0)


@pytest.mark.parametrize("transfer", [PQ, HLG])
def test_colours_keep_their_hue(transfer):
    """Light of the result is the source's with grey added or taken away: hue on a chromaticity diagram stays."""
    rng = np.random.default_rng(5)
    codes = rng.uniform(0, 0.75, (5000, 3))
    light = tone_map.pq_light(codes) if transfer == PQ else tone_map.hlg_light(codes)
    wanted = light @ np.array([[1.6605, -0.5876, -0.0728], [-0.1246, 1.1329, -0.0083], [-0.0182, -0.1006, 1.1187]]).T
    wanted /= light.max(1, keepdims=True)
    result = tone_map.to_sdr(codes, transfer) ** 2.4
    a, b = (x - (x @ np.array([0.2126, 0.7152, 0.0722]))[:, None] for x in (wanted, result))
    colourful = (np.linalg.norm(a, axis=1) > 0.02) & (np.linalg.norm(b, axis=1) > 0.002)
    cosine = (a * b).sum(1) / np.maximum(np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1), 1e-12)
    assert colourful.sum() > 2000
    assert cosine[colourful].min() > 0.9999


def test_colours_of_sdr_below_the_bend_come_back_as_they_were():
    sdr = np.random.default_rng(6).uniform(0, 0.7, (2000, 3))  # 0.7 is 86 cd/m²
    to_709 = np.array([[1.6605, -0.5876, -0.0728], [-0.1246, 1.1329, -0.0083], [-0.0182, -0.1006, 1.1187]])
    hdr = tone_map.pq_code(tone_map.WHITE * sdr**2.4 @ np.linalg.inv(to_709).T)
    assert np.abs(tone_map.to_sdr(hdr, PQ) - sdr).max() < 0.02
    assert np.abs(tone_map.to_sdr(hdr, PQ) - sdr).mean() < 1e-4


@needs_ffmpeg
@pytest.mark.parametrize("kind", ["PQ", "HLG"])
def test_a_file_lands_where_the_curve_says(tmp_path, enhancer, kind):
    """Mid-grey, reference white and others, through decoder, table, engine and encoder."""
    transfer = TAGS[kind][2]
    grey_light, white = 0.18 * tone_map.WHITE, tone_map.WHITE
    special = tone_map.pq_code(np.array([grey_light, white])) if kind == "PQ" else np.array([0.42, 0.75])
    codes = np.sort([0.0, 0.1, 0.25, *special, 0.65, 0.85, 1.0])
    source = write(tmp_path / "hdr.mp4", kind, lambda index: patches(codes), {**HDR10, "crf": "2"})
    output, report = convert(source, enhancer)
    luma, cb, cr = stripes(output)
    wanted = 64 + 876 * tone_map.to_sdr(np.repeat(codes[:, None], 3, axis=1), transfer)[:, 0]
    assert np.abs(luma - wanted).max() < 5  # of 1023
    assert (np.diff(luma) >= -0.5).all()
    assert np.abs(np.concatenate([cb, cr]) - 512).max() < 2
    if kind == "PQ":
        mid_grey = int(np.argmin(np.abs(codes - special[0])))
        assert (luma[mid_grey] - 64) / 876 == pytest.approx(0.18 ** (1 / 2.4), abs=0.005)
    found = clips.video_stream(output)
    names = [found[f"color_{name}"] for name in ("range", "space", "transfer", "primaries")]
    assert names == ["tv", "bt709", "bt709", "bt709"]
    assert found["pix_fmt"] == "yuv420p10le"
    assert clips.frame_times(output) == clips.frame_times(source)
    assert clips.packet_hashes(output, 1) == clips.packet_hashes(source, 1)
    assert f"HDR ({'PQ (HDR10)' if kind == 'PQ' else 'HLG'}) becomes SDR (BT.709)" in report.notes


@needs_ffmpeg
@pytest.mark.parametrize("suffix", [".mp4", ".mov", ".mkv"])
def test_no_hdr_metadata_is_left_behind(tmp_path, enhancer, suffix):
    source = write(tmp_path / f"hdr{suffix}", "PQ", lambda index: clips.scene(1, index, 256, 64, 10), HDR10)
    if suffix != ".mkv":
        light = box(b"clli", struct.pack(">HH", 1000, 400))
        _add_boxes(source, light, box(b"dvvC", bytes(24)), box(b"mdcv", bytes(24)))
    assert "side_data_list" in _frame(source)
    output, report = convert(source, enhancer, treatment=Treatment())
    assert any("HDR metadata" in note and "light levels" in note and "mastering" in note for note in report.notes)
    found = clips.video_stream(output)
    assert (found["color_transfer"], found["color_space"], found["color_primaries"]) == ("bt709", "bt709", "bt709")
    assert not {"Mastering display metadata", "Content light level metadata", "DOVI configuration record"} & {
        data["side_data_type"] for part in (found, _frame(output)) for data in part.get("side_data_list", [])
    }
    if suffix != ".mkv":
        boxes = [b[4:8] for b in entry_boxes(_entry(output)[VISUAL_HEADER:])]
        assert boxes.count(b"colr") == 1
        assert not set(boxes) & {b"mdcv", b"clli", b"dvvC", b"dvcC"}


def test_without_the_option_hdr_is_refused(tmp_path, enhancer):
    source = write(tmp_path / "hdr.mp4", "HLG", lambda index: patches(np.linspace(0, 1, PATCHES)))
    with pytest.raises(VideoError, match=r"HDR \(HLG\).*--tone-map"):
        convert(source, enhancer, tone_map=False)
    assert not list(tmp_path.glob("sdr*"))


def test_sdr_is_not_touched_by_the_option(tmp_path, enhancer):
    source = clips.write(tmp_path / "dive.mp4", tags=(1, 1, 1, 1))
    plain, mapped = tmp_path / "plain.mp4", tmp_path / "mapped.mp4"
    for output, chosen in ((plain, False), (mapped, True)):
        report = enhance_video(source, output, enhancer, VideoSettings(tone_map=chosen))
        assert report.notes == ()
    assert plain.read_bytes() == mapped.read_bytes()


def _frame(path):
    return clips.probe(path, "-select_streams", "v:0", "-show_frames", "-read_intervals", "%+#1")["frames"][0]


def _entry(path):
    return entries(read_layout(path).moov.all(b"trak")[0])[0]


def _add_boxes(path, *extra):
    """Puts boxes into the sample entry of the video; the index is at the end, so that no offset changes."""
    data, layout = path.read_bytes(), read_layout(path)
    place = next(place for place in layout.places if place.name == b"moov")
    assert place.end == len(data)
    moov: Node = layout.moov
    stsd = moov.all(b"trak")[0].at(b"mdia", b"minf", b"stbl", b"stsd")
    entry = stsd.data[8:] + b"".join(extra)
    stsd.data = stsd.data[:8] + struct.pack(">I", len(entry)) + entry[4:]
    path.write_bytes(data[: place.start] + moov.to_bytes())


@pytest.mark.parametrize(
    "command",
    [
        "enhance pq.mp4 --temporal lock --save-look --preset ultrafast -q -o out.mp4",
        "enhance reef.png --look pq.mp4 -q -o out.png",
        "enhance pq.mp4 reef.png --same-look --preset ultrafast -q -o out",
        "inspect pq.mp4 -o sheet.png",
    ],
)
def test_the_look_of_hdr_is_that_of_its_sdr(tmp_path, monkeypatch, capsys, command):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "pq.mp4", "PQ", lambda i: patches(np.linspace(0.1, 0.6, PATCHES)))
    Image.fromarray(np.full((64, 96, 3), (30, 90, 120), np.uint8)).save("reef.png")
    assert main(command.split()) == 1
    assert "--tone-map makes SDR of it" in capsys.readouterr().err
    assert main([*command.split(), "--tone-map", "--overwrite"]) == 0
