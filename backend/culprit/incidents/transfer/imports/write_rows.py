"""Write the rows of an imported incident with new local IDs."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import insert
from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.incidents.chain import verdicts as steps
from culprit.incidents.transfer.bundle.document import BundleDocument
from culprit.incidents.transfer.imports.expected_verdicts import build_expected
from culprit.incidents.transfer.imports.id_map import UNKNOWN_ID, IdMap
from culprit.incidents.transfer.imports.write_capture_rows import CaptureRowWriter, dump_fields
from culprit.infra.db.clock import utc_now
from culprit.infra.models.analysis.cause_outcome import CauseOutcome
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.incidents.fix import Fix
from culprit.infra.models.incidents.hypothesis import Hypothesis
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.incidents.incident_host import IncidentHost
from culprit.infra.models.incidents.incident_origin import IncidentOrigin
from culprit.infra.models.incidents.incident_playbook import IncidentPlaybook
from culprit.infra.models.incidents.pin import Pin
from culprit.infra.models.incidents.step_verdict import StepVerdict
from culprit.infra.models.incidents.step_waiver import StepWaiver
from culprit.infra.models.incidents.verdict_pin import VerdictPin
from culprit.infra.models.incidents.verification import Verification
from culprit.json_types import Json


class RowWriter:
    """Write a validated document. `parts` are the artifacts in the store."""

    def __init__(self, session: Session, actor: Actor, document: BundleDocument, parts: Json) -> None:
        self.session = session
        self.actor = actor
        self.document = document
        self.parts = parts
        self.ids = IdMap(document)
        self.capture_rows = CaptureRowWriter(session, actor, document, parts, self.ids)
        self.authors: dict[str, str] = {}
        self.pending_runs: list[UUID] = []

    def _record_author(self, row: object, who: str | None) -> None:
        if who:
            self.authors[str(row)] = who

    def write(self, sha256: str) -> Incident:
        """Write all rows."""
        head, origin = self.document.incident, self.document.origin
        incident = Incident(
            **head.model_dump(exclude={"id", "symptom"}),
            id=self.ids[head.id],
            symptom=head.symptom.model_dump(mode="json"),
            created_by=self.actor.id,
            updated_at=utc_now(),
            version=0,
        )
        self.session.add(incident)
        self.session.flush()
        self._add_hosts(incident)
        self._add_chain(incident)
        self._add_fixes(incident)
        self.pending_runs = self.capture_rows.write(incident)
        self._add_evidence(incident)
        self.session.add(
            IncidentOrigin(
                incident_id=incident.id,
                sha256=sha256,
                imported_by=self.actor.id,
                expected=build_expected(self.document, self.ids),
                authors=self.authors,
                **origin.model_dump(include={"culprit", "number", "redacted", "written_at"}),
            )
        )
        self.session.flush()
        return incident

    def _add_hosts(self, incident: Incident) -> None:
        """Write imported hosts, with labels that are in the label scope of the actor."""
        labels = {label: allowed[0] for label, allowed in self.actor.label_scope.items() if allowed}
        for host in self.document.hosts:
            self.session.add(
                Host(
                    id=self.ids[host.id], name=host.name, address="", port=22, username="", state="imported",
                    labels=labels, created_by=self.actor.id,
                )
            )  # fmt: skip
        self.session.flush()
        for host in self.document.hosts:
            self.session.add(
                IncidentHost(
                    incident_id=incident.id, host_id=self.ids[host.id], scope=host.scope, role=host.role
                )
            )
        self.session.flush()

    def _add_chain(self, incident: Incident) -> None:
        for position, item in enumerate(self.document.playbooks):
            self.session.add(
                IncidentPlaybook(
                    incident_id=incident.id, playbook_id=item.id, position=position,
                    **dump_fields(item, "digest", "content", "dismissed_reason", "dismissed_at"),
                )
            )  # fmt: skip
            self._record_author(f"playbook {item.id}", item.dismissed_by)
        for hypothesis in self.document.hypotheses:
            self.session.add(
                Hypothesis(
                    id=self.ids[hypothesis.id], incident_id=incident.id,
                    **dump_fields(hypothesis, "key", "summary", "cause", "primary", "state", "created_at"),
                )
            )  # fmt: skip
        for waived in self.document.waivers:
            self.session.add(
                StepWaiver(
                    incident_id=incident.id, created_at=waived.at, **dump_fields(waived, "step", "reason")
                )
            )
            self._record_author(waived.step, waived.by)
        self.session.flush()

    def _add_fixes(self, incident: Incident) -> None:
        for fix in self.document.fixes:
            self.session.add(
                Fix(
                    id=self.ids[fix.id], incident_id=incident.id, hypothesis_id=self.ids.get(fix.hypothesis),
                    hosts=self.ids.to_strings(fix.hosts), created_at=fix.at,
                    **dump_fields(fix, "remediation", "what", "command", "risk", "rollback", "applied_at", "state"),
                )
            )  # fmt: skip
            self._record_author(self.ids[fix.id], fix.by)
        self.session.flush()
        for verification in self.document.verifications:
            self.session.add(
                Verification(
                    id=self.ids[verification.id], fix_id=self.ids[verification.fix],
                    before=self.ids.to_strings(verification.before),
                    captures_before=self.ids.to_strings(verification.captures_before),
                    after=self.ids.to_strings(verification.after),
                    control_host_id=self.ids.get(verification.control), result=self._build_result(verification.result),
                    created_at=verification.at,
                    **dump_fields(verification, "kind", "primary", "minimum_change", "state", "failure", "ended_at"),
                )
            )  # fmt: skip
            self._record_author(self.ids[verification.id], verification.by)
        self.session.flush()

    def _build_result(self, result: Json | None) -> Json | None:
        """Return the result of a verification, without a comparison that is not in the bundle."""
        moved: Json | None = self.ids.replace_ids(result)
        rendered = (moved or {}).get("differential")
        if isinstance(rendered, dict) and rendered.get("comparison_id") == str(UNKNOWN_ID):
            rendered["comparison_id"] = None
        return moved

    def _add_evidence(self, incident: Incident) -> None:
        hosts = {host.id for host in self.document.hosts}
        for pin in self.document.pins:
            snapshot = self._build_snapshot(pin.snapshot, hosts)
            self.session.add(
                Pin(
                    id=self.ids[pin.id], incident_id=incident.id, kind=pin.kind, ref=self.ids.replace_ids(pin.ref),
                    view=self.ids.replace_in_path(pin.view), snapshot=snapshot, step=pin.step,
                    artifact=snapshot["artifacts"][0] if len(snapshot["artifacts"]) == 1 else None,
                    created_at=pin.at,
                )
            )  # fmt: skip
            self._record_author(self.ids[pin.id], pin.by)
        self.session.flush()
        for verdict in self.document.verdicts:
            about, _ = steps.get_step_subject(self.session, incident, verdict.step)
            self.session.add(
                StepVerdict(
                    id=self.ids[verdict.id], incident_id=incident.id, hypothesis=about,
                    host_id=self.ids.get(verdict.host), created_at=verdict.at,
                    **dump_fields(verdict, "step", "verdict", "note"),
                )
            )  # fmt: skip
            self._record_author(self.ids[verdict.id], verdict.by)
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
                    incident_id=incident.id, pins=self.ids.to_strings(outcome.pins),
                    **dump_fields(outcome, "cause", "right", "true_cause", "note", "at"),
                )
            )  # fmt: skip

    def _build_snapshot(self, original: Json, hosts: set[UUID]) -> Json:
        """Return the snapshot of a pin with local IDs, without artifacts that are not in the bundle."""
        moved: Json = self.ids.replace_ids(original)
        held = [item for item in original.get("artifacts") or () if item in self.parts]
        known = [str(self.ids[host]) for host in hosts]
        named = [item for item in moved.get("hosts") or () if item in known]
        return {**moved, "artifacts": held, "hosts": named, "host_id": named[0] if named else None}
