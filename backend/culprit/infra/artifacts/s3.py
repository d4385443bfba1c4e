"""An S3-compatible bucket: whole objects up, down and away. Knows nothing of artifacts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import obstore
from obstore.exceptions import BaseError, NotFoundError
from obstore.store import S3Store

if TYPE_CHECKING:  # exists only in the stubs
    from obstore.store import S3Config


class NoBucket(Exception):
    """There is no such bucket, or nobody may write to it who has these keys."""


#: What a bucket raises that does not answer, or not as one does.
UNUSABLE = (BaseError, NoBucket)


class Bucket:
    """One bucket. `endpoint` None means Amazon's own; path-style requests, as small servers want them."""

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
        """Stores a file; other readers see all of it or nothing. Raises NoBucket."""
        with path.open("rb") as stream:
            try:
                obstore.put(self._store, key, stream)
            except (NotFoundError, FileNotFoundError):
                raise NoBucket(f"there is no bucket {self.name}") from None

    def download(self, key: str) -> Iterator[bytes] | None:
        """The bytes in chunks, or None where there is no such object."""
        try:
            answer = obstore.get(self._store, key)
        except (NotFoundError, FileNotFoundError):
            return None
        return (bytes(chunk) for chunk in answer)

    def exists(self, key: str) -> bool:
        """Whether there is such an object."""
        try:
            obstore.head(self._store, key)
        except (NotFoundError, FileNotFoundError):
            return False
        return True

    def stored_at(self, key: str) -> datetime | None:
        """When the object was last written; None where there is none."""
        try:
            return obstore.head(self._store, key)["last_modified"]
        except (NotFoundError, FileNotFoundError):
            return None

    def size(self, key: str) -> int | None:
        """Its bytes; None where there is no such object."""
        try:
            return obstore.head(self._store, key)["size"]
        except (NotFoundError, FileNotFoundError):
            return None

    def walk(self, prefix: str) -> Iterator[tuple[str, int, datetime]]:
        """Key, bytes and last change of every object below a prefix."""
        for page in obstore.list(self._store, prefix):
            for one in page:
                yield one["path"], one["size"], one["last_modified"]

    def delete(self, key: str) -> None:
        """Removes the object; no error where there is none."""
        try:
            obstore.delete(self._store, key)
        except (NotFoundError, FileNotFoundError):
            return
