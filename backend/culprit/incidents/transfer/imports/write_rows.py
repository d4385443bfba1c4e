"""The rows of an imported incident, all under ids of here."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import insert
from sqlalchemy.orm import Session

from culprit.auth.actor import Actor
from culprit.carried.expected import expected
from culprit.carried.form import Document
from culprit.carried.ids import NOTHING, Ids
from culprit.carried.rows_captured import Captured, plain
from culprit.incidents import verdicts as steps
from culprit.kit.clock import now
from culprit.models import (
    CauseOutcome,
    Fix,
    Host,
    Hypothesis,
    Incident,
    IncidentHost,
    IncidentOrigin,
    IncidentPlaybook,
    Pin,
    StepVerdict,
    StepWaiver,
    VerdictPin,
    Verification,
)

Json = dict[str, Any]


class Rows:
    """Writes a checked document. `parts` are the artifacts that the store holds now."""

    def __init__(self, session: Session, actor: Actor, document: Document, parts: Json) -> None:
        self.session = session
        self.actor = actor
        self.document = document
        self.parts = parts
        self.ids = Ids(document)
        self.captured = Captured(session, actor, document, parts, self.ids)
        self.said_by: dict[str, str] = {}
        self.to_read: list[UUID] = []

    def _by(self, row: object, who: str | None) -> None:
        if who:
            self.said_by[str(row)] = who

    def write(self, sha256: str) -> Incident:
        """All rows of it."""
        head, origin = self.document.incident, self.document.origin
        incident = Incident(
            **head.model_dump(exclude={"id", "symptom"}),
            id=self.ids[head.id],
            symptom=head.symptom.model_dump(mode="json"),
            created_by=self.actor.id,
            updated_at=now(),
            version=0,
        )
        self.session.add(incident)
        self.session.flush()
        self._places(incident)
        self._chain(incident)
        self._fixes(incident)
        self.to_read = self.captured.write(incident)
        self._evidence(incident)
        self.session.add(
            IncidentOrigin(
                incident_id=incident.id,
                sha256=sha256,
                imported_by=self.actor.id,
                expected=expected(self.document, self.ids),
                said_by=self.said_by,
                **origin.model_dump(include={"culprit", "number", "redacted", "written_at"}),
            )
        )
        self.session.flush()
        return incident

    def _places(self, incident: Incident) -> None:
        """Hosts that are known from this bundle alone. Who sees only some hosts gets ones that they see."""
        labels = {label: allowed[0] for label, allowed in self.actor.label_scope.items() if allowed}
        for one in self.document.hosts:
            self.session.add(
                Host(
                    id=self.ids[one.id], name=one.name, address="", port=22, username="", state="imported",
                    labels=labels, created_by=self.actor.id,
                )
            )  # fmt: skip
        self.session.flush()
        for one in self.document.hosts:
            self.session.add(
                IncidentHost(
                    incident_id=incident.id, host_id=self.ids[one.id], scope=one.scope, role=one.role
                )
            )
        self.session.flush()

    def _chain(self, incident: Incident) -> None:
        for position, one in enumerate(self.document.playbooks):
            self.session.add(
                IncidentPlaybook(
                    incident_id=incident.id, playbook_id=one.id, position=position,
                    **plain(one, "digest", "content", "aside_reason", "aside_at"),
                )
            )  # fmt: skip
            self._by(f"playbook {one.id}", one.aside_by)
        for said in self.document.hypotheses:
            self.session.add(
                Hypothesis(
                    id=self.ids[said.id], incident_id=incident.id,
                    **plain(said, "key", "says", "cause", "primary", "state", "created_at"),
                )
            )  # fmt: skip
        for waived in self.document.waivers:
            self.session.add(
                StepWaiver(incident_id=incident.id, created_at=waived.at, **plain(waived, "step", "reason"))
            )
            self._by(waived.step, waived.by)
        self.session.flush()

    def _fixes(self, incident: Incident) -> None:
        for one in self.document.fixes:
            self.session.add(
                Fix(
                    id=self.ids[one.id], incident_id=incident.id, hypothesis_id=self.ids.get(one.hypothesis),
                    hosts=self.ids.texts(one.hosts), created_at=one.at,
                    **plain(one, "card", "what", "command", "risk", "way_back", "applied_at", "state"),
                )
            )  # fmt: skip
            self._by(self.ids[one.id], one.by)
        self.session.flush()
        for asked in self.document.verifications:
            self.session.add(
                Verification(
                    id=self.ids[asked.id], fix_id=self.ids[asked.fix], before=self.ids.texts(asked.before),
                    made_before=self.ids.texts(asked.made_before), after=self.ids.texts(asked.after),
                    control_host_id=self.ids.get(asked.control), result=self._result(asked.result),
                    created_at=asked.at, **plain(asked, "kind", "primary", "bar", "state", "failure", "ended_at"),
                )
            )  # fmt: skip
            self._by(self.ids[asked.id], asked.by)
        self.session.flush()

    def _result(self, found: Json | None) -> Json | None:
        """What a verification found; a comparison that is not here is not drawn."""
        moved: Json | None = self.ids.moved(found)
        drawn = (moved or {}).get("differential")
        if isinstance(drawn, dict) and drawn.get("diff_id") == str(NOTHING):
            drawn["diff_id"] = None
        return moved

    def _evidence(self, incident: Incident) -> None:
        hosts = {one.id for one in self.document.hosts}
        for one in self.document.pins:
            said = self._said(one.said, hosts)
            self.session.add(
                Pin(
                    id=self.ids[one.id], incident_id=incident.id, kind=one.kind, ref=self.ids.moved(one.ref),
                    view=self.ids.view(one.view), said=said, step=one.step,
                    artifact=said["artifacts"][0] if len(said["artifacts"]) == 1 else None,
                    created_at=one.at,
                )
            )  # fmt: skip
            self._by(self.ids[one.id], one.by)
        self.session.flush()
        for verdict in self.document.verdicts:
            about, _ = steps.step_about(self.session, incident, verdict.step)
            self.session.add(
                StepVerdict(
                    id=self.ids[verdict.id], incident_id=incident.id, hypothesis=about,
                    host_id=self.ids.get(verdict.host), created_at=verdict.at,
                    **plain(verdict, "step", "verdict", "note"),
                )
            )  # fmt: skip
            self._by(self.ids[verdict.id], verdict.by)
        self.session.flush()
        cited = [
            {"verdict_id": self.ids[verdict.id], "pin_id": self.ids[pin]}
            for verdict in self.document.verdicts
            for pin in dict.fromkeys(verdict.pins)
        ]
        if cited:
            self.session.execute(insert(VerdictPin), cited)
        for outcome in self.document.outcomes:
            self.session.add(
                CauseOutcome(
                    incident_id=incident.id, pins=self.ids.texts(outcome.pins),
                    **plain(outcome, "cause", "right", "true_cause", "note", "at"),
                )
            )  # fmt: skip

    def _said(self, said: Json, hosts: set[UUID]) -> Json:
        """What a pin showed. It names bytes only that the bundle holds: of others nobody may ask by their digest."""
        moved: Json = self.ids.moved(said)
        held = [one for one in said.get("artifacts") or () if one in self.parts]
        known = [str(self.ids[one]) for one in hosts]
        named = [one for one in moved.get("hosts") or () if one in known]
        return {**moved, "artifacts": held, "hosts": named, "host_id": named[0] if named else None}
