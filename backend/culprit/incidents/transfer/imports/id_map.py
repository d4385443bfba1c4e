"""Map the IDs of a bundle to new local IDs, so that a bundle cannot refer to existing local rows."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from culprit.incidents.transfer.bundle.document import BundleDocument
from culprit.infra.db.uuid7 import new_uuid7

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
#: Replaces an ID that the bundle does not contain.
UNKNOWN_ID = UUID(int=0)


class IdMap:
    """New local IDs by the ID in the bundle, in the order of the document."""

    def __init__(self, document: BundleDocument) -> None:
        item = document
        every: Iterable[Iterable[Any]] = (
            (item.incident,), item.hosts, item.hypotheses, item.verdicts, item.pins, item.fixes, item.verifications,
            item.captures, sorted(item.runs, key=lambda run: run.id), item.collectors, item.artifacts, item.profiles,
            item.comparisons,
        )  # fmt: skip
        self._local = {row.id: new_uuid7() for rows in every for row in rows}

    def forget(self, ids: Iterable[UUID]) -> None:
        """Remove IDs without a row."""
        for item in ids:
            del self._local[item]

    def __contains__(self, old: UUID) -> bool:
        return old in self._local

    def __getitem__(self, old: UUID) -> UUID:
        return self._local[old]

    def get(self, old: UUID | None) -> UUID | None:
        """Return the local ID, or None."""
        return self._local[old] if old is not None else None

    def to_strings(self, old: Iterable[UUID]) -> list[str]:
        """Return the local IDs as text for JSON."""
        return [str(self._local[item]) for item in old]

    def replace_ids(self, value: Any) -> Any:
        """Replace the IDs in a value. An ID that the bundle does not contain becomes UNKNOWN_ID."""
        if isinstance(value, str):
            return _UUID.sub(lambda result: str(self._local.get(UUID(result[0]), UNKNOWN_ID)), value)
        if isinstance(value, dict):
            return {name: self.replace_ids(inside) for name, inside in value.items()}
        if isinstance(value, list):
            return [self.replace_ids(item) for item in value]
        return value

    def replace_in_path(self, address: str) -> str:
        """Replace the IDs in the path of a pin. Drop parameters with unknown IDs; "" if the path itself has one."""
        path, _, query = self.replace_ids(address).partition("?")
        if str(UNKNOWN_ID) in path:
            return ""
        stored = [item for item in query.split("&") if item and str(UNKNOWN_ID) not in item]
        return f"{path}?{'&'.join(stored)}" if stored else path
