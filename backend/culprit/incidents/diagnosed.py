"""What a diagnosis brings into an incident that was opened before it had an answer."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from culprit.auth.actor import Actor
from culprit.incidents import journal, service
from culprit.incidents.bridge import brought
from culprit.models import Diagnosis, Host, Incident, Run


def bring(session: Session, actor: Actor, incident: Incident, diagnosis: Diagnosis) -> None:
    """Its runs as evidence, those of the twins as control, its causes as hypotheses with their playbooks.

    The incident must be locked. What is there already stays.
    """
    bridge = brought(session, actor, diagnosis.id, ())
    have = service.playbook_names(session, incident)
    service.attach(session, incident, [one for one in bridge.playbooks if one not in have])
    service.bring(session, incident, bridge)
    twins = select(Run.id).where(
        Run.capture_id.in_([UUID(one["capture_id"]) for one in diagnosis.stages]),
        Run.host_id != diagnosis.host_id,
    )
    service.link(session, incident, session.scalars(twins.order_by(Run.id)).all(), "control", None)
    host = session.get_one(Host, diagnosis.host_id)
    causes = [one["id"] for one in (diagnosis.result or {}).get("causes", ())]
    kind = "diagnosed" if causes else "diagnosed_nothing" if diagnosis.state == "done" else "diagnosis_failed"
    journal.enter(
        session, incident, None, kind, number=diagnosis.number, host=host.name, causes=", ".join(causes[:5])
    )
