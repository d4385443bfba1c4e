"""Add the result of a diagnosis to an incident that was opened before it finished."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.incidents.chain import queries
from culprit.incidents.records import journal, service
from culprit.incidents.records.from_diagnosis import build_seed
from culprit.infra.models.analysis.diagnosis import Diagnosis
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.incidents.incident import Incident


def record_diagnosis(session: Session, actor: Actor, incident: Incident, diagnosis: Diagnosis) -> None:
    """Add its runs as evidence, runs of peers as control, and its causes as hypotheses with their playbooks.

    The incident must be locked. Existing entries stay.
    """
    seed = build_seed(session, actor, diagnosis.id, ())
    have = service.list_playbook_ids(session, incident)
    service.attach_playbooks(
        session, incident, [playbook for playbook in seed.playbooks if playbook not in have]
    )
    service.apply_seed(session, incident, seed)
    capture_ids = [UUID(stage["capture_id"]) for stage in diagnosis.stages]
    peers = queries.list_peer_run_ids(session, capture_ids, diagnosis.host_id)
    service.link_runs(session, incident, peers, "control", None)
    host = session.get_one(Host, diagnosis.host_id)
    causes = [item["id"] for item in (diagnosis.result or {}).get("causes", ())]
    if diagnosis.state != "done" and not causes:
        kind = "diagnosis_failed"
    else:
        kind = "diagnosis_completed" if causes else "diagnosis_inconclusive"
    journal.append_entry(
        session, incident, None, kind, number=diagnosis.number, host=host.name, causes=", ".join(causes[:5])
    )
