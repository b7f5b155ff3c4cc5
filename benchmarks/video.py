"""Speed and memory of videos and streams, beside what FFmpeg alone can do on the same machine.

    python benchmarks/video.py [CLIP]

The *limit* is one `ffmpeg` that decodes the source and encodes the enhanced frames with the settings of `pic-uie
enhance`: they are there beforehand as raw samples, so that all it does not do is to enhance. *Plain* is ffmpeg's own
transcode of the source, whose frames are easier to encode. All run in turn, as commands, start-up included. On a busy
machine the fastest rounds, and the least processor time, are what to trust. Without a CLIP it is dolphins.mp4 of
PIC_UIE_DATA, or else a pan over a synthetic scene.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from pic_uie import __version__
from pic_uie.video.encode import DEFAULT_CRF, DEFAULT_PRESET, KEY_SECONDS
from pic_uie.video.probe import probe

SIZES = {"1080p": (1920, 1080), "4K": (3840, 2160)}
FFMPEG = ["ffmpeg", "-v", "error", "-nostdin", "-y"]
PIC_UIE = [sys.executable, "-m", "pic_uie"]
FRAMES = {"1080p": 120, "4K": 48}  # that are enhanced beforehand; clips repeat them
Command = Sequence[str | Path]


@dataclass(frozen=True)
class Spent:
    """What a command took: seconds on the clock, seconds of all processors, and its peak memory."""

    seconds: float
    processors: float
    megabytes: float


def run(command: Command, **streams: object) -> Spent:
    """Runs a command to its end."""
    started = time.perf_counter()
    process = subprocess.Popen([str(part) for part in command], **streams)  # type: ignore[call-overload]
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"failed: {' '.join(map(str, command))}")
    return Spent(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def main() -> None:
    """Measures what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clip", type=Path, nargs="?")
    parser.add_argument("--parts", nargs="+", choices=[*SIZES, "stream", "memory"], help="what to measure (all)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=2, help="how often a clip repeats its frames")
    arguments = parser.parse_args()
    print(f"pic-uie {__version__}, {os.cpu_count()} processors, {DEFAULT_PRESET}, crf {DEFAULT_CRF['h264']}")
    parts = arguments.parts or [*SIZES, "stream", "memory"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        clip = arguments.clip or _default_clip(folder)
        for size in SIZES:
            if size in parts:
                files(clip, folder, size, arguments.rounds, arguments.repeat)
        if "stream" in parts:
            stream(clip, folder, arguments.rounds, arguments.repeat)
        if "memory" in parts:
            memory(clip, folder)


def files(clip: Path, folder: Path, size: str, rounds: int, repeat: int) -> None:
    """Prints the rate of `pic-uie enhance` beside the limit and the plain transcode."""
    once = _scaled(clip, folder, size)
    source, raw = folder / "source.mp4", folder / "enhanced.yuv"
    run([*FFMPEG, "-stream_loop", str(repeat - 1), "-i", once, "-c", "copy", source])
    run([*PIC_UIE, "enhance", once, "-o", folder / "lossless.mp4", "--crf", "0", "--preset", "ultrafast", "--quiet"])
    run([*FFMPEG, "-i", folder / "lossless.mp4", "-map", "0:v", "-f", "rawvideo", "-pix_fmt", "yuv420p", raw])
    probed = probe(source)
    encoder = ["-c:v", "libx264", "-preset", DEFAULT_PRESET, "-crf", str(DEFAULT_CRF["h264"])]
    encoder += ["-g", str(round(KEY_SECONDS * probed.rate))]
    frames_in = ["-stream_loop", str(repeat - 1), *_raw(probed.width, probed.height, probed.rate), "-i", raw]
    result = folder / "result.mp4"
    commands: dict[str, Command] = {
        "limit": [*FFMPEG, "-i", source, *frames_in, "-map", "1:v", *encoder, result, "-map", "0:v", "-f", "null", "-"],
        "pic-uie": [*PIC_UIE, "enhance", source, "-o", result, "--overwrite", "--quiet"],
        "plain": [*FFMPEG, "-i", source, "-map", "0:v", *encoder, result],
    }
    spent: dict[str, list[Spent]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            spent[name].append(run(command))
    for name, all_spent in spent.items():
        seconds = statistics.median(one.seconds for one in all_spent)
        busy = statistics.median(one.processors / one.seconds for one in all_spent)
        per_frame = 1000 * statistics.median(one.processors for one in all_spent) / probed.frames
        print(
            f"{size:<7}{name:<9}{probed.frames / seconds:7.1f} frames/s   {per_frame:6.1f} ms of processors a frame,"
            f" {busy:.2f} busy"
        )
    for name in ("limit", "plain"):
        pairs = zip(spent[name], spent["pic-uie"], strict=True)
        ratios = sorted(theirs.seconds / ours.seconds for theirs, ours in pairs)
        text = " ".join(f"{ratio:.2f}" for ratio in ratios)
        best = {who: min(one.seconds for one in spent[who]) for who in (name, "pic-uie")}
        work = {who: min(one.processors for one in spent[who]) for who in (name, "pic-uie")}
        print(
            f"{size:<7}pic-uie by {name}: {statistics.median(ratios):.2f} of its rate (rounds: {text}), fastest rounds "
            f"{best[name] / best['pic-uie']:.2f}, least processor time {work[name] / work['pic-uie']:.2f}"
        )
    for path in (raw, source, result):
        path.unlink()


def stream(clip: Path, folder: Path, rounds: int, repeat: int) -> None:
    """Prints the rate of `pic-uie stream` between a file and a reader that throws frames away."""
    width, height = SIZES["1080p"]
    raw = folder / "frames.yuv"
    run([*FFMPEG, "-i", _scaled(clip, folder, "1080p"), "-map", "0:v", "-f", "rawvideo", "-pix_fmt", "yuv420p", raw])
    size = width * height * 3 // 2
    rates, busy = [], []
    for _ in range(rounds):
        seconds, processors, count = _pump(raw, size, 2 * repeat, f"{width}x{height}")
        rates.append(count / seconds)
        busy.append(processors)
    print(
        f"stream 1080p yuv420p {statistics.median(rates):6.1f} frames/s, {statistics.median(busy):.1f} ms of processors"
        f" a frame   (rounds: {' '.join(f'{rate:.1f}' for rate in sorted(rates))})"
    )
    raw.unlink()


def _pump(raw: Path, size: int, repeat: int, shape: str) -> tuple[float, float, int]:
    """Feeds a file several times; returns seconds from the first frame out to the last, ms a frame, and the count."""
    command = [*PIC_UIE, "stream", "--size", shape]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    source, sink = process.stdin, process.stdout

    def feed() -> None:
        with source:
            for _ in range(repeat):
                with open(raw, "rb") as file:
                    while os.sendfile(source.fileno(), file.fileno(), None, size):
                        pass

    feeder = threading.Thread(target=feed)
    feeder.start()
    buffer, got, started = bytearray(1 << 20), 0, 0.0
    while read := sink.readinto(buffer):
        if got < size <= got + read:
            started = time.perf_counter()
        got += read
    seconds = time.perf_counter() - started
    feeder.join()
    _, _, usage = os.wait4(process.pid, 0)
    count = got // size
    return seconds, 1000 * (usage.ru_utime + usage.ru_stime) / count, count - 1


def memory(clip: Path, folder: Path) -> None:
    """Prints the peak memory of the command over clips of different lengths."""
    once = _scaled(clip, folder, "1080p")
    for repeat in (1, 8):
        source = folder / "long.mp4"
        run([*FFMPEG, "-stream_loop", str(repeat - 1), "-i", once, "-c", "copy", source])
        command = [*PIC_UIE, "enhance", source, "-o", folder / "result.mp4", "--overwrite", "--quiet"]
        spent = run([*command, "--preset", "ultrafast"])
        print(f"memory 1080p {probe(source).frames:6d} frames   peak {spent.megabytes:6.0f} MB")


def _scaled(clip: Path, folder: Path, size: str) -> Path:
    """The clip's first frames in a size, H.264 and without sound."""
    scaled = folder / f"{size}.mp4"
    if scaled.exists():
        return scaled
    width, height = SIZES[size]
    probed = probe(clip)
    if (probed.width, probed.height, probed.codec) == (width, height, "h264") and probed.frames <= FRAMES[size]:
        how = ["-c", "copy"]
    else:
        how = ["-frames:v", str(FRAMES[size]), "-vf", f"scale={width}:{height}:flags=lanczos"]
        how += ["-c:v", "libx264", "-preset", "veryfast", "-crf", "18", "-pix_fmt", "yuv420p"]
    run([*FFMPEG, "-i", clip, "-map", "0:v", *how, scaled])
    return scaled


def _raw(width: int, height: int, rate: Fraction) -> list[str]:
    return ["-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", f"{width}x{height}", "-r", str(rate)]


def _default_clip(folder: Path) -> Path:
    data = Path(os.environ.get("PIC_UIE_DATA", Path(__file__).parents[2] / "shared" / "data"))
    real = data / "video" / "dolphins.mp4"
    return real if real.is_file() else _synthetic(folder)


def _synthetic(folder: Path) -> Path:
    """A pan over a synthetic scene, with a little noise as of a sensor."""
    from pic_uie.synthetic import render_pair

    width, height = SIZES["1080p"]
    rng = np.random.default_rng(0)
    scene = render_pair(height + 60, width + 480, 7).input
    noise = rng.normal(0.0, 2.0, (16, height, width, 1)).astype(np.float32)
    path = folder / "synthetic.mp4"
    how = ["-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-pix_fmt", "yuv420p"]
    command = [*FFMPEG, "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", "30", "-i", "-", *how]
    with subprocess.Popen([*command, str(path)], stdin=subprocess.PIPE) as process:
        for i in range(FRAMES["1080p"]):
            top, left = 30 + round(20 * np.sin(i / 20)), 4 * i
            frame = scene[top : top + height, left : left + width] + noise[rng.integers(16)]
            process.stdin.write(np.clip(np.round(frame), 0, 255).astype(np.uint8).tobytes())
    return path


if __name__ == "__main__":
    main()
