"""Which run a host is compared with: itself earlier, itself a week ago, its peers, or nothing."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, func, select
from sqlalchemy.orm import Session

from culprit.core.rules.peers import ROLE_LABELS
from culprit.models import Capture, Evaluation, Host, Run

SETTLED = timedelta(minutes=2)
EARLIER = timedelta(hours=24)
WEEK = timedelta(days=7)
AROUND = timedelta(hours=1)


def baseline_run(session: Session, host: Host, before: datetime) -> tuple[UUID, str] | None:
    """The run to compare with and which kind of baseline it is (`earlier`, `week`, `peers`); None where none fits.

    Only runs that no rule named a likely cause in: a sick baseline would make the sickness look normal.
    """
    earlier = _query(Run.host_id == host.id, before - EARLIER, before - SETTLED)
    week = _query(Run.host_id == host.id, before - WEEK - AROUND, before - WEEK + AROUND)
    for kind, query in (("earlier", earlier), ("week", week), ("peers", _peers(host, before))):
        found = session.scalar(query) if query is not None else None
        if found is not None:
            return found, kind
    return None


def _query(where: ColumnElement[bool], since: datetime, until: datetime) -> Select[UUID]:
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


def _peers(host: Host, before: datetime) -> Select[UUID] | None:
    same = {name: host.labels[name] for name in ROLE_LABELS if name in host.labels}
    if not same:
        return None
    others = select(Host.id).where(
        and_(Host.id != host.id, Host.state == "active", Host.labels.contains(same))
    )
    return _query(Run.host_id.in_(others), before - EARLIER, before)
