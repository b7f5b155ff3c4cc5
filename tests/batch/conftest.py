"""A real HTTP S3 interface on 127.0.0.1, behind a proxy that can be made to misbehave."""

import os
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

from helpers.faulty_proxy import FaultyProxy

ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "AKIDNOTLOGGED",
    "AWS_SECRET_ACCESS_KEY": "secret-not-logged",  # of a server that takes anything
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@pytest.fixture(scope="session")
def s3_server():
    """The server's port."""
    pytest.importorskip("moto", reason="moto is not installed")
    pytest.importorskip("flask", reason="moto's server is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while True:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/moto-api/data.json", timeout=2).close()
            break
        except OSError:
            assert time.monotonic() < deadline, "moto's server does not start"
            time.sleep(0.1)
    yield port
    process.kill()
    process.wait()


@pytest.fixture(scope="session")
def s3_proxy(s3_server):
    with FaultyProxy(s3_server) as proxy:
        environment = ENVIRONMENT | {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{proxy.port}"}
        before = {name: os.environ.get(name) for name in environment}
        os.environ.update(environment)
        yield proxy
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)


@pytest.fixture
def s3(s3_proxy):
    """A client for the tests' own use, two empty buckets, and a well-behaved server."""
    s3fs = pytest.importorskip("s3fs", reason="s3fs is not installed")
    s3_proxy.behave()
    client = s3fs.S3FileSystem(use_listings_cache=False)
    for bucket in ("survey-in", "survey-out"):
        if client.exists(bucket):
            names = client.find(bucket)
            if names:
                client.rm(names)
        else:
            client.mkdir(bucket)
    client.proxy = s3_proxy
    yield client
    s3_proxy.behave()


@pytest.fixture
def contents(s3):
    """What is in a bucket."""

    def read(prefix):
        return {name.removeprefix(f"{prefix}/"): s3.cat_file(name) for name in s3.find(prefix)}

    return read
