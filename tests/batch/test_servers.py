"""Stores beside S3 on real servers of 127.0.0.1: SFTP, the web, Google's and Azure's; each skips where it is absent.

Those of Google and Azure ask for more than the tests' other packages (CONTRIBUTING.md has the commands).
"""

import base64
import functools
import http.server
import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

from helpers.command import enhance, make, tree
from helpers.pictures import mild_weights, reef, saved
from pic_uie import weights
from pic_uie.batch import buckets, opening, remote, sftp, stores
from pic_uie.cli import exit_codes
from pic_uie.errors import EnvironmentMissingError, ImageError
from pic_uie.files import PART_SUFFIX

NAMES = [f"{number:02d}.png" for number in range(20)] + ["day 1/ü 海/a#1.png", "day 1/50 %.png", "day 1/deep/b+c.png"]


@pytest.fixture
def survey(tmp_path, monkeypatch):
    """Pictures on a disk, one that is damaged, and what a run on the disk makes of them."""
    monkeypatch.chdir(tmp_path)
    mild_weights(tmp_path / "w.safetensors")
    monkeypatch.setattr(weights, "DEFAULT_PATH", tmp_path / "w.safetensors")
    monkeypatch.setattr(remote, "_FIRST_WAIT", 0.01)
    stores._opened.cache_clear()
    for number, name in enumerate(NAMES):
        make(tmp_path / "in" / name, pixels=reef(24, 32, seed=number))
    (tmp_path / "in/damaged.jpg").write_bytes(saved(reef(), "JPEG")[:300])
    (tmp_path / "in/notes.txt").write_text("no picture")
    assert enhance("in", "-r", "-o", "disk", "-q") == exit_codes.FAILED
    yield tmp_path
    stores._opened.cache_clear()


class Shelf:
    """A store as the tests see it: where it is, and what the command has to find or has left in it."""

    def __init__(self, root, put, read, missing):
        self.root, self.put, self.read, self.missing = root, put, read, missing


def loaded_and_run(shelf, survey):
    for name in tree(survey / "in"):
        shelf.put(f"raw/{name}", (survey / "in" / name).read_bytes())
    arguments = [f"{shelf.root}/raw", "-o", f"{shelf.root}/better"]
    expected = {name: (survey / "disk" / name).read_bytes() for name in tree(survey / "disk")}
    assert len(expected) == len(NAMES)
    return arguments, expected


def check_the_command(shelf, survey, capsys):
    """From the store to the store with the bytes of a disk; again, where everything is there; to a disk and back."""
    arguments, expected = loaded_and_run(shelf, survey)
    assert enhance(*arguments) == exit_codes.FAILED
    errors = capsys.readouterr().err
    assert "damaged.jpg: damaged JPEG" in errors
    assert f"{len(NAMES)} enhanced, 1 ignored because they are not pictures, 1 failed" in errors
    assert shelf.read("better") == expected
    assert enhance(*arguments) == exit_codes.FAILED
    assert f"0 enhanced, {len(NAMES)} skipped" in capsys.readouterr().err
    assert enhance(*arguments, "--overwrite", "-q") == exit_codes.FAILED
    assert shelf.read("better") == expected
    assert enhance(f"{shelf.root}/raw", "-o", "local/", "-q") == exit_codes.FAILED
    assert {name: Path("local", name).read_bytes() for name in tree(Path("local"))} == expected
    assert enhance("in", "-r", "-o", f"{shelf.root}/up", "-q") == exit_codes.FAILED
    assert shelf.read("up") == expected
    capsys.readouterr()
    assert enhance(f"{shelf.root}/raw/00.png", "-o", f"{shelf.root}/one", "-q") == 0
    assert shelf.read("one") == {"00.png": expected["00.png"]}
    missing = f"{shelf.missing}/raw"
    assert enhance(missing, "-o", "local/") == exit_codes.USAGE
    assert f"there is no {stores.Url.parse(missing)}" in capsys.readouterr().err


def check_the_interface(shelf):
    root = shelf.root.rpartition("/")[0] if shelf.root.count("/") > 2 else shelf.root
    below = shelf.root[len(root) + 1 :]
    store = opening.open_store(root)
    name = f"{below}/x/a.bin".lstrip("/")
    assert store.stat(name) is None
    store.put(name, b"one")
    store.put(name, b"three")
    assert store.stat(name) == 5
    assert store.read(name, None) == store.read(name, 5) == b"three"
    assert store.head(name, 2) == b"th"
    store.put(name, b"")
    assert store.head(name, 2) == store.read(name, 0) == b""
    assert store.stat(name) == 0
    with pytest.raises(ImageError, match="no such object"):
        store.read(f"{name}-missing", None)


