"""Writes what was read of one run in the place of what was read of it before, in one transaction."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from uuid import UUID

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from collectors import look_back
from collectors.clock import ClockMap
from collectors.host_values import FIELD_REJECTED
from culprit.captures.leases import settle_capture
from culprit.core.fact_names import of_collector
from culprit.core.outcomes import run_state
from culprit.core.usual import PROM_USUAL
from culprit.imports.sources import PROM_IMPORT
from culprit.infra.broker import announce
from culprit.kit.uuid7 import uuid7
from culprit.models import Host, Profile, ResultTable, Run, RunCollector
from culprit.services import queries as services
from culprit.workflows.keep_facts import Source, keep
from culprit.workflows.parse_run import Reading
from culprit.workflows.parsed_form import events_form
from culprit.workflows.store_events import replace_events
from culprit.workflows.store_series import Lane, replace_series

HOST_FACTS = "host_facts"
FETCHED_STATES = ("done", "partial")
TARGET = "target"  # what the runner found of the scope, before any collector
MAX_NS = (1 << 63) - 1  # what a bigint holds
Json = dict[str, Any]


def store(
    session: Session, run_id: UUID, fence: int, readings: list[Reading], *, clock: Json | None, again: bool
) -> str | None:
    """Replace, and end the run where it was waiting for this. None where somebody else was faster."""
    run = session.scalar(
        select(Run).where(Run.id == run_id, Run.fence == fence).with_for_update(of=Run, key_share=True)
    )
    if run is None or (run.state != "ingesting" and not again):
        return None
    run.clock = clock
    good = [reading for reading in readings if reading.failure is None]
    beyond = _beyond(session, run.id)
    lanes = [lane for reading in good for lane in _lanes(reading, beyond.values())]
    replace_series(session, run, lanes)
    kept = [lane for lane in lanes if lane.run_collector_id == beyond.get(look_back.ID)]
    run.look_back_ns = min((chunk["t0_ns"] for lane in kept for chunk in lane.chunks), default=None)
    _events(session, run, good)
    _tables(session, run, good)
    _profiles(session, run, good)
    _facts(session, run, good)
    _remember(session, run, good)
    _outcomes(session, run, readings)
    session.flush()
    if run.state == "ingesting":
        states = session.scalars(select(RunCollector.state).where(RunCollector.run_id == run.id)).all()
        cancelled = run.cancel_requested_at is not None
        run.state = run_state(states, failed=run.failure is not None, cancelled=cancelled)
        run.ended_at = run.ended_at or func.clock_timestamp()  # one that was brought ended elsewhere
        session.flush()
        plan_fetch(session, run)
        settle_capture(session, run.capture_id)
    announce(session, "culprit.evaluate_run", run.id)
    return run.state


def add(session: Session, run_id: UUID, reading: Reading) -> None:
    """Write what one collector yielded beside what is there of a run that has ended."""
    run = session.scalars(select(Run).where(Run.id == run_id).with_for_update(of=Run, key_share=True)).one()
    if reading.failure is None:
        lanes = _lanes(reading, _beyond(session, run.id).values())
        replace_series(session, run, lanes, only=reading.run_collector_id)
        _tables(session, run, [reading], only=reading.run_collector_id)
    _outcomes(session, run, [reading])


def plan_fetch(session: Session, run: Run) -> None:
    """Where the host belongs to a service that a Prometheus measures, that is asked once the run has ended.

    It is a collector of its own, planned after the state of the run was decided: losing it fails nothing.
    """
    if run.host is None or run.state not in FETCHED_STATES or services.measured(session, run.host) is None:
        return
    known = select(RunCollector.id).where(
        RunCollector.run_id == run.id, RunCollector.collector == PROM_IMPORT
    )
    if session.scalar(known) is None:
        session.add(RunCollector(run_id=run.id, collector=PROM_IMPORT, state="queued", way="query_range"))
        session.flush()
        announce(session, "culprit.fetch_service", run.id)


def plan_usual(session: Session, run_id: UUID) -> bool:
    """The same hours of earlier days, planned beside what was fetched around the capture. Whether that is new."""
    known = select(RunCollector.id).where(RunCollector.run_id == run_id, RunCollector.collector == PROM_USUAL)
    if session.scalar(known) is not None:
        return False
    session.add(RunCollector(run_id=run_id, collector=PROM_USUAL, state="queued", way="query_range"))
    session.flush()
    return True


def _beyond(session: Session, run_id: UUID) -> dict[str, UUID]:
    """The collectors of a run by name whose readings reach beyond what the capture itself measured."""
    query = select(RunCollector.collector, RunCollector.id).where(
        RunCollector.run_id == run_id, RunCollector.collector.in_((PROM_IMPORT, look_back.ID))
    )
    return {row.collector: row.id for row in session.execute(query)}


def _lanes(reading: Reading, beyond: Collection[UUID]) -> list[Lane]:
    return [
        Lane(
            run_collector_id=reading.run_collector_id,
            artifact_id=reading.artifacts.get(one["part"]),
            parser_version=reading.parser_version,
            metric=one["metric"],
            labels=one["labels"],
            axis=one["axis"],
            axis_values=one["axis_values"],
            chunks=[_chunk(chunk, reading.blob) for chunk in one["chunks"]],
            in_capture=reading.run_collector_id not in beyond,
        )
        for one in reading.parsed["series"]
    ]


def _chunk(chunk: Json, blob: bytes) -> Json:
    cut = dict(chunk)
    for name in ("data", "summary", "lines"):
        if chunk[name] is not None:
            at, length = chunk[name]
            cut[name] = blob[at : at + length]
    return cut


def _events(session: Session, run: Run, readings: list[Reading]) -> None:
    """What the parsers found, and the steps of the wall clock."""
    clock = ClockMap.from_json(run.clock)
    of_clock_ns = clock.uncertainty_ns if clock.known else 0
    rows = [
        {**one, "artifact_id": reading.artifacts.get(one.pop("part"))}
        for reading in readings
        for one in reading.parsed["events"]
    ]
    rows += [{**one, "artifact_id": None} for one in events_form(clock.events())]
    for row in rows:
        row |= {"id": uuid7(), "host_id": run.host_id, "run_id": run.id}
        row["uncertainty_ns"] = min(row["uncertainty_ns"] + of_clock_ns, MAX_NS)
        row.pop("part", None)
    replace_events(session, run, rows)


def _tables(session: Session, run: Run, readings: list[Reading], *, only: UUID | None = None) -> None:
    """In the place of all tables of the run, or of those of its collector `only`."""
    stale = delete(ResultTable).where(ResultTable.run_id == run.id)
    session.execute(stale if only is None else stale.where(ResultTable.run_collector_id == only))
    for reading in readings:
        for one in reading.parsed["tables"]:
            session.add(
                ResultTable(
                    run_id=run.id,
                    run_collector_id=reading.run_collector_id,
                    kind=one["kind"],
                    columns=one["columns"],
                    rows=one["rows"],
                    lines=one["lines"],
                    artifact_id=reading.artifacts.get(one["part"]),
                )
            )


def _profiles(session: Session, run: Run, readings: list[Reading]) -> None:
    """Queue what has to be built. A profile keeps its id when read again: links and comparisons name it."""
    known = {
        (row.run_collector_id, row.kind): row
        for row in session.scalars(
            select(Profile).where(Profile.run_id == run.id).order_by(Profile.id.desc())
        )
    }
    for reading in readings:
        for source in reading.parsed["profiles"]:
            kept = known.pop((reading.run_collector_id, source["kind"]), None)
            profile = kept or Profile(run_id=run.id, run_collector_id=reading.run_collector_id)
            profile.host_id, profile.kind, profile.unit = run.host_id, source["kind"], source["unit"]
            profile.source = {**source, "artifacts": {n: str(i) for n, i in reading.artifacts.items()}}
            profile.state, profile.failure = "queued", None
            session.add(profile)
            session.flush()
            announce(session, "culprit.build_profile", profile.id)


def _facts(session: Session, run: Run, readings: list[Reading]) -> None:
    """The host as this run found it, and under each collector's name what else that found out.

    An imported host is known by nothing else.
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


