"""Sandboxed process: read the stacks of one part of an artifact, and write them as columns with the default tree.

It writes `result.json`, and for each event `i` the file `i.samples` and, for stacks, `i.tree`. In the result, `kind`
is null if the profile is of the requested kind.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from collectors.contract import Sentence, Times
from collectors.parse.perf import folded, perf_data, perf_sched, perf_script, perf_script_sparse
from collectors.parse.profile_formats.registry import READERS
from collectors.profiles import schedule_builder, scheduling
from collectors.profiles.limits import ImportRefusedError, PrefixedStream, Readable
from collectors.profiles.samples import ControlGroups, SampleTable
from culprit.domain.imports.file_kinds import PERF_MAGIC
from culprit.domain.profiles.exploration.unnamed import list_unnamed_modules
from culprit.domain.profiles.stacks import StackProfile
from culprit.domain.profiles.tree_response import render_tree_json
from culprit.evidence.parsing import profile_tables, result_file, symbol_parts
from culprit.evidence.parsing.run_clock import load_clock
from culprit.evidence.parsing.symbol_parts import unpack_symbols
from culprit.infra.artifacts.stored_part import PartAlteredError, StoredPart
from culprit.infra.sandbox import perf_data as perf_data_text
from culprit.json_types import Json

FIRST_WIDTH = 1200
HEAD_BYTES = 64 << 10
MAX_EVENTS = 8
MAX_MODULES = 200
READINGS: Mapping[str, perf_data.Kind] = {
    "off_cpu": "off_cpu", "wall_time": "wall_time", "block_io": "block_io", "futex": "futex"
}  # fmt: skip
NOTHING_RECORDED = {
    "off_cpu": Sentence("profile.no_waits"),
    "wall_time": Sentence("profile.no_waits"),
    "block_io": Sentence("profile.no_requests"),
    "futex": Sentence("profile.no_lock_waits"),
}
"""Message for a recording without samples, by kind of profile."""
WITH_SWITCHES = frozenset({"off_cpu", "wall_time"})
"""Kinds whose recordings contain all context switches of the host, so they are also read as scheduler events."""
IMPORTED = "imported"
"""The kind of profiles without CPU samples: memory, waits, durations of calls."""


def main(request: Mapping[str, Any]) -> None:
    """Read the part of a request and write the profiles, or the reason of a failure.

    `request` is {reader, kind, unit, clock_kind, clock, pids, cgroups, part, symbols}. `cgroups` are pairs of process
    ID and control group. See `symbol_parts` for `part` and `symbols`.
    """
    part = symbol_parts.open_part(request["part"])
    try:
        part.check()
        result = _read_part(part, request)
    except ImportRefusedError as refused:
        sentence = refused.sentence
        if sentence.key == "import.no_samples":
            sentence = NOTHING_RECORDED.get(request["kind"], sentence)
        result = {"failure": result_file.sentence_to_json(sentence)}
    except PartAlteredError as altered:
        result = {
            "failure": result_file.sentence_to_json(Sentence("artifact.altered", {"sha256": str(altered)}))
        }
    Path("result.partial").write_text(json.dumps(result, allow_nan=False), encoding="utf-8")
    Path("result.partial").replace("result.json")


def _read_part(part: StoredPart, request: Mapping[str, Any]) -> Json:
    reader = request["reader"]
    if reader == "perf_sched":
        schedule = read_schedule(part, lambda t_ns: _to_utc(request, t_ns))
        return {"profiles": [_build_schedule(0, schedule)]}
    if reader != profile_tables.READER:
        return _build_stacks(part, request)
    tables = profile_tables.read_tables(part, Path())
    profiles = [
        _build_schedule(place, table)
        if isinstance(table, scheduling.SchedTable)
        else _build_profile(place, reader, table)
        for place, table in enumerate(tables)
        if isinstance(table, scheduling.SchedTable) or len(table)
    ]
    return {"profiles": profiles}


@contextmanager
def unpack_part(part: StoredPart) -> Iterator[Readable | Path]:
    """Yield the text of a part; for perf.data, the path of an unpacked copy."""
    with part.reader() as source:
        head = source.read(len(PERF_MAGIC))
        whole = PrefixedStream(head, source)
        yield perf_data_text.unpack_file(whole, Path("perf.data")) if head == PERF_MAGIC else whole


def _to_utc(request: Mapping[str, Any], t_ns: Times) -> Times:
    """Return the times on the canonical clock; unchanged when the clock of the source is unknown."""
    if request["clock_kind"] is None:
        return t_ns
    return load_clock(request["clock"]).to_utc(request["clock_kind"], t_ns)


@dataclass(frozen=True, slots=True)
class NamedSamples:
    """Sample tables, one per event, and the modules of the samples; None if the reader provides no modules.

    `schedule` are the scheduler events of the same recording, if it has them. Their times are those of the recording.
    """

    tables: list[SampleTable]
    modules: perf_data.UsedModules | None = None
    schedule: scheduling.SchedTable | None = None


def read_samples(part: StoredPart, request: Mapping[str, Any]) -> NamedSamples:
    """Read the stacks of a part: events of perf with the heaviest first, those of other tools in their order.

    The native reader is used if it is installed; otherwise perf on the server prints perf.data as text. Function names
    of a capture come from `symbols`. Those of an uploaded perf.data come from programs and libraries of the server
    with the same build ID.
    """
    reader, unit = request["reader"], request["unit"]
    with unpack_part(part) as source:
        if isinstance(source, Path):
            return _read_recording(source, request)
        if reader in READERS:
            return NamedSamples(READERS[reader](source))
        if reader == "folded":
            return NamedSamples([folded.parse_folded(source, unit=unit)])
        head = b""
        while len(head) < HEAD_BYTES and (piece := source.read(HEAD_BYTES - len(head))):
            head += piece
        text = PrefixedStream(head, source)
        if perf_script_sparse.is_sparse(head):
            return NamedSamples(perf_script_sparse.parse_sparse_script(text))
        is_native = perf_data.is_available()
        table = perf_data.read_text(text) if is_native else perf_script.parse_perf_script(text)
        return NamedSamples(_split_events(table))


def _read_recording(path: Path, request: Mapping[str, Any]) -> NamedSamples:
    if perf_data.is_available():
        symbols = request.get("symbols")
        files = perf_data.SymbolFiles(root=Path("/")) if symbols is None else unpack_symbols(symbols)
        reading = perf_data.Reading(READINGS.get(request["kind"], "samples"), tuple(request["pids"]))
        table, modules = perf_data.read_samples_and_modules(path, files, reading=reading)
        tables = perf_data.split_block_io(table) if reading.kind == "block_io" else _split_events(table)
        return NamedSamples(
            tables, modules, _read_switches(path) if request["kind"] in WITH_SWITCHES else None
        )
    with perf_data_text.run_script(path, perf_data_text.select_fields(path)) as text:
        return NamedSamples(_split_events(perf_script.parse_perf_script(text)))


def _read_switches(path: Path) -> scheduling.SchedTable | None:
    """Return the scheduler events of a recording of stacks, or None if it has no switch or no wake-up.

    Without wake-ups, most waits for a CPU are unknown, and delays would look shorter than they are.
    """
    try:
        schedule = perf_data.read_schedule(path)
    except ImportRefusedError:
        return None
    return schedule if (schedule.origin == scheduling.WOKEN).any() else None


def _split_events(table: SampleTable) -> list[SampleTable]:
    if len(table.events) == 1:
        return [table]
    by_event = map(table.of_event, table.events)
    return sorted((item for item in by_event if len(item)), key=lambda item: -len(item))


def _build_stacks(part: StoredPart, request: Mapping[str, Any]) -> Json:
    """Build one profile per event, because weights of different events must not be added up."""
    reader = request["reader"]
    named = read_samples(part, request)
    groups = {pid: result_file.sanitize_text(path, 1000) for pid, path in request["cgroups"]}
    cgroups = ControlGroups.of(groups)
    tables = [
        replace(table.at_times(_to_utc(request, table.t_ns)) if table.has_time else table, cgroups=cgroups)
        for table in named.tables[:MAX_EVENTS]
    ]
    profiles = [_build_profile(place, reader, table) for place, table in enumerate(tables)]
    if named.schedule is not None:
        schedule = named.schedule.at_times(lambda t_ns: _to_utc(request, t_ns))
        profiles.append({**_build_schedule(len(profiles), schedule), "kind": scheduling.KIND})
    return {
        "profiles": profiles,
        "modules": describe_modules(named.modules, tables) if named.modules else None,
    }


def describe_modules(used: perf_data.UsedModules, tables: Sequence[SampleTable]) -> Json:
    """Return the modules with the most samples, and the kernel, to explain later why functions have no names.

    `unnamed_samples` is the weight of samples whose innermost function is in the module and has no name.
    """
    unnamed = Counter[str]()
    for table in tables:
        for row in list_unnamed_modules(StackProfile(table).view(), MAX_MODULES):
            unnamed[row.module] += row.weight
    largest = sorted(used.modules, key=lambda module: -module.samples)[:MAX_MODULES]
    modules = [
        {
            "path": result_file.sanitize_text(module.path, 300), "key": module.key, "is_anonymous": module.is_anonymous,
            "samples": module.samples, "symbols": module.symbols, "unnamed_samples": unnamed[module.path],
        }
        for module in largest
    ]  # fmt: skip
    return {"modules": modules, "kernel_samples": used.kernel_samples, "kernel_symbols": used.kernel_symbols}


def _build_profile(place: int, reader: str, table: SampleTable) -> Json:
    table.save(Path(f"{place}.samples"))
    Path(f"{place}.tree").write_text(render_first_tree(StackProfile(table)), encoding="utf-8")
    quality = table.quality
    measured = reader not in READERS or table.unit == "samples"
    return {
        "place": place,
        "kind": None if measured else IMPORTED,
        "event": result_file.sanitize_text(table.events[table.event[0]], 200),
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
    """Return the JSON of the default tree: the whole profile at `FIRST_WIDTH`, which the profile page loads first."""
    view = profile.view()
    totals = {"total": view.weight, "samples": view.samples, "node_count": view.nodes}
    return render_tree_json(view.render_tree(FIRST_WIDTH), totals)


def read_schedule(part: StoredPart, to_utc: Callable[[Times], Times]) -> scheduling.SchedTable:
    """Read the scheduler events of a part, with the native reader if it is installed."""
    with unpack_part(part) as source:
        if isinstance(source, Path):
            if perf_data.is_available():
                return perf_data.read_schedule(source).at_times(to_utc)
            with perf_data_text.run_script(source, perf_data_text.SCHED_FIELDS) as text:
                events = perf_sched.parse_perf_sched(text)
        else:
            events = perf_sched.parse_perf_sched(source)
    return schedule_builder.build_sched_table(events).at_times(to_utc)


def _build_schedule(place: int, table: scheduling.SchedTable) -> Json:
    """Write scheduler events and return their description. They have no stacks, so there is no tree."""
    table.save(Path(f"{place}.samples"))
    return {
        "place": place,
        "kind": None,
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
