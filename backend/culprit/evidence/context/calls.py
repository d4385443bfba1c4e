"""Build the call graph of a run: resolve the other end of each call and link to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.contract import Sentence
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.domain.calls.address_lookup import (
    CallEndpoint,
    canonicalize_address,
    find_client,
    find_server,
    list_own_addresses,
    resolve_owner,
)
from culprit.domain.calls.calls import CallGraph, HostCall, build_call_graph
from culprit.domain.calls.response_time import (
    P50,
    EndpointTimes,
    LoggedTimes,
    ResponseTime,
    combine_ends,
    find_logged_times,
    split_response_time,
)
from culprit.domain.rules.view import HostView
from culprit.evidence.context import queries
from culprit.evidence.context.responses import build_citations, sentence_to_json
from culprit.evidence.context.schemas import (
    CallEndpointResponse,
    CallGraphResponse,
    CallResponse,
    EndpointTimesResponse,
    LoggedTimesResponse,
    MissingCallDataResponse,
    ResponseTimeResponse,
    ResponseTimeSegmentResponse,
)
from culprit.evidence.view_loader import load_summary_view
from culprit.infra.models.captures.run import Run
from culprit.infra.models.hosts.host import Host
from culprit.web.errors import NotFoundError
from culprit.web.schemas import HostRef

KINDS = ("calls", "unix_calls", "tcp_waits", "tcp_destinations", "listeners", "processes")
METRICS = ("app.requests_per_s", P50)
MAX_CALLS = 150
#: Maximum number of other hosts whose runs are loaded for one response; calls to further hosts still name their host.
MAX_OTHER_VIEWS = 20
LOOPBACK = frozenset({"127.0.0.1", "::1"})


def build_call_graph_response(
    session: Session, actor: Actor, run_id: UUID, pid: int | None, span_ns: tuple[int, int] | None
) -> CallGraphResponse:
    """Return the calls of one process of a run, of the scope of the capture, or of its host.

    Raises:
        NotFoundError: the run does not exist for this actor.
    """
    authorize(actor, "capture.read")
    run = queries.find_run(session, actor, run_id)
    if run is None:
        raise NotFoundError("run.not_found")
    view = load_summary_view(session, run, KINDS, METRICS)
    call_graph = build_call_graph(view, pid)
    listed = replace(
        call_graph, outgoing=call_graph.outgoing[:MAX_CALLS], incoming=call_graph.incoming[:MAX_CALLS]
    )
    resolver = _CallResolver(session, actor, run, view, listed, span_ns)
    response_time = split_response_time(call_graph, view)
    return CallGraphResponse(
        run_id=run.id,
        host=HostRef(id=run.host.id, name=run.host.name) if run.host else None,
        pid=pid,
        pids=list(call_graph.pids),
        comm=_find_name(view, call_graph, pid),
        scope=dict(view.target),
        t0_ns=run.t0_ns,
        t1_ns=run.t1_ns,
        outgoing=[resolver.resolve_call(call) for call in listed.outgoing],
        incoming=[resolver.resolve_call(call) for call in listed.incoming],
        omitted=_count_calls(call_graph) - _count_calls(listed),
        response_time=_build_response_time(response_time)
        if isinstance(response_time, ResponseTime)
        else None,
        response_time_reason=sentence_to_json(response_time) if isinstance(response_time, Sentence) else None,
        missing=[
            MissingCallDataResponse(collector=name, reason=sentence_to_json(reason))
            for name, reason in call_graph.missing.items()
        ],
    )


def _count_calls(call_graph: CallGraph) -> int:
    return len(call_graph.outgoing) + len(call_graph.incoming)


def _find_name(view: HostView, call_graph: CallGraph, pid: int | None) -> str:
    """Return the name of a process from the first source that has it."""
    if pid is None:
        return ""
    named = (call.comm for call in chain(call_graph.outgoing, call_graph.incoming) if call.comm)
    listed = (
        row.text(name)
        for kind, name in (("processes", "comm"), ("listeners", "process"))
        for row in view.rows(kind)
        if row.number("pid") == pid
    )
    return next(chain(named, listed), "")


def _build_response_time(response_time: ResponseTime) -> ResponseTimeResponse:
    return ResponseTimeResponse(
        requests=response_time.requests,
        observed=response_time.observed,
        parallel=response_time.parallel,
        rate_per_s=response_time.rate_per_s,
        segments=[
            ResponseTimeSegmentResponse(
                call=segment.call,
                share=segment.share,
                low=segment.between[0],
                high=segment.between[1],
                ms=segment.ms,
                citations=build_citations(segment.citations),
            )
            for segment in response_time.segments
        ],
    )


@dataclass(frozen=True, slots=True)
class _HostRun:
    """The run of a host that is nearest in time, and its view."""

    run: Run
    view: HostView


class _CallResolver:
    """Find the host and process at the other end of calls. The run of each host is loaded once."""

    def __init__(  # noqa: PLR0917
        self,
        session: Session,
        actor: Actor,
        run: Run,
        view: HostView,
        call_graph: CallGraph,
        span_ns: tuple[int, int] | None,
    ) -> None:
        self.session = session
        self.run = run
        self.local = _HostRun(run, view)
        self.local_host_id = str(run.host_id or "")
        self.span_ns = span_ns or view.span_ns
        self.local_addresses = list_own_addresses(run.facts or {}) | _list_host_addresses(run.host)
        remotes = {
            canonicalize_address(call.remote)
            for call in (*call_graph.outgoing, *call_graph.incoming)
            if call.protocol == "tcp"
        }
        self.address_owners = queries.find_address_owners(session, actor, remotes - LOOPBACK, run)
        hosts = {UUID(host_id) for host_id in self.address_owners}
        self.names = queries.load_host_names(session, actor, hosts)
        self.runs = queries.find_nearest_runs(session, hosts, run)
        self.views: dict[UUID, _HostRun] = {}

    def resolve_call(self, call: HostCall) -> CallResponse:
        """Return a call with the endpoint at its other end."""
        if call.protocol == "unix":
            return self._build_call(call, self._build_unix_endpoint(call), None)
        owner = resolve_owner(call.remote, self.local_host_id, self.local_addresses, self.address_owners)
        if owner.kind == "same_host":
            endpoint = CallEndpointResponse(
                kind="process", host=self._host_ref(self.local_host_id), run_id=self.run.id, same_capture=True
            )
            return self._resolve_process(call, endpoint, self.local)
        if owner.kind == "host":
            return self._resolve_on_host(call, owner.hosts[0])
        endpoint = CallEndpointResponse(
            kind=owner.kind,
            candidates=[ref for host_id in owner.hosts if (ref := self._host_ref(host_id)) is not None],
            reason=sentence_to_json(owner.reason) if owner.reason else None,
        )
        if owner.kind == "not_added":
            endpoint.url = f"/hosts/new?address={canonicalize_address(call.remote)}"
        return self._build_call(call, endpoint, None)

    def _resolve_on_host(self, call: HostCall, owner_id: str) -> CallResponse:
        host_id = UUID(owner_id)
        peer = self._load_peer(host_id)
        if peer is None:
            key = "calls.no_run_on_host" if host_id not in self.runs else "calls.too_many_hosts"
            endpoint = CallEndpointResponse(
                kind="host", host=self._host_ref(owner_id), reason=sentence_to_json(Sentence(key))
            )
            endpoint.url = self._build_url(f"/hosts/{host_id}")
            return self._build_call(call, endpoint, None)
        endpoint = CallEndpointResponse(kind="host", host=self._host_ref(owner_id), run_id=peer.run.id)
        endpoint.same_capture = peer.run.capture_id == self.run.capture_id
        return self._resolve_process(call, endpoint, peer)

    def _resolve_process(
        self, call: HostCall, endpoint: CallEndpointResponse, peer: _HostRun
    ) -> CallResponse:
        """Add the process at the other end, and compare the times that both ends measured."""
        assert call.port is not None
        callers = self.local_addresses | LOOPBACK if peer is self.local else self.local_addresses
        if call.direction == "out":
            process = find_server(peer.view, call.remote, call.port, callers)
        else:
            process = find_client(peer.view, callers, call.port)
        if isinstance(process, CallEndpoint):
            endpoint.pid, endpoint.comm, endpoint.source = process.pid, process.comm, process.source
            endpoint.citations = build_citations(process.citations)
        else:
            endpoint.reason = sentence_to_json(process)
        endpoint.url = self._build_url(f"/runs/{peer.run.id}/calls", endpoint.pid)
        if call.direction != "out":
            return self._build_call(call, endpoint, None)
        times = combine_ends(call, self.local.view, peer.view, callers)
        logged = find_logged_times(self.local.view, peer.view) if peer is not self.local else None
        return self._build_call(call, endpoint, times, logged)

    def _build_unix_endpoint(self, call: HostCall) -> CallEndpointResponse:
        return CallEndpointResponse(
            kind="unix",
            host=self._host_ref(self.local_host_id),
            run_id=self.run.id,
            same_capture=True,
            pid=call.peer_pid,
            comm=call.peer_comm,
            source="connection" if call.peer_comm else None,
            url=self._build_url(f"/runs/{self.run.id}/calls", call.peer_pid) if call.peer_pid else None,
        )

    def _load_peer(self, host_id: UUID) -> _HostRun | None:
        run = self.runs.get(host_id)
        if run is None or (host_id not in self.views and len(self.views) >= MAX_OTHER_VIEWS):
            return None
        if host_id not in self.views:
            self.views[host_id] = _HostRun(run, load_summary_view(self.session, run, KINDS, METRICS))
        return self.views[host_id]

    def _host_ref(self, host_id: str) -> HostRef | None:
        if host_id == self.local_host_id and self.run.host is not None:
            return HostRef(id=self.run.host.id, name=self.run.host.name)
        name = self.names.get(UUID(host_id)) if host_id else None
        return HostRef(id=UUID(host_id), name=name) if name is not None else None

    def _build_url(self, path: str, pid: int | None = None) -> str:
        """Return the URL of a screen with the same time range, in microseconds."""
        parts = [f"pid={pid}"] if pid is not None else []
        if self.span_ns is not None:
            parts.append(f"t={self.span_ns[0] // 1000}~{self.span_ns[1] // 1000}")
        return f"{path}?{'&'.join(parts)}" if parts else path

    @staticmethod
    def _build_call(
        call: HostCall,
        endpoint: CallEndpointResponse,
        times: EndpointTimes | Sentence | None,
        logged: LoggedTimes | None = None,
    ) -> CallResponse:
        different = {
            "pids",
            "endpoint",
            "endpoint_times",
            "endpoint_times_reason",
            "logged_times",
            "citations",
        }
        same = CallResponse.model_fields.keys() - different
        return CallResponse(
            **{name: getattr(call, name) for name in same},
            pids=list(call.pids),
            endpoint=endpoint,
            endpoint_times=EndpointTimesResponse(
                caller=times.caller,
                callee=times.callee,
                between=times.between,
                citations=build_citations(times.citations),
            )
            if isinstance(times, EndpointTimes)
            else None,
            endpoint_times_reason=sentence_to_json(times) if isinstance(times, Sentence) else None,
            logged_times=LoggedTimesResponse(
                caller_ms=logged.caller_ms,
                callee_ms=logged.callee_ms,
                citations=build_citations(logged.citations),
            )
            if logged
            else None,
            citations=build_citations(call.citations),
        )


def _list_host_addresses(host: Host | None) -> frozenset[str]:
    """Return the addresses that the last preflight check read, and the address of the host itself."""
    if host is None:
        return frozenset()
    return list_own_addresses(host.facts or {}) | {canonicalize_address(host.address)}
