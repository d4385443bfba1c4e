"""Evidence and what people say of it: pins, verdicts, causes that were not it."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import delete
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from culprit.auth import audit
from culprit.auth.actor import Actor
from culprit.auth.policy import allowed
from culprit.core.playbooks import refusals
from culprit.core.playbooks.contract import GATES, Playbook
from culprit.core.rules.registry import CAUSES
from culprit.incidents import books, journal, queries, read
from culprit.incidents.given import VerdictAdd, VerdictWithdraw, WrongAdd
from culprit.incidents.given_pins import PinAdd
from culprit.incidents.schemas import PinChecked, PinState
from culprit.incidents.service import RESOURCE, invalid
from culprit.incidents.shown import shown
from culprit.infra.artifacts import ArtifactAltered, ArtifactMissing, ArtifactStore
from culprit.kit.clock import now
from culprit.kit.errors import Conflict, Forbidden, Invalid, NotFound
from culprit.models import (
    CauseOutcome,
    Host,
    Incident,
    Pin,
    StepVerdict,
    VerdictPin,
)
from culprit.storage import references

#: A pin that rests on several artifacts is as good as the worst of them.
WORST: tuple[PinState, ...] = ("altered", "gone", "intact")


def _book(session: Session, incident: Incident, book_id: str) -> Playbook | None:
    if book_id == books.OWN:
        return books.own(queries.hypotheses(session, incident.id))
    row = next((one for one in queries.playbooks(session, incident.id) if one.playbook_id == book_id), None)
    return books.kept(row.content, row.digest) if row else None


def rules_beside(session: Session, incident: Incident, key: str) -> frozenset[str]:
    """The rules of all steps of the playbook that a step belongs to."""
    playbook = _book(session, incident, key.partition("/")[0])
    return frozenset(one.finding for one in playbook.steps if one.finding) if playbook else frozenset()


def step_about(session: Session, incident: Incident, key: str) -> tuple[str, str]:
    """What a step is about (the key of a hypothesis, or a gate) and its rule. Raises Invalid for no step of it."""
    book_id, _, name = key.partition("/")
    playbook = _book(session, incident, book_id)
    step = next((one for one in playbook.steps if one.id == name), None) if playbook else None
    if step is None:
        raise Invalid("incident.no_step", step=key)
    return step.about if step.about in GATES else f"{book_id}/{step.about}", step.finding


def add_pin(
    session: Session, actor: Actor, store: ArtifactStore, incident_id: UUID, wanted: PinAdd
) -> tuple[Incident, UUID]:
    """Evidence to be shown again. Raises NotFound, Conflict, Invalid for what is not there."""
    incident = journal.claim(session, actor, incident_id, wanted.version)
    if wanted.step is not None:
        step_about(session, incident, wanted.step)
    references.keep(session, wanted.ref.model_dump(mode="json"))
    seen = shown(session, actor, store, wanted)
    mine = {host.id for _, host in queries.hosts(session, actor, incident.id)}
    if not mine.issuperset(host for host in seen.hosts if host is not None):
        raise Invalid("incident.pin_of_other_host")
    hosts = [str(host) for host in seen.hosts if host is not None]
    pin = Pin(
        incident_id=incident.id,
        kind=wanted.kind,
        ref=wanted.ref.model_dump(mode="json"),
        view=wanted.view,
        said={
            **seen.said,
            "host_id": hosts[0] if hosts else None,
            "hosts": hosts,
            "artifacts": list(seen.artifacts),
        },
        artifact=seen.artifacts[0] if len(seen.artifacts) == 1 else None,
        step=wanted.step,
        created_by=actor.id,
    )
    session.add(pin)
    session.flush()
    journal.enter(
        session,
        incident,
        actor,
        "pin",
        what=wanted.kind,
        step=wanted.step or "",
        host_id=hosts[0] if hosts else "",
    )
    audit.record(session, actor, "incident.pin", RESOURCE, incident.id, pin=str(pin.id), kind=wanted.kind)
    return incident, pin.id


def check_pin(
    session: Session, actor: Actor, store: ArtifactStore, incident_id: UUID, pin_id: UUID
) -> PinChecked:
    """A pin, and whether the bytes behind it are still those that came home. Reads all of them."""
    incident = journal.found(session, actor, incident_id)
    pin = next((one for one in queries.pins(session, incident.id) if one.id == pin_id), None)
    seen = {str(host.id) for _, host in queries.hosts(session, actor, incident.id)}
    if pin is None or not seen.issuperset(pin.said.get("hosts", ())):
        raise NotFound("incident.no_pin")
    digests = pin.said.get("artifacts") or ([pin.artifact] if pin.artifact else [])
    states = {_bytes(store, one) for one in digests}
    state: PinState | None = next((one for one in WORST if one in states), None)
    sent = read.pin(pin, queries.names(session, [pin.created_by]))
    return PinChecked(**sent.model_dump(), state=state)


def _bytes(store: ArtifactStore, digest: str) -> PinState:
    try:
        store.verify(digest)
    except ArtifactAltered:
        return "altered"
    except (ArtifactMissing, FileNotFoundError):
        return "gone"
    return "intact"


def _pins(session: Session, incident: Incident, ids: Sequence[UUID]) -> list[Pin]:
    """Pins of this incident. Raises Invalid for any other."""
    mine = {one.id: one for one in queries.pins(session, incident.id)}
    for one in ids:
        if one not in mine:
            raise Invalid("incident.pin_of_other")
    return [mine[one] for one in dict.fromkeys(ids)]


def add_verdict(
    session: Session, actor: Actor, incident_id: UUID, wanted: VerdictAdd
) -> tuple[Incident, UUID]:
    """What somebody says a step shows. It stands above the rule's; both are kept."""
    incident = journal.claim(session, actor, incident_id, wanted.version)
    about, _ = step_about(session, incident, wanted.step)
    pins = _pins(session, incident, wanted.pins)
    cited = [refusals.Cited(str(one.id), bool(one.said.get("collected"))) for one in pins]
    invalid(refusals.verdict(wanted.verdict, cited))
    hosts = {host.id for _, host in queries.hosts(session, actor, incident.id)}
    if wanted.host_id is not None and wanted.host_id not in hosts:
        raise Invalid("incident.no_host")
    one = StepVerdict(
        incident_id=incident.id,
        step=wanted.step,
        hypothesis=about,
        host_id=wanted.host_id,
        verdict=wanted.verdict,
        note=wanted.note,
        by=actor.id,
    )
    session.add(one)
    session.flush()
    for pin in pins:
        session.execute(insert(VerdictPin).values(verdict_id=one.id, pin_id=pin.id))
    _tell(session, actor, incident, one, kind="verdict", note=wanted.note)
    return incident, one.id


