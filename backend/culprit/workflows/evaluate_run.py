"""Asks every rule about a run: the task `culprit.evaluate_run`.

May run twice and again later: what rules said before is replaced. A run is evaluated when it has been read, and
again when its profiles are ready and when its service's Prometheus has answered; until then the rules that need them
say what is not there yet.
"""

from __future__ import annotations

import time
from uuid import UUID

from sqlalchemy import and_, delete, exists, or_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from culprit.core.rules import form
from culprit.core.rules.contract import Finding as Said
from culprit.core.rules.evaluate import evaluate
from culprit.core.rules.rank import rank
from culprit.core.rules.registry import CAUSES, RULES
from culprit.findings.queries import overrides
from culprit.infra.artifacts import artifact_store
from culprit.infra.broker import announce
from culprit.infra.db import database
from culprit.kit.clock import now
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import (
    Capture,
    Evaluation,
    Finding,
    IncidentRun,
    Removal,
    Run,
    Verification,
)
from culprit.workflows.read_view import read_view
from culprit.workflows.readiness import BEFORE_PROFILES, READ, being_built, profiles_to_come


def evaluate_run(run_id: UUID) -> int | None:
    """Evaluate one run. Returns how many rules fired; None where there is nothing to evaluate."""
    with unit_of_work(database().sessions) as session:
        run = session.scalar(select(Run).where(Run.id == run_id).with_for_update(of=Run, key_share=True))
        if run is None or run.state not in READ:
            return None
        if _deleted(session, run.id):
            return None
        early = bool(session.scalar(select(profiles_to_come(run.id))))
        began = time.perf_counter()
        view = read_view(session, artifact_store(), [run.id])
        labels = run.host.labels if run.host else {}
        found = evaluate(RULES.values(), view, overrides(session, run.host_id, labels))
        elapsed_ms = (time.perf_counter() - began) * 1e3
        fired = _store(session, run, found, elapsed_ms, early=early)
        if not being_built(session, run.id):
            _go_on(session, run)
        return fired


def _deleted(session: Session, run_id: UUID) -> bool:
    """Whether retention has deleted some of what rules read: what they said when it was there stands."""
    removed = exists(select(Removal.kind).where(Removal.run_id == run_id))
    said = exists(select(Evaluation.run_id).where(Evaluation.run_id == run_id))
    return bool(session.scalar(select(and_(removed, said))))


def _store(session: Session, run: Run, found: list[Said], elapsed_ms: float, *, early: bool) -> int:
    session.execute(delete(Finding).where(Finding.run_id == run.id))
    fired = 0
    for one in found:
        if one.state in ("fired", "inconclusive"):
            fired += one.state == "fired"
            session.add(Finding(run_id=run.id, host_id=run.host_id, **form.finding(one)))
    values = {
        "at": now(),
        "elapsed_ms": elapsed_ms,
        "quiet": [form.finding(one) for one in found if one.state == "quiet"],
        "not_evaluated": [form.finding(one) for one in found if one.state == "not_evaluated"],
        "ranking": {
            **form.answer(rank(found, RULES, CAUSES), found),
            **({BEFORE_PROFILES: True} if early else {}),
        },
    }
    row = insert(Evaluation).values(run_id=run.id, **values)
    session.execute(row.on_conflict_do_update(index_elements=[Evaluation.run_id], set_=values))
    return fired


def _go_on(session: Session, run: Run) -> None:
    """A stage of a diagnosis lets that go on, a capture for a fix its verification; incidents that look on are told."""
    diagnosis_id = session.scalar(select(Capture.diagnosis_id).where(Capture.id == run.capture_id))
    if diagnosis_id is not None:
        announce(session, "culprit.advance_diagnosis", diagnosis_id)
    if session.scalar(select(exists(select(IncidentRun.run_id).where(IncidentRun.run_id == run.id)))):
        announce(session, "culprit.tell_incidents", run.id)
        verified = select(Verification.id).where(
            Verification.state.in_(("before", "collecting")),
            or_(
                *(
                    made.contains([str(run.capture_id)])
                    for made in (Verification.made_before, Verification.after)
                )
            ),
        )
        for verification_id in session.scalars(verified):
            announce(session, "culprit.advance_verification", verification_id)
