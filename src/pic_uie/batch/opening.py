"""Which store a URL means, and the package that it needs."""

from __future__ import annotations

from pic_uie.batch import buckets
from pic_uie.batch.remote import Remote, reason
from pic_uie.batch.sftp import Sftp
from pic_uie.batch.stores import Store
from pic_uie.batch.urls import Url
from pic_uie.errors import ConfigError, EnvironmentMissingError

_BUCKETS: dict[str, type[buckets.Bucket]] = {
    **dict.fromkeys(("s3", "s3a"), buckets.S3),
    **dict.fromkeys(("gs", "gcs"), buckets.Google),
    **dict.fromkeys(("az", "abfs", "abfss"), buckets.Azure),
}
_PACKAGES = {buckets.S3: "pic-uie[cloud]", buckets.Google: "gcsfs", buckets.Azure: "adlfs"}
_SFTP = ("sftp", "ssh")


def open_store(root: str) -> Store:
    """Opens the store of a URL's root.

    Raises:
        EnvironmentMissingError: A package is missing, or the store cannot be reached.
        ConfigError: The scheme is unknown.
    """
    url = Url(root, "")
    if url.scheme in _SFTP:
        try:
            return Sftp(url)
        except OSError as error:
            raise EnvironmentMissingError(f"cannot reach {url}: {reason(error)}") from error
    try:
        import fsspec
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise EnvironmentMissingError(f"{url.scheme}:// needs fsspec: pip install 'pic-uie[cloud]'") from error
    kind = _BUCKETS.get(url.scheme)
    try:
        fsspec.get_filesystem_class(url.scheme)
        file_system, base = url_to_fs(root, use_listings_cache=False)
    except ImportError as error:
        package = _PACKAGES[kind] if kind is not None else "aiohttp" if url.is_web else None
        advice = f"pip install '{package}'" if package else str(error)
        raise EnvironmentMissingError(f"{url.scheme}:// needs another package: {advice}") from error
    except ValueError as error:
        raise ConfigError(f"cannot open {url}: {reason(error)}") from error
    except Exception as error:  # a host that cannot be reached, credentials that are no good
        raise EnvironmentMissingError(f"cannot open {url}: {reason(error)}") from error
    return (kind or Remote)(file_system, str(base), url)
