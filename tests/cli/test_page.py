"""`pic-uie page`: its own files, to this computer, with the headers that the page needs; nothing else."""

import http.client
import threading

import pytest

from helpers.command import exit_code
from pic_uie.cli import page
from pic_uie.cli.exit_codes import ENVIRONMENT, USAGE


@pytest.fixture
def server(tmp_path):
    folder = tmp_path / "page"
    (folder / "worker").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html>")
    (folder / "worker" / "core.js").write_text("export {};")
    (folder / "pic_uie.wasm").write_bytes(b"\0asm")
    (tmp_path / "secret").write_text("secret")
    with page.Server(folder, 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def ask(server, path, method="GET", host=None):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    connection.request(method, path, headers={"Host": host} if host else {})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/worker/core.js?x=1", "text/javascript; charset=utf-8"),
        ("/pic_uie.wasm", "application/wasm"),
    ],
)
def test_its_files_with_its_headers(server, path, kind):
    answer, body = ask(server, path)
    assert answer.status == 200
    assert answer.headers["Content-Type"] == kind
    assert len(body) == int(answer.headers["Content-Length"])
    assert answer.headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert answer.headers["Cross-Origin-Embedder-Policy"] == "require-corp"
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'self';")
    assert answer.headers["Cache-Control"] == "no-cache"
    head, nothing = ask(server, path, "HEAD")
    assert (head.status, nothing) == (200, b"")


@pytest.mark.parametrize("path", ["/../secret", "/%2e%2e/secret", "/worker/", "/worker", "/nothing.js", "//etc/passwd"])
def test_nothing_else(server, path):
    answer, body = ask(server, path)
    assert answer.status == 404
    assert b"secret" not in body


def test_other_names_and_methods_are_refused(server):
    assert ask(server, "/", host="evil.example")[0].status == 403
    assert ask(server, "/", host=f"localhost:{server.server_port}")[0].status == 200
    assert ask(server, "/", "POST")[0].status == 501


def test_it_listens_on_this_computer_alone(server):
    assert server.server_address[0] == "127.0.0.1"


def test_what_is_wrong_is_said(server, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(page, "find_page", lambda: tmp_path / "page")
    assert exit_code(["page", "--port", server.server_port]) == ENVIRONMENT
    assert "give another --port" in capsys.readouterr().err
    assert exit_code(["page", "--port", "70000"]) == USAGE


def test_without_a_page(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(page.importlib.resources, "files", lambda name: tmp_path)
    monkeypatch.setattr(page, "__file__", str(tmp_path / "src" / "pic_uie" / "cli" / "page.py"))
    assert exit_code(["page"]) == ENVIRONMENT
    assert "has no page" in capsys.readouterr().err
