"""Store the parsed results of one run in one transaction, replacing earlier results."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from sqlalchemy import delete, func
from sqlalchemy.orm import Session

from collectors.clock.mapping import ClockMap
from collectors.runner import lookback
from collectors.runner.host_values import FIELD_REJECTED
from culprit.captures.locks import settle_capture
from culprit.domain.hosts.fact_names import list_collector_facts
from culprit.domain.imports.file_kinds import PROM_SERVICE
from culprit.domain.runs.states import decide_run_state
from culprit.domain.series.typical_range import PROM_TYPICAL
from culprit.evidence.parsing.parse_run import ParsedCollector
from culprit.evidence.parsing.result_file import events_to_json
from culprit.hosts.services import queries as services
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.evidence.result_table import ResultTable
from culprit.infra.models.hosts.host import Host
from culprit.infra.task_queue import enqueue_after_commit
from culprit.jobs.ingest.locks import lock_run
from culprit.jobs.ingest.plan_symbols import plan_symbols
from culprit.jobs.ingest.queries import (
    find_run_collector,
    list_collector_states,
    list_profiles,
    load_collector_ids,
)
from culprit.jobs.ingest.store_events import replace_events
from culprit.jobs.ingest.store_facts import FactReader, store_facts
from culprit.jobs.ingest.store_series import SeriesWrite, replace_series
from culprit.json_types import Json

HOST_FACTS = "host_facts"
FETCHED_STATES = ("done", "partial")
TARGET = "target"  # scope as resolved by the runner, before any collector
MAX_NS = (1 << 63) - 1  # maximum of a bigint


def store_run(
    session: Session,
    run_id: UUID,
    fence: int,
    readings: list[ParsedCollector],
    *,
    clock: Json | None,
    again: bool,
) -> str | None:
    """Replace the results, and end the run if it waits for this. Return None if another worker was faster."""
    run = lock_run(session, run_id, fence)
    if run is None or (run.state != "ingesting" and not again):
        return None
    run.clock = clock
    good = [reading for reading in readings if reading.failure is None]
    beyond = _list_unbounded_collectors(session, run.id)
    series_list = [series for reading in good for series in _list_writes(reading, beyond.values())]
    replace_series(session, run, series_list)
    lookback_series = [series for series in series_list if series.run_collector_id == beyond.get(lookback.ID)]
    run.look_back_ns = min(
        (chunk["t0_ns"] for series in lookback_series for chunk in series.chunks), default=None
    )
    _store_events(session, run, good)
    _store_tables(session, run, good)
    _enqueue_profiles(session, run, good)
    _store_run_facts(session, run, good)
    _store_host_facts(session, run, good)
    _store_outcomes(session, run, readings)
    session.flush()
    if run.state == "ingesting":
        states = list_collector_states(session, run.id)
        canceled = run.cancel_requested_at is not None
        run.state = decide_run_state(states, failed=run.failure is not None, canceled=canceled)
        run.ended_at = run.ended_at or func.clock_timestamp()  # an import ended elsewhere
        session.flush()
        plan_fetch(session, run)
        plan_symbols(session, run)
        settle_capture(session, run.capture_id)
    enqueue_after_commit(session, "culprit.evaluate_run", run.id)
    return run.state


def add_readings(session: Session, run_id: UUID, reading: ParsedCollector) -> None:
    """Add the results of one collector to a run that has ended."""
    run = lock_run(session, run_id)
    if run is None:
        raise LookupError(f"run {run_id} not found")
    if reading.failure is None:
        series_list = _list_writes(reading, _list_unbounded_collectors(session, run.id).values())
        replace_series(session, run, series_list, only=reading.run_collector_id)
        _store_tables(session, run, [reading], only=reading.run_collector_id)
    _store_outcomes(session, run, [reading])


def plan_fetch(session: Session, run: Run) -> None:
    """Plan the query of the Prometheus of the host's service after the run.

    It is a separate collector, planned after the state of the run was decided, so that its failure does not
    fail the run.
    """
    if (
        run.host is None
        or run.state not in FETCHED_STATES
        or services.find_measured_service(session, run.host) is None
    ):
        return
    if find_run_collector(session, run.id, PROM_SERVICE) is None:
        session.add(RunCollector(run_id=run.id, collector=PROM_SERVICE, state="queued", method="query_range"))
        session.flush()
        enqueue_after_commit(session, "culprit.fetch_service_metrics", run.id)


def plan_typical_fetch(session: Session, run_id: UUID) -> bool:
    """Plan the query of the same hours of earlier days. Return whether it is new."""
    if find_run_collector(session, run_id, PROM_TYPICAL) is not None:
        return False
    session.add(RunCollector(run_id=run_id, collector=PROM_TYPICAL, state="queued", method="query_range"))
    session.flush()
    return True


def _list_unbounded_collectors(session: Session, run_id: UUID) -> dict[str, UUID]:
    """Return the collectors of a run by name whose results extend beyond the time of the capture."""
    return load_collector_ids(session, run_id, (PROM_SERVICE, lookback.ID))


def _list_writes(reading: ParsedCollector, beyond: Collection[UUID]) -> list[SeriesWrite]:
    return [
        SeriesWrite(
            run_collector_id=reading.run_collector_id,
            artifact_id=reading.artifacts.get(series["part"]),
            parser_version=reading.parser_version,
            metric=series["metric"],
            labels=series["labels"],
            axis=series["axis"],
            axis_values=series["axis_values"],
            chunks=[_extract_chunk(chunk, reading.blob) for chunk in series["chunks"]],
            in_capture=reading.run_collector_id not in beyond,
        )
        for series in reading.parsed["series"]
    ]


def _extract_chunk(chunk: Json, blob: bytes) -> Json:
    cut = dict(chunk)
    for name in ("data", "summary", "lines"):
        if chunk[name] is not None:
            at, length = chunk[name]
            cut[name] = blob[at : at + length]
    return cut


def _store_events(session: Session, run: Run, readings: list[ParsedCollector]) -> None:
    """Store the parsed events and the steps of the wall clock."""
    clock = ClockMap.from_json(run.clock)
    of_clock_ns = clock.uncertainty_ns if clock.known else 0
    rows = [
        {**event, "artifact_id": reading.artifacts.get(event.pop("part"))}
        for reading in readings
        for event in reading.parsed["events"]
    ]
    rows += [{**item, "artifact_id": None} for item in events_to_json(clock.events())]
    for row in rows:
        row |= {"id": new_uuid7(), "host_id": run.host_id, "run_id": run.id}
        row["uncertainty_ns"] = min(row["uncertainty_ns"] + of_clock_ns, MAX_NS)
        row.pop("part", None)
    replace_events(session, run, rows)


def _store_tables(
    session: Session, run: Run, readings: list[ParsedCollector], *, only: UUID | None = None
) -> None:
    """Replace all tables of the run, or those of the collector `only`."""
    stale = delete(ResultTable).where(ResultTable.run_id == run.id)
    session.execute(stale if only is None else stale.where(ResultTable.run_collector_id == only))
    for reading in readings:
        for table in reading.parsed["tables"]:
            session.add(
                ResultTable(
                    run_id=run.id,
                    run_collector_id=reading.run_collector_id,
                    kind=table["kind"],
                    columns=table["columns"],
                    rows=table["rows"],
                    lines=table["lines"],
                    artifact_id=reading.artifacts.get(table["part"]),
                )
            )


def _enqueue_profiles(session: Session, run: Run, readings: list[ParsedCollector]) -> None:
    """Queue the profiles to build.

    A profile keeps its ID when it is parsed again: links and comparisons refer to it.
    """
    known = {
        (row.run_collector_id, (row.source or {}).get("kind", row.kind)): row
        for row in list_profiles(session, run.id)
    }
    for reading in readings:
        for source in reading.parsed["profiles"]:
            stored = known.pop((reading.run_collector_id, source["kind"]), None)
            profile = stored or Profile(run_id=run.id, run_collector_id=reading.run_collector_id)
            profile.host_id, profile.kind, profile.unit = run.host_id, source["kind"], source["unit"]
            profile.source = {**source, "artifacts": {n: str(i) for n, i in reading.artifacts.items()}}
            profile.state, profile.failure = "queued", None
            session.add(profile)
            session.flush()
            enqueue_after_commit(session, "culprit.build_profile", profile.id)


def _store_run_facts(session: Session, run: Run, readings: list[ParsedCollector]) -> None:
    """Store the host facts of this run, and other facts under the name of each collector.

    Update the facts of the host if it is imported or has none: no preflight check reads an imported host.
    """
    of_host: Json = {}
    others: Json = {}
    for reading in readings:
        name = session.get_one(RunCollector, reading.run_collector_id).collector
        if name == HOST_FACTS:
            of_host = reading.parsed["facts"]
        elif reading.parsed["facts"]:
            others[name] = reading.parsed["facts"]
    if of_host or others:
        run.facts = {**of_host, **others, **{k: v for k, v in (run.facts or {}).items() if k == TARGET}}
    host = session.get(Host, run.host_id) if run.host_id is not None else None
    if of_host and host is not None and (host.state == "imported" or host.facts is None):
        host.facts, host.facts_at = of_host, func.now()


def _store_host_facts(session: Session, run: Run, readings: list[ParsedCollector]) -> None:
    """Store the configuration facts of the host at the time of the run. Skip runs without a known time."""
    if run.host_id is None or run.t0_ns is None:
        return
    session.flush()
    for reading in readings:
        if not reading.parsed["readable"]:
            continue
        row = session.get_one(RunCollector, reading.run_collector_id)
        facts = list_collector_facts(
            row.collector, reading.parsed["facts"], reading.parsed["fact_lines"], reading.parsed["tables"]
        )
        source = FactReader(row.collector, run.t0_ns, run.id, reading.artifacts)
        store_facts(
            session, run.host_id, source, facts, whole=row.state == "done" and not reading.parsed["warnings"]
        )


def _store_outcomes(session: Session, run: Run, readings: list[ParsedCollector]) -> None:
    for reading in readings:
        item = session.get_one(RunCollector, reading.run_collector_id)
        item.parser_version = reading.parser_version or item.parser_version
        of_host = [warning for warning in item.warnings if warning["key"].startswith(FIELD_REJECTED)]
        item.warnings = of_host + reading.parsed.get("warnings", [])
        if reading.reason is not None:
            if item.state in {"done", "unreadable"}:
                item.state = "unreadable"
                item.reason = reading.reason
        elif item.state == "unreadable":
            item.state, item.reason = "done", None
