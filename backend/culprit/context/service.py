"""Decisions about where a run was: which run tells of it, and which hosts it is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.contract import Sentence
from culprit.auth.actor import Actor
from culprit.auth.policy import policy
from culprit.context import queries
from culprit.context.form import citation, sentence
from culprit.context.schemas import (
    ContextDifference,
    ContextGap,
    ContextItem,
    ContextRead,
    ContextSection,
    ContextTwin,
    ContextTwins,
    HostRef,
)
from culprit.core.rules.contract import Citation
from culprit.core.rules.peers import ROLE_LABELS
from culprit.core.rules.twins import differences
from culprit.core.rules.view import View
from culprit.core.surroundings import Item, Known, Section, sections
from culprit.kit.clock import now_ns
from culprit.kit.errors import NotFound
from culprit.models import Annotation, Host, Run

KINDS = (
    "hardware", "block_devices", "links", "cgroup_cpu", "cgroup_mem", "cgroup_cpuset", "limits", "processes",
    "proc_memory", "proc_io", "changes", "qdiscs",
)  # fmt: skip


def of_host(session: Session, actor: Actor, host_id: UUID, run_id: UUID | None) -> ContextRead:
    """Where a run was, the newest one that was read where none is named. Raises NotFound."""
    policy(actor, "host.read")
    host = queries.host(session, actor, host_id)
    if host is None:
        raise NotFound("host.not_found")
    run = queries.run(session, actor, run_id) if run_id else queries.newest_run(session, host.id)
    if run_id is not None and (run is None or run.host_id != host.id):
        raise NotFound("run.not_found")
    twins = queries.twins(session, actor, host)
    view = View() if run is None else queries.view(session, run, KINDS, None if twins else ())
    told = [_told(one, name) for one, name in queries.told(session, host.id, run)]
    end_ns = run.t1_ns if run is not None and run.t1_ns is not None else now_ns()
    changed, _ = queries.fact_changes(session, host.id, end_ns - queries.LATELY_NS, end_ns, queries.MAX_TOLD)
    told += [_changed(one) for one in changed]
    known = Known(view, host.facts or {}, queries.sources(session, run) if run else {}, told)
    return ContextRead(
        host=HostRef(id=host.id, name=host.name),
        run_id=run.id if run else None,
        t0_ns=run.t0_ns if run else None,
        scope=dict(view.target),
        sections=[_section(one, missing=run is None) for one in sections(known)],
        twins=_twins(session, host, run, view, twins),
    )


def _told(one: Annotation, told_by: str) -> Item:
    """What somebody told, as an item: it cites nobody's bytes, but names who said so."""
    at_s, link = one.t_ns // 1_000_000_000, one.link or ""
    return Item("told", one.what, name=one.kind, detail=one.who, at_s=at_s, told_by=told_by, link=link)


def _changed(one: Any) -> Item:
    """A fact that was read with two values, with both places."""
    return Item(
        "fact",
        one.value,
        name=one.name,
        at_s=one.since_ns // 1_000_000_000,
        cite=_place(one.source, one.first_run_id, one.first_artifact_id, one.first_line),
        was=one.before_value,
        was_at_s=one.before_ns // 1_000_000_000,
        was_cite=_place(one.source, one.before_run_id, one.before_artifact_id, one.before_line),
    )


def _place(source: str, run_id: UUID | None, artifact_id: UUID | None, line: int | None) -> Citation | None:
    if artifact_id is None:
        return None
    return Citation(str(run_id or ""), source, str(artifact_id), "", (line,) if line else ())


def _section(one: Section, *, missing: bool) -> ContextSection:
    """Where there is no run at all, that is the reason for every gap."""
    return ContextSection(
        id=one.id,
        items=[_item(each) for each in one.items],
        gaps=[
            ContextGap(
                id=each.id,
                collectors=list(each.collectors),
                reason=sentence(Sentence("context.no_run") if missing else each.reason),
            )
            for each in one.gaps
        ],
    )


def _item(one: Item) -> ContextItem:
    same = ContextItem.model_fields.keys() - {"unusual", "citation", "was_citation"}
    return ContextItem(
        **{name: getattr(one, name) for name in same},
        unusual=sentence(one.unusual) if one.unusual else None,
        citation=citation(one.cite) if one.cite else None,
        was_citation=citation(one.was_cite) if one.was_cite else None,
    )


def _twins(session: Session, host: Host, run: Run | None, view: View, twins: Sequence[Host]) -> ContextTwins:
    """Compared are the healthy ones; where nobody knows of any, all that were captured."""
    labels = {name: str(host.labels[name]) for name in ROLE_LABELS if name in host.labels}
    runs = queries.nearest_runs(session, [one.id for one in twins], run) if run else {}
    causes = queries.likely_causes(session, [one.id for one in runs.values()])
    listed = [_twin(one, runs.get(one.id), causes) for one in twins]
    healthy = {one.host.id for one in listed if one.healthy}
    chosen = [one for one in twins if one.id in runs and (one.id in healthy or not healthy)]
    views = {one.name: queries.view(session, runs[one.id], KINDS, None) for one in chosen}
    why = None
    if not twins:
        why = Sentence("context.no_twins")
    elif not views:
        why = Sentence("context.twins_not_captured" if run else "context.no_run")
    return ContextTwins(
        labels=labels,
        twins=listed,
        compared=sorted(views),
        differences=[ContextDifference(**one) for one in differences(view, views)] if views else [],
        why=sentence(why) if why else None,
    )


def _twin(host: Host, run: Run | None, causes: dict[UUID, list[str]]) -> ContextTwin:
    named = causes.get(run.id) if run else None
    return ContextTwin(
        host=HostRef(id=host.id, name=host.name),
        run_id=run.id if run else None,
        t0_ns=run.t0_ns if run else None,
        healthy=None if named is None else not named,
        causes=named or [],
    )
