"""Which pictures a person may see, and what they are drawn of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.contract import Text
from culprit.auth.actor import Actor
from culprit.auth.policy import policy
from culprit.core.rules import form
from culprit.core.rules.contract import Finding
from culprit.core.visuals.contract import Builder, Visual
from culprit.core.visuals.registry import BUILDERS, draw, fitting, reads_of
from culprit.evidence.service import run
from culprit.infra.artifacts import artifact_store
from culprit.visuals import queries
from culprit.visuals.schemas import BuilderRead, TextRead
from culprit.workflows.read_view import read_peers, read_view

Json = dict[str, Any]
#: Hosts of one capture that are compared with one of them.
MAX_PEERS = 499
_FINDING = tuple(one.name for one in fields(Finding))


def of_run(
    session: Session,
    actor: Actor,
    run_id: UUID,
    ids: Sequence[str] = (),
    rules: Sequence[str] = (),
    *,
    baseline: UUID | None = None,
) -> Json:
    """The pictures of a run, compared with another where `baseline` names one; only what they need is read.

    Raises NotFound.
    """
    policy(actor, "finding.read")
    found, _ = run(session, actor, run_id)
    wanted = fitting(ids, rules)
    only = reads_of(wanted)
    view = read_view(session, artifact_store(), [found.id], only=only)
    if baseline is not None:
        before, _ = run(session, actor, baseline)
        view = view.against(read_view(session, artifact_store(), [before.id], only=only))
    if only.peers:
        siblings = queries.siblings(session, actor, found, MAX_PEERS)
        view = view.beside(read_peers(session, siblings, only.peers))
    if only.findings:
        view = replace(view, findings=said_of(session, found.id))
    drawn = draw(wanted, view)
    return {
        "run_id": run_id,
        "visuals": [visual_form(one.builder, visual) for one in drawn for visual in one.visuals],
    }


def said_of(session: Session, run_id: UUID) -> tuple[Finding, ...]:
    """Everything that rules said about a run, also what they could not say; nothing where they were not asked yet."""
    kept = queries.get_evaluation(session, run_id)
    if kept is None:
        return ()
    fired = [
        {name: getattr(one, name) for name in _FINDING} for one in queries.list_findings(session, run_id)
    ]
    return tuple(form.read_finding(one) for one in (*fired, *kept.quiet, *kept.not_evaluated))


def builders() -> list[BuilderRead]:
    """Every kind of picture, by id."""
    return [
        BuilderRead(
            id=one.id,
            title=TextRead(**_text(one.title)),
            says=TextRead(**_text(one.says)),
            collectors=list(one.collectors),
            rules=list(one.rules),
        )
        for one in BUILDERS.values()
    ]


def _text(one: Text) -> dict[str, str]:
    return {"en": one.en, "zh": one.zh}


def visual_form(builder: Builder, one: Visual) -> Json:
    """A picture as it is sent."""
    return {
        "id": one.id,
        "builder": builder.id,
        "title": _text(one.title),
        "says": _text(builder.says),
        "subject": dict(one.subject),
        "state": one.state,
        "reason": form.sentence(one.reason),
        "body": one.body,
        "left_out": one.left_out,
        "notes": [form.sentence(note) for note in one.notes],
        "rules": list(builder.rules),
        "collectors": list(builder.collectors),
    }
