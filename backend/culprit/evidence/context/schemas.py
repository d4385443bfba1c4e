"""Response schemas of the host context, fact changes and the call graph."""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel

from culprit.web.schemas import HostRef, MessageRef


class ContextCitationResponse(BaseModel):
    """The source of a value: lines (1-based) of a part of an artifact."""

    run: str = ""
    collector: str = ""
    artifact: str = ""
    part: str = ""
    lines: list[int] = []


class CallEndpointResponse(BaseModel):
    """The other end of a call.

    `kind` is `unix` for a socket of this host, `process` for another process of this host, `host` for an added host,
    `ambiguous` if several hosts have the address (`candidates`), `not_added` if no host has it. `source` is
    `connection` if the process was observed at the other end, `listener` if it only listens there. `same_capture`:
    both ends belong to one capture. `url` opens the other end with the same time range; `reason` explains what is
    not known.
    """

    kind: Literal["unix", "process", "host", "ambiguous", "not_added"]
    host: HostRef | None = None
    candidates: list[HostRef] = []
    run_id: UUID | None = None
    same_capture: bool = False
    pid: int | None = None
    comm: str = ""
    source: Literal["connection", "listener"] | None = None
    reason: MessageRef | None = None
    url: str | None = None
    citations: list[ContextCitationResponse] = []


class EndpointTimesResponse(BaseModel):
    """Mean numbers of requests of one call: waiting at the caller, inside the callee, and in between."""

    caller: float
    callee: float
    between: float
    citations: list[ContextCitationResponse]


class LoggedTimesResponse(BaseModel):
    """Median response times from the access logs of caller and callee in the same time range."""

    caller_ms: float
    callee_ms: float
    citations: list[ContextCitationResponse]


class CallResponse(BaseModel):
    """All connections of processes of one name with one address and port.

    `port` is the remote port of `out`, the local port of `in`. Counts are numbers of connections; `waiting` is the
    mean number that wait for a response, over `samples`. Null means not known, which is not zero.
    """

    key: str
    direction: Literal["out", "in"]
    protocol: Literal["tcp", "unix"]
    comm: str
    pids: list[int]
    remote: str
    port: int | None
    connections: float | None
    established: float | None
    syn_sent: float | None
    close_wait: float | None
    time_wait: float | None
    rtt_mean_ms: float | None
    rtt_max_ms: float | None
    retransmitted: float | None
    retransmitting: float | None
    send_queue_bytes: float | None
    recv_queue_bytes: float | None
    waiting: float | None
    waiting_oldest_ms: float | None
    samples: int
    endpoint: CallEndpointResponse
    endpoint_times: EndpointTimesResponse | None
    endpoint_times_reason: MessageRef | None
    logged_times: LoggedTimesResponse | None
    citations: list[ContextCitationResponse]


class ResponseTimeSegmentResponse(BaseModel):
    """One part of the response time: `call` is the key of a call, empty for the own time of the processes.

    `low` and `high` bound the 95 % confidence interval of `share`; `ms` is per request, if the rate is known.
    """

    call: str
    share: float
    low: float
    high: float
    ms: float | None
    citations: list[ContextCitationResponse]


class ResponseTimeResponse(BaseModel):
    """The response time in segments: `requests` is the mean number inside, `observed` the total over all samples.

    `parallel`: the processes wait for several responses at once, so the shares do not add up to one.
    """

    requests: float
    observed: int
    parallel: bool
    rate_per_s: float | None
    segments: list[ResponseTimeSegmentResponse]


class MissingCallDataResponse(BaseModel):
    """A collector without data, and the reason."""

    collector: str
    reason: MessageRef


