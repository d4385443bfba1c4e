"""Build the host context: select the run that describes a host, and the peers that it is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.contract import Sentence
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.domain.hosts.context import ContextInput, HostContextItem, HostContextSection, build_sections
from culprit.domain.rules.finding import Citation
from culprit.domain.rules.peer_differences import compare_with_peers
from culprit.domain.rules.peers import ROLE_LABELS
from culprit.domain.rules.view import HostView
from culprit.evidence.context import queries
from culprit.evidence.context.responses import build_citation, sentence_to_json
from culprit.evidence.context.schemas import (
    ContextGapResponse,
    ContextItemResponse,
    ContextPeerResponse,
    ContextSectionResponse,
    HostContextResponse,
    PeerComparisonResponse,
    PeerDifferenceResponse,
)
from culprit.evidence.view_loader import load_summary_view
from culprit.infra.db.clock import now_ns
from culprit.infra.models.captures.run import Run
from culprit.infra.models.evidence.reported_event import ReportedEvent
from culprit.infra.models.hosts.host import Host
from culprit.web.errors import NotFoundError
from culprit.web.schemas import HostRef

KINDS = (
    "hardware", "block_devices", "links", "cgroup_cpu", "cgroup_mem", "cgroup_cpuset", "limits", "processes",
    "proc_memory", "proc_io", "changes", "qdiscs",
)  # fmt: skip


def build_host_context(
    session: Session, actor: Actor, host_id: UUID, run_id: UUID | None
) -> HostContextResponse:
    """Return the context of a host from a run, by default its newest parsed run.

    Raises:
        NotFoundError: the host or run does not exist for this actor.
    """
    authorize(actor, "host.read")
    host = queries.find_host(session, actor, host_id)
    if host is None:
        raise NotFoundError("host.not_found")
    run = queries.find_run(session, actor, run_id) if run_id else queries.find_newest_run(session, host.id)
    if run_id is not None and (run is None or run.host_id != host.id):
        raise NotFoundError("run.not_found")
    peers = queries.list_peers(session, actor, host)
    view = HostView() if run is None else load_summary_view(session, run, KINDS, None if peers else ())
    extra_items = [
        _build_reported_item(event, name)
        for event, name in queries.list_reported_events(session, host.id, run)
    ]
    end_ns = run.t1_ns if run is not None and run.t1_ns is not None else now_ns()
    changes, _ = queries.list_fact_changes(
        session, host.id, end_ns - queries.RECENT_NS, end_ns, queries.MAX_REPORTED
    )
    extra_items += [_build_changed_item(change) for change in changes]
    sources = queries.load_sources(session, run) if run else {}
    context_input = ContextInput(view, host.facts or {}, sources, extra_items)
    return HostContextResponse(
        host=HostRef(id=host.id, name=host.name),
        run_id=run.id if run else None,
        t0_ns=run.t0_ns if run else None,
        scope=dict(view.target),
        sections=[_build_section(section, missing=run is None) for section in build_sections(context_input)],
        peer_comparison=_compare_with_peers(session, host, run, view, peers),
    )


def _build_reported_item(event: ReportedEvent, reported_by: str) -> HostContextItem:
    """Build the item of a reported event. It has no artifact, so it names the account instead of a citation."""
    at_s, link = event.t_ns // 1_000_000_000, event.link or ""
    return HostContextItem(
        "reported_event",
        event.what,
        name=event.kind,
        detail=event.who,
        at_s=at_s,
        reported_by=reported_by,
        link=link,
    )


def _build_changed_item(change: Any) -> HostContextItem:
    """Build the item of a fact with two values, with the citations of both readings."""
    return HostContextItem(
        "fact",
        change.value,
        name=change.name,
        at_s=change.since_ns // 1_000_000_000,
        citation=_make_citation(
            change.source, change.first_run_id, change.first_artifact_id, change.first_line
        ),
        previous=change.before_value,
        previous_at_s=change.before_ns // 1_000_000_000,
        previous_cite=_make_citation(
            change.source, change.before_run_id, change.before_artifact_id, change.before_line
        ),
    )


def _make_citation(
    source: str, run_id: UUID | None, artifact_id: UUID | None, line: int | None
) -> Citation | None:
    if artifact_id is None:
        return None
    return Citation(str(run_id or ""), source, str(artifact_id), "", (line,) if line else ())


def _build_section(section: HostContextSection, *, missing: bool) -> ContextSectionResponse:
    """Build a section; without any run, `context.no_run` is the reason of every gap."""
    return ContextSectionResponse(
        id=section.id,
        items=[_build_item(item) for item in section.items],
        gaps=[
            ContextGapResponse(
                id=gap.id,
                collectors=list(gap.collectors),
                reason=sentence_to_json(Sentence("context.no_run") if missing else gap.reason),
            )
            for gap in section.gaps
        ],
    )


def _build_item(item: HostContextItem) -> ContextItemResponse:
    same = ContextItemResponse.model_fields.keys() - {"atypical", "citation", "previous_citation"}
    return ContextItemResponse(
        **{name: getattr(item, name) for name in same},
        atypical=sentence_to_json(item.atypical) if item.atypical else None,
        citation=build_citation(item.citation) if item.citation else None,
        previous_citation=build_citation(item.previous_cite) if item.previous_cite else None,
    )


def _compare_with_peers(
    session: Session, host: Host, run: Run | None, view: HostView, peers: Sequence[Host]
) -> PeerComparisonResponse:
    """Compare a host with its healthy peers, or with all captured peers if none is known to be healthy."""
    labels = {name: str(host.labels[name]) for name in ROLE_LABELS if name in host.labels}
    runs = queries.find_nearest_runs(session, [peer.id for peer in peers], run) if run else {}
    causes = queries.load_likely_causes(session, [run.id for run in runs.values()])
    listed = [_build_peer(peer, runs.get(peer.id), causes) for peer in peers]
    healthy = {item.host.id for item in listed if item.healthy}
    selected = [peer for peer in peers if peer.id in runs and (peer.id in healthy or not healthy)]
    views = {peer.name: load_summary_view(session, runs[peer.id], KINDS, None) for peer in selected}
    reason = None
    if not peers:
        reason = Sentence("context.no_peers")
    elif not views:
        reason = Sentence("context.peers_not_captured" if run else "context.no_run")
    differences = compare_with_peers(view, views) if views else []
    return PeerComparisonResponse(
        labels=labels,
        peers=listed,
        compared=sorted(views),
        differences=[PeerDifferenceResponse(**difference) for difference in differences],
        reason=sentence_to_json(reason) if reason else None,
    )


def _build_peer(host: Host, run: Run | None, causes: dict[UUID, list[str]]) -> ContextPeerResponse:
    likely = causes.get(run.id) if run else None
    return ContextPeerResponse(
        host=HostRef(id=host.id, name=host.name),
        run_id=run.id if run else None,
        t0_ns=run.t0_ns if run else None,
        healthy=None if likely is None else not likely,
        causes=likely or [],
    )
