"""SFTP: a few connections, since one of paramiko's serves one thread at a time, and is of no use once it was lost."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import threading
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from pic_uie.batch.remote import Remote, reason
from pic_uie.batch.urls import Url
from pic_uie.errors import EnvironmentMissingError

T = TypeVar("T")

CONNECTIONS = 8  # from ten on, OpenSSH turns some away that knock at the same time
_SECONDS = 30.0  # to wait for a server that says nothing
_LOST_AT_LOGIN = {"EOF", "timeout"}  # paramiko calls a connection that breaks here a failed login as well
_KNOWN_HOSTS = "/etc/ssh/ssh_known_hosts"


class Sftp(Remote):
    """Files of another machine; names are those from its root."""

    def __init__(self, url: Url) -> None:
        super().__init__(None, "", url)
        self._free = threading.Semaphore(CONNECTIONS)
        self._idle: list[_Connection] = []
        self._current = threading.local()
        self._retrying(lambda: None)  # what cannot be reached is reported before any work starts

    @property
    def _fs(self) -> Any:
        return self._current.connection

    def _once(self, call: Callable[[], T]) -> T:
        """Calls with a connection of the thread's own for the time; one that failed is not used again."""
        with self._free:
            connection = self._current.connection = self._idle_one() or _connect(self._url)
            try:
                result = call()
            except (FileNotFoundError, PermissionError):
                self._idle.append(connection)
                raise
            except BaseException:
                connection.close()
                raise
            self._idle.append(connection)
            return result

    def _idle_one(self) -> _Connection | None:
        with contextlib.suppress(IndexError):  # another thread was faster
            while self._idle:
                connection = self._idle.pop()
                if connection.is_alive:
                    return connection
                connection.close()
        return None

    def _path(self, name: str) -> str:
        return f"/{name}"

    def _name(self, path: str) -> str:
        return path.lstrip("/")


class _Connection:
    """What is asked of a file system, by a client of paramiko's."""

    def __init__(self, client: Any) -> None:
        self._client, self._files, self._folders = client, client.open_sftp(), set[str]()
        self._files.get_channel().settimeout(_SECONDS)

    @property
    def is_alive(self) -> bool:
        transport = self._client.get_transport()
        return transport is not None and bool(transport.is_active())

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self._client.close()

    def ls(self, folder: str, detail: bool) -> list[dict[str, Any]]:
        """Returns the entries of a folder; a link counts as the file that it leads to."""
        found = []
        for entry in self._files.listdir_attr(folder):
            path = f"{folder.rstrip('/')}/{entry.filename}"
            if stat.S_ISLNK(entry.st_mode):
                try:
                    entry = self._files.stat(path)
                except FileNotFoundError:
                    continue
                if stat.S_ISDIR(entry.st_mode):
                    continue  # it may lead in a circle
            if stat.S_ISDIR(entry.st_mode) or stat.S_ISREG(entry.st_mode):
                found.append(_described(entry) | {"name": path})
        return found

    def info(self, path: str) -> dict[str, Any]:
        return _described(self._files.stat(path))

    def cat_file(self, path: str, start: int = 0, end: int | None = None) -> bytes:
        if end is None:
            content = io.BytesIO()
            self._files.getfo(path, content)  # asks for all of it at once, and compares the size
            return content.getvalue()
        with self._files.open(path, "rb") as file:
            file.seek(start)
            return bytes(file.read(end - start))

    def pipe_file(self, path: str, data: bytes) -> None:
        self._files.putfo(io.BytesIO(data), path)  # compares the size

    def makedirs(self, folder: str, exist_ok: bool) -> None:
        if folder in self._folders:
            return
        try:
            self._files.stat(folder)
        except FileNotFoundError:
            self.makedirs(folder.rpartition("/")[0] or "/", exist_ok)
            try:
                self._files.mkdir(folder)
            except OSError:  # another one made it
                self._files.stat(folder)
        self._folders.add(folder)

    def mv(self, old: str, new: str) -> None:
        try:
            self._files.posix_rename(old, new)
        except (FileNotFoundError, PermissionError):
            raise
        except OSError:  # a server that does not know how to replace a file
            self._files.rename(old, new)

    def rm_file(self, path: str) -> None:
        self._files.remove(path)


def _described(entry: Any) -> dict[str, Any]:
    kind = "directory" if stat.S_ISDIR(entry.st_mode) else "file"
    return {"type": kind, "size": entry.st_size, "mtime": entry.st_mtime}


def _connect(url: Url) -> _Connection:
    """Connects as ssh does: keys of the agent and of ~/.ssh or a password in the URL, and known hosts only.

    Raises:
        EnvironmentMissingError: No paramiko, an unknown host, or a login that is refused.
        OSError: Trouble of the network.
    """
    try:
        import paramiko
    except ImportError as error:
        raise EnvironmentMissingError(f"{url.scheme}:// needs another package: pip install 'paramiko'") from error
    parts = urlsplit(url.root)
    client = paramiko.SSHClient()
    for path in (os.path.expanduser("~/.ssh/known_hosts"), _KNOWN_HOSTS):
        with contextlib.suppress(OSError):
            client.load_system_host_keys(path)
    client.set_missing_host_key_policy(paramiko.RejectPolicy())
    name, password = (unquote(text) if text else None for text in (parts.username, parts.password))
    waits = {"timeout": _SECONDS, "banner_timeout": _SECONDS, "auth_timeout": _SECONDS}
    try:
        client.connect(str(parts.hostname), parts.port or 22, name, password, **waits)
        return _Connection(client)
    except paramiko.AuthenticationException as error:
        if _LOST_AT_LOGIN.intersection(str(error).rstrip(".").split()):
            raise OSError(reason(error)) from error
        raise EnvironmentMissingError(
            f"{url} refuses the login; give a user in the URL, and a key to ssh-agent or in ~/.ssh"
        ) from error
    except paramiko.BadHostKeyException as error:
        raise EnvironmentMissingError(
            f"{url} shows another key than the one in ~/.ssh/known_hosts: it may be another machine; "
            "ask its administrator"
        ) from error
    except (paramiko.SSHException, EOFError) as error:
        if "known_hosts" in str(error):
            raise EnvironmentMissingError(
                f"{url} is not in ~/.ssh/known_hosts; connect to it with ssh once, and check its key"
            ) from error
        raise OSError(reason(error)) from error