def _remember(session: Session, run: Run, readings: list[Reading]) -> None:
    """How the host was set up at that time. A run whose clock is not known tells of no time."""
    if run.host_id is None or run.t0_ns is None:
        return
    session.flush()
    for reading in readings:
        if not reading.parsed["readable"]:
            continue
        row = session.get_one(RunCollector, reading.run_collector_id)
        facts = of_collector(
            row.collector, reading.parsed["facts"], reading.parsed["fact_lines"], reading.parsed["tables"]
        )
        source = Source(row.collector, run.t0_ns, run.id, reading.artifacts)
        keep(
            session, run.host_id, source, facts, whole=row.state == "done" and not reading.parsed["warnings"]
        )


def _outcomes(session: Session, run: Run, readings: list[Reading]) -> None:
    for reading in readings:
        one = session.get_one(RunCollector, reading.run_collector_id)
        one.parser_version = reading.parser_version or one.parser_version
        of_host = [warning for warning in one.warnings if warning["key"].startswith(FIELD_REJECTED)]
        one.warnings = of_host + reading.parsed.get("warnings", [])
        if reading.reason is not None:
            if one.state in {"done", "unreadable"}:
                one.state = "unreadable"
                one.reason = reading.reason
        elif one.state == "unreadable":
            one.state, one.reason = "done", None
