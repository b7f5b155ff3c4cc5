"""Archives: `pic-uie enhance` from bucket to bucket, here and on Ray, against the store's own limit; and memory.

    python benchmarks/archive.py                          # rates, with moto's S3 server on 127.0.0.1 and a local Ray
    python benchmarks/archive.py --memory 1000 10000      # peak memory of the command over so many small pictures
    python benchmarks/archive.py --price 0.02             # and what ten million pictures cost at so many $ a core-hour

Runs alternate, so that what else the machine does falls on all alike. Rates are those of the steady state: the reports
say when each picture was finished, and the first and the last ones are left out (start-up, the end of the queue).
The limit of the store is what the store layer alone reads and writes, with as many requests at a time.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from pic_uie import __version__, images, synthetic
from pic_uie.batch import stores, workers
from pic_uie.batch.urls import Url
from pic_uie.enhancer import default_threads

COMMAND = [sys.executable, "-m", "pic_uie", "enhance"]
WARM_UP, TAIL = 0.25, 0.9  # the share of pictures between which the steady state is
PICTURES = 10_000_000
MEASURE_MEMORY = (
    "import sys, resource; from pic_uie.cli.main import main; code = main(sys.argv[1:]); "
    "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss); sys.exit(code)"
)


class Server:
    """moto's S3 server as a process of its own."""

    def __enter__(self) -> Server:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], **quiet
        )
        address = f"http://127.0.0.1:{port}"
        os.environ.update(AWS_ACCESS_KEY_ID="x", AWS_SECRET_ACCESS_KEY="x", AWS_DEFAULT_REGION="us-east-1")  # noqa: S106
        os.environ["AWS_ENDPOINT_URL"] = address
        deadline = time.monotonic() + 120
        while True:
            try:
                urllib.request.urlopen(f"{address}/moto-api/data.json", timeout=2).close()  # noqa: S310
                return self
            except OSError:
                if time.monotonic() > deadline:
                    sys.exit("moto's server does not start")
                time.sleep(0.2)

    def __exit__(self, *_) -> None:
        self.process.kill()
        self.process.wait()


def upload(count: int, width: int, height: int) -> int:
    """Puts `count` JPEGs into the bucket `in`, of four scenes; returns the bytes of one."""
    import s3fs

    client = s3fs.S3FileSystem(use_listings_cache=False)
    for bucket in ("archive-in", "archive-out"):
        if not client.exists(bucket):
            client.mkdir(bucket)
    scene = synthetic.render_pair(height, width, seed=0).input
    turned = (scene, scene[::-1], scene[:, ::-1], scene[::-1, ::-1])
    files = [images.encode(images.Picture(np.ascontiguousarray(one)), file_format="jpeg", quality=92) for one in turned]
    store = stores.of(Url("s3://archive-in", ""))  # which tries again where a busy machine keeps it waiting
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: store.put(f"raw/{n:06d}.jpg", files[n % 4]), range(count)))
    return len(files[0])


def command(output: str, report: Path, *options: str) -> float:
    """Runs the command; returns pictures per second of its steady state."""
    arguments = [
        "s3://archive-in/raw",
        "-o",
        f"s3://archive-out/{output}",
        "--overwrite",
        "-q",
        "--report",
        str(report),
    ]
    subprocess.run([*COMMAND, *arguments, *options], check=True)
    times = sorted(json.loads(line)["finished"] for line in report.read_text().splitlines())
    first, last = int(WARM_UP * len(times)), int(TAIL * len(times)) - 1
    return (last - first) / (times[last] - times[first])


def transfer(count: int) -> float:
    """Objects per second that the store layer alone reads and writes."""
    source, target = (stores.of(Url(f"s3://archive-{where}", "")) for where in ("in", "out"))

    def one(number: int) -> None:
        target.put(f"copies/{number}.jpg", source.read(f"raw/{number:06d}.jpg", None))

    started = time.perf_counter()
    with ThreadPoolExecutor(default_threads() + workers.WAITING_FOR_STORE) as pool:
        list(pool.map(one, range(count)))
    return count / (time.perf_counter() - started)


def rates(arguments: argparse.Namespace, folder: Path) -> None:
    size = upload(arguments.count, *arguments.size)
    width, height = arguments.size
    print(f"{arguments.count} JPEGs of {width} x {height}, {size / 1e6:.2f} MB each; {arguments.rounds} rounds")
    try:
        import ray
    except ImportError:
        ray = None
        print("ray is not installed: its rate is left out")
    if ray is not None:
        os.environ.setdefault("RAY_worker_niceness", "0")  # as the command runs; Ray's default is 15
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        os.environ["RAY_ADDRESS"] = ray.get_runtime_context().gcs_address
    here, on_ray, copied = [], [], []
    for number in range(arguments.rounds):
        here.append(command("here", folder / "here.jsonl", "--jobs", "2"))
        if ray is not None:
            on_ray.append(command("ray", folder / "ray.jsonl", "--on", "ray"))
        copied.append(transfer(arguments.count))
        beside = f", Ray {on_ray[-1]:.2f}/s" if on_ray else ""
        print(f"round {number + 1}: here {here[-1]:.2f}/s{beside}, the store alone {copied[-1]:.2f}/s", flush=True)
    rate, limit = statistics.median(here), statistics.median(copied)
    print(f"{'this machine, 2 at a time':<28}{rate:7.2f} pictures/s")
    if on_ray:
        ratio = statistics.median(b / a for a, b in zip(here, on_ray, strict=True))
        print(f"{'Ray, 2 workers':<28}{statistics.median(on_ray):7.2f} pictures/s, {ratio:.2f} of this machine")
    print(f"{'the store alone':<28}{limit:7.2f} pictures/s; the command reaches {100 * rate / limit:.0f} %")
    hours = PICTURES * 2 / rate / 3600
    print(
        f"{PICTURES:,} such pictures at this rate: {hours:,.0f} core-hours, "
        f"{hours * arguments.price:,.0f} $ at {arguments.price} $ a core-hour"
    )


def memory(counts: list[int]) -> None:
    """Prints the peak memory of the command over small pictures, for each count."""
    for count in counts:
        upload(count, 320, 240)
        arguments = ["enhance", "s3://archive-in/raw", "-o", f"s3://archive-out/{count}", "--overwrite", "-q"]
        started = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", MEASURE_MEMORY, *arguments], check=True, capture_output=True, text=True
        )
        seconds = time.perf_counter() - started
        print(f"{count:>8} pictures of 320 x 240: {int(done.stdout) / 1024:.0f} MB at most, {count / seconds:.1f}/s")


def size(text: str) -> tuple[int, int]:
    width, _, height = text.partition("x")
    return int(width), int(height)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=96)
    parser.add_argument("--size", type=size, default=(4000, 3000))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--price", type=float, default=0.02, help="of a core-hour, in $")
    parser.add_argument("--memory", type=int, nargs="+", metavar="N", help="measure memory instead, over so many")
    arguments = parser.parse_args()
    print(f"pic-uie {__version__}, Python {platform.python_version()}, {platform.machine()}, {default_threads()} cores")
    with tempfile.TemporaryDirectory() as folder, Server():
        if arguments.memory:
            memory(arguments.memory)
        else:
            rates(arguments, Path(folder))


if __name__ == "__main__":
    main()
