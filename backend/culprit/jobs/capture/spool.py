"""The spool: payloads of an attempt that are not in the artifact store yet, in one directory per attempt.

The child writes payloads here as they arrive; the worker moves them into the store and commits. If the worker
dies between the two, the next one finds `outcome.json` and commits it, unless the run continued elsewhere.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from uuid import UUID

from collectors.clock.readings import RECORD_FIELDS
from collectors.runner import records
from collectors.runner.frames import Frame, FrameHeader
from collectors.runner.host_values import INT8_MAX, RejectedFieldError
from culprit.infra.artifacts.part_file import PartFile
from culprit.json_types import Json

OUTCOME = "outcome.json"
SNAPSHOT = "snapshot"


class Spool:
    """The directory of one attempt, named after run and fence."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._count = 0

    @classmethod
    def create(cls, home: Path, run_id: UUID, fence: int) -> Spool:
        """Create a private directory below CULPRIT_HOME."""
        directory = home / "spool" / f"{run_id}.{fence}"
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        return cls(directory)

    def open(self, header: FrameHeader) -> PartFile:
        """Open a file for the payload of this header."""
        self._count += 1
        return PartFile(self.directory / f"{self._count:05d}", header.encoding)

    def describe(self, frame: Frame) -> Json:
        """Return a frame as JSON; its bytes are in the file at `path`."""
        head = frame.header
        if head.kind in ("part", "snapshot"):
            return self._part_to_json(frame)
        if head.kind == "outcome":
            return _outcome_to_json(frame)
        if head.kind == "clock":
            fields = {name: head.fields[name][:24] for name in RECORD_FIELDS if name in head.fields}
            return {"kind": "clock", "fields": fields, "received_ns": time.time_ns()}
        facts, rejected = records.read_facts(frame)
        return {"kind": head.kind, "facts": facts, "rejected": _rejected_to_json(rejected)}

    def _part_to_json(self, frame: Frame) -> Json:
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

    def write_outcome(self, outcome: Json) -> None:
        """Write the outcome to disk, so that it survives this process."""
        path = self.directory / (OUTCOME + ".new")
        with path.open("w", encoding="utf-8") as out:
            json.dump(outcome, out)
            out.flush()
            os.fsync(out.fileno())
        path.replace(self.directory / OUTCOME)

    def outcome(self) -> Json | None:
        """Return the outcome that `keep` wrote, or None."""
        try:
            stored: Json = json.loads((self.directory / OUTCOME).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        return stored

    def age_s(self) -> float:
        """Return the seconds since the last write."""
        try:
            written = max(path.stat().st_mtime for path in (self.directory, *self.directory.iterdir()))
        except FileNotFoundError:
            return 0.0
        return max(0.0, time.time() - written)

    def discard(self) -> None:
        """Delete the directory."""
        shutil.rmtree(self.directory, ignore_errors=True)


def _outcome_to_json(frame: Frame) -> Json:
    outcome = records.parse_outcome(frame)
    return {
        "kind": "outcome",
        "id": outcome.collector,
        "state": outcome.state,
        "reason": {"key": outcome.reason.key, "params": dict(outcome.reason.params)}
        if outcome.reason
        else None,
        "method": outcome.method or None,
        "argv": outcome.argv or None,
        "exit": outcome.exit_code,
        "signal": outcome.signal or None,
        "version": outcome.version or None,
        "started_ns": outcome.started_ns,
        "ended_ns": outcome.ended_ns,
        "cpu_ms": outcome.cpu_ms,
        "bytes": outcome.bytes,
        "stderr": outcome.stderr_tail,
        "rejected": _rejected_to_json(outcome.rejected),
    }


def _rejected_to_json(rejected: Iterable[RejectedFieldError]) -> list[list[str]]:
    return [[field.field, field.reason] for field in rejected]


def list_spooled(home: Path) -> list[tuple[UUID, int, Spool]]:
    """Return the attempts with a directory: run, fence and spool."""
    attempts = []
    for directory in (home / "spool").glob("*.*"):
        run_id, _, fence = directory.name.rpartition(".")
        try:
            attempts.append((UUID(run_id), int(fence), Spool(directory)))
        except ValueError:
            continue
    return attempts
