"""Ending runs before their time: what waits ends now, what runs is told so and ends within seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, func, select, update
from sqlalchemy.orm import Session

from culprit.captures.leases import settle_capture
from culprit.infra.progress import Publisher
from culprit.kit.unit_of_work import after_commit
from culprit.models import Capture, Host, Run, RunCollector

Json = dict[str, Any]


def call_off(session: Session, capture_id: UUID, runs: Sequence[Run], why: Json | None = None) -> None:
    """Calls off these open runs of a capture. They must be locked. `why` is a sentence for those that wait."""
    at = func.clock_timestamp()
    for run in runs:
        values: Json = {"cancel_requested_at": func.coalesce(Run.cancel_requested_at, at)}
        if run.state == "queued":
            values |= {"state": "cancelled", "ended_at": at, "waiting": None, "failure": why}
        session.execute(
            update(Run).where(Run.id == run.id).values(**values).execution_options(synchronize_session=False)
        )
        if run.state == "queued":
            session.execute(
                update(RunCollector)
                .where(RunCollector.run_id == run.id)
                .values(state="cancelled")
                .execution_options(synchronize_session=False)
            )
    settle_capture(session, capture_id)


def call_off_on(session: Session, publisher: Publisher, hosts: ColumnElement[bool], why: Json) -> list[UUID]:
    """Calls off every open run on the hosts of a condition. Returns the captures that had one.

    Captures are taken in their order, runs within them, as everybody else does who locks several.
    """
    open_runs = (
        Run.ended_at.is_(None),
        Run.state != "ingesting",
        Run.host_id.in_(select(Host.id).where(hosts)),
    )
    found = session.scalars(
        select(Run.capture_id).where(*open_runs).distinct().order_by(Run.capture_id)
    ).all()
    for capture_id in found:
        runs = session.scalars(
            select(Run)
            .where(Run.capture_id == capture_id, *open_runs)
            .order_by(Run.id)
            .with_for_update(of=Run, key_share=True)
            .execution_options(populate_existing=True)
        ).all()
        call_off(session, capture_id, runs, why)
        session.execute(
            update(Capture)
            .where(Capture.id == capture_id)
            .values(cancel_requested_at=func.coalesce(Capture.cancel_requested_at, func.clock_timestamp()))
            .execution_options(synchronize_session=False)
        )
        after_commit(session, lambda one=capture_id: publisher.publish(one, "capture", {}))  # type: ignore[misc]
    return list(found)
