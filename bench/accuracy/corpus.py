"""The corpus: played rounds as files, so that rules can be evaluated again without a host.

A round is one file `SCENARIO-SEED.tar.zst`. `round.json` holds what was played (`bench.accuracy.score.Round`). Each run
of its diagnosis is a folder `1`, `2`, ... in order: `run.json` holds the clock, the facts, the collectors with method
and duration, and the capture scope; `<collector>/<part>` is what the host wrote. The folder `baseline` holds a capture
of the same host before the fault, if it was compared with one.
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import zstandard
from culprit.domain.profiles.stacks import StackProfile
from culprit.domain.rules.parsed_view import build_view
from culprit.domain.rules.view import HostView
from culprit.json_types import Json

from collectors.clock.mapping import ClockMap
from collectors.contract import Context, Parsed
from collectors.parse.perf import folded, perf_script
from collectors.profiles.samples import SampleTable
from collectors.registry import COLLECTORS

_LEVEL = 19
_BASELINE = "baseline"
_RUN_KEYS = ("clock", "facts", "t0_ns", "t1_ns")


class Bytes:
    """A part in memory."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.size = len(data)
        self.sha256 = ""

    def open(self) -> BinaryIO:
        """Return a stream from the beginning."""
        return io.BytesIO(self.data)

    def read(self, limit: int) -> bytes:
        """Return at most `limit` bytes."""
        return self.data[:limit]


@dataclass(frozen=True, slots=True)
class StoredRun:
    """One run: its description (see the module) and its parts by collector and name."""

    description: Json
    parts: Mapping[str, Mapping[str, bytes]]

    @classmethod
    def of_response(cls, run: Json, parts: Mapping[str, Mapping[str, bytes]]) -> StoredRun:
        """Build a run from the response of the API, with only the fields that the parsers need."""
        collectors = [
            {name: item[name] for name in ("id", "method", "seconds", "state")} for item in run["collectors"]
        ]
        return cls({**{key: run[key] for key in _RUN_KEYS}, "collectors": collectors}, parts)

    def parse(self) -> HostView:
        """Parse the parts of the run, and return its view."""
        clock = ClockMap.from_json(self.description["clock"])
        reported = {collector["id"]: collector for collector in self.description["collectors"]}
        facts = self.description["facts"] or {}
        parsed: dict[str, Parsed] = {}
        profiles: dict[str, StackProfile] = {}
        for name, contents in self.parts.items():
            if name not in COLLECTORS:
                continue
            files = {part: Bytes(data) for part, data in contents.items()}
            context = Context(clock, reported[name]["method"] or "", reported[name]["seconds"] or 0.0, facts)
            parsed[name] = COLLECTORS[name].parse(files, context)
            for source in parsed[name].profiles:
                table = _read_samples(source.reader, files.get(source.part))
                if table is not None:
                    profiles[source.kind] = StackProfile(table)
        view = build_view(parsed, profiles=profiles, facts=facts)
        start, end = self.description["t0_ns"], self.description["t1_ns"]
        outcomes = {
            name: replace(outcome, seconds=reported[name]["seconds"] or 0.0)
            for name, outcome in view.outcomes.items()
        }
        return replace(view, outcomes=outcomes, span_ns=(start, end) if start else None)


def _read_samples(reader: str, part: Bytes | None) -> SampleTable | None:
    """Return the heaviest event of a part with stacks."""
    if part is None or reader not in {"perf_script", "folded"}:
        return None
    parse = perf_script.parse_perf_script if reader == "perf_script" else folded.parse_folded
    table: SampleTable = parse(part.open())
    heaviest = max(table.events, key=lambda name: table.of_event(name).total, default="")
    return table.of_event(heaviest) if len(table.events) > 1 else table


def merge_views(runs: Sequence[HostView]) -> HostView:
    """Return the stages of one diagnosis as one view: of a collector that several hold, the last one counts."""
    last = {
        name: at
        for at, view in enumerate(runs)
        for name, item in view.outcomes.items()
        if item.state == "done"
    }
    events = {(event.kind, event.t_ns, event.detail): event for view in runs for event in view.events}
    spans = [view.span_ns for view in runs if view.span_ns is not None]
    facts: Json = {}
    for at, view in enumerate(runs):
        facts |= {name: fact for name, fact in view.facts.items() if name != "target" or not at}
    return HostView(
        {name: runs[at].outcomes[name] for name, at in last.items()},
        [
            series
            for at, view in enumerate(runs)
            for series in view.series
            if last.get(series.citation.collector) == at
        ],
        {
            kind: [
                row
                for at, view in enumerate(runs)
                for row in view.rows(kind)
                if last.get(row.citation.collector) == at
            ]
            for kind in {kind for view in runs for kind in view.tables}
        },
        sorted(events.values(), key=lambda event: event.t_ns),
        facts,
        {kind: stacks for view in runs for kind, stacks in view.stacks.items()},
        span_ns=(min(t0 for t0, _ in spans), max(t1 for _, t1 in spans)) if spans else None,
    )


@dataclass(frozen=True, slots=True)
class StoredRound:
    """A played round: its description, its runs in order, and the run before the fault, if there is one."""

    description: Json
    runs: Sequence[StoredRun]
    baseline: StoredRun | None = None

    def parse(self) -> HostView:
        """Return all stages as one view, with the view before the fault as its baseline."""
        view = merge_views([run.parse() for run in self.runs])
        return view if self.baseline is None else view.with_baseline(self.baseline.parse())


def write_round(file: Path, stored: StoredRound) -> None:
    """Write one round."""
    contents = {"round.json": _encode_json(stored.description)}
    folders = {str(number): run for number, run in enumerate(stored.runs, 1)}
    if stored.baseline is not None:
        folders[_BASELINE] = stored.baseline
    for folder, run in folders.items():
        contents[f"{folder}/run.json"] = _encode_json(run.description)
        for collector, parts in run.parts.items():
            contents |= {f"{folder}/{collector}/{part}": data for part, data in parts.items()}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in contents.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(zstandard.ZstdCompressor(level=_LEVEL).compress(buffer.getvalue()))


def read_round(file: Path) -> StoredRound:
    """Return a round. Raises KeyError where `round.json` is missing."""
    data = zstandard.ZstdDecompressor().decompressobj().decompress(file.read_bytes())
    descriptions: dict[str, Json] = {}
    parts: dict[str, dict[str, dict[str, bytes]]] = {}
    known: Json = {}
    for name, content in _read_members(data):
        path = name.split("/")
        if name == "round.json":
            known["round"] = json.loads(content)
        elif len(path) == 2:
            descriptions[path[0]] = json.loads(content)
        else:
            parts.setdefault(path[0], {}).setdefault(path[1], {})[path[2]] = content
    runs = {folder: StoredRun(item, parts.get(folder, {})) for folder, item in descriptions.items()}
    baseline = runs.pop(_BASELINE, None)
    return StoredRound(known["round"], [runs[folder] for folder in sorted(runs, key=int)], baseline)


def _read_members(data: bytes) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            source = archive.extractfile(member)
            if source is not None:
                yield member.name, source.read()


def _encode_json(value: Json) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=1).encode()
