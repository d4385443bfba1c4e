"""Build the responses of incidents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.contract import Tier
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import is_allowed
from culprit.analysis.diagnoses import queries as diagnosis_queries
from culprit.captures import service_collectors
from culprit.domain.playbooks import refusals
from culprit.domain.rules import json_form
from culprit.domain.verification.offers import list_offers
from culprit.incidents.records import playbook_versions, queries
from culprit.incidents.records.requests import Symptom
from culprit.incidents.records.snapshot import STEP_TIERS, IncidentSnapshot, load_snapshot
from culprit.incidents.responses import chain
from culprit.incidents.responses.chain import Names, build_user_ref
from culprit.incidents.responses.chain_schemas import IncidentCauseResponse, NextStepResponse, WaiverResponse
from culprit.incidents.responses.schemas import (
    AutopilotResponse,
    CauseRejectionResponse,
    FixResponse,
    IncidentDiagnosisResponse,
    IncidentHostResponse,
    IncidentOriginResponse,
    IncidentPermissions,
    IncidentPlaybookResponse,
    IncidentResponse,
    IncidentRunResponse,
    IncidentSummary,
    IncidentWindowResponse,
    JournalEntryResponse,
    ParticipantResponse,
    PinResponse,
    StateTimeResponse,
    VerificationOfferResponse,
    VerificationResponse,
)
from culprit.infra.db.clock import utc_now
from culprit.infra.models.incidents.fix import Fix
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.incidents.incident_origin import IncidentOrigin
from culprit.infra.models.incidents.incident_playbook import IncidentPlaybook
from culprit.infra.models.incidents.journal_entry import JournalEntry
from culprit.infra.models.incidents.pin import Pin
from culprit.infra.models.incidents.verification import Verification

#: An open live stream updates the presence of its user every few seconds.
PRESENCE_TIMEOUT = timedelta(seconds=20)
#: Older diagnoses of an incident are on the page of diagnoses.
MAX_DIAGNOSES = 20


def build_incident(
    session: Session, actor: Actor, incident: Incident, created_id: UUID | None = None
) -> IncidentResponse:
    """Build the response of an incident for this actor. `created_id`: the object that this request created."""
    session.flush()
    snapshot = load_snapshot(session, actor, incident)
    people = queries.list_participants(session, incident.id)
    origin = queries.find_origin(session, incident.id)
    pilot = incident.autopilot or {}
    pilot_by = UUID(pilot["by"]) if pilot.get("by") else None
    names = queries.load_user_names(
        session,
        [
            incident.created_by,
            incident.owner_id,
            pilot_by,
            origin.imported_by if origin else None,
            *(person.user_id for person in people),
            *(verdict.by for verdict in snapshot.verdicts),
            *(waiver.by for waiver in snapshot.waivers.values()),
            *(outcome.by for outcome in snapshot.outcomes),
            *(playbook.dismissed_by for playbook in snapshot.playbooks),
            *(pin.created_by for pin in snapshot.pins),
            *(fix.created_by for fix in snapshot.fixes),
            *(verification.requested_by for verification in snapshot.verifications),
        ],
    )
    at = utc_now()
    return IncidentResponse(
        id=incident.id,
        number=incident.number,
        title=incident.title,
        state=incident.state,
        severity=incident.severity,
        version=incident.version,
        created_by=build_user_ref(incident.created_by, names),
        owner=build_user_ref(incident.owner_id, names),
        created_at=incident.created_at,
        updated_at=incident.updated_at,
        resolved_at=incident.resolved_at,
        times=_build_state_times(session, incident),
        symptom=Symptom(**incident.symptom),
        window=IncidentWindowResponse(from_=incident.window_from, to=incident.window_to),
        hosts=[
            IncidentHostResponse(
                id=host.id,
                name=host.name,
                scope=link.scope,
                role=link.role,
                can_capture=host.state == "active",
            )
            for link, host in snapshot.hosts
        ],
        people=[
            ParticipantResponse(
                id=person.user_id,
                name=names[person.user_id],
                is_present=at - person.seen_at < PRESENCE_TIMEOUT,
            )
            for person in people
        ],
        playbooks=[_build_playbook(snapshot, playbook, names) for playbook in snapshot.playbooks],
        hypotheses=chain.build_hypotheses(snapshot),
        steps=chain.build_steps(snapshot, names),
        gaps=snapshot.open_steps,
        next_playbooks=sorted(
            {walk.chain.next_playbook for walk in snapshot.playbook_walks if walk.chain.next_playbook}
        ),
        next=_build_next_step(session, snapshot),
        causes=chain.build_causes(snapshot),
        rejected_causes=_build_rejections(snapshot, names),
        fixes=_build_fixes(snapshot, names),
        pins=[build_pin(pin, names) for pin in snapshot.pins],
        runs=_build_runs(snapshot),
        diagnoses=_build_diagnoses(session, actor, incident),
        permissions=_build_permissions(actor),
        autopilot=AutopilotResponse(**{**pilot, "by": build_user_ref(pilot_by, names)}) if pilot else None,
        needs_symptom_check=incident.state != "resolved"
        and any(fix.state == "verified" for fix in snapshot.fixes),
        origin=_build_origin(origin, snapshot, names) if origin else None,
        created_id=created_id,
    )


def _build_origin(
    incident_origin: IncidentOrigin, snapshot: IncidentSnapshot, names: Names
) -> IncidentOriginResponse:
    """Build the origin. Differences on hidden hosts and runs are counted, not listed."""
    same = ("culprit", "number", "redacted", "written_at", "imported_at", "authors")
    compared = incident_origin.compared
    if compared is not None:
        seen = {
            "",
            *(str(host.id) for _, host in snapshot.hosts),
            *(str(run.run_id) for run in snapshot.runs),
        }
        compared = {
            **compared,
            "differences": [each for each in compared["differences"] if each["on"] in seen],
        }
    return IncidentOriginResponse(
        **{name: getattr(incident_origin, name) for name in same},
        imported_by=build_user_ref(incident_origin.imported_by, names),
        compared=compared,
    )


def _build_next_step(session: Session, snapshot: IncidentSnapshot) -> NextStepResponse | None:
    result = snapshot.propose_next_step()
    host = next(
        (item for _, item in snapshot.hosts if result is not None and str(item.id) == result.host), None
    )
    return chain.build_next_step(
        snapshot, result, service_collectors.select_for_host(session, host) if host else None
    )


def _build_playbook(
    snapshot: IncidentSnapshot, incident_playbook: IncidentPlaybook, names: Names
) -> IncidentPlaybookResponse:
    shipped = playbook_versions.get_catalog_version(incident_playbook.playbook_id)
    waiver_response = None
    if incident_playbook.dismissed_reason is not None:
        waiver_response = WaiverResponse(
            reason=incident_playbook.dismissed_reason,
            by=build_user_ref(incident_playbook.dismissed_by, names),
        )
    return IncidentPlaybookResponse(
        id=incident_playbook.playbook_id,
        digest=incident_playbook.digest,
        title=incident_playbook.content["title"],
        current=shipped is not None and shipped[2] == incident_playbook.digest,
        state=snapshot.playbook_states[incident_playbook.playbook_id],
        dismissed=waiver_response,
    )


def _build_rejections(snapshot: IncidentSnapshot, names: Names) -> list[CauseRejectionResponse]:
    same = ("cause", "true_cause", "note", "pins")
    return [
        CauseRejectionResponse(
            **{name: getattr(outcome, name) for name in same}, by=build_user_ref(outcome.by, names)
        )
        for outcome in snapshot.outcomes
        if not outcome.right
    ]


def _build_fixes(snapshot: IncidentSnapshot, names: Names) -> list[FixResponse]:
    judged: dict[UUID, list[Verification]] = defaultdict(list)
    for verification in snapshot.verifications:
        judged[verification.fix_id].append(verification)
    seen = {host.id for _, host in snapshot.hosts}
    return [build_fix(fix, judged[fix.id], seen, names) for fix in snapshot.fixes]


def build_fix(fix: Fix, judged: Sequence[Verification], seen: set[UUID], names: Names) -> FixResponse:
    """Build a fix with its verifications and its visible hosts."""
    same = (
        "id",
        "hypothesis_id",
        "remediation",
        "what",
        "command",
        "risk",
        "rollback",
        "applied_at",
        "state",
        "created_at",
    )
    return FixResponse(
        **{name: getattr(fix, name) for name in same},
        hosts=[host for host in map(UUID, fix.hosts) if host in seen],
        by=build_user_ref(fix.created_by, names),
        verifications=[_build_verification(each, names) for each in judged],
        offers=_list_offers(fix, seen),
    )


def _list_offers(fix: Fix, seen: set[UUID]) -> list[VerificationOfferResponse]:
    changed = {UUID(host) for host in fix.hosts}
    offers = list_offers(
        is_applied=fix.state not in {"planned", "reverted"},
        changed_hosts=len(changed),
        other_hosts=len(seen - changed),
    )
    return [
        VerificationOfferResponse(
            kind=offer.kind,
            reason=json_form.sentence_to_json(offer.reason),
            refusal=json_form.sentence_to_json(offer.refusal),
        )
        for offer in offers
    ]


def _build_verification(verification: Verification, names: Names) -> VerificationResponse:
    return VerificationResponse(
        **{
            name: getattr(verification, name)
            for name in VerificationResponse.model_fields
            if name != "requested_by"
        },
        requested_by=build_user_ref(verification.requested_by, names),
    )


def build_pin(pin: Pin, names: Names) -> PinResponse:
    """Build a pin."""
    same = ("id", "kind", "ref", "view", "snapshot", "artifact", "step", "created_at")
    return PinResponse(
        **{name: getattr(pin, name) for name in same}, by=build_user_ref(pin.created_by, names)
    )


def _build_runs(snapshot: IncidentSnapshot) -> list[IncidentRunResponse]:
    same = ("run_id", "capture_id", "number", "host_id", "role", "step", "fix_id", "plan", "state")
    return [
        IncidentRunResponse(
            **{name: getattr(run, name) for name in same},
            from_=_to_datetime(run.t0_ns),
            to=_to_datetime(run.t1_ns),
        )
        for run in snapshot.runs
    ]


def _build_state_times(session: Session, incident: Incident) -> list[StateTimeResponse]:
    """Return when each state up to the current one was reached; a return to a state removes the later ones."""
    reached = [StateTimeResponse(state="open", at=incident.created_at)]
    for entry in queries.list_state_changes(session, incident.id):
        level = refusals.STATES.index(entry.params["to"])
        reached = [item for item in reached if refusals.STATES.index(item.state) < level]
        reached.append(StateTimeResponse(state=entry.params["to"], at=entry.at))
    return reached


def _build_diagnoses(session: Session, actor: Actor, incident: Incident) -> list[IncidentDiagnosisResponse]:
    rows = diagnosis_queries.list_incident_diagnoses(session, actor, incident.id, MAX_DIAGNOSES)
    same = IncidentDiagnosisResponse.model_fields
    return [IncidentDiagnosisResponse(**{name: getattr(row, name) for name in same}) for row in rows]


def _to_datetime(ns: int | None) -> datetime | None:
    return datetime.fromtimestamp(ns / 1e9, UTC) if ns is not None else None


def _build_permissions(actor: Actor) -> IncidentPermissions:
    edit = is_allowed(actor, "incident.edit")
    tiers = [
        str(step_tier)
        for step_tier in (*STEP_TIERS, Tier.PTRACE)
        if is_allowed(actor, f"capture.{step_tier}")
    ]
    return IncidentPermissions(
        edit=edit,
        comment=is_allowed(actor, "incident.comment"),
        resolve=is_allowed(actor, "incident.resolve"),
        capture=edit and bool(tiers),
        tiers=tiers,
        mute=is_allowed(actor, "mute.manage"),
        autopilot=edit and bool(tiers),
        bundle=is_allowed(actor, "artifact.read"),
    )


def build_summaries(session: Session, actor: Actor, rows: Sequence[Incident]) -> list[IncidentSummary]:
    """Build incidents for a list."""
    ids = [row.id for row in rows]
    hosts: dict[UUID, list[str]] = defaultdict(list)
    for row in queries.list_host_names(session, actor, ids):
        hosts[row.incident_id].append(row.name)
    causes: dict[UUID, list[IncidentCauseResponse]] = defaultdict(list)
    for decided_hypothesis in queries.list_decided_hypotheses(session, ids):
        causes[decided_hypothesis.incident_id].append(
            IncidentCauseResponse(
                hypothesis=decided_hypothesis.key,
                cause=decided_hypothesis.cause,
                confidence=decided_hypothesis.state,
            )
        )
    fixes: dict[UUID, list[str]] = defaultdict(list)
    for row in queries.list_fix_states(session, ids):
        fixes[row.incident_id].append(row.state)
    people = queries.count_participants(session, ids)
    owners = queries.load_user_names(session, [row.owner_id for row in rows])
    same = (
        "id",
        "number",
        "title",
        "state",
        "severity",
        "version",
        "created_at",
        "updated_at",
        "resolved_at",
    )
    return [
        IncidentSummary(
            **{name: getattr(row, name) for name in same},
            symptom=Symptom(**row.symptom),
            window=IncidentWindowResponse(from_=row.window_from, to=row.window_to),
            hosts=hosts[row.id],
            people=people.get(row.id, 0),
            owner=build_user_ref(row.owner_id, owners),
            causes=causes[row.id],
            fixes=fixes[row.id],
        )
        for row in rows
    ]


def build_journal(
    session: Session, actor: Actor, incident: Incident, rows: Sequence[JournalEntry]
) -> list[JournalEntryResponse]:
    """Build journal entries, without entries about hidden hosts."""
    reported: dict[UUID, Any] = {}
    if not actor.unrestricted:
        seen = {str(host.id) for _, host in queries.list_hosts(session, actor, incident.id)}
        rows = [row for row in rows if (row.params.get("host_id") or None) in {None, *seen}]
    reported.update(queries.load_user_names(session, (row.by for row in rows)))
    same = ("id", "version", "kind", "params", "note", "at")
    return [
        JournalEntryResponse(
            **{name: getattr(row, name) for name in same}, by=build_user_ref(row.by, reported)
        )
        for row in rows
    ]
