"""The result of one attempt at a run, and how it is stored.

`SessionResult` collects the messages of a session. It can be written to the spool and read again after a
crash. Bytes are stored first (`store_artifacts`) and rows second (`commit_result`), which refuses if the
lease is lost.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal
from uuid import UUID

from sqlalchemy import update
from sqlalchemy.orm import Session

from collectors.runner import scope
from collectors.runner.host_values import FIELD_REJECTED, read_decimal
from culprit.captures.locks import RunLease, finish_run, is_owned
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.hosts.host import Host
from culprit.jobs.capture.queries import list_run_collectors, select_host_id
from culprit.json_types import Json

TEXT_PARTS = frozenset({"stdout", "samples", "stderr", "snapshot"})
MAX_STDERR = 4096
MAX_REJECTED = 500


@dataclass(frozen=True, slots=True)
class SessionFailure:
    """Why a session failed, as a message; `is_final` if a retry is useless or harmful; `side`: whose fault it was."""

    key: str
    params: Mapping[str, str | int | float]
    is_final: bool = False
    side: Literal["host", "worker"] = "host"

    @property
    def message(self) -> Json:
        """Return the message as key and parameters."""
        return {"key": self.key, "params": dict(self.params)}


@dataclass(frozen=True, slots=True)
class PreflightOutput:
    """What the program of a preflight check printed, and when its clock reading arrived."""

    text: str = ""
    clock_received_ns: int | None = None


@dataclass(slots=True)
class ConnectionStats:
    """Times of the steps of a connection and of round trips in milliseconds, and bytes received."""

    timings: dict[str, float] = field(default_factory=dict)
    round_trips_ms: list[float] = field(default_factory=list)
    bytes: int = 0


@dataclass(slots=True)
class RunnerOutput:
    """What the runner on the host sent: parts in the spool, outcomes by collector, clock readings and facts."""

    parts: list[Json] = field(default_factory=list)
    outcomes: dict[str, Json] = field(default_factory=dict)
    clocks: list[Json] = field(default_factory=list)
    hello: Json = field(default_factory=dict)
    refusal: Json | None = None
    busy: Json | None = None
    end: Json | None = None
    rejected: list[Json] = field(default_factory=list)
    dropped: dict[str, int] = field(default_factory=dict)

    def add_frame(self, frame: Json) -> None:
        """Add a frame as the session described it."""
        kind = frame["kind"]
        for name, reason in frame.pop("rejected", ()):
            if len(self.rejected) < MAX_REJECTED:
                field_name = name if kind in ("outcome", "part") else f"{kind}.{name}"
                self.rejected.append(
                    {"collector": frame.get("id", ""), "field": field_name, "reason": reason}
                )
        if kind in ("part", "snapshot"):
            self.parts.append(frame)
        elif kind == "outcome":
            self.outcomes[frame["id"]] = frame
        elif kind == "clock":
            self.clocks.append({"fields": frame["fields"], "received_ns": frame["received_ns"]})
        elif kind == "hello":
            self.hello = frame["facts"]
        elif kind == "busy":
            self.busy = frame["facts"]
        elif kind == "refused":
            self.refusal = frame["facts"]
        elif kind == "end":
            self.end = frame["facts"]

    @property
    def has_output(self) -> bool:
        """Return whether any collector has output; the first snapshot alone does not count."""
        return bool(self.outcomes) or any(part["kind"] == "part" for part in self.parts)

    def quality_failure(self) -> SessionFailure | None:
        """Return a message about data of the run that was not stored, or None."""
        fields = [f"{item['field']} ({item['reason']})" for item in self.rejected if not item["collector"]]
        messages = [f"{reason}: {count}" for reason, count in sorted(self.dropped.items())]
        if not fields and not messages:
            return None
        count = sum(self.dropped.values()) + len(fields)
        what = ", ".join(messages + fields[:20])
        return SessionFailure("run.host_data_rejected", {"count": count, "what": what})

    def without_details(self) -> RunnerOutput:
        """Return the same output without any text or number that the host wrote."""
        bare = {"reason": None, "method": None, "argv": None, "exit": None, "signal": None, "version": None}
        zero = {"started_ns": None, "ended_ns": None, "cpu_ms": None, "bytes": 0, "stderr": "", "id": ""}
        outcomes = {
            name: {**bare, **zero, "state": item["state"], "method": item["method"]}
            for name, item in self.outcomes.items()
        }
        return replace(self, outcomes=outcomes, clocks=[], hello={}, end=None, rejected=[])


@dataclass(slots=True)
class SessionResult:
    """The result of one attempt; `began` once the command was started."""

    output: RunnerOutput = field(default_factory=RunnerOutput)
    connection: ConnectionStats = field(default_factory=ConnectionStats)
    preflight: PreflightOutput = field(default_factory=PreflightOutput)
    failure: SessionFailure | None = None
    began: bool = False
    status: int | None = None
    canceled: bool = False

    @property
    def failure_message(self) -> Json | None:
        """Return the message of the failure, or None."""
        return self.failure.message if self.failure else None

    def without_details(self) -> SessionResult:
        """Return the same result without any text or number that the host wrote.

        Used when a value cannot be stored although each was checked: the artifacts are kept.
        """
        return replace(
            self,
            output=self.output.without_details(),
            connection=replace(self.connection, timings={}),
            failure=SessionFailure("run.host_data_unstorable", {}),
        )

    def as_json(self) -> Json:
        """Return the JSON for the spool."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Json) -> SessionResult:
        """Build a result from the JSON of the spool."""
        failure = data["failure"]
        return cls(
            RunnerOutput(**data["output"]),
            ConnectionStats(**data["connection"]),
            PreflightOutput(**data["preflight"]),
            SessionFailure(**failure) if failure else None,
            data["began"],
            data["status"],
            data["canceled"],
        )


