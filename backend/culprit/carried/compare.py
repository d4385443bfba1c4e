"""Compares an imported incident with what its bundle said, once its runs were read here: `culprit.compare_carried`."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import select

from culprit.carried import queries, verdicts
from culprit.incidents import journal
from culprit.incidents import queries as incidents
from culprit.incidents.load import load
from culprit.infra.db import database
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Incident
from culprit.workflows.readiness import being_built


def compare_carried(incident_id: UUID) -> bool:
    """Compare and tell the journal, once. False where something is still to be read, or it was compared before."""
    with unit_of_work(database().sessions) as session:
        incident = session.scalar(
            select(Incident).where(Incident.id == incident_id).with_for_update(of=Incident, key_share=True)
        )
        origin = incidents.origin(session, incident_id)
        if incident is None or origin is None or origin.compared is not None:
            return False
        loaded = load(session, None, incident)
        run_ids = [one.run_id for one in loaded.runs]
        if queries.unread(session, incident_id) or any(being_built(session, one) for one in run_ids):
            return False
        here = list(verdicts.sayings(loaded, verdicts.spoke(session, run_ids)))
        origin.compared = verdicts.compare(origin.expected, here)
        counts = [origin.compared[kind] for kind in ("rule", "step", "hypothesis")]
        journal.enter(
            session,
            incident,
            None,
            "import_compared",
            equal=sum(one["equal"] for one in counts),
            total=sum(one["total"] for one in counts),
        )
        return True
