"""An SFTP server on 127.0.0.1 for a folder of the tests, by paramiko's own server half."""

import errno
import os
import socket
import threading
from pathlib import Path

import paramiko

USER, PASSWORD = "diver", "p@ss/word"


class SftpServer:
    """Serves `root` as the root of its files; counts connections and requests, and can cut all connections."""

    def __init__(self, root):
        self.root, self.key, self.connections, self.seen = Path(root), paramiko.ECDSAKey.generate(), [], 0
        self.requests, self.cut_at = 0, ()  # logins count as requests
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]

    @property
    def known_host(self):
        """The line of a file known_hosts."""
        return f"[127.0.0.1]:{self.port} {self.key.get_name()} {self.key.get_base64()}\n"

    def cut(self):
        """Ends every connection, as a server that is started anew does."""
        for transport in self.connections:
            transport.close()

    def request(self):
        """Counts a request; those with a number in `cut_at` find every connection cut."""
        self.requests += 1
        if self.requests in self.cut_at:
            self.cut()
            raise ConnectionResetError(errno.ECONNRESET, "cut")

    def __enter__(self):
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.socket.close()
        self.cut()

    def _serve(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.seen += 1
            transport = paramiko.Transport(connection)
            transport.add_server_key(self.key)
            transport.set_subsystem_handler("sftp", paramiko.SFTPServer, _Files, self)
            transport.start_server(threading.Event(), _Door(self))
            self.connections.append(transport)


class _Door(paramiko.ServerInterface):
    def __init__(self, server):
        self.server = server

    def check_auth_password(self, username, password):
        self.server.request()
        return paramiko.AUTH_SUCCESSFUL if (username, password) == (USER, PASSWORD) else paramiko.AUTH_FAILED

    def check_channel_request(self, kind, chanid):
        return paramiko.OPEN_SUCCEEDED


def _answered(method):
    """Turns what the disk says into what the protocol says."""

    def answer(self, *arguments):
        try:
            self.server.request()
            return method(self, *arguments)
        except OSError as error:
            return paramiko.SFTPServer.convert_errno(error.errno)

    return answer


class _Files(paramiko.SFTPServerInterface):
    def __init__(self, channel, server):
        self.server, self.root = server, server.root

    def _at(self, path):
        return self.root / path.lstrip("/")

    @_answered
    def list_folder(self, path):
        return [paramiko.SFTPAttributes.from_stat(one.lstat(), one.name) for one in self._at(path).iterdir()]

    @_answered
    def stat(self, path):
        return paramiko.SFTPAttributes.from_stat(self._at(path).stat())

    @_answered
    def lstat(self, path):
        return paramiko.SFTPAttributes.from_stat(self._at(path).lstat())

    @_answered
    def open(self, path, flags, attr):
        descriptor = os.open(self._at(path), flags, 0o644)
        handle = paramiko.SFTPHandle(flags)
        handle.readfile = handle.writefile = os.fdopen(descriptor, "wb" if flags & os.O_WRONLY else "rb")
        handle.stat = lambda: paramiko.SFTPAttributes.from_stat(os.fstat(descriptor))
        return handle

    @_answered
    def remove(self, path):
        self._at(path).unlink()
        return paramiko.SFTP_OK

    @_answered
    def posix_rename(self, oldpath, newpath):
        self._at(oldpath).replace(self._at(newpath))
        return paramiko.SFTP_OK

    @_answered
    def mkdir(self, path, attr):
        self._at(path).mkdir()
        return paramiko.SFTP_OK
