"""Collect an incident as the document of a bundle, with all names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from sqlalchemy.orm import Session

from culprit import VERSION
from culprit.incidents.comments import service as comment_service
from culprit.incidents.records import queries as incidents
from culprit.incidents.records.requests import Symptom
from culprit.incidents.records.snapshot import IncidentSnapshot
from culprit.incidents.transfer import queries, verdicts
from culprit.incidents.transfer.bundle.document import BundleDocument
from culprit.incidents.transfer.export.collect_captures import (
    ENDED_STATES,
    build_captures,
    copy_fields,
    iter_ids,
)
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.db.clock import utc_now
from culprit.infra.models.incidents.pin import Pin
from culprit.json_types import Json

FINAL_STATES = ("done", "failed", "canceled")
#: The failure of a verification that is still running at the export.
OPEN_VERIFICATION = {"key": "transfer.verification_open", "params": {}}


def build_document(
    session: Session, store: ArtifactStore, snapshot: IncidentSnapshot, *, comments: bool
) -> Json:
    """Build the document as plain data, valid as `BundleDocument`."""
    links = {run.run_id: run for run in snapshot.runs if run.state in ENDED_STATES}
    rows = queries.map_runs(session, {*links, *_list_cited_runs(session, snapshot)})
    known = {"run": set(rows), "host": {host.id for _, host in snapshot.hosts}}
    person_names = _PersonNames(session, snapshot, comments=comments)
    results: Json = {
        "origin": {
            "culprit": VERSION,
            "number": snapshot.incident.number,
            "written_at": utc_now(),
            "redacted": False,
            "rules": verdicts.compute_rules_digest(),
        },
        "incident": _build_incident(snapshot),
        "hosts": [
            {"id": host.id, "name": host.name, "scope": link.scope, "role": link.role}
            for link, host in snapshot.hosts
        ],
        "playbooks": [
            {
                "id": playbook.playbook_id,
                **copy_fields(playbook, "digest", "content", "dismissed_reason", "dismissed_at"),
                "dismissed_by": person_names.name(playbook.dismissed_by, f"playbook {playbook.playbook_id}"),
            }
            for playbook in snapshot.playbooks
        ],
        "hypotheses": [
            {
                **copy_fields(hypothesis, "id", "key", "summary", "cause", "primary", "state", "created_at"),
                "status": snapshot.get_hypothesis_state(hypothesis.key).status,
            }
            for hypothesis in snapshot.hypotheses
        ],
        "steps": _build_steps(snapshot, known["run"]),
        "comments": person_names.comments(),
        **build_captures(session, store, snapshot, rows, links),
    }  # fmt: skip
    results["fixes"] = _build_fixes(snapshot, person_names, known["host"])
    captures = {capture["id"] for capture in results["captures"]}
    results["verifications"] = _build_verifications(snapshot, person_names, known, captures)
    pins = _build_pins(session, snapshot, person_names, known["run"])
    results["pins"] = pins
    results["verdicts"] = _build_verdicts(snapshot, person_names, {pin["id"]: pin for pin in pins})
    results["waivers"] = [
        {
            **copy_fields(waiver, "step", "reason"),
            "by": person_names.name(waiver.by, waiver.step),
            "at": waiver.created_at,
        }
        for waiver in snapshot.waivers.values()
    ]
    pin_ids = {pin["id"] for pin in pins}
    results["outcomes"] = [
        {
            **copy_fields(outcome, "cause", "right", "true_cause", "note", "at"),
            "by": person_names.name(outcome.by),
            "pins": [pin for pin in outcome.pins if UUID(pin) in pin_ids],
        }
        for outcome in snapshot.outcomes
    ]
    return BundleDocument.model_validate(results).model_dump(mode="json")


def _list_cited_runs(session: Session, snapshot: IncidentSnapshot) -> set[UUID]:
    """Return runs outside the incident that its pins or verifications cite, on its hosts."""
    cited = {item for pin in snapshot.pins for item in iter_ids(pin.ref)}
    compared = {UUID(item) for verification in snapshot.verifications for item in verification.before}
    hosts = {host.id for _, host in snapshot.hosts}
    return {
        run.id
        for run in queries.map_runs(
            session, {*queries.map_to_runs(session, cited).values(), *compared}
        ).values()
        if run.host_id in hosts and run.state in ENDED_STATES
    }


class _PersonNames:
    """Names of users instead of accounts."""

    def __init__(self, session: Session, snapshot: IncidentSnapshot, *, comments: bool) -> None:
        self.rows = list(comment_service.list_for_report(session, snapshot.incident)) if comments else []
        every: list[UUID | None] = [row.by for row in self.rows]
        for many, attribute in (
            (snapshot.playbooks, "dismissed_by"), (snapshot.verdicts, "by"), (snapshot.pins, "created_by"),
            (snapshot.waivers.values(), "by"), (snapshot.outcomes, "by"), (snapshot.fixes, "created_by"),
            (snapshot.verifications, "requested_by"),
        ):  # fmt: skip
            every += [getattr(item, attribute) for item in many]
        self.names = incidents.load_user_names(session, every)
        origin = incidents.find_origin(session, snapshot.incident.id)
        self.original_authors: Mapping[str, str] = origin.authors if origin else {}

    def name(self, user_id: UUID | None, of: object = None) -> str | None:
        """Return the name of a user; for imported objects that of the original author."""
        return self.names.get(user_id) if user_id else self.original_authors.get(str(of))

    def comments(self) -> list[Json]:
        """Return the comments without withdrawn ones."""
        return [
            {"about": row.ref, "text": row.text, "by": self.name(row.by), "at": row.at} for row in self.rows
        ]


def _build_incident(snapshot: IncidentSnapshot) -> Json:
    incident = snapshot.incident
    return {
        **copy_fields(
            incident,
            "id",
            "title",
            "severity",
            "state",
            "window_from",
            "window_to",
            "created_at",
            "resolved_at",
        ),
        "symptom": Symptom(**incident.symptom),
    }


def _build_steps(snapshot: IncidentSnapshot, runs: set[UUID]) -> list[Json]:
    return [
        {
            "step": walked.key(name),
            "host": answer.host,
            "run": answer.run if answer.run and UUID(answer.run) in runs else None,
            "verdict": answer.answer.verdict,
            "by": answer.answer.by,
            "rule": answer.rule.verdict,
            "muted": bool(answer.muted),
        }
        for walked in snapshot.playbook_walks
        for name, answers in walked.hosts.items()
        for answer in answers
    ]


def _build_fixes(snapshot: IncidentSnapshot, person_names: _PersonNames, hosts: set[UUID]) -> list[Json]:
    return [
        {
            **copy_fields(
                fix, "id", "remediation", "what", "command", "risk", "rollback", "applied_at", "state"
            ),
            "hypothesis": fix.hypothesis_id,
            "hosts": [host for host in fix.hosts if UUID(host) in hosts],
            "by": person_names.name(fix.created_by, fix.id),
            "at": fix.created_at,
        }
        for fix in snapshot.fixes
    ]


def _build_verifications(
    snapshot: IncidentSnapshot,
    person_names: _PersonNames,
    known: Mapping[str, set[UUID]],
    captures: set[UUID],
) -> list[Json]:
    def select_known(ids: Iterable[str], where: set[UUID]) -> list[str]:
        return [item for item in ids if UUID(item) in where]

    return [
        {
            **copy_fields(verification, "id", "kind", "primary", "minimum_change", "result", "ended_at"),
            "fix": verification.fix_id,
            "before": select_known(verification.before, known["run"]),
            "captures_before": select_known(verification.captures_before, captures),
            "after": select_known(verification.after, captures),
            "control": verification.control_host_id
            if verification.control_host_id in known["host"]
            else None,
            "state": verification.state if verification.state in FINAL_STATES else "canceled",
            "failure": verification.failure if verification.state in FINAL_STATES else OPEN_VERIFICATION,
            "by": person_names.name(verification.requested_by, verification.id),
            "at": verification.created_at,
        }
        for verification in snapshot.verifications
    ]


def _build_pins(
    session: Session, snapshot: IncidentSnapshot, person_names: _PersonNames, runs: set[UUID]
) -> list[Json]:
    of = queries.map_to_runs(session, {item for pin in snapshot.pins for item in iter_ids(pin.ref)})
    uuids: dict[UUID, list[UUID]] = defaultdict(list)
    for pin in snapshot.pins:
        uuids[pin.id] = list(dict.fromkeys(of[item] for item in iter_ids(pin.ref) if of.get(item) in runs))
    return [
        _build_pin(pin, uuids[pin.id], person_names, queries.get_table_names(session, pin))
        for pin in snapshot.pins
    ]


def _build_pin(pin: Pin, runs: Sequence[UUID], person_names: _PersonNames, table: Json) -> Json:
    """Build a pin. A row is identified by collector and kind, because tables get new IDs at every parse."""
    return {
        **copy_fields(pin, "id", "kind", "view", "snapshot", "step"),
        "ref": {**pin.ref, **table},
        "runs": runs,
        "by": person_names.name(pin.created_by, pin.id),
        "at": pin.created_at,
    }


def _build_verdicts(
    snapshot: IncidentSnapshot, person_names: _PersonNames, pins: Mapping[UUID, Json]
) -> list[Json]:
    return [
        {
            **copy_fields(verdict, "id", "step", "verdict", "note"),
            "about": verdict.hypothesis,
            "host": verdict.host_id,
            "by": person_names.name(verdict.by, verdict.id),
            "at": verdict.created_at,
            "pins": [pin for pin in snapshot.cited_pins.get(verdict.id, ()) if pin in pins],
        }
        for verdict in snapshot.verdicts
    ]
