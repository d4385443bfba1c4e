"""Fixes: what was changed, and asking whether it helped. Culprit changes nothing on a host itself."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.auth import audit
from culprit.auth.actor import Actor
from culprit.auth.policy import policy
from culprit.core.playbooks.contract import Card
from culprit.incidents import books, journal, queries
from culprit.incidents.given import FixAdd, FixPatch, VerifyAdd
from culprit.incidents.service import RESOURCE
from culprit.infra.broker import announce
from culprit.kit.clock import now
from culprit.kit.errors import Conflict, Invalid, NotFound
from culprit.models import Fix, Hypothesis, Incident, Verification

TASK = "culprit.advance_verification"
#: Clocks of people and servers differ by so much at most.
AHEAD = timedelta(minutes=5)
OPEN = ("collecting", "judging")


def add(session: Session, actor: Actor, incident_id: UUID, wanted: FixAdd) -> tuple[Incident, UUID]:
    """A fix is written down, before it is applied. Raises NotFound, Conflict, Invalid."""
    incident = journal.claim(session, actor, incident_id, wanted.version)
    hypothesis = _hypothesis(session, incident, wanted.hypothesis_id)
    hosts = {host.id: link.role for link, host in queries.hosts(session, actor, incident.id)}
    if any(one not in hosts for one in wanted.host_ids):
        raise Invalid("incident.no_host")
    texts = {name: getattr(wanted, name).strip() for name in ("what", "command", "risk", "way_back")}
    if wanted.card:
        texts = _from_card(_card(session, incident, wanted.card), texts)
    if not texts["what"]:
        raise Invalid("incident.fix_needs_what")
    if texts["command"] and not (texts["risk"] and texts["way_back"]):
        raise Invalid("incident.fix_needs_way_back")
    on = wanted.host_ids or [one for one, role in hosts.items() if role == "suspect"]
    fix = Fix(
        incident_id=incident.id,
        hypothesis_id=hypothesis.id if hypothesis else None,
        card=wanted.card,
        hosts=[str(one) for one in dict.fromkeys(on)],
        created_by=actor.id,
        **texts,
    )
    session.add(fix)
    session.flush()
    journal.enter(session, incident, actor, "fix", what=fix.what)
    audit.record(session, actor, "incident.fix", RESOURCE, incident.id, fix=str(fix.id), **texts)
    return incident, fix.id


def _hypothesis(session: Session, incident: Incident, wanted: UUID | None) -> Hypothesis | None:
    if wanted is None:
        return None
    for one in queries.hypotheses(session, incident.id):
        if one.id == wanted:
            return one
    raise Invalid("incident.no_hypothesis")


def _card(session: Session, incident: Incident, key: str) -> Card:
    book_id, _, name = key.partition("/")
    for row in queries.playbooks(session, incident.id):
        if row.playbook_id == book_id:
            for card in books.kept(row.content, row.digest).cards:
                if card.id == name:
                    return card
    raise Invalid("incident.no_card", card=key)


def _from_card(card: Card, texts: dict[str, str]) -> dict[str, str]:
    """What was not given is as the card has it, in English: it is what a journal and a report keep."""
    has = {
        "what": card.title.en,
        "command": card.command,
        "risk": card.risk.en if card.risk else "",
        "way_back": card.back.en if card.back else "",
    }
    return {name: texts[name] or has[name] for name in has}


def patch(session: Session, actor: Actor, incident_id: UUID, fix_id: UUID, wanted: FixPatch) -> Incident:
    """It was applied, taken back, or is told better. Raises NotFound, Conflict, Invalid."""
    incident = journal.claim(session, actor, incident_id, wanted.version)
    fix = _fix(session, incident, fix_id)
    texts = {
        name: value.strip()
        for name in ("what", "command", "risk", "way_back")
        if (value := getattr(wanted, name)) is not None
    }
    for name, value in texts.items():
        setattr(fix, name, value)
    if not fix.what:
        raise Invalid("incident.fix_needs_what")
    if texts:
        journal.enter(session, incident, actor, "fix_changed", what=fix.what)
    if wanted.state == "applied":
        _apply(session, actor, incident, fix, wanted)
    elif wanted.state == "reverted":
        if fix.state == "planned":
            raise Conflict("incident.fix_not_applied")
        if fix.state != "reverted":
            fix.state = "reverted"
            journal.enter(session, incident, actor, "fix_reverted", what=fix.what)
    audit.record(
        session, actor, "incident.fix", RESOURCE, incident.id, fix=str(fix.id), state=fix.state, **texts
    )
    return incident


def _apply(session: Session, actor: Actor, incident: Incident, fix: Fix, wanted: FixPatch) -> None:
    if fix.state not in {"planned", "applied", "reverted"}:
        raise Conflict("incident.fix_judged", state=fix.state)
    at = wanted.applied_at or now()
    if at > now() + AHEAD:
        raise Invalid("incident.fix_in_future")
    fix.state, fix.applied_at = "applied", at
    journal.enter(session, incident, actor, "fix_applied", what=fix.what, at=at.isoformat())


def _fix(session: Session, incident: Incident, fix_id: UUID) -> Fix:
    for one in queries.fixes(session, incident.id):
        if one.id == fix_id:
            return one
    raise NotFound("incident.no_fix")


def verify(
    session: Session, actor: Actor, incident_id: UUID, fix_id: UUID, wanted: VerifyAdd
) -> tuple[Incident, UUID]:
    """Asks whether a fix helped: stores the question and rings for it. Raises NotFound, Conflict, Invalid."""
    incident = journal.claim(session, actor, incident_id, wanted.version)
    fix = _fix(session, incident, fix_id)
    if fix.state in {"planned", "reverted"}:
        raise Conflict("incident.fix_not_applied")
    if any(one.fix_id == fix.id and one.state in OPEN for one in queries.verifications(session, incident.id)):
        raise Conflict("incident.verification_runs")
    hosts = {host.id: host for _, host in queries.hosts(session, actor, incident.id)}
    on = [UUID(one) for one in fix.hosts]
    if not on or any(one not in hosts for one in on):
        raise Invalid("incident.no_host")
    control = wanted.control_host_id
    if (wanted.kind == "control") != (control is not None):
        raise Invalid("incident.control_needs_host")
    if control is not None and (control not in hosts or control in on):
        raise Invalid("incident.control_is_other")
    for one in (*on, *([control] if control else [])):
        policy(actor, "capture.light", hosts[one])
    runs = queries.runs(session, incident.id)
    before = [one.run_id for one in runs if one.role in {"evidence", "before"} and one.host_id in on]
    hypothesis = _hypothesis(session, incident, fix.hypothesis_id)
    verification = Verification(
        fix_id=fix.id,
        kind=wanted.kind,
        primary=hypothesis.primary if hypothesis else None,
        bar=wanted.bar,
        before=[str(one) for one in before],
        control_host_id=control,
        requested_by=actor.id,
    )
    session.add(verification)
    session.flush()
    announce(session, TASK, verification.id)
    journal.enter(session, incident, actor, "verify", what=fix.what, how=wanted.kind)
    audit.record(session, actor, "incident.verify", RESOURCE, incident.id, fix=str(fix.id), kind=wanted.kind)
    return incident, verification.id
