"""Stores behind fsspec: what fails for a moment is retried, what fails for good is reported in plain words."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from pic_uie.batch import stores
from pic_uie.batch.urls import Url
from pic_uie.errors import ConfigError, EnvironmentMissingError, ImageError, PicUieError
from pic_uie.files import PART_SUFFIX
from pic_uie.writing import UnwritableError

T = TypeVar("T")

# 46 to 92 seconds of waiting in all: a store recovers from a burst in less, and a person does not wonder yet.
_ATTEMPTS, _FIRST_WAIT, _LONGEST_WAIT = 9, 0.5, 30.0
_FIRST_ATTEMPTS = 3  # to reach a store that never answered: a wrong address is likelier than trouble
_NOT_REACHED = ("EndpointConnectionError", "ConnectTimeoutError", "ClientConnectorError", "NoValidConnectionsError")
_PERMANENT: tuple[type[Exception], ...] = (
    *(FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError),
    *(NotImplementedError, ValueError, TypeError, PicUieError),
)
_USELESS = (errno.EINVAL, errno.ENOSPC, errno.EDQUOT, errno.EROFS)  # to try again
_BUSY = (408, 425, 429)  # of the errors that HTTP calls the caller's, those that pass
_STALE_SECONDS = 24 * 3600  # nobody writes one result for a day
_NO_CREDENTIALS = ("NoCredentialsError", "PartialCredentialsError", "ProfileNotFound", "DefaultCredentialsError")


class Remote:
    """Any file system of fsspec."""

    is_sorted = False
    writes_whole = False  # whether one request makes a whole object appear

    def __init__(self, file_system: Any, base: str, url: Url) -> None:
        self._file_system, self._base, self._url = file_system, base.rstrip("/"), url
        self._has_answered = False

    @property
    def _fs(self) -> Any:
        return self._file_system

    def list(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Yields name and size of every object below a prefix, folder by folder."""
        if prefix and self._retrying(lambda: self._info(prefix)).get("type") != "directory":
            return  # an object by itself
        todo = [self._path(prefix)]
        while todo:
            folder = todo.pop()
            entries = self._retrying(lambda folder=folder: self._fs.ls(folder, detail=True))  # type: ignore[misc]
            for entry in sorted(entries, key=lambda entry: str(entry["name"])):
                path = str(entry["name"]).rstrip("/")
                if entry.get("type") == "directory":
                    if path != folder.rstrip("/"):
                        todo.append(path)
                else:
                    yield self._name(path), int(entry.get("size") or 0)

    def stat(self, name: str) -> int | None:
        """Returns the size of an object (0 where the store does not say); None if there is none."""
        try:
            info = self._retrying(lambda: self._info(name))
        except FileNotFoundError:
            return None
        except PermissionError as error:
            raise ImageError(
                f"no permission to look at {self._shown(name)}; --overwrite writes results without looking"
            ) from error
        return None if info.get("type") == "directory" else int(info.get("size") or 0)

    def read(self, name: str, size: int | None) -> bytes:
        """Returns an object."""
        return self._reading(name, lambda: self._read(name, size))

    def head(self, name: str, size: int) -> bytes:
        """Returns the first bytes of an object."""
        return self._reading(name, lambda: self._range(name, size))[:size]

    def put(self, name: str, data: bytes) -> None:
        """Makes an object appear in one step: by one request, or under another name that is changed at the end."""
        if self._url.is_web:
            raise UnwritableError(f"{self._url.scheme}:// can be read only; write results elsewhere")
        path = self._path(name)
        try:
            if self.writes_whole:
                self._retrying(lambda: self._fs.pipe_file(path, data))
            else:
                self._retrying(lambda: self._put_and_rename(path, data))
        except FileNotFoundError as error:
            raise UnwritableError(f"cannot write {self._shown(name)}: no such bucket or folder") from error
        except PermissionError as error:
            raise UnwritableError(f"cannot write {self._shown(name)}: no permission to write there") from error
        except OSError as error:
            kind = UnwritableError if error.errno in _USELESS[1:] else ImageError
            raise kind(f"cannot write {self._shown(name)}: {reason(error)}") from error

    def delete_parts(self, folder: str) -> int:
        """Removes parts that are a day old: no lock says here whether somebody is writing them."""
        if self.writes_whole or self._url.is_web:
            return 0
        try:
            return self._retrying(lambda: self._delete_parts(self._path(folder)))
        except (OSError, NotImplementedError):
            return 0

    def check_output(self) -> None:
        """Finds out before any work starts whether there is a bucket at all.

        Raises:
            EnvironmentMissingError: There is none, or it cannot be looked at for want of credentials.
        """
        if self._url.is_web:
            raise ConfigError(f"{self._url.scheme}:// can be read only; write results elsewhere with -o")

    def _delete_parts(self, folder: str) -> int:
        removed = 0
        for entry in self._fs.ls(folder, detail=True):
            changed = entry.get("mtime") or entry.get("created")
            seconds = changed.timestamp() if hasattr(changed, "timestamp") else changed
            is_part = str(entry["name"]).endswith(PART_SUFFIX)
            if is_part and isinstance(seconds, int | float) and time.time() - seconds > _STALE_SECONDS:
                self._fs.rm_file(entry["name"])
                removed += 1
        return removed

    def _info(self, name: str) -> dict[str, Any]:
        return dict(self._fs.info(self._path(name)))

    def _read(self, name: str, size: int | None) -> bytes:
        return bytes(self._fs.cat_file(self._path(name)))

    def _range(self, name: str, size: int) -> bytes:
        try:
            return bytes(self._fs.cat_file(self._path(name), start=0, end=size))
        except Exception as error:
            if getattr(error, "errno", None) != errno.EINVAL and _status(error) != 416:
                raise
            return bytes(self._fs.cat_file(self._path(name)))  # an empty object has no first byte to ask for

    def _put_and_rename(self, path: str, data: bytes) -> None:
        folder, _, _ = path.rpartition("/")
        if folder:
            self._fs.makedirs(folder, exist_ok=True)
        part = f"{folder}/.{os.urandom(8).hex()}{PART_SUFFIX}"
        try:
            self._fs.pipe_file(part, data)
            self._fs.mv(part, path)
        except BaseException:
            with contextlib.suppress(Exception):  # it was never there, or the store is gone: a later run removes it
                self._fs.rm_file(part)
            raise

    def _reading(self, name: str, call: Callable[[], bytes]) -> bytes:
        try:
            return bytes(self._retrying(call))
        except FileNotFoundError as error:
            raise ImageError("no such object; if it was listed, it was deleted since") from error
        except PermissionError as error:
            raise ImageError("no permission to read it") from error
        except OSError as error:
            raise ImageError(f"cannot be read from the store: {reason(error)}") from error

    def _retrying(self, call: Callable[[], T]) -> T:
        """Calls, and calls again after a growing, partly random pause while the store has trouble.

        Raises:
            OSError: The store's last error, or its first where retrying is no use.
            EnvironmentMissingError: There are no credentials.
        """
        for attempt in range(_ATTEMPTS):
            try:
                result = self._once(call)
                self._has_answered = True
                return result
            except _PERMANENT:
                raise
            except Exception as error:
                _raise_refusal(error)
                if type(error).__name__ in _NO_CREDENTIALS:
                    raise EnvironmentMissingError(
                        f"no credentials for {self._url.scheme}://; set them as its own tools take them "
                        "(environment variables, a profile or a role)"
                    ) from error
                attempts = _ATTEMPTS if self._has_answered or not _is_unreachable(error) else _FIRST_ATTEMPTS
                if attempt >= attempts - 1:
                    raise OSError(errno.EIO, f"{reason(error)} ({attempts} attempts)") from error
            wait = min(_LONGEST_WAIT, _FIRST_WAIT * 2**attempt)
            wait *= random.uniform(0.5, 1.0)  # noqa: S311 (so that not all come back at once)
            if stores.interrupted.wait(wait):
                raise OSError(errno.EINTR, "interrupted")
        raise AssertionError

    def _once(self, call: Callable[[], T]) -> T:
        return call()

    def _path(self, name: str) -> str:
        return f"{self._base}/{name}".rstrip("/") if self._base else name

    def _name(self, path: str) -> str:
        return path.removeprefix(self._base).lstrip("/") if self._base else path

    def _shown(self, name: str) -> str:
        return str(Url(self._url.root, name))


