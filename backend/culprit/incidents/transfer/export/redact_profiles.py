"""Finished profiles of a redacted bundle: their stored tables with redacted names, in the place of recordings."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.profiles.column_file import DamagedFileError
from collectors.profiles.samples import SampleTable
from collectors.profiles.scheduling import SchedTable
from collectors.profiles.trie import Strings
from collectors.runner import symbols
from culprit.domain.profiles import debug_files
from culprit.domain.redaction.redactor import Redactor
from culprit.evidence.parsing.profile_tables import (
    MAX_TABLES,
    MEDIA_TYPE,
    ProfileTable,
    name_tables_part,
    write_tables,
)
from culprit.incidents.transfer import queries
from culprit.infra.artifacts.blob_files import ArtifactAlteredError, ArtifactMissingError
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.evidence.profile import Profile
from culprit.json_types import Json

#: Characters of the name of an event.
MAX_EVENT = 200


class ProfileTables:
    """The finished profiles of a document by collector and kind, with the most samples first.

    `replaced` are the digests of what they are built from: recordings, and what names their functions.
    """

    def __init__(self, session: Session, store: ArtifactStore, document: Json) -> None:
        self.collectors: Mapping[str, Json] = {row["id"]: row for row in document["collectors"]}
        self.tables: defaultdict[tuple[str, str], list[ProfileTable]] = defaultdict(list)
        sources: defaultdict[str, set[str]] = defaultdict(set)
        for profile in queries.list_ready_profiles(session, list(map(UUID, self.collectors))):
            collector = str(profile.run_collector_id)
            tables = self.tables[collector, profile.kind]
            table = _load_table(store, profile)
            if table is not None and len(tables) < MAX_TABLES:
                tables.append(table)
                source = profile.source or {}
                sources[collector] |= {
                    source["part"],
                    source.get("raw_part") or source["part"],
                    symbols.KALLSYMS,
                }
        self.replaced = frozenset(
            artifact["sha256"]
            for artifact in document["artifacts"]
            if artifact["left_out"] is None and self._is_replaced(artifact, sources)
        )

    def _is_replaced(self, artifact: Json, sources: Mapping[str, set[str]]) -> bool:
        collector = artifact["collector"]
        if collector is None:
            return False
        if self.collectors[collector]["collector"] in {symbols.ID, debug_files.ID}:
            return True
        return artifact["part"] in sources.get(collector, ())

    def learn_names(self, redactor: Redactor) -> None:
        """Show all names to the redactor, which learns hosts and users from them."""
        for tables in self.tables.values():
            for table in tables:
                for text in _list_names(table):
                    redactor.redact_frame(text)

    def write(self, redactor: Redactor, document: Json, directory: Path) -> Mapping[str, Path]:
        """Write the redacted tables, and add their artifacts to the document. Return the files by digest."""
        paths: dict[str, Path] = {}
        attempts = {row["collector"]: row["attempt"] for row in document["artifacts"]}
        for number, ((collector, kind), tables) in enumerate(self.tables.items()):
            if not tables:
                continue
            path = directory / f"tables-{number}"
            write_tables(path, [_redact_table(redactor, table) for table in tables], directory)
            with path.open("rb") as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            paths[sha256] = path
            document["artifacts"].append(
                {
                    "id": str(new_uuid7()),
                    "run": self.collectors[collector]["run"],
                    "collector": collector,
                    "part": name_tables_part(kind),
                    "sha256": sha256,
                    "size": path.stat().st_size,
                    "encoding": "identity",
                    "media_type": MEDIA_TYPE,
                    "complete": True,
                    "attempt": attempts.get(collector, 1),
                    "left_out": None,
                }
            )
        return paths


def _load_table(store: ArtifactStore, profile: Profile) -> ProfileTable | None:
    """Load the stored table of a profile, or return None if it is gone."""
    assert profile.store_key is not None
    try:
        path = store.path(profile.store_key)
        return SchedTable.load(path) if profile.kind == "sched" else SampleTable.load(path)
    except (ArtifactMissingError, ArtifactAlteredError, FileNotFoundError, DamagedFileError):
        return None


def _list_names(table: ProfileTable) -> Iterator[str]:
    if isinstance(table, SchedTable):
        yield from table.comm.all()
        return
    yield from table.comms.all()
    yield from table.cgroups.names.all()
    yield from table.frames.strings.all()
    yield from table.events


def _redact_table(redactor: Redactor, table: ProfileTable) -> ProfileTable:
    """Return the table with the same numbers and stacks, and redacted names."""

    def redact(strings: Strings) -> Strings:
        return Strings.of([redactor.redact_frame(text) for text in strings.all()])

    if isinstance(table, SchedTable):
        return replace(table, comm=redact(table.comm))
    return replace(
        table,
        comms=redact(table.comms),
        cgroups=replace(table.cgroups, names=redact(table.cgroups.names)),
        frames=replace(table.frames, strings=redact(table.frames.strings)),
        events=tuple(redactor.redact_frame(event)[:MAX_EVENT] for event in table.events),
    )
