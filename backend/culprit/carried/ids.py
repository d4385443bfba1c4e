"""The ids of a bundle, and the new ones of its rows: nothing in a bundle can name what is here already."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from culprit.carried.form import Document
from culprit.kit.uuid7 import uuid7

Json = dict[str, Any]
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
#: In the place of what the bundle does not hold.
NOTHING = UUID(int=0)


class Ids:
    """By the id in the bundle the one here, in the order of the document."""

    def __init__(self, document: Document) -> None:
        one = document
        every: Iterable[Iterable[Any]] = (
            (one.incident,), one.hosts, one.hypotheses, one.verdicts, one.pins, one.fixes, one.verifications,
            one.captures, sorted(one.runs, key=lambda run: run.id), one.collectors, one.artifacts, one.profiles,
            one.diffs,
        )  # fmt: skip
        self._here = {row.id: uuid7() for rows in every for row in rows}

    def forget(self, ids: Iterable[UUID]) -> None:
        """These become no rows."""
        for one in ids:
            del self._here[one]

    def __contains__(self, old: UUID) -> bool:
        return old in self._here

    def __getitem__(self, old: UUID) -> UUID:
        return self._here[old]

    def get(self, old: UUID | None) -> UUID | None:
        """The id here of what has this one in the bundle."""
        return self._here[old] if old is not None else None

    def texts(self, old: Iterable[UUID]) -> list[str]:
        """As they stand in JSON."""
        return [str(self._here[one]) for one in old]

    def moved(self, value: Any) -> Any:
        """A structure or a text with the ids of here. An id that the bundle does not hold becomes NOTHING."""
        if isinstance(value, str):
            return _UUID.sub(lambda found: str(self._here.get(UUID(found[0]), NOTHING)), value)
        if isinstance(value, dict):
            return {name: self.moved(inside) for name, inside in value.items()}
        if isinstance(value, list):
            return [self.moved(one) for one in value]
        return value

    def view(self, address: str) -> str:
        """The address of a pin; without what leads nowhere, and empty where nothing of it is here."""
        path, _, query = self.moved(address).partition("?")
        if str(NOTHING) in path:
            return ""
        kept = [one for one in query.split("&") if one and str(NOTHING) not in one]
        return f"{path}?{'&'.join(kept)}" if kept else path