# --- SFTP -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def sftp_server(tmp_path, monkeypatch):
    pytest.importorskip("paramiko", reason="paramiko is not installed")
    from helpers.sftp_server import SftpServer

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    root = tmp_path / "served"
    (root / "data").mkdir(parents=True)
    with SftpServer(root) as server:
        (tmp_path / ".ssh").mkdir()
        (tmp_path / ".ssh/known_hosts").write_text(server.known_host)
        yield server


def sftp_root(server, password=None):
    from helpers.sftp_server import PASSWORD, USER

    return f"sftp://{USER}:{urllib.parse.quote(password or PASSWORD, safe='')}@127.0.0.1:{server.port}"


@pytest.fixture
def sftp_shelf(sftp_server, survey):
    data, root = sftp_server.root / "data", sftp_root(sftp_server)

    def put(name, content):
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        (data / name).write_bytes(content)

    def read(folder):
        return {name: (data / folder / name).read_bytes() for name in tree(data / folder)}

    return Shelf(f"{root}/data", put, read, f"{root}/nowhere")


def test_sftp(sftp_shelf, survey, capsys, sftp_server):
    check_the_interface(sftp_shelf)
    check_the_command(sftp_shelf, survey, capsys)
    assert sftp_server.seen <= sftp.CONNECTIONS + 1  # and the one of the interface


def test_sftp_connections_that_are_cut_are_made_anew(sftp_shelf, survey, sftp_server):
    arguments, expected = loaded_and_run(sftp_shelf, survey)
    sftp_server.cut_at = range(25, 1000, 25)
    assert enhance(*arguments, "-q") == exit_codes.FAILED
    assert sftp_server.requests > 100
    assert {n: d for n, d in sftp_shelf.read("better").items() if not n.endswith(PART_SUFFIX)} == expected


def test_sftp_survives_a_cut_at_every_request(sftp_server, survey):
    data, arguments = sftp_server.root / "data", [f"{sftp_root(sftp_server)}/data/{name}" for name in ("raw", "better")]
    make(data / "raw/deep/a.png", pixels=reef(24, 32, seed=0))
    expected = (survey / "disk/00.png").read_bytes()

    def requests(cut_at):
        shutil.rmtree(data / "better", ignore_errors=True)
        stores._opened.cache_clear()
        sftp_server.requests, sftp_server.cut_at = 0, cut_at
        assert enhance(arguments[0], "-o", arguments[1], "-q") == 0, f"cut at request {cut_at}"
        assert (data / "better/deep/a.png").read_bytes() == expected
        return sftp_server.requests

    undisturbed = requests(())
    for number in range(1, undisturbed + 1):
        assert requests({number}) > number  # it was asked again


def test_sftp_links_parts_and_folders_without_permission(sftp_shelf, survey, sftp_server, capsys):
    data = sftp_server.root / "data"
    make(data / "raw/a.png")
    (data / "raw/link.png").symlink_to("a.png")
    (data / "raw/circle").symlink_to(".", target_is_directory=True)
    (data / "raw/dangling.png").symlink_to("nothing")
    old, new = (data / "better" / f".{age}{PART_SUFFIX}" for age in ("old", "new"))
    for part in (old, new):
        make(part)
    os.utime(old, (1, 1))
    assert enhance(f"{sftp_shelf.root}/raw", "-o", f"{sftp_shelf.root}/better", "-q") == 0
    assert set(sftp_shelf.read("better")) == {"a.png", "link.png", new.name}


