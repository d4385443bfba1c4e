"""Decisions about calls: whose the other end of each is, and where one goes on from here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.contract import Sentence
from culprit.auth.actor import Actor
from culprit.auth.policy import policy
from culprit.context import queries
from culprit.context.form import citations, sentence
from culprit.context.schemas import (
    CallEnds,
    CallLogged,
    CallPlace,
    CallRead,
    CallSegment,
    CallsMissing,
    CallSplit,
    CallsRead,
    HostRef,
)
from culprit.core.calls import Call, Calls, calls
from culprit.core.rules.view import View
from culprit.core.time_split import P50, Ends, Logged, Split, both_ends, logged, split
from culprit.core.whereabouts import Answerer, answerer, asker, canonical, own_addresses, place
from culprit.kit.errors import NotFound
from culprit.models import Host, Run

KINDS = ("calls", "unix_calls", "tcp_waits", "tcp_destinations", "listeners", "processes")
METRICS = ("app.requests_per_s", P50)
MAX_CALLS = 150
#: Views of so many other hosts are opened for one answer; calls to further ones still name their host.
MAX_FAR_VIEWS = 20
LOOPBACK = frozenset({"127.0.0.1", "::1"})


def of_run(
    session: Session, actor: Actor, run_id: UUID, pid: int | None, span_ns: tuple[int, int] | None
) -> CallsRead:
    """The calls of one process of a run, of the scope that it looked at, or of its host. Raises NotFound."""
    policy(actor, "capture.read")
    run = queries.run(session, actor, run_id)
    if run is None:
        raise NotFound("run.not_found")
    view = queries.view(session, run, KINDS, METRICS)
    found = calls(view, pid)
    shown = replace(found, out=found.out[:MAX_CALLS], into=found.into[:MAX_CALLS])
    neighbourhood = _Neighbourhood(session, actor, run, view, shown, span_ns)
    told = split(found, view)
    return CallsRead(
        run_id=run.id,
        host=HostRef(id=run.host.id, name=run.host.name) if run.host else None,
        pid=pid,
        pids=list(found.pids),
        comm=_comm(view, found, pid),
        scope=dict(view.target),
        t0_ns=run.t0_ns,
        t1_ns=run.t1_ns,
        out=[neighbourhood.read(one) for one in shown.out],
        into=[neighbourhood.read(one) for one in shown.into],
        left_out=len(found.out) + len(found.into) - len(shown.out) - len(shown.into),
        split=_split(told) if isinstance(told, Split) else None,
        split_why=sentence(told) if isinstance(told, Sentence) else None,
        missing=[CallsMissing(collector=name, reason=sentence(why)) for name, why in found.missing.items()],
    )


def _comm(view: View, found: Calls, pid: int | None) -> str:
    """What the process is called, by whatever knows it."""
    if pid is None:
        return ""
    named = (one.comm for one in chain(found.out, found.into) if one.comm)
    listed = (
        row.text(name)
        for kind, name in (("processes", "comm"), ("listeners", "process"))
        for row in view.rows(kind)
        if row.number("pid") == pid
    )
    return next(chain(named, listed), "")


def _split(told: Split) -> CallSplit:
    return CallSplit(
        requests=told.requests,
        met=told.met,
        parallel=told.parallel,
        rate_per_s=told.rate_per_s,
        segments=[
            CallSegment(
                call=one.call,
                share=one.share,
                low=one.between[0],
                high=one.between[1],
                ms=one.ms,
                citations=citations(one.citations),
            )
            for one in told.segments
        ],
    )


@dataclass(frozen=True, slots=True)
class _Far:
    """The capture of another host that is nearest in time."""

    run: Run
    view: View


class _Neighbourhood:
    """Everything that is known of the hosts around one run; each is opened once."""

    def __init__(  # noqa: PLR0917
        self,
        session: Session,
        actor: Actor,
        run: Run,
        view: View,
        found: Calls,
        span_ns: tuple[int, int] | None,
    ) -> None:
        self.session = session
        self.run = run
        self.near = _Far(run, view)
        self.mine = str(run.host_id or "")
        self.span_ns = span_ns or view.span_ns
        self.own = own_addresses(run.facts or {}) | _addresses_of(run.host)
        remotes = {canonical(one.remote) for one in (*found.out, *found.into) if one.protocol == "tcp"}
        self.book = queries.having(session, actor, remotes - LOOPBACK, run)
        hosts = {UUID(one) for one in self.book}
        self.names = queries.names(session, actor, hosts)
        self.runs = queries.nearest_runs(session, hosts, run)
        self.views: dict[UUID, _Far] = {}

    def read(self, call: Call) -> CallRead:
        """A call with its other end."""
        if call.protocol == "unix":
            return self._call(call, self._unix(call), None)
        where = place(call.remote, self.mine, self.own, self.book)
        if where.kind == "same_host":
            found = CallPlace(kind="process", host=self._ref(self.mine), run_id=self.run.id, together=True)
            return self._ended(call, found, self.near)
        if where.kind == "host":
            host_id = UUID(where.hosts[0])
            far = self._far(host_id)
            if far is None:
                why = Sentence("calls.no_run_there" if host_id not in self.runs else "calls.too_many_hosts")
                found = CallPlace(kind="host", host=self._ref(where.hosts[0]), why=sentence(why))
                found.url = self._url(f"/hosts/{host_id}")
                return self._call(call, found, None)
            found = CallPlace(kind="host", host=self._ref(where.hosts[0]), run_id=far.run.id)
            found.together = far.run.capture_id == self.run.capture_id
            return self._ended(call, found, far)
        found = CallPlace(kind=where.kind, why=sentence(where.why) if where.why else None)
        found.among = [ref for one in where.hosts if (ref := self._ref(one)) is not None]
        if where.kind == "not_enrolled":
            found.url = f"/hosts/new?address={canonical(call.remote)}"
        return self._call(call, found, None)

    def _ended(self, call: Call, found: CallPlace, far: _Far) -> CallRead:
        """Who is at the other end, and what waits there."""
        assert call.port is not None
        ours = self.own | LOOPBACK if far is self.near else self.own
        if call.direction == "out":
            who = answerer(far.view, call.remote, call.port, ours)
        else:
            who = asker(far.view, ours, call.port)
        if isinstance(who, Answerer):
            found.pid, found.comm, found.how = who.pid, who.comm, who.how
            found.citations = citations(who.citations)
        else:
            found.why = sentence(who)
        found.url = self._url(f"/runs/{far.run.id}/calls", found.pid)
        ends = both_ends(call, self.near.view, far.view, ours) if call.direction == "out" else None
        elsewhere = call.direction == "out" and far is not self.near
        logs = logged(self.near.view, far.view) if elsewhere else None
        return self._call(call, found, ends, logs)

    def _unix(self, call: Call) -> CallPlace:
        found = CallPlace(kind="unix", host=self._ref(self.mine), run_id=self.run.id, together=True)
        found.pid, found.comm = call.peer_pid, call.peer_comm
        found.how = "connection" if call.peer_comm else None
        found.url = self._url(f"/runs/{self.run.id}/calls", call.peer_pid) if call.peer_pid else None
        return found

    def _far(self, host_id: UUID) -> _Far | None:
        run = self.runs.get(host_id)
        if run is None or (host_id not in self.views and len(self.views) >= MAX_FAR_VIEWS):
            return None
        if host_id not in self.views:
            self.views[host_id] = _Far(run, queries.view(self.session, run, KINDS, METRICS))
        return self.views[host_id]

    def _ref(self, host_id: str) -> HostRef | None:
        if host_id == self.mine and self.run.host is not None:
            return HostRef(id=self.run.host.id, name=self.run.host.name)
        name = self.names.get(UUID(host_id)) if host_id else None
        return HostRef(id=UUID(host_id), name=name) if name is not None else None

    def _url(self, path: str, pid: int | None = None) -> str:
        """There, with the same range of time; the address has microseconds."""
        parts = [f"pid={pid}"] if pid is not None else []
        if self.span_ns is not None:
            parts.append(f"t={self.span_ns[0] // 1000}~{self.span_ns[1] // 1000}")
        return f"{path}?{'&'.join(parts)}" if parts else path

    @staticmethod
    def _call(
        call: Call, found: CallPlace, ends: Ends | Sentence | None, logs: Logged | None = None
    ) -> CallRead:
        own = {"pids", "place", "ends", "ends_why", "logged", "citations"}
        same = CallRead.model_fields.keys() - own
        return CallRead(
            **{name: getattr(call, name) for name in same},
            pids=list(call.pids),
            place=found,
            ends=CallEnds(
                caller=ends.caller,
                callee=ends.callee,
                between=ends.between,
                citations=citations(ends.citations),
            )
            if isinstance(ends, Ends)
            else None,
            ends_why=sentence(ends) if isinstance(ends, Sentence) else None,
            logged=CallLogged(
                caller_ms=logs.caller_ms,
                callee_ms=logs.callee_ms,
                citations=citations(logs.citations),
            )
            if logs
            else None,
            citations=citations(call.citations),
        )


def _addresses_of(host: Host | None) -> frozenset[str]:
    """Those that the last look at a host found, and the one that it is reached by."""
    if host is None:
        return frozenset()
    return own_addresses(host.facts or {}) | {canonical(host.address)}