def store_artifacts(store: ArtifactStore, result: SessionResult) -> None:
    """Move the bytes of all parts into the store. It may be repeated."""
    for part in result.output.parts:
        path = Path(part["path"])
        if path.exists():
            store.adopt(path, part["sha256"])


def commit_result(
    session: Session, claim: RunLease, result: SessionResult, state: str, clock: Json | None
) -> bool:
    """Store all rows and set the run to `state`; return False if the lease is lost."""
    if not is_owned(session, claim):
        return False
    rows = {item.collector: item for item in list_run_collectors(session, claim.run_id)}
    for name, row in rows.items():
        update_collector(row, result.output.outcomes.get(name), result)
        row.warnings = [
            {"key": FIELD_REJECTED + item["reason"], "params": {"field": item["field"]}}
            for item in result.output.rejected
            if item["collector"] == name
        ]
    for part in result.output.parts:
        collector = rows.get(part["id"])
        session.add(build_artifact(part, claim.run_id, collector.id if collector else None, claim.attempt))
    session.flush()
    _update_host_ids(session, claim, result)
    return finish_run(
        session,
        claim,
        state,
        failure=result.failure_message,
        failure_side=result.failure.side if result.failure else None,
        boot_id=result.output.hello.get("boot_id"),
        clock=clock,
        timings=result.connection.timings,
        host_cpu_ms=read_decimal((result.output.end or {}).get("cpu_ms", "")),
        bytes=result.connection.bytes,
        progress=None,
        **_build_facts(result),
    )


def build_artifact(part: Json, run_id: UUID, run_collector_id: UUID | None, attempt: int) -> Artifact:
    """Return the row of a part as the session described it."""
    return Artifact(
        run_id=run_id,
        run_collector_id=run_collector_id,
        part=part["part"],
        sha256=part["sha256"],
        size=part["raw"],
        stored_size=part["size"],
        encoding=part["encoding"],
        media_type=get_media_type(part["part"]),
        complete=part["complete"],
        attempt=attempt,
    )


def _build_facts(result: SessionResult) -> Json:
    """Return the scope as the host resolved it, as facts of the run."""
    target = scope.parse_target(result.output.hello)
    return {"facts": {"target": target}} if target else {}


def get_media_type(part: str) -> str:
    """Return the media type of a part: text for known parts, else bytes."""
    is_text = part in TEXT_PARTS or part.rpartition(".")[2] in ("txt", "log")
    return "text/plain; charset=utf-8" if is_text else "application/octet-stream"


def update_collector(row: RunCollector, outcome: Json | None, result: SessionResult) -> None:
    """Store how a collector ended."""
    if outcome is None:
        row.state = "canceled" if result.canceled else "failed"
        row.reason = {"key": "run.canceled" if result.canceled else "run.cut_before_outcome", "params": {}}
        return
    row.state = outcome["state"]
    row.reason = outcome["reason"]
    row.method = outcome["method"]
    row.argv = outcome["argv"]
    row.exit_code = outcome["exit"]
    row.signal = parse_signal_number(outcome["signal"])
    row.tool_version = outcome["version"]
    row.started_ns = outcome["started_ns"]
    row.ended_ns = outcome["ended_ns"]
    row.cpu_ms = outcome["cpu_ms"]
    row.bytes = outcome["bytes"]
    row.stderr_tail = outcome["stderr"][-MAX_STDERR:] or None


def parse_signal_number(name: str | None) -> int | None:
    """Return the number of a Linux signal, with or without SIG in front, or None."""
    if not name:
        return None
    if name.isdigit():
        return int(name) if int(name) < 128 else None
    member = signal.Signals.__members__.get("SIG" + name.removeprefix("SIG"))
    return int(member) if member else None


def _update_host_ids(session: Session, claim: RunLease, result: SessionResult) -> None:
    values = {
        name: result.output.hello[name] for name in ("boot_id", "machine_id") if result.output.hello.get(name)
    }
    if values:
        host_id = select_host_id(claim.run_id)
        session.execute(
            update(Host)
            .where(Host.id == host_id)
            .values(**values)
            .execution_options(synchronize_session=False)
        )
