"""Google's and Azure's stores, which ask for more than the tests' other packages (CONTRIBUTING.md has the commands)."""

import base64
import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import time

import pytest

from helpers.command import enhance
from helpers.shelves import Shelf, check_the_command, check_the_interface
from pic_uie.batch import buckets
from pic_uie.cli import exit_codes


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