def test_sftp_hosts_and_logins(sftp_shelf, survey, sftp_server, capsys):
    hosts = survey / ".ssh/known_hosts"
    place = f"sftp://127.0.0.1:{sftp_server.port}/"
    bad = sftp_root(sftp_server, "wrong")
    assert enhance(f"{bad}/data/raw", "-o", "local/") == exit_codes.ENVIRONMENT
    errors = capsys.readouterr().err
    assert f"{place} refuses the login" in errors
    assert "wrong" not in errors
    stores._opened.cache_clear()
    known = hosts.read_text()
    hosts.write_text("")
    assert enhance(f"{sftp_shelf.root}/raw", "-o", "local/") == exit_codes.ENVIRONMENT
    assert f"{place} is not in ~/.ssh/known_hosts" in capsys.readouterr().err
    import paramiko

    key = paramiko.ECDSAKey.generate()
    hosts.write_text(known.replace(sftp_server.key.get_base64(), key.get_base64()))
    assert enhance(f"{sftp_shelf.root}/raw", "-o", "local/") == exit_codes.ENVIRONMENT
    assert "it may be another machine" in capsys.readouterr().err
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert enhance(f"sftp://127.0.0.1:{port}/raw", "-o", "local/") == exit_codes.ENVIRONMENT
    assert f"cannot reach sftp://127.0.0.1:{port}/" in capsys.readouterr().err


# --- the web --------------------------------------------------------------------------------------------------------


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


# --- Google and Azure -----------------------------------------------------------------------------------------------


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def started(command, port, **options):
    """Starts a server, and waits until somebody listens."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, **quiet, **options)
    deadline = time.monotonic() + 120
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=2).close()
            return process
        except OSError:
            assert process.poll() is None, f"{command[0]} ended with {process.returncode}"
            assert time.monotonic() < deadline, f"{command[0]} does not start"
            time.sleep(0.1)


def filed(client, root):
    """A shelf of a bucket that fsspec's own client of the tests fills and reads."""

    def read(folder):
        base = f"{root.partition('://')[2]}/{folder}"
        return {name.removeprefix(f"{base}/"): client.cat_file(name) for name in client.find(base)}

    scheme, _, bucket = root.partition("://")
    return Shelf(root, lambda name, data: client.pipe_file(f"{bucket}/{name}", data), read, f"{scheme}://no-such-place")


@pytest.fixture
def google(survey, monkeypatch):
    monkeypatch.setenv("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")  # it would ask for more than the server knows
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    gcsfs = pytest.importorskip("gcsfs", reason="gcsfs is not installed")
    if importlib.util.find_spec("gcp_storage_emulator") is None:
        pytest.skip("gcp-storage-emulator is not installed")
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "gcp_storage_emulator",
        "start",
        "-H",
        "127.0.0.1",
        "--port",
        str(port),
        "-M",
        "-q",
    ]
    process = started(command, port)
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "tests")
    try:
        client = gcsfs.GCSFileSystem(token="anon", use_listings_cache=False, skip_instance_cache=True)  # noqa: S106
        client.mkdir("survey")
        yield filed(client, "gs://survey")
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def azure(survey, tmp_path, monkeypatch):
    adlfs = pytest.importorskip("adlfs", reason="adlfs is not installed")
    program = os.environ.get("AZURITE") or shutil.which("azurite-blob")
    if program is None:
        pytest.skip("azurite-blob is not installed, and AZURITE does not name it")
    port, key = free_port(), base64.b64encode(b"key of nobody").decode()
    account = {"AZURITE_ACCOUNTS": f"diver:{key}"}
    options = ["--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry", "--silent"]
    command = [program, "--blobHost", "127.0.0.1", "--blobPort", str(port), *options]
    process = started(command, port, env=os.environ | account, cwd=tmp_path)
    connection = f"DefaultEndpointsProtocol=http;AccountName=diver;AccountKey={key};"
    connection += f"BlobEndpoint=http://127.0.0.1:{port}/diver;"
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", connection)
    try:
        client = adlfs.AzureBlobFileSystem(connection_string=connection, use_listings_cache=False)
        client.mkdir("survey")
        yield filed(client, "az://survey")
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("kind", ["google", "azure"])
def test_buckets_of_others(kind, request, survey, capsys, monkeypatch):
    shelf = request.getfixturevalue(kind)
    monkeypatch.setattr(buckets, "PAGE", 7)  # several pages
    check_the_interface(shelf)
    check_the_command(shelf, survey, capsys)
    assert enhance("in", "-r", "-o", f"{shelf.missing}/x") == exit_codes.ENVIRONMENT
    assert "make it first" in capsys.readouterr().err


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


def test_no_paramiko(monkeypatch):
    monkeypatch.setitem(sys.modules, "paramiko", None)
    with pytest.raises(EnvironmentMissingError, match="pip install 'paramiko'"):
        opening.open_store("sftp://host")


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
