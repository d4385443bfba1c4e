"""S3-compatible bucket: upload, download and delete whole objects."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import obstore
from obstore.exceptions import BaseError, NotFoundError
from obstore.store import S3Store

if TYPE_CHECKING:  # only in the type stubs
    from obstore.store import S3Config


class BucketMissingError(Exception):
    """The bucket does not exist, or these keys may not write to it."""


#: Errors of a bucket that does not answer, or answers unexpectedly.
UNUSABLE = (BaseError, BucketMissingError)


class Bucket:
    """One bucket. `endpoint` None means Amazon. Requests are path-style, as small servers require."""

    def __init__(
        self,
        *,
        name: str,
        endpoint: str | None,
        region: str,
        access_key_id: str | None,
        secret_access_key: str | None,
    ) -> None:
        config: S3Config = {"bucket": name, "region": region, "virtual_hosted_style_request": False}
        if endpoint:
            config["endpoint"] = endpoint
        if access_key_id and secret_access_key:
            config["access_key_id"] = access_key_id
            config["secret_access_key"] = secret_access_key
        self.name = name
        self._store = S3Store(
            config=config,
            client_options={
                "allow_http": bool(endpoint and endpoint.startswith("http://")),
                "timeout": timedelta(seconds=120),
                "connect_timeout": timedelta(seconds=10),
            },
        )

    def upload(self, key: str, path: Path) -> None:
        """Store a file; readers see all of it or nothing. Raises BucketMissingError."""
        with path.open("rb") as stream:
            try:
                obstore.put(self._store, key, stream)
            except (NotFoundError, FileNotFoundError):
                raise BucketMissingError(f"bucket {self.name} not found") from None

    def download(self, key: str) -> Iterator[bytes] | None:
        """Yield the bytes in chunks, or return None if there is no such object."""
        try:
            answer = obstore.get(self._store, key)
        except (NotFoundError, FileNotFoundError):
            return None
        return (bytes(chunk) for chunk in answer)

    def exists(self, key: str) -> bool:
        """Return whether the object exists."""
        try:
            obstore.head(self._store, key)
        except (NotFoundError, FileNotFoundError):
            return False
        return True

    def stored_at(self, key: str) -> datetime | None:
        """Return when the object was last written, or None if it does not exist."""
        try:
            return obstore.head(self._store, key)["last_modified"]
        except (NotFoundError, FileNotFoundError):
            return None

    def size(self, key: str) -> int | None:
        """Return the size in bytes, or None if the object does not exist."""
        try:
            return obstore.head(self._store, key)["size"]
        except (NotFoundError, FileNotFoundError):
            return None

    def walk(self, prefix: str) -> Iterator[tuple[str, int, datetime]]:
        """Yield key, size and last change of every object below a prefix."""
        for page in obstore.list(self._store, prefix):
            for item in page:
                yield item["path"], item["size"], item["last_modified"]

    def delete(self, key: str) -> None:
        """Delete the object. No error if it does not exist."""
        try:
            obstore.delete(self._store, key)
        except (NotFoundError, FileNotFoundError):
            return
