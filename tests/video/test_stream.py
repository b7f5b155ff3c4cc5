"""`pic-uie stream` as a user runs it."""

import signal
import subprocess
import sys

import numpy as np
import pytest

from pic_uie import Yuv
from pic_uie.cli import exit_codes
from pic_uie.video.temporal import Causal

COMMAND = [sys.executable, "-m", "pic_uie", "stream"]
WIDTH, HEIGHT = 97, 63


def samples(pixels, frames, seed=4):
    chroma = 2 * ((WIDTH + 1) // 2) * ((HEIGHT + 1) // 2)
    size = 3 * WIDTH * HEIGHT if pixels == "rgb24" else WIDTH * HEIGHT + chroma
    rng = np.random.default_rng(seed)
    base = np.repeat(rng.integers(40, 200, size // 32 + 1), 32)[:size]
    return np.stack([np.clip(base + rng.integers(-3, 4, size), 16, 235) for _ in range(frames)]).astype(np.uint8)


def run(data, *arguments):
    return subprocess.run(
        [*COMMAND, "--size", f"{WIDTH}x{HEIGHT}", *arguments], input=bytes(data), capture_output=True, check=False
    )


def picture(frame, pixels):
    if pixels == "rgb24":
        return frame.reshape(HEIGHT, WIDTH, 3)
    return (Yuv.i420 if pixels == "yuv420p" else Yuv.nv12)(frame, WIDTH, HEIGHT, matrix="bt601")


@pytest.mark.parametrize("pixels", ["yuv420p", "nv12", "rgb24"])
def test_frames_are_those_of_the_python_interface(enhancer, pixels):
    frames = samples(pixels, 5)
    done = run(frames, "--pixels", pixels, "--rate", "25")
    assert done.returncode == 0, done.stderr
    causal = Causal(25.0)
    expected = frames.copy()
    for frame in expected:
        view = picture(frame, pixels)
        theta, _ = causal.push(view, enhancer.predict(view))
        enhancer.execute(view, theta, out=view)
    assert done.stdout == expected.tobytes()


def test_strength_0_gives_the_input(enhancer):
    frames = samples("yuv420p", 3)
    assert run(frames, "--strength", "0").stdout == frames.tobytes()


def test_groups_apply():
    frames = samples("yuv420p", 2)
    outputs = {run(frames, *options).stdout for options in ([], ["--haze", "0"], ["--balance", "0.5"])}
    assert len(outputs) == 3


def test_each_frame_comes_out_before_the_one_after_the_next_goes_in():
    frames = samples("yuv420p", 4)
    with subprocess.Popen(
        [*COMMAND, "--size", f"{WIDTH}x{HEIGHT}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as process:
        for frame in frames:
            process.stdin.write(frame.tobytes())
            got = b""
            while len(got) < frame.size:
                got += process.stdout.read(frame.size - len(got))
        process.stdin.close()
        assert process.stdout.read() == b""
    assert process.returncode == 0


@pytest.mark.parametrize("frames", [0, 2])
def test_interrupted_it_ends_quietly(frames):
    with subprocess.Popen(
        [*COMMAND, "--size", f"{WIDTH}x{HEIGHT}", "--pixels", "rgb24"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        for frame in samples("rgb24", frames + 1):  # the first one says that it runs
            process.stdin.write(frame.tobytes())
            process.stdin.flush()
            process.stdout.read(frame.size)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == exit_codes.INTERRUPTED
        assert b"Fatal" not in process.stderr.read()


def test_a_broken_pipe_ends_it_quietly():
    frames = samples("rgb24", 60)
    command = f"{' '.join(COMMAND)} --size {WIDTH}x{HEIGHT} --pixels rgb24 | head -c 1000 > /dev/null"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], input=frames.tobytes(), capture_output=True, check=False
    )
    assert done.stderr == b""


def test_frames_before_a_cut_one_are_written():
    frames = samples("yuv420p", 3)
    whole, cut = run(frames[:2]), run(frames.tobytes()[:-5])
    assert cut.returncode == 1
    assert b"ended within frame 3" in cut.stderr
    assert cut.stdout == whole.stdout


def test_a_cut_frame_is_an_error():
    done = run(samples("yuv420p", 1)[0][:-5])
    assert done.returncode == 1
    assert b"ended within frame 1" in done.stderr


@pytest.mark.parametrize("size", ["0x5", "5", "axb", "99999x2"])
def test_wrong_sizes(size):
    done = subprocess.run([*COMMAND, "--size", size], input=b"", capture_output=True, check=False)
    assert done.returncode == 2


def test_nothing_comes_in():
    done = run(b"")
    assert done.returncode == 0
    assert b"no frames" in done.stderr
