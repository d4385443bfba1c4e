"""What is said about what surrounds a run."""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel

Sentence = dict[str, Any]


class HostRef(BaseModel):
    """A host by name."""

    id: UUID
    name: str


class ContextCited(BaseModel):
    """Where something was read: lines (1-based) of a part of an artifact."""

    run: str = ""
    collector: str = ""
    artifact: str = ""
    part: str = ""
    lines: list[int] = []


class CallPlace(BaseModel):
    """Whose the other end of a call is, and where to go on.

    `kind` is `unix` for a socket of this host, `process` for another process of this host, `host` for an enrolled
    host, `ambiguous` where several have the address, `not_enrolled` where none has it. `how` says whether the process
    was met at the other end of the connection or only listens there. `url` goes on there with the same range of time;
    `why` says what is not known.
    """

    kind: Literal["unix", "process", "host", "ambiguous", "not_enrolled"]
    host: HostRef | None = None
    among: list[HostRef] = []
    run_id: UUID | None = None
    together: bool = False
    pid: int | None = None
    comm: str = ""
    how: Literal["connection", "listener"] | None = None
    why: Sentence | None = None
    url: str | None = None
    citations: list[ContextCited] = []


class CallEnds(BaseModel):
    """One wait seen from both sides, in mean numbers of requests: at the caller, inside the callee, in between."""

    caller: float
    callee: float
    between: float
    citations: list[ContextCited]


class CallLogged(BaseModel):
    """Median response times of the same time by the access logs of caller and callee."""

    caller_ms: float
    callee_ms: float
    citations: list[ContextCited]


class CallRead(BaseModel):
    """All connections of processes of one name with one address and port.

    `port` is the remote one of `out`, the own one of `in`. Counts are of connections; `waiting` is how many of them
    owed an answer on average over `looks`. Null is not known, which is not zero.
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
    looks: int
    place: CallPlace
    ends: CallEnds | None
    ends_why: Sentence | None
    logged: CallLogged | None
    citations: list[ContextCited]


class CallSegment(BaseModel):
    """One part of the response time: `call` is the key of a call, empty for the processes' own time.

    `share` lies between `low` and `high` in 95 of 100 cases; `ms` is a request's, where their rate is known.
    """

    call: str
    share: float
    low: float
    high: float
    ms: float | None
    citations: list[ContextCited]


class CallSplit(BaseModel):
    """The response time in segments: `requests` were inside on average, `met` in all looks together.

    `parallel`: the processes wait for several answers at once, so the shares do not add up to one.
    """

    requests: float
    met: int
    parallel: bool
    rate_per_s: float | None
    segments: list[CallSegment]


class CallsMissing(BaseModel):
    """What was not collected, and why."""

    collector: str
    reason: Sentence


class CallsRead(BaseModel):
    """Whom a process, the scope of a capture or a host calls, and who calls it, in one run.

    `pids` are the process and those of its name that serve the same port. `left_out` calls were too many to be listed.
    """

    run_id: UUID
    host: HostRef | None
    pid: int | None
    pids: list[int]
    comm: str
    scope: dict[str, Any]
    t0_ns: int | None
    t1_ns: int | None
    out: list[CallRead]
    into: list[CallRead]
    left_out: int
    split: CallSplit | None
    split_why: Sentence | None
    missing: list[CallsMissing]


class ContextItem(BaseModel):
    """One thing that is known of where a run was.

    `name` tells several of the same `id` apart. `unusual` says why it is worth a look. `looked_at`: it was found when
    the host was last looked at, not by the run. `at_s` is the host's own clock. What was told and not read names the
    account in `told_by`, and perhaps a `link`. Of a fact that has changed, `was` is its value at the last reading
    before.
    """

    id: str
    value: str | int | float | None
    unit: str
    name: str
    detail: str
    unusual: Sentence | None
    at_s: int | None
    looked_at: bool
    told_by: str = ""
    link: str = ""
    was: str | int | float | None = None
    was_at_s: int | None = None
    was_citation: ContextCited | None = None
    citation: ContextCited | None


class ContextGap(BaseModel):
    """What is not known, why, and which collectors would tell."""

    id: str
    collectors: list[str]
    reason: Sentence


class ContextSection(BaseModel):
    """The items that answer one question."""

    id: Literal["machine", "kernel", "limits", "neighbours", "changes"]
    items: list[ContextItem]
    gaps: list[ContextGap]


class ContextTwin(BaseModel):
    """A host with the same labels, and its capture nearest in time; `healthy` is None where no rule was asked."""

    host: HostRef
    run_id: UUID | None
    t0_ns: int | None
    healthy: bool | None
    causes: list[str]


class ContextDifference(BaseModel):
    """What is otherwise here than in the twins: 0..1 is how surprising that is, and how alike the twins are."""

    kind: Literal["fact", "setting", "metric", "stack"]
    name: str
    here: Any
    there: dict[str, Any]
    surprise: float
    agree: float


class ContextTwins(BaseModel):
    """Is an identical instance healthy? `compared` are names of the twins that `differences` were made with."""

    labels: dict[str, str]
    twins: list[ContextTwin]
    compared: list[str]
    differences: list[ContextDifference]
    why: Sentence | None


class ContextRead(BaseModel):
    """Where am I."""

    host: HostRef
    run_id: UUID | None
    t0_ns: int | None
    scope: dict[str, Any]
    sections: list[ContextSection]
    twins: ContextTwins


class FactSeen(BaseModel):
    """A value (null: not there) at the reading nearest to a change, and the line of the artifact that it stands in.

    A look at the host (`preflight`) leaves no artifact.
    """

    value: str | None
    at_ns: int
    run_id: UUID | None
    artifact_id: UUID | None
    line: int | None


class FactChange(BaseModel):
    """A fact that was read with two values. It changed between the two readings; when exactly, nobody read."""

    source: str
    name: str
    before: FactSeen
    after: FactSeen


class LoggedChange(BaseModel):
    """A change that the host's own logs tell, with the time that they give."""

    id: UUID
    kind: str
    title: Sentence
    detail: str
    t_ns: int
    run_id: UUID | None
    artifact_id: UUID | None
    line: int | None


class FactChanges(BaseModel):
    """What changed on a host. `first_ns` and `last_ns` are its first and last readings, null where it has none: of what
    was before the first nothing is known, and between readings nobody looked. `facts` counts what is remembered.
    """

    host: HostRef
    since_ns: int
    until_ns: int
    first_ns: int | None
    last_ns: int | None
    facts: int
    changes: list[FactChange]
    changes_total: int
    logged: list[LoggedChange]
    logged_total: int
