"""A bundle that was carried by hand, taken apart: frames become files and plain data. Runs in the child."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from collectors import records
from collectors.clock import ClockMap
from collectors.contract import Sentence
from collectors.frames import Frame, FrameReader, Header
from collectors.parse.limits import (
    DEFAULT,
    PIECE,
    ImportRefused,
    Limits,
    Readable,
    bounded_open,
    limit_exceeded,
)
from culprit.infra.part_file import PartFile

MAX_PARTS = 500
Json = dict[str, Any]


class BundleReader:
    """All that a stream of frames says, with the parts as files `part-N` in `directory`."""

    def __init__(self, directory: Path, limits: Limits = DEFAULT) -> None:
        self.directory = directory
        self.limits = limits
        self.parts: list[Json] = []
        self.outcomes: list[Json] = []
        self.clocks: list[dict[str, str]] = []
        self.facts: dict[str, dict[str, str]] = {}
        self.unpacked = 0
        self.opened = 0

    def read(self, source: Readable) -> Json:
        """Everything; raises ImportRefused where it is no bundle or too large."""
        reader = FrameReader(sink=self._sink)
        while piece := source.read(PIECE):
            for frame in reader.feed(piece):
                self._take(frame)
        trouble = reader.close()
        if not self.outcomes and not self.parts:
            raise ImportRefused(Sentence("import.not_bundle", {"why": trouble or "empty"}))
        clock = ClockMap.from_records(self.clocks)
        for outcome in self.outcomes:
            for name in ("started_ns", "ended_ns"):
                outcome[name] = _utc(clock, outcome[name])
        return {
            "parts": self.parts,
            "outcomes": self.outcomes,
            "clock": clock.to_json() if clock.known else None,
            "hello": self.facts.get("hello", {}),
            "end": self.facts.get("end", {}),
            "trouble": trouble,
        }

    @property
    def _sink(self) -> Callable[[Header], PartFile]:
        def open_part(header: Header) -> PartFile:
            if self.opened >= MAX_PARTS:
                raise limit_exceeded("parts", MAX_PARTS)
            self.opened += 1
            return PartFile(self.directory / f"part-{self.opened}", header.encoding)

        return open_part

    def _take(self, frame: Frame) -> None:
        head = frame.header
        if head.kind in {"part", "snapshot"}:
            self._part(frame)
        elif head.kind == "outcome":
            self.outcomes.append(_outcome(records.outcome(frame)))
        elif head.kind == "clock":
            self.clocks.append(dict(head.fields))
        elif head.kind in {"hello", "end", "busy", "refused"}:
            self.facts[head.kind] = records.lines_of(frame)

    def _part(self, frame: Frame) -> None:
        """Closes its file, and unpacks it once to know its size and that it is no bomb."""
        head, file = frame.header, frame.sink
        if not isinstance(file, PartFile):
            file = self._sink(head)
            file.write(frame.payload)
        digest = file.close()
        with bounded_open(file.path, file.encoding, self.limits) as plain:  # type: ignore[arg-type]
            size, whole = 0, True
            try:
                while piece := plain.read():
                    size += len(piece)
            except ImportRefused as refused:
                if refused.sentence.key.startswith("import.limit"):
                    raise
                whole = False
        self.unpacked += size
        if self.unpacked > self.limits.unpacked:
            raise limit_exceeded("unpacked", self.limits.unpacked)
        self.parts.append(
            {
                "collector": head.id,
                "part": head.part if head.kind == "part" else "snapshot",
                "number": int(file.path.name.removeprefix("part-")),
                "sha256": digest,
                "size": size,
                "stored_size": file.size,
                "encoding": file.encoding,
                "complete": whole and file.intact and frame.intact and head.fields.get("complete") != "0",
            }
        )


def _outcome(one: records.Outcome) -> Json:
    reason = {"key": one.reason.key, "params": dict(one.reason.params)} if one.reason else None
    return {
        "collector": one.collector,
        "state": one.state,
        "way": one.way,
        "exit_code": one.exit_code,
        "started_ns": one.started_ns,
        "ended_ns": one.ended_ns,
        "cpu_ms": one.cpu_ms,
        "bytes": one.bytes,
        "argv": one.argv,
        "tool_version": one.version,
        "reason": reason,
        "stderr_tail": one.stderr_tail,
        "rejected": [[field.field, field.reason] for field in one.rejected],
    }


def _utc(clock: ClockMap, boot_ns: int) -> int | None:
    if not clock.known or not 0 < boot_ns < 1 << 60:
        return None
    return int(clock.to_utc("boottime", np.array([boot_ns], np.int64))[0])