class CallGraphResponse(BaseModel):
    """The calls of a process, of the scope of a capture, or of a host, in one run.

    `pids` are the process and those of its name that serve the same port. `omitted` is the number of calls over the
    limit, which are not listed.
    """

    run_id: UUID
    host: HostRef | None
    pid: int | None
    pids: list[int]
    comm: str
    scope: dict[str, Any]
    t0_ns: int | None
    t1_ns: int | None
    outgoing: list[CallResponse]
    incoming: list[CallResponse]
    omitted: int
    response_time: ResponseTimeResponse | None
    response_time_reason: MessageRef | None
    missing: list[MissingCallDataResponse]


class ContextItemResponse(BaseModel):
    """One value of the host context.

    `name` distinguishes several items of one `id`. `atypical` explains why the value needs attention. `checked`: the
    value is from the last preflight check and not from the run. `at_s` is the clock of the host. A reported event
    has the account in `reported_by` and an optional `link`. `previous` is the last value before a fact changed.
    """

    id: str
    value: str | int | float | None
    unit: str
    name: str
    detail: str
    atypical: MessageRef | None
    at_s: int | None
    checked: bool
    reported_by: str = ""
    link: str = ""
    previous: str | int | float | None = None
    previous_at_s: int | None = None
    previous_citation: ContextCitationResponse | None = None
    citation: ContextCitationResponse | None


class ContextGapResponse(BaseModel):
    """A missing value, the reason, and the collectors that provide it."""

    id: str
    collectors: list[str]
    reason: MessageRef


class ContextSectionResponse(BaseModel):
    """The items of one subject."""

    id: Literal["machine", "kernel", "limits", "neighbors", "changes"]
    items: list[ContextItemResponse]
    gaps: list[ContextGapResponse]


class ContextPeerResponse(BaseModel):
    """A host with the same labels, and its run nearest in time; `healthy` is null if no rule was evaluated."""

    host: HostRef
    run_id: UUID | None
    t0_ns: int | None
    healthy: bool | None
    causes: list[str]


class PeerDifferenceResponse(BaseModel):
    """A value that differs from the peers. `peers` has their values by host name.

    `surprise_score` is 0..1, 1 for the most surprising difference; `agreement` is the share of peers that agree.
    """

    kind: Literal["fact", "setting", "metric", "stack"]
    name: str
    local: str | int | float | bool | None
    peers: dict[str, str | int | float | bool | None]
    surprise_score: float
    agreement: float


class PeerComparisonResponse(BaseModel):
    """The peers of a host and how it differs from them; `compared` has the names of the compared peers."""

    labels: dict[str, str]
    peers: list[ContextPeerResponse]
    compared: list[str]
    differences: list[PeerDifferenceResponse]
    reason: MessageRef | None


class HostContextResponse(BaseModel):
    """The context of a host."""

    host: HostRef
    run_id: UUID | None
    t0_ns: int | None
    scope: dict[str, Any]
    sections: list[ContextSectionResponse]
    peer_comparison: PeerComparisonResponse


class FactReadingResponse(BaseModel):
    """The value at the reading nearest to a change (null: absent), and its artifact and line.

    A preflight check has no artifact.
    """

    value: str | None
    at_ns: int
    run_id: UUID | None
    artifact_id: UUID | None
    line: int | None


class FactChangeResponse(BaseModel):
    """A fact with two values. It changed at an unknown time between the two readings."""

    source: str
    name: str
    before: FactReadingResponse
    after: FactReadingResponse


class LoggedChangeResponse(BaseModel):
    """A change that a log of the host reports, with the time from the log."""

    id: UUID
    kind: str
    title: MessageRef
    detail: str
    t_ns: int
    run_id: UUID | None
    artifact_id: UUID | None
    line: int | None


class HostChangesResponse(BaseModel):
    """The changes of a host. `first_ns` and `last_ns` are the times of its first and last reading, null without one.

    Changes before the first reading are not known. `facts` is the number of stored facts.
    """

    host: HostRef
    since_ns: int
    until_ns: int
    first_ns: int | None
    last_ns: int | None
    facts: int
    changes: list[FactChangeResponse]
    changes_total: int
    logged: list[LoggedChangeResponse]
    logged_total: int
