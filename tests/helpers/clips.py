"""Clips made in code, and what other programs see in them."""

import json
import shutil
import subprocess
from fractions import Fraction

import numpy as np
import pytest

av = pytest.importorskip("av", reason="PyAV is not installed: pip install 'pic-uie[video]'")

FFPROBE = shutil.which("ffprobe")
FFMPEG = shutil.which("ffmpeg")
EXIFTOOL = shutil.which("exiftool")
needs_ffmpeg = pytest.mark.skipif(not (FFMPEG and FFPROBE), reason="ffmpeg and ffprobe are not installed")
needs_exiftool = pytest.mark.skipif(not EXIFTOOL, reason="exiftool is not installed")
HEVC = {"preset": "ultrafast", "x265-params": "log-level=none"}


def scene(kind, index, width, height, bits=8):
    """Planes of a bluish scene that drifts; `kind` chooses another one."""
    rng = np.random.default_rng(kind)
    top = (1 << bits) - 1
    y, x = np.mgrid[0:height, 0:width] / max(width, height)
    base = rng.uniform(0.2, 0.7)
    waves = sum(
        rng.uniform(0.05, 0.15) * np.sin(rng.uniform(4, 20) * (x + 0.01 * index) + rng.uniform(4, 20) * y)
        for _ in range(4)
    )
    luma = np.clip(base + waves, 0.07, 0.9) * top
    half = (slice(None, None, 2), slice(None, None, 2))
    cb = (0.5 + rng.uniform(0.02, 0.16) + 0.03 * waves[half]) * top
    cr = (0.5 - rng.uniform(0.02, 0.16) + 0.02 * waves[half]) * top
    return [np.round(plane).astype(np.uint8 if bits == 8 else np.uint16) for plane in (luma, cb, cr)]


def frame_of(planes, pixel_format):
    height, width = planes[0].shape
    frame = av.VideoFrame(width, height, pixel_format)
    for plane, samples in zip(frame.planes, planes, strict=True):
        memory = np.frombuffer(plane, np.uint8).reshape(plane.height, plane.line_size)
        memory[:, : samples.shape[1] * samples.itemsize] = samples.view(np.uint8).reshape(samples.shape[0], -1)
    return frame


def write(
    path,
    frames=40,
    width=96,
    height=64,
    *,
    times=None,
    time_base=(1, 600),
    codec="libx264",
    pixel_format="yuv420p",
    bits=8,
    sound=True,
    tags=None,
    options=None,
    container=None,
    draw=None,
):
    """Writes a clip; `times` are ticks of `time_base` (25 frames a second by default)."""
    base = Fraction(*time_base)
    times = times or [round(i / 25 / base) for i in range(frames)]
    draw = draw or (lambda index: scene(1, index, width, height, bits))
    with av.open(str(path), "w", options=container or {}) as out:
        video = out.add_stream(codec, rate=25, options=options or {"preset": "ultrafast", "crf": "10"})
        video.width, video.height, video.pix_fmt = width, height, pixel_format
        context = video.codec_context
        context.time_base = base
        if tags:
            context.color_range, context.color_primaries, context.color_trc, context.colorspace = tags
        audio = out.add_stream("aac", rate=48000) if sound else None
        out.metadata["title"] = "a dive"
        for index, time in enumerate(times):
            frame = frame_of(draw(index), pixel_format)
            frame.pts, frame.time_base = time, base
            out.mux(video.encode(frame))
        out.mux(video.encode(None))
        if audio is not None:
            write_sound(out, audio, float(times[-1] * base) + 0.04)
    return path


def write_sound(out, audio, seconds):
    for block in range(int(seconds * 48000) // 1024 + 1):
        t = (np.arange(1024) + 1024 * block) / 48000
        samples = (0.2 * np.sin(2 * np.pi * 440 * t)).astype(np.float32)
        frame = av.AudioFrame.from_ndarray(samples[None], format="fltp", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = 48000, 1024 * block, Fraction(1, 48000)
        out.mux(audio.encode(frame))
    out.mux(audio.encode(None))


def probe(path, *arguments):
    command = [FFPROBE, "-v", "error", "-of", "json", *arguments, str(path)]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def frame_times(path, stream="v:0"):
    """When ffprobe says that the frames of a video are shown, in ticks."""
    found = probe(path, "-select_streams", str(stream), "-show_entries", "frame=best_effort_timestamp")
    return [int(frame["best_effort_timestamp"]) for frame in found["frames"]]


def video_stream(path):
    return probe(path, "-select_streams", "v:0", "-show_streams")["streams"][0]


def streams(path):
    return probe(path, "-show_streams")["streams"]


def packet_hashes(path, index):
    """Time and content of the packets of a stream."""
    what = ("-show_packets", "-show_entries", "packet=pts,dts,data_hash", "-show_data_hash", "md5")
    found = probe(path, "-select_streams", str(index), *what)
    return [(packet.get("pts"), packet.get("dts"), packet["data_hash"]) for packet in found["packets"]]


def exif(path):
    """What exiftool sees, the numbers that follow from the size of the file apart."""
    text = subprocess.run([EXIFTOOL, "-j", "-a", "-G1", "-n", str(path)], capture_output=True, check=True).stdout
    of_size = ("MediaDataSize", "MediaDataOffset", "AvgBitrate", "MaxBitrate", "AverageBitrate", "BufferSize")
    return {
        key: value
        for key, value in json.loads(text)[0].items()
        if not key.startswith(("System:", "SourceFile")) and not key.endswith(of_size)
    }


def decoded(path):
    """All frames as RGB."""
    with av.open(str(path)) as container:
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


def luma(path):
    """The luma of all frames."""
    with av.open(str(path)) as container:
        return [
            np.frombuffer(frame.planes[0], np.uint8).reshape(frame.height, -1)[:, : frame.width].copy()
            for frame in container.decode(video=0)
        ]
