"""SELECTs of the run that a host is compared with: an earlier one, one a week ago, or one of a peer."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, func, select
from sqlalchemy.orm import Session

from culprit.domain.rules.peers import ROLE_LABELS
from culprit.infra.models.analysis.evaluation import Evaluation
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.hosts.host import Host

SETTLING_TIME = timedelta(minutes=2)
MAX_AGE = timedelta(hours=24)
WEEK = timedelta(days=7)
TIME_TOLERANCE = timedelta(hours=1)


def find_baseline_run(session: Session, host: Host, before: datetime) -> tuple[UUID, str] | None:
    """Return the run to compare with and its kind of baseline (`earlier`, `week`, `peers`), or None.

    Runs with a likely cause are excluded, because an unhealthy baseline would make the problem look normal.
    """
    earlier = _healthy_run_query(Run.host_id == host.id, before - MAX_AGE, before - SETTLING_TIME)
    week = _healthy_run_query(
        Run.host_id == host.id, before - WEEK - TIME_TOLERANCE, before - WEEK + TIME_TOLERANCE
    )
    for kind, query in (("earlier", earlier), ("week", week), ("peers", _peer_run_query(host, before))):
        row = session.scalar(query) if query is not None else None
        if row is not None:
            return row, kind
    return None


def _healthy_run_query(where: ColumnElement[bool], since: datetime, until: datetime) -> Select[UUID]:
    likely = func.jsonb_build_array(func.jsonb_build_object("confidence", "likely"))
    healthy = ~Evaluation.ranking["causes"].op("@>")(likely)
    return (
        select(Run.id)
        .join(Evaluation, Evaluation.run_id == Run.id)
        .join(Capture, Capture.id == Run.capture_id)
        .where(where, Run.state.in_(("done", "partial")), Run.ended_at.between(since, until), healthy)
        .order_by((Capture.plan == "baseline").desc(), Run.ended_at.desc())
        .limit(1)
    )


def _peer_run_query(host: Host, before: datetime) -> Select[UUID] | None:
    role_labels = {name: host.labels[name] for name in ROLE_LABELS if name in host.labels}
    if not role_labels:
        return None
    others = select(Host.id).where(
        and_(Host.id != host.id, Host.state == "active", Host.labels.contains(role_labels))
    )
    return _healthy_run_query(Run.host_id.in_(others), before - MAX_AGE, before)
