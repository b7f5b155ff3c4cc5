"""Names of objects in stores: `scheme://bucket/folder/reef.jpg`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pic_uie.errors import ConfigError

_URL = re.compile(r"([a-z][a-z0-9+.-]*)://([^/]*)/*(.*)", re.IGNORECASE | re.DOTALL)
_WEB = ("http", "https")


@dataclass(frozen=True, order=True)
class Url:
    """An object, or a folder of objects.

    Attributes:
        root: Scheme and bucket or host, such as s3://survey; may hold credentials, and is not for messages.
        name: The name in there, as it is; folders have no slash at their end.
    """

    root: str
    name: str

    @classmethod
    def parse(cls, text: str) -> Url:
        """Takes a URL apart.

        Raises:
            ConfigError: No URL, or one without a bucket or host.
        """
        match = _URL.fullmatch(text)
        if match is None or not match[2]:
            raise ConfigError(f"{text!r} names no bucket or host; write scheme://bucket/folder")
        return cls(f"{match[1].lower()}://{match[2]}", match[3].rstrip("/"))

    @property
    def scheme(self) -> str:
        """What is in front of ://."""
        return self.root.partition("://")[0]

    @property
    def is_web(self) -> bool:
        """Whether it can be read only, and one object at a time."""
        return self.scheme in _WEB

    @property
    def file_name(self) -> str:
        """The last part of the name, without the query of a web address."""
        return self.plain_name.rpartition("/")[2]

    @property
    def folder(self) -> Url:
        """What the object is in."""
        return Url(self.root, self.name.rpartition("/")[0])

    @property
    def plain_name(self) -> str:
        """The name without the query of a web address, which may hold a signature."""
        return self.name.partition("?")[0] if self.is_web else self.name

    def child(self, relative: str) -> Url:
        """Returns what is below this folder."""
        return Url(self.root, f"{self.name}/{relative}" if self.name else relative)

    def with_name(self, file_name: str) -> Url:
        """Returns another object of the same folder."""
        return self.folder.child(file_name)

    def holds(self, other: Url) -> bool:
        """Returns whether `other` is this folder or lies in it."""
        inside = not self.name or other.name == self.name or other.name.startswith(f"{self.name}/")
        return self.root == other.root and inside

    def __str__(self) -> str:
        scheme, _, host = self.root.partition("://")
        return f"{scheme}://{host.rpartition('@')[2]}/{self.plain_name}"


def is_url(text: str) -> bool:
    """Returns whether this is a URL, not a path."""
    return _URL.fullmatch(text) is not None
