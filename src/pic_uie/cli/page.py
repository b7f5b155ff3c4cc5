"""`pic-uie page`: serves the page on this computer, and to this computer only."""

from __future__ import annotations

import argparse
import contextlib
import errno
import http.server
import importlib.resources
import mimetypes
import webbrowser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pic_uie.cli.exit_codes import OK
from pic_uie.cli.options import port_number
from pic_uie.cli.streams import say
from pic_uie.errors import EnvironmentMissingError

ADDRESS = "127.0.0.1"
DEFAULT_PORT = 8765
CONTENT_SECURITY = (
    "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src 'self' blob:; media-src 'self' blob:; "
    "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Cross-Origin-Opener-Policy": "same-origin",  # with the next: memory shared between workers, so all cores
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": CONTENT_SECURITY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",  # asked for again each time; the page's own cache makes it work offline
}
TYPES = {".js": "text/javascript", ".wasm": "application/wasm", ".webmanifest": "application/manifest+json"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    parser.add_argument(
        "--port", type=port_number, help=f"port (default {DEFAULT_PORT}, or any free one if that is taken)"
    )
    parser.add_argument("--open", action="store_true", help="open it in the browser")


def run(arguments: argparse.Namespace) -> int:
    """Serves until Ctrl-C."""
    with _listen(find_page(), arguments.port) as server:
        address = f"http://{ADDRESS}:{server.server_port}/"
        print(address, flush=True)
        say("nothing leaves this computer; Ctrl-C ends it")
        if arguments.open:
            webbrowser.open(address)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()
    return OK


def find_page() -> Path:
    """Returns the folder of the built page: of this checkout, or what the wheel brought.

    Raises:
        EnvironmentMissingError: It was not built.
    """
    checkout = Path(__file__).parents[3]
    for folder in (checkout / "dist" / "page", *_installed()):
        if (folder / "index.html").is_file():
            return folder
    remedy = "build it: make page" if (checkout / "web").is_dir() else "install a wheel that has it: make page wheel"
    raise EnvironmentMissingError(f"this installation has no page; {remedy}")


def _installed() -> list[Path]:
    package = importlib.resources.files("pic_uie")
    places = getattr(package, "_paths", [package])  # an editable installation is spread over two folders
    return [Path(str(place)) / "page" for place in places]


class Server(http.server.ThreadingHTTPServer):
    """Serves the files that are in the folder when it starts, by their names, and nothing else."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, folder: Path, port: int) -> None:
        self.files = {
            "/" + path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()
        }
        self.files["/"] = self.files["/index.html"]
        super().__init__((ADDRESS, port), Handler)


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers GET and HEAD."""

    server: Server
    protocol_version = "HTTP/1.1"
    server_version = "pic-uie"
    sys_version = ""
    timeout = 60

    def do_GET(self) -> None:
        """Sends a file."""
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        """Sends the headers of a file."""
        self._answer(with_body=False)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Says nothing: requests are the page's own."""

    def end_headers(self) -> None:
        """Adds what every answer has."""
        for name, value in HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def _answer(self, *, with_body: bool) -> None:
        host = self.headers.get("Host", "").rsplit(":", 1)[0]
        if host not in (ADDRESS, "localhost"):  # another name that was made to point here
            self.send_error(403, "this server answers to 127.0.0.1 only")
            return
        path = self.server.files.get(unquote(urlsplit(self.path).path))
        try:
            data = path.read_bytes() if path else None
        except OSError:  # the page is being built again
            data = None
        if path is None or data is None:
            self.send_error(404)
            return
        kind = TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        self.send_response(200)
        self.send_header("Content-Type", f"{kind}; charset=utf-8" if kind.startswith("text/") else kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if with_body:
            with contextlib.suppress(ConnectionError):
                self.wfile.write(data)


def _listen(folder: Path, port: int | None) -> Server:
    try:
        return Server(folder, DEFAULT_PORT if port is None else port)
    except OSError as error:
        if error.errno == errno.EADDRINUSE and port is None:
            return Server(folder, 0)
        reason = (
            "something else listens there; give another --port" if error.errno == errno.EADDRINUSE else error.strerror
        )
        raise EnvironmentMissingError(f"cannot serve on port {port}: {reason}") from error
