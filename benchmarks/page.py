"""How large the page is, and how fast: Chromium beside the native baseline set, interleaved in one run.

    make page && python benchmarks/page.py [--rounds 9] [--sizes 1280x853,1920x1080,4000x3000]

Chromium predicts and executes RGBA pixels that are in the core's memory already, on as many threads as the page starts;
the native side does the same on as many and on one. "step" is what a slider costs on a view of that size: the groups
are scaled, the picture is executed. "frame" is a planar frame of that size: predicted, smoothed, executed. Times are
the best of all rounds. Last comes the page as people use it: from a slider that moves to the new picture at hand, on a
view of 1,280 pixels.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Page, sync_playwright

import pic_uie
from pic_uie import Enhancer

PAGE = Path(__file__).parents[1] / "dist" / "page"
RUN = """([width, height]) => new Promise((resolve, reject) => {
    window.answer = (data) => data.error ? reject(new Error(data.error)) : resolve(data);
    window.timing.postMessage([width, height]);
})"""
WORKER = """
import { Core } from "./worker/core.js";
const core = await Core.load();
postMessage({ threads: core.threads });
onmessage = ({ data: [width, height] }) => {
    const picture = { at: core.allocate(4 * width * height), width, height, channels: 4 };
    const bytes = core.bytes(picture.at, 4 * width * height);
    for (let i = 0; i < bytes.length; ++i) bytes[i] = i % 4 === 3 ? 255 : (i * 7 + (i >> 9) * 3) & 255;
    core.reserve(width, height);
    const out = core.allocate(4 * width * height);
    let start = performance.now();
    const theta = core.predict(picture);
    const statistics = core.measure(picture, theta);
    core.execute(picture, theta, statistics, out, 1);
    const whole = performance.now() - start;
    start = performance.now();
    const scaled = core.scale(theta, { haze: 0.5, contrast: 0.5, colour: 0.5, balance: 0.5 });
    core.execute(picture, scaled, statistics, out, 1);
    const step = performance.now() - start;
    const [w, h] = [(width + 1) >> 1, (height + 1) >> 1];
    const planes = { y: 0, cb: width * height, cr: width * height + w * h, yStride: width, chromaStride: w };
    Object.assign(planes, { chromaStep: 1, matrix: 1, fullRange: false });
    const frame = { at: picture.at, width, height, planes };
    const filter = core.startFilter(30);
    start = performance.now();
    core.execute(frame, core.smooth(filter, frame, core.predict(frame)), null, out, 1);
    const film = performance.now() - start;
    core.native.end_filter(filter);
    core.release(picture.at);
    core.release(out);
    postMessage({ whole, step, frame: film });
};
"""
SLIDE = """async () => {
    const viewer = document.getElementById("viewer"), slider = document.getElementById("haze");
    const show = viewer.setAfter.bind(viewer);
    const times = [];
    for (let i = 0; i < 30; ++i) {
        const start = performance.now();
        const shown = new Promise((resolve) => {
            viewer.setAfter = (bitmap) => (show(bitmap), resolve(performance.now() - start));
        });
        slider.value = String(99 - 3 * i);
        slider.oninput();
        times.push(await shown);
        await new Promise((resolve) => setTimeout(resolve, 40));
    }
    return times;
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--sizes", default="1280x853,1920x1080,4000x3000")
    arguments = parser.parse_args()
    print_sizes()
    command = [sys.executable, "-m", "pic_uie", "page", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_page()
            address = server.stdout.readline().strip()
            script = {"body": WORKER, "content_type": "text/javascript"}
            headers = {"Cross-Origin-Embedder-Policy": "require-corp"}
            page.context.route("**/timing.js", lambda route: route.fulfill(**script, headers=headers))
            page.goto(address)
            page.wait_for_selector("body[data-ready]")
            threads = page.evaluate(
                """() => new Promise((resolve) => {
                    window.timing = new Worker("timing.js", { type: "module" });
                    window.timing.onmessage = ({ data }) => data.threads ? resolve(data.threads) : window.answer(data);
                })"""
            )
            measure(page, threads, arguments)
            slide(page)
            browser.close()
    finally:
        server.terminate()


def print_sizes() -> None:
    """Every file of the page, as it is and gzipped."""
    total = 0
    for path in sorted(path for path in PAGE.rglob("*") if path.is_file()):
        data = path.read_bytes()
        total += (zipped := len(gzip.compress(data, mtime=0)))
        print(f"{path.relative_to(PAGE).as_posix():<32}{len(data):>9}{zipped:>9}")
    library = len(gzip.compress((PAGE / "mediabunny" / "mediabunny.mjs").read_bytes(), mtime=0))
    print(f"{'together, gzipped':<41}{total:>9}, of it {library} for video\n")


def measure(page: Page, threads: int, arguments: argparse.Namespace) -> None:
    enhancer = Enhancer(instruction_set="baseline")
    print(f"pic-uie {pic_uie.__version__}; Chromium on {threads} thread(s), best of {arguments.rounds}, milliseconds")
    print(f"{'size':<12}{'Chromium':>10}{'native':>10}{'native, 1 thread':>18}{'ratio':>8}{'step':>8}{'frame':>8}")
    for size in arguments.sizes.split(","):
        width, height = (int(part) for part in size.split("x"))
        pixels = picture(width, height)
        best = {"whole": np.inf, "step": np.inf, "frame": np.inf, "native": np.inf, "one": np.inf}
        for _ in range(arguments.rounds):
            found = page.evaluate(RUN, [width, height])
            found["native"], found["one"] = native(enhancer, pixels, threads), native(enhancer, pixels, 1)
            best = {name: min(best[name], found[name]) for name in best}
        ratio = best["whole"] / best["native"]
        columns = f"{best['whole']:10.1f}{best['native']:10.1f}{best['one']:18.1f}{ratio:7.2f}x"
        print(f"{size:<12}{columns}{best['step']:8.1f}{best['frame']:8.1f}", flush=True)


def slide(page: Page) -> None:
    """What a step of a slider takes on the page itself, with a picture that is larger than its view."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.jpg"
        Image.fromarray(picture(4000, 2666)[..., :3]).save(path)
        page.set_input_files("#files", str(path))
        page.wait_for_selector("#status:has-text('is open.')", timeout=120_000)
    times = page.evaluate(SLIDE)
    middle, most = np.quantile(times, [0.5, 0.9])
    print(f"a step of a slider, seen: median {middle:.1f}, 90 % below {most:.1f} milliseconds")


def picture(width: int, height: int) -> np.ndarray:
    i = np.arange(4 * width * height, dtype=np.int64)
    return np.where(i % 4 == 3, 255, (i * 7 + (i >> 9) * 3) & 255).astype(np.uint8).reshape(height, width, 4)


def native(enhancer: Enhancer, pixels: np.ndarray, threads: int) -> float:
    out = np.empty_like(pixels)
    start = time.perf_counter()
    theta = enhancer.predict(pixels, threads=threads)
    statistics = enhancer.measure(pixels, theta, threads=threads)
    enhancer.execute(pixels, theta, statistics=statistics, out=out, threads=threads)
    return (time.perf_counter() - start) * 1e3


if __name__ == "__main__":
    main()
