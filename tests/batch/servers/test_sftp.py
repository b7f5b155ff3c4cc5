"""SFTP: a server by paramiko."""

import os
import shutil
import socket
import sys
import urllib.parse

import pytest

from helpers.command import enhance, make, tree
from helpers.pictures import reef
from helpers.shelves import Shelf, check_the_command, check_the_interface, forget_stores, loaded_and_run
from pic_uie.batch import opening, sftp
from pic_uie.cli import exit_codes
from pic_uie.errors import EnvironmentMissingError
from pic_uie.files import PART_SUFFIX


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
        forget_stores()
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
    forget_stores()
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


def test_no_paramiko(monkeypatch):
    monkeypatch.setitem(sys.modules, "paramiko", None)
    with pytest.raises(EnvironmentMissingError, match="pip install 'paramiko'"):
        opening.open_store("sftp://host")