def _raise_refusal(error: Exception) -> None:
    """Raises an error that no retry would mend.

    Raises:
        FileNotFoundError: 404.
        PermissionError: 401 or 403.
        OSError: Any other request that the store will never accept.
    """
    if getattr(error, "errno", None) in _USELESS:
        raise error
    status = _status(error)
    if status == 404:
        raise FileNotFoundError(errno.ENOENT, reason(error)) from error
    if status in (401, 403) or str(error).startswith("Forbidden"):  # gcsfs says it with this word
        raise PermissionError(errno.EACCES, reason(error)) from error
    if 400 <= status < 500 and status not in _BUSY:
        raise OSError(errno.EINVAL, reason(error)) from error


def _is_unreachable(error: Exception) -> bool:
    return isinstance(error, ConnectionRefusedError | socket.gaierror) or type(error).__name__ in _NOT_REACHED


def _status(error: Exception) -> int:
    """Returns HTTP's status, by whatever name a package gives it; 0 if there is none."""
    values = (getattr(error, name, None) for name in ("status", "status_code", "code"))
    return next((value for value in values if isinstance(value, int)), 0)


def reason(error: BaseException) -> str:
    """Returns a store's message in one line, without the addresses that it may quote."""
    words = getattr(error, "strerror", None) or str(error) or type(error).__name__
    line = " ".join(str(words).strip().partition("\n")[0].split())
    return " ".join(word for word in line.split(" ") if "://" not in word)[:200].rstrip(" :")
