"""How soon `pic-uie enhance` starts on a bucket of a million objects, and what their listing needs of memory.

    python benchmarks/listing.py                          # 20,000 and 1,000,000 objects
    python benchmarks/listing.py 1000 50000

The store is a small server on 127.0.0.1 that speaks as much of S3 as the command asks for, and makes up names as they
are listed: it answers a page of 1000 at once, which a real store does in some tenths of a second. For each number
  the command is started until its first result has arrived, and is then interrupted;
  it is run to the end on a share of about 200 pictures, for which it reads the whole listing.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from pic_uie import __version__, images, synthetic
from pic_uie.enhancer import default_threads

PAGE = 1000
SHARE = 200  # pictures of the run to the end
ENTRY = "<Contents><Key>raw/{:08d}.jpg</Key><Size>{}</Size></Contents>"
LIST = (
    '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
    "<IsTruncated>{}</IsTruncated>{}</ListBucketResult>"
)
MEASURE_MEMORY = (
    "import sys, resource; from pic_uie.cli.main import main; code = main(sys.argv[1:]); "
    "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss); sys.exit(code)"
)


class Store(BaseHTTPRequestHandler):
    """A bucket `in` with `count` copies of one picture, and a bucket `out` that forgets what it gets."""

    protocol_version = "HTTP/1.1"
    count, picture = 0, b""
    pages, results, first = 0, 0, threading.Event()

    def do_GET(self) -> None:
        url = urllib.parse.urlsplit(self.path)
        if "list-type" in url.query:
            self.reply(self.listed(url.path, urllib.parse.parse_qs(url.query)))
            return
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        part = self.picture[int(asked[1]) : int(asked[2]) + 1] if asked else self.picture
        self.reply(part, 206 if asked else 200)

    def listed(self, path: str, query: dict[str, list[str]]) -> bytes:
        if not path.startswith("/in"):
            return LIST.format("false", "").encode()
        Store.pages += 1
        start = int(query.get("continuation-token", ["0"])[0])
        end = min(self.count, start + int(query["max-keys"][0]))
        entries = "".join(ENTRY.format(number, len(self.picture)) for number in range(start, end))
        more = end < self.count
        following = f"<NextContinuationToken>{end}</NextContinuationToken>" if more else ""
        return LIST.format("true" if more else "false", following + entries).encode()

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        Store.results += 1
        self.first.set()
        self.reply(b"")

    def reply(self, body: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"0"')
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    """Says nothing of clients that are interrupted."""

    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        pass


def measure(count: int) -> None:
    """Prints both measurements for a bucket of so many objects."""
    Store.count, Store.pages = count, 0
    arguments = ["enhance", "s3://in/raw", "-o", "s3://out/better", "-q"]
    Store.first.clear()
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "pic_uie", *arguments], stderr=subprocess.DEVNULL)
    Store.first.wait()
    seconds, pages = time.perf_counter() - started, Store.pages
    process.send_signal(signal.SIGINT)
    process.wait()
    Store.results = 0
    share = ["--shard", f"1/{max(1, count // SHARE)}"]
    command = [sys.executable, "-c", MEASURE_MEMORY, *arguments, *share]
    started = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    print(
        f"{count:>9,} objects: first result after {seconds:.1f} s (start-up included), {pages} of "
        f"{-(-count // PAGE):,} pages listed by then; the whole listing with a share of {Store.results} pictures: "
        f"{int(done.stdout) / 1024:.0f} MB at most, {time.perf_counter() - started:.0f} s",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("counts", type=int, nargs="*", default=[20_000, 1_000_000])
    arguments = parser.parse_args()
    print(f"pic-uie {__version__}, Python {platform.python_version()}, {platform.machine()}, {default_threads()} cores")
    Store.picture = images.encode(images.Picture(synthetic.render_pair(240, 320, seed=0).input), file_format="jpeg")
    server = Server(("127.0.0.1", 0), Store)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ.update(AWS_ACCESS_KEY_ID="x", AWS_SECRET_ACCESS_KEY="x", AWS_DEFAULT_REGION="us-east-1")  # noqa: S106
    os.environ["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{server.server_address[1]}"
    for count in arguments.counts:
        measure(count)
    server.shutdown()


if __name__ == "__main__":
    main()
