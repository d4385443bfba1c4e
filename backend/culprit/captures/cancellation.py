"""Cancel runs: queued runs end immediately, running ones are notified and end within seconds."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import ColumnElement, func, update
from sqlalchemy.orm import Session

from culprit.captures.locks import settle_capture
from culprit.captures.queries import list_open_capture_ids, lock_open_runs_on_hosts
from culprit.infra.db.unit_of_work import after_commit
from culprit.infra.event_stream import EventPublisher
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.json_types import Json


def cancel_runs(session: Session, capture_id: UUID, runs: Sequence[Run], why: Json | None = None) -> None:
    """Cancel these open runs of a capture. They must be locked. `why` is the message of queued runs."""
    at = func.clock_timestamp()
    for run in runs:
        values: Json = {"cancel_requested_at": func.coalesce(Run.cancel_requested_at, at)}
        if run.state == "queued":
            values |= {"state": "canceled", "ended_at": at, "waiting": None, "failure": why}
        session.execute(
            update(Run).where(Run.id == run.id).values(**values).execution_options(synchronize_session=False)
        )
        if run.state == "queued":
            session.execute(
                update(RunCollector)
                .where(RunCollector.run_id == run.id)
                .values(state="canceled")
                .execution_options(synchronize_session=False)
            )
    settle_capture(session, capture_id)


def cancel_runs_on_hosts(
    session: Session, publisher: EventPublisher, hosts: ColumnElement[bool], why: Json
) -> list[UUID]:
    """Cancel every open run on the hosts of a condition. Return the captures that had one.

    Captures are locked in order, and runs within them, as in all code that locks several.
    """
    capture_ids = list_open_capture_ids(session, hosts)
    for capture_id in capture_ids:
        runs = lock_open_runs_on_hosts(session, capture_id, hosts)
        cancel_runs(session, capture_id, runs, why)
        session.execute(
            update(Capture)
            .where(Capture.id == capture_id)
            .values(cancel_requested_at=func.coalesce(Capture.cancel_requested_at, func.clock_timestamp()))
            .execution_options(synchronize_session=False)
        )
        after_commit(session, lambda item=capture_id: publisher.publish(item, "capture", {}))  # type: ignore[misc]
    return list(capture_ids)
