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

from collectors import sched
from collectors.contract import Sentence, Times
from collectors.parse import folded, perf_sched, perf_script
from collectors.parse.limits import PIECE, ImportRefused, Readable
from collectors.samples import SampleTable
from culprit.core.stacks import Profile
from culprit.core.tree_answer import tree_answer
from culprit.imports import perf_file
from culprit.imports.sources import PERF_MAGIC
from culprit.infra.parts import Altered, StoredPart
from culprit.workflows import parsed_form
from culprit.workflows.run_clock import clock_of

FIRST_WIDTH = 1200
MAX_EVENTS = 8
Json = dict[str, Any]


def main(request: Mapping[str, Any]) -> None:
    """`request`: {reader, unit, clock_kind, clock, part: {sha256, size, path, encoding}}."""
    named = request["part"]
    part = StoredPart(named["sha256"], named["size"], Path(named["path"]), named["encoding"])
    try:
        part.check()
        with text_of(part, request["reader"]) as source:
            found = _sched(source, request) if request["reader"] == "perf_sched" else _stacks(source, request)
        result: Json = {"profiles": found}
    except ImportRefused as refused:
        result = {"failure": parsed_form.sentence(refused.sentence)}
    except Altered as altered:
        result = {"failure": parsed_form.sentence(Sentence("artifact.altered", {"sha256": str(altered)}))}
    Path("result.partial").write_text(json.dumps(result, allow_nan=False), encoding="utf-8")
    Path("result.partial").replace("result.json")


@contextmanager
def text_of(part: StoredPart, reader: str) -> Iterator[Readable]:
    """The text that a reader wants; perf.data goes through perf first."""
    with part.reader() as source:
        head = source.read(len(PERF_MAGIC))
        if head != PERF_MAGIC:
            yield _Rejoined(head, source)
            return
        data = perf_file.unpack(_Rejoined(head, source), Path("perf.data"))
    fields = perf_file.SCHED_FIELDS if reader == "perf_sched" else perf_file.fields(data)
    with perf_file.script(data, fields) as text:
        yield text


class _Rejoined:
    """A source with its first bytes put back."""

    def __init__(self, head: bytes, rest: Readable) -> None:
        self._head, self._rest = head, rest

    def read(self, size: int = PIECE, /) -> bytes:
        head, self._head = self._head, b""
        return head or self._rest.read(size)


def _to_utc(request: Mapping[str, Any], t_ns: Times) -> Times:
    """The source's times on the canonical clock; as they are where nobody knows which clock it was."""
    if request["clock_kind"] is None:
        return t_ns
    return clock_of(request["clock"]).to_utc(request["clock_kind"], t_ns)


def _stacks(source: Readable, request: Mapping[str, Any]) -> list[Json]:
    """One profile per event, the heaviest first: weights of different events must never be added up."""
    if request["reader"] == "folded":
        table = folded.read(source, unit=request["unit"])
    else:
        table = perf_script.read(source)
    if table.has_time:
        table = table.at_times(_to_utc(request, table.t_ns))
    by_event = {name: table.of_event(name) if len(table.events) > 1 else table for name in table.events}
    heaviest = sorted(by_event.items(), key=lambda item: -len(item[1]))[:MAX_EVENTS]
    return [_one(place, name, one) for place, (name, one) in enumerate(heaviest) if len(one)]


def _one(place: int, event: str, table: SampleTable) -> Json:
    table.save(Path(f"{place}.samples"))
    Path(f"{place}.tree").write_text(first_tree(Profile(table)), encoding="utf-8")
    quality = table.quality
    return {
        "place": place,
        "event": parsed_form.text(event, 200),
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


def first_tree(profile: Profile) -> str:
    """The whole profile at the usual width, as the answer that is asked for first."""
    view = profile.view()
    totals = {"total": view.weight, "samples": view.samples, "nodes_total": view.nodes}
    return tree_answer(view.tree(FIRST_WIDTH), totals)


def _sched(source: Readable, request: Mapping[str, Any]) -> list[Json]:
    """Who ran where and waited how long; it has no stacks and so no tree."""
    events = perf_sched.read(source)
    events = replace(events, t_ns=_to_utc(request, events.t_ns), wake_t_ns=_to_utc(request, events.wake_t_ns))
    table = sched.build(events)
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