def withdraw(
    session: Session, actor: Actor, incident_id: UUID, verdict_id: UUID, wanted: VerdictWithdraw
) -> Incident:
    """Takes one's own verdict back; on call one may take back anybody's. The row stays."""
    incident = journal.claim(session, actor, incident_id, wanted.version)
    one = next((each for each in queries.verdicts(session, incident.id) if each.id == verdict_id), None)
    if one is None:
        raise NotFound("incident.no_verdict")
    if one.by != actor.id and not allowed(actor, "incident.resolve"):
        raise Forbidden("incident.verdict_of_other")
    one.withdrawn_at = now()
    _tell(session, actor, incident, one, kind="withdrawn", note=wanted.note)
    return incident


def _tell(
    session: Session, actor: Actor, incident: Incident, one: StepVerdict, *, kind: str, note: str
) -> None:
    host = session.get_one(Host, one.host_id) if one.host_id is not None else None
    name, host_id = (host.name, str(host.id)) if host else ("", "")
    journal.enter(
        session,
        incident,
        actor,
        kind,
        note=note,
        step=one.step,
        verdict=one.verdict,
        host=name,
        host_id=host_id,
    )
    audit.record(
        session,
        actor,
        f"incident.{kind}",
        RESOURCE,
        incident.id,
        step=one.step,
        verdict=one.verdict,
        host=name,
        host_id=host_id,
    )


def wrong(session: Session, actor: Actor, incident_id: UUID, wanted: WrongAdd) -> Incident:
    """A cause that was named was not it. What was said of that cause in this incident before is replaced."""
    incident = journal.claim(session, actor, incident_id, wanted.version)
    for cause in filter(None, (wanted.cause, wanted.true_cause)):
        if cause not in CAUSES:
            raise Invalid("incident.no_cause", cause=cause)
    if wanted.true_cause == wanted.cause:
        raise Conflict("incident.same_cause")
    pins = _pins(session, incident, wanted.pins)
    if wanted.true_cause is not None and not pins:
        raise Invalid("incident.wrong_needs_pin")
    session.execute(
        delete(CauseOutcome).where(
            CauseOutcome.incident_id == incident.id, CauseOutcome.cause == wanted.cause
        )
    )
    session.add(
        CauseOutcome(
            incident_id=incident.id,
            cause=wanted.cause,
            right=False,
            true_cause=wanted.true_cause,
            pins=[str(one.id) for one in pins],
            note=wanted.note,
            by=actor.id,
        )
    )
    instead = wanted.true_cause or ""
    kind = "wrong_instead" if instead else "wrong"
    journal.enter(session, incident, actor, kind, note=wanted.note, cause=wanted.cause, instead=instead)
    audit.record(session, actor, "incident.wrong", RESOURCE, incident.id, cause=wanted.cause, instead=instead)
    return incident
