"""Runs in a confined child: stacks out of one part of an artifact, as columns and as the first tree.

It leaves `result.json` and for every event i of the samples `i.samples` and, of stacks, `i.tree`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from collectors.contract import Sentence, Times
from collectors.parse.perf import folded, perf_sched, perf_script
from collectors.profiles import scheduling
from collectors.profiles.limits import PIECE, ImportRefusedError, Readable
from collectors.profiles.samples import SampleTable
from culprit.domain.imports.file_kinds import PERF_MAGIC
from culprit.domain.profiles.stacks import StackProfile
from culprit.domain.profiles.tree_response import render_tree_json
from culprit.evidence.parsing import result_file
from culprit.evidence.parsing.run_clock import load_clock
from culprit.infra.artifacts.stored_part import PartAlteredError, StoredPart
from culprit.infra.sandbox import perf_data
from culprit.json_types import Json

FIRST_WIDTH = 1200
MAX_EVENTS = 8


def main(request: Mapping[str, Any]) -> None:
    """`request`: {reader, unit, clock_kind, clock, part: {sha256, size, path, encoding}}."""
    named = request["part"]
    part = StoredPart(named["sha256"], named["size"], Path(named["path"]), named["encoding"])
    try:
        part.check()
        with open_text(part, request["reader"]) as source:
            schedule = (
                _build_schedule(source, request)
                if request["reader"] == "perf_sched"
                else _build_stacks(source, request)
            )
        result: Json = {"profiles": schedule}
    except ImportRefusedError as refused:
        result = {"failure": result_file.sentence_to_json(refused.sentence)}
    except PartAlteredError as altered:
        result = {
            "failure": result_file.sentence_to_json(Sentence("artifact.altered", {"sha256": str(altered)}))
        }
    Path("result.partial").write_text(json.dumps(result, allow_nan=False), encoding="utf-8")
    Path("result.partial").replace("result.json")


@contextmanager
def open_text(part: StoredPart, reader: str) -> Iterator[Readable]:
    """The text that a reader wants; perf.data goes through perf first."""
    with part.reader() as source:
        head = source.read(len(PERF_MAGIC))
        if head != PERF_MAGIC:
            yield _PrefixedStream(head, source)
            return
        data = perf_data.unpack_file(_PrefixedStream(head, source), Path("perf.data"))
    fields = perf_data.SCHED_FIELDS if reader == "perf_sched" else perf_data.select_fields(data)
    with perf_data.run_script(data, fields) as text:
        yield text


class _PrefixedStream:
    """A source with its first bytes put back."""

    def __init__(self, head: bytes, rest: Readable) -> None:
        self._head, self._rest = head, rest

    def read(self, size: int = PIECE, /) -> bytes:
        head, self._head = self._head, b""
        return head or self._rest.read(size)


def _to_utc(request: Mapping[str, Any], t_ns: Times) -> Times:
    """Return the times on the canonical clock; unchanged when the clock of the source is unknown."""
    if request["clock_kind"] is None:
        return t_ns
    return load_clock(request["clock"]).to_utc(request["clock_kind"], t_ns)


def _build_stacks(source: Readable, request: Mapping[str, Any]) -> list[Json]:
    """One profile per event, the heaviest first: weights of different events must never be added up."""
    if request["reader"] == "folded":
        table = folded.parse_folded(source, unit=request["unit"])
    else:
        table = perf_script.parse_perf_script(source)
    if table.has_time:
        table = table.at_times(_to_utc(request, table.t_ns))
    by_event = {name: table.of_event(name) if len(table.events) > 1 else table for name in table.events}
    heaviest = sorted(by_event.items(), key=lambda item: -len(item[1]))[:MAX_EVENTS]
    return [_build_profile(place, name, item) for place, (name, item) in enumerate(heaviest) if len(item)]


def _build_profile(place: int, event: str, table: SampleTable) -> Json:
    table.save(Path(f"{place}.samples"))
    Path(f"{place}.tree").write_text(render_first_tree(StackProfile(table)), encoding="utf-8")
    quality = table.quality
    return {
        "place": place,
        "event": result_file.sanitize_text(event, 200),
        "unit": table.unit,
        "samples": table.samples,
        "weight": table.total,
        "lost": quality.lost,
        "unknown_share": quality.unknown_share,
        "truncated_share": quality.truncated_share,
        "t0_ns": int(table.t_ns[0]) if table.has_time else None,
        "t1_ns": int(table.t_ns[-1]) if table.has_time else None,
        "tree": True,
    }


def render_first_tree(profile: StackProfile) -> str:
    """The whole profile at the usual width, as the answer that is asked for first."""
    view = profile.view()
    totals = {"total": view.weight, "samples": view.samples, "node_count": view.nodes}
    return render_tree_json(view.render_tree(FIRST_WIDTH), totals)


def _build_schedule(source: Readable, request: Mapping[str, Any]) -> list[Json]:
    """Who ran where and waited how long; it has no stacks and so no tree."""
    events = perf_sched.parse_perf_sched(source)
    events = replace(events, t_ns=_to_utc(request, events.t_ns), wake_t_ns=_to_utc(request, events.wake_t_ns))
    table = scheduling.build_sched_table(events)
    table.save(Path("0.samples"))
    return [
        {
            "place": 0,
            "event": "sched",
            "unit": "ns",
            "samples": len(table.t_ns),
            "weight": int(table.len_ns.sum()),
            "lost": table.lost,
            "unknown_share": None,
            "truncated_share": None,
            "t0_ns": table.t0_ns,
            "t1_ns": table.t1_ns,
            "tree": False,
        }
    ]
