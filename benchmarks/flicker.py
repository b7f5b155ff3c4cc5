"""Flicker of an enhanced video: python benchmarks/flicker.py VIDEO.

Jitter is the deviation of the frames' mean L* and b* from a smooth course: their second difference by the root of 6, in
which a straight course vanishes and independent deviations keep their size. It has no length to choose. ΔE00 is between
neighbours, the second one moved onto the first by optical flow of the source. PSNR is to the result of every frame on
its own. Behind these, jitter against means over 5, 9 and 15 frames, in multiples of the input's.
"""

import argparse
import itertools
from pathlib import Path

import cv2
import numpy as np

from pic_uie import Enhancer, _native
from pic_uie.evaluation.metrics.ciede2000 import ciede2000
from pic_uie.video import demux
from pic_uie.video.pipeline import Range, locked
from pic_uie.video.probe import probe
from pic_uie.video.temporal import Causal, ZeroPhase, describe, flatten, half_window, unflatten

COURSES = (5, 9, 15)  # frames
SMALL = (480, 270)


def rgb(frame):
    planes = (frame.y, frame.cb, frame.cr)
    y, cb, cr = (cv2.resize(plane, SMALL, interpolation=cv2.INTER_AREA).astype(np.float32) for plane in planes)
    black, luma, chroma = (0, 255, 255) if frame.full_range else (16, 219, 224)
    y, cb, cr = (y - black) / luma, (cb - 128) / chroma, (cr - 128) / chroma
    of_red, of_blue = frame.luma_weights
    red, blue = y + 2 * (1 - of_red) * cr, y + 2 * (1 - of_blue) * cb
    green = (y - of_red * red - of_blue * blue) / (1 - of_red - of_blue)
    return np.clip(np.stack([red, green, blue], -1), 0, 1)


def mean_colours(frames):
    return np.array([cv2.cvtColor(frame, cv2.COLOR_RGB2LAB).mean((0, 1)) for frame in frames])[:, [0, 2]].T  # L*, b*


def jitter(frames):
    return [float(np.std(np.diff(course, 2)) / np.sqrt(6)) for course in mean_colours(frames)]


def away_from_mean(values, frames):
    kernel = np.hanning(frames + 2)[1:-1]
    padded = np.pad(values, frames // 2, mode="reflect", reflect_type="odd")
    return float(np.std(values - np.convolve(padded, kernel / kernel.sum(), "valid")))


def flicker(frames, flows):
    long_term = [away_from_mean(course, length) for length in COURSES for course in mean_colours(frames)]
    y, x = np.mgrid[0 : SMALL[1], 0 : SMALL[0]].astype(np.float32)
    differences = []
    for first, second, flow in zip(frames, frames[1:], flows, strict=False):
        moved = cv2.remap(second, x + flow[..., 0], y + flow[..., 1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        a, b = (np.round(255 * picture).astype(np.uint8) for picture in (first, moved))
        differences.append(ciede2000(a, b))
    return np.array([*jitter(frames), np.mean(differences), *long_term])


def smoothed(own, sources, half, every):
    """θ as files have it, from predictions of every so many frames; those between are interpolated."""
    rows = np.stack([flatten(theta) for theta in own])
    known = np.unique([*range(0, len(rows), every), len(rows) - 1])
    at = np.arange(len(rows))
    rows = np.stack([np.interp(at, known, column[known]) for column in rows.T], axis=1).astype(np.float32)
    smoother = ZeroPhase(half, own[0])
    found = [t for i, s in enumerate(sources) for _, t, _ in smoother.push(i, describe(s), unflatten(rows[i], own[0]))]
    return found + [theta for _, theta, _ in smoother.flush()]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("video", type=Path)
    path = parser.parse_args().video
    clip, enhancer = probe(path), Enhancer()
    frames = list(demux.frames(clip))
    sources = [demux.planes(frame, clip) for frame in frames]
    own = [enhancer.predict(source) for source in sources]
    half = half_window(clip.rate)
    causal = Causal(float(clip.rate))
    past = [causal.push(source, theta)[0] for source, theta in zip(sources, own, strict=True)]
    one, statistics = locked(clip, enhancer, Range())
    variants = {
        "every frame its own": (own, None),
        "smooth (files)": (smoothed(own, sources, half, 1), None),
        "  every 2nd predicted": (smoothed(own, sources, half, 2), None),
        "  every 4th predicted": (smoothed(own, sources, half, 4), None),
        "  half the length": (smoothed(own, sources, half // 2, 1), None),
        "  twice the length": (smoothed(own, sources, 2 * half, 1), None),
        "causal (streams)": (past, None),
        "lock": ([one] * len(own), statistics),
    }
    before = [rgb(s) for s in sources]
    grey = [np.round(255 * cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY)).astype(np.uint8) for frame in before]
    flows = [cv2.calcOpticalFlowFarneback(a, b, None, 0.5, 4, 21, 3, 7, 1.5, 0) for a, b in itertools.pairwise(grey)]
    base = flicker(before, flows)
    scenes = np.stack([describe(source) for source in sources])
    steps = [_native.scene_distance(scenes, i - 1, i) for i in range(1, len(scenes))]
    print(f"{path.name}: {len(frames)} frames; largest step between scenes {max(steps):.4f}")
    print(f"{'':<22}{'jitter L':>10}{'jitter b':>10}{'dE00':>8}{'PSNR to own':>14}")
    print(f"{'the input itself':<22}{base[0]:>10.3f}{base[1]:>10.3f}{base[2]:>8.2f}")
    alone = None
    for name, (thetas, given) in variants.items():
        outs = [
            enhancer.execute(source, theta, statistics=given, out=source.empty_like())
            for source, theta in zip(sources, thetas, strict=True)
        ]
        pictures = [rgb(out) for out in outs]
        alone = alone or pictures
        error = np.mean([np.mean((a - b) ** 2) for a, b in zip(pictures, alone, strict=True)])
        found = flicker(pictures, flows)
        psnr = f"{-10 * np.log10(error):.1f} dB" if error else "-"
        times = found / base
        courses = "  ".join(
            f"{n}: {a:.2f} {b:.2f}" for n, (a, b) in zip(COURSES, times[3:].reshape(-1, 2), strict=True)
        )
        print(f"{name:<22}{found[0]:>10.3f}{found[1]:>10.3f}{found[2]:>8.2f}{psnr:>14}", end="  ")
        print(f"({times[0]:.2f}x, {times[1]:.2f}x, {times[2]:.2f}x)  [{courses}]", flush=True)


if __name__ == "__main__":
    main()
