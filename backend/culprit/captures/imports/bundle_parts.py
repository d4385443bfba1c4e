"""Split an imported bundle into files and plain data. Runs in the sandboxed child."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from collectors.clock.mapping import ClockMap
from collectors.contract import Sentence
from collectors.profiles.limits import (
    DEFAULT,
    PIECE,
    ImportRefusedError,
    Readable,
    ReaderLimits,
    limit_error,
    open_bounded,
)
from collectors.runner import records
from collectors.runner.frames import Frame, FrameHeader, FrameReader
from culprit.infra.artifacts.part_file import PartFile
from culprit.json_types import Json

MAX_PARTS = 500


class BundleReader:
    """Read a stream of frames; parts become files `part-N` in `directory`."""

    def __init__(self, directory: Path, limits: ReaderLimits = DEFAULT) -> None:
        self.directory = directory
        self.limits = limits
        self.parts: list[Json] = []
        self.outcomes: list[Json] = []
        self.clocks: list[dict[str, str]] = []
        self.facts: dict[str, dict[str, str]] = {}
        self.unpacked = 0
        self.opened = 0

    def read(self, source: Readable) -> Json:
        """Read the whole bundle. Raises ImportRefusedError if it is not a bundle or too large."""
        reader = FrameReader(sink=self._build_sink)
        while piece := source.read(PIECE):
            for frame in reader.feed(piece):
                self._accept_frame(frame)
        trouble = reader.close()
        if not self.outcomes and not self.parts:
            raise ImportRefusedError(Sentence("import.not_bundle", {"why": trouble or "empty"}))
        clock = ClockMap.from_records(self.clocks)
        for outcome in self.outcomes:
            for name in ("started_ns", "ended_ns"):
                outcome[name] = _to_utc_ns(clock, outcome[name])
        return {
            "parts": self.parts,
            "outcomes": self.outcomes,
            "clock": clock.to_json() if clock.known else None,
            "hello": self.facts.get("hello", {}),
            "end": self.facts.get("end", {}),
            "trouble": trouble,
        }

    @property
    def _build_sink(self) -> Callable[[FrameHeader], PartFile]:
        def open_part(header: FrameHeader) -> PartFile:
            if self.opened >= MAX_PARTS:
                raise limit_error("parts", MAX_PARTS)
            self.opened += 1
            return PartFile(self.directory / f"part-{self.opened}", header.encoding)

        return open_part

    def _accept_frame(self, frame: Frame) -> None:
        head = frame.header
        if head.kind in {"part", "snapshot"}:
            self._close_part(frame)
        elif head.kind == "outcome":
            self.outcomes.append(_outcome_to_json(records.parse_outcome(frame)))
        elif head.kind == "clock":
            self.clocks.append(dict(head.fields))
        elif head.kind in {"hello", "end", "busy", "refused"}:
            self.facts[head.kind] = records.parse_lines(frame)

    def _close_part(self, frame: Frame) -> None:
        """Close the file of a part, and unpack it once to check its size and compression ratio."""
        head, file = frame.header, frame.sink
        if not isinstance(file, PartFile):
            file = self._build_sink(head)
            file.write(frame.payload)
        digest = file.close()
        with open_bounded(file.path, file.encoding, self.limits) as plain:  # type: ignore[arg-type]
            size, whole = 0, True
            try:
                while piece := plain.read():
                    size += len(piece)
            except ImportRefusedError as refused:
                if refused.sentence.key.startswith("import.limit"):
                    raise
                whole = False
        self.unpacked += size
        if self.unpacked > self.limits.unpacked:
            raise limit_error("unpacked", self.limits.unpacked)
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


def _outcome_to_json(collector_outcome: records.CollectorExit) -> Json:
    reason = (
        {"key": collector_outcome.reason.key, "params": dict(collector_outcome.reason.params)}
        if collector_outcome.reason
        else None
    )
    return {
        "collector": collector_outcome.collector,
        "state": collector_outcome.state,
        "method": collector_outcome.method,
        "exit_code": collector_outcome.exit_code,
        "started_ns": collector_outcome.started_ns,
        "ended_ns": collector_outcome.ended_ns,
        "cpu_ms": collector_outcome.cpu_ms,
        "bytes": collector_outcome.bytes,
        "argv": collector_outcome.argv,
        "tool_version": collector_outcome.version,
        "reason": reason,
        "stderr_tail": collector_outcome.stderr_tail,
        "rejected": [[field.field, field.reason] for field in collector_outcome.rejected],
    }


def _to_utc_ns(clock: ClockMap, boot_ns: int) -> int | None:
    if not clock.known or not 0 < boot_ns < 1 << 60:
        return None
    return int(clock.to_utc("boottime", np.array([boot_ns], np.int64))[0])
