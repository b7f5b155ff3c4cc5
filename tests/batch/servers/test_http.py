"""The web: a plain server, read only."""

import functools
import http.server
import threading
import urllib.parse
from pathlib import Path

import pytest

from helpers.command import enhance, make, tree
from helpers.shelves import NAMES
from pic_uie.batch import remote, stores
from pic_uie.cli import exit_codes
from pic_uie.errors import ImageError


class Web(http.server.SimpleHTTPRequestHandler):
    """A plain web server that refuses some, and is busy at first with others."""

    busy: set[str]

    def do_GET(self):
        self.answer(super().do_GET)

    def do_HEAD(self):
        self.answer(super().do_HEAD)

    def answer(self, as_usual):
        if "secret" in self.path:
            self.send_error(403)
        elif "busy" in self.path and self.path not in self.busy:
            self.busy.add(self.path)
            self.send_error(503)
        else:
            as_usual()

    def log_message(self, *_):
        pass


@pytest.fixture
def web(survey):
    pytest.importorskip("aiohttp", reason="aiohttp is not installed")
    handler = functools.partial(type("Handler", (Web,), {"busy": set()}), directory=survey / "in")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_the_web(web, survey, capsys):
    make(survey / "in/busy.png")
    make(survey / "in/secret.png")
    names = [*NAMES, "busy.png", "damaged.jpg", "secret.png", "gone.png"]
    Path("urls.txt").write_text("".join(f"{web}/{urllib.parse.quote(name)}?signature=hidden\n" for name in names))
    assert enhance("@urls.txt", "-o", "web/", "--report", "r.jsonl") == exit_codes.FAILED
    errors = capsys.readouterr().err + Path("r.jsonl").read_text()
    assert "hidden" not in errors
    for words in ("damaged.jpg: damaged JPEG", "secret.png: no permission to read it", "gone.png: no such object"):
        assert words in errors
    found = {urllib.parse.unquote(name): Path("web", name).read_bytes() for name in tree(Path("web"))}
    expected = {name: (survey / "disk" / name).read_bytes() for name in tree(survey / "disk")}
    assert found.pop("busy.png")
    assert found == expected
    assert enhance(f"{web}/00.png", "-o", "one/", "-q") == 0
    assert Path("one/00.png").read_bytes() == expected["00.png"]
    assert enhance("in", "-r", "-o", f"{web}/better") == exit_codes.USAGE
    assert "http:// can be read only; write results elsewhere" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError("Forbidden: https://host/b\nno access"), "no permission to read it"),  # as gcsfs says it
        (type("HttpResponseError", (Exception,), {"status_code": 403})(), "no permission to read it"),
        (type("ResourceNotFoundError", (Exception,), {"status_code": 404})(), "no such object"),
        (type("ClientResponseError", (Exception,), {"status": 410})("gone"), "cannot be read from the store: gone"),
    ],
)
def test_what_http_refuses_is_not_tried_again(error, words):
    class Refusing:
        calls = 0

        def cat_file(self, path):
            self.calls += 1
            raise error

    refusing = Refusing()
    with pytest.raises(ImageError, match=words):
        remote.Remote(refusing, "", stores.Url("gs://x", "")).read("a", None)
    assert refusing.calls == 1


def test_a_store_that_never_answered_is_given_up_sooner(monkeypatch):
    monkeypatch.setattr(remote, "_FIRST_WAIT", 0.0)

    class Unreachable:
        calls = 0

        def cat_file(self, path):
            self.calls += 1
            if self.calls != 4:
                raise ConnectionRefusedError(111, "Connection refused")
            return b"here"

    unreachable = Unreachable()
    store = remote.Remote(unreachable, "", stores.Url("gs://x", ""))
    with pytest.raises(ImageError, match=r"Connection refused \(3 attempts\)"):
        store.read("a", None)
    assert store.read("a", None) == b"here"
    with pytest.raises(ImageError, match=r"Connection refused \(9 attempts\)"):
        store.read("a", None)
