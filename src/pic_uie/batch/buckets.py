"""Object stores: listed page by page, in the order of names where they say so, and written by one request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pic_uie.batch.remote import Remote, reason
from pic_uie.errors import EnvironmentMissingError

PAGE = 1000  # objects of one answer to a listing, the most that S3 gives

_Page = tuple[list[tuple[str, int]], str | None]  # names and sizes, and what to ask for the next one with


class Bucket(Remote):
    """A store where an object appears whole by one request, and a listing comes in pages."""

    writes_whole = True
    noun = "bucket"

    def list(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Yields name and size of every object below a prefix, as the pages come."""
        folder, token = f"{prefix}/" if prefix else "", None
        while True:
            found, token = self._retrying(lambda token=token: self._page(folder, token, PAGE))  # type: ignore[misc]
            yield from found
            if not token:
                return

    def check_output(self) -> None:
        """Lists one object of the bucket.

        Raises:
            EnvironmentMissingError: There is no bucket, or it cannot be reached, or there are no credentials.
        """
        try:
            self._retrying(lambda: self._page("", None, 1))
        except FileNotFoundError as error:
            raise EnvironmentMissingError(f"there is no {self.noun} {self._url}; make it first") from error
        except PermissionError:
            return  # who may write need not be allowed to list
        except OSError as error:
            raise EnvironmentMissingError(f"cannot reach {self._url}: {reason(error)}") from error

    def _page(self, folder: str, token: str | None, count: int) -> _Page:
        raise NotImplementedError


class S3(Bucket):
    """S3 and what speaks like it; read with one request."""

    is_sorted = True

    def _page(self, folder: str, token: str | None, count: int) -> _Page:
        following = {} if token is None else {"ContinuationToken": token}
        page = self._fs.call_s3("list_objects_v2", Bucket=self._base, Prefix=folder, MaxKeys=count, **following)
        found = [(str(entry["Key"]), int(entry["Size"])) for entry in page.get("Contents", ())]
        return found, page["NextContinuationToken"] if page.get("IsTruncated") else None

    def _info(self, name: str) -> dict[str, Any]:
        found = self._fs.call_s3("head_object", Bucket=self._base, Key=name)  # one request: `info` lists as well
        return {"size": found["ContentLength"]}

    def _read(self, name: str, size: int | None) -> bytes:
        if size:  # one request instead of two; one byte more shows that the object has grown since it was listed
            data = self._range(name, size + 1)
            if len(data) == size:
                return data
        return super()._read(name, size)


class Google(Bucket):
    """Google Cloud Storage."""

    is_sorted = True

    def _page(self, folder: str, token: str | None, count: int) -> _Page:
        following = {} if token is None else {"pageToken": token}
        page = self._fs.call("GET", "b/{}/o", self._base, prefix=folder, maxResults=count, json_out=True, **following)
        return [(str(item["name"]), int(item["size"])) for item in page.get("items", ())], page.get("nextPageToken")

    def _info(self, name: str) -> dict[str, Any]:
        return dict(self._fs.call("GET", "b/{}/o/{}", self._base, name, json_out=True))


class Azure(Bucket):
    """Azure Blob Storage; its accounts with real folders list these apart, so that no order is relied upon."""

    noun = "container"

    def _page(self, folder: str, token: str | None, count: int) -> _Page:
        from fsspec.asyn import sync

        async def ask() -> _Page:
            async with self._fs.service_client.get_container_client(self._base) as container:
                blobs = container.list_blobs(name_starts_with=folder or None, results_per_page=count)
                pages = blobs.by_page(continuation_token=token)
                async for page in pages:
                    found = [(str(blob.name), int(blob.size)) async for blob in page]
                    return found, pages.continuation_token
            return [], None

        page: _Page = sync(self._fs.loop, ask)
        return page
