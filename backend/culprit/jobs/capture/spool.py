"""What came home from a host and is not in the artifact store yet: one directory per attempt.

The child writes payloads here as they arrive; the worker moves them into the store and commits. If the worker
dies between the two, the next one finds `outcome.json` and commits what it says, provided that the run is
still where it was left.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from uuid import UUID

from collectors import records
from collectors.clock_reading import RECORD_FIELDS
from collectors.frames import Frame, Header
from collectors.host_values import INT8_MAX, RejectedField
from culprit.infra.part_file import PartFile

OUTCOME = "outcome.json"
SNAPSHOT = "snapshot"
Json = dict[str, Any]


class Spool:
    """The directory of one attempt, named by run and fence."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._count = 0

    @classmethod
    def of(cls, home: Path, run_id: UUID, fence: int) -> Spool:
        """A fresh, private directory below CULPRIT_HOME."""
        directory = home / "spool" / f"{run_id}.{fence}"
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        return cls(directory)

    def open(self, header: Header) -> PartFile:
        """A file for the payload behind this header."""
        self._count += 1
        return PartFile(self.directory / f"{self._count:05d}", header.encoding)

    def describe(self, frame: Frame) -> Json:
        """A frame as plain data; bytes that are kept are in the file at `path`."""
        head = frame.header
        if head.kind in ("part", "snapshot"):
            return self._part(frame)
        if head.kind == "outcome":
            return _outcome(frame)
        if head.kind == "clock":
            fields = {name: head.fields[name][:24] for name in RECORD_FIELDS if name in head.fields}
            return {"kind": "clock", "fields": fields, "heard_ns": time.time_ns()}
        facts, rejected = records.read_facts(frame)
        return {"kind": head.kind, "facts": facts, "rejected": _pairs(rejected)}

    def _part(self, frame: Frame) -> Json:
        head = frame.header
        file = frame.sink
        if not isinstance(file, PartFile):
            file = self.open(head)
            file.write(frame.payload)
        sha256 = file.close()
        fits = head.raw is not None and head.raw <= INT8_MAX
        return {
            "kind": head.kind,
            "id": head.id,
            "part": SNAPSHOT if head.kind == "snapshot" else head.part,
            "size": file.size,
            "raw": head.raw if fits and file.encoding != "identity" else file.size,
            "sha256": sha256,
            "encoding": file.encoding,
            "complete": file.intact and frame.intact and head.fields.get("complete") != "0",
            "path": str(file.path),
            "rejected": [] if head.raw is None or fits else [[f"{head.part}.raw", "out_of_range"]],
        }

    def keep(self, outcome: Json) -> None:
        """Writes the outcome down, so that it outlives this process."""
        path = self.directory / (OUTCOME + ".new")
        with path.open("w", encoding="utf-8") as out:
            json.dump(outcome, out)
            out.flush()
            os.fsync(out.fileno())
        path.replace(self.directory / OUTCOME)

    def outcome(self) -> Json | None:
        """What `keep` wrote, if it did."""
        try:
            kept: Json = json.loads((self.directory / OUTCOME).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        return kept

    def age_s(self) -> float:
        """Seconds since something was last written here."""
        try:
            written = max(path.stat().st_mtime for path in (self.directory, *self.directory.iterdir()))
        except FileNotFoundError:
            return 0.0
        return max(0.0, time.time() - written)

    def discard(self) -> None:
        """Removes the directory and all in it."""
        shutil.rmtree(self.directory, ignore_errors=True)


def _outcome(frame: Frame) -> Json:
    said = records.outcome(frame)
    return {
        "kind": "outcome",
        "id": said.collector,
        "state": said.state,
        "reason": {"key": said.reason.key, "params": dict(said.reason.params)} if said.reason else None,
        "way": said.way or None,
        "argv": said.argv or None,
        "exit": said.exit_code,
        "signal": said.signal or None,
        "version": said.version or None,
        "started_ns": said.started_ns,
        "ended_ns": said.ended_ns,
        "cpu_ms": said.cpu_ms,
        "bytes": said.bytes,
        "stderr": said.stderr_tail,
        "rejected": _pairs(said.rejected),
    }


def _pairs(rejected: Iterable[RejectedField]) -> list[list[str]]:
    return [[one.field, one.reason] for one in rejected]


def left_behind(home: Path) -> list[tuple[UUID, int, Spool]]:
    """The attempts whose directories are still there: run, fence and spool."""
    found = []
    for directory in (home / "spool").glob("*.*"):
        run_id, _, fence = directory.name.rpartition(".")
        try:
            found.append((UUID(run_id), int(fence), Spool(directory)))
        except ValueError:
            continue
    return found
