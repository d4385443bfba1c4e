"""What came home from one attempt, as plain data, and how it becomes rows.

`Homecoming` gathers the messages of a session; it can be written down and read again, so that a commit can
be made up for after a crash. Bytes are stored first (`adopt`) and rows second (`commit`), which refuses where
the run is no longer ours.
"""

from __future__ import annotations

import signal
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from collectors import scope
from collectors.host_values import FIELD_REJECTED, decimal
from culprit.captures.leases import Claim, holds, leave
from culprit.infra.artifacts import ArtifactStore
from culprit.models import Artifact, Host, Run, RunCollector

Json = dict[str, Any]
TEXT_PARTS = frozenset({"stdout", "samples", "stderr", "snapshot"})
MAX_STDERR = 4096
MAX_REJECTED = 500


@dataclass(slots=True)
class Homecoming:
    """One attempt. `failure` is a sentence or None; `kind` the kind of SshError behind it."""

    parts: list[Json] = field(default_factory=list)
    outcomes: dict[str, Json] = field(default_factory=dict)
    clocks: list[Json] = field(default_factory=list)
    hello: Json = field(default_factory=dict)
    refusal: Json | None = None
    busy: Json | None = None
    end: Json | None = None
    timings: dict[str, float] = field(default_factory=dict)
    round_trips_ms: list[float] = field(default_factory=list)
    bytes: int = 0
    began: bool = False
    status: int | None = None
    failure: Json | None = None
    kind: str = ""
    final: bool = False
    cancelled: bool = False
    text: str = ""
    heard_ns: int | None = None
    rejected: list[Json] = field(default_factory=list)
    dropped: dict[str, int] = field(default_factory=dict)

    def take(self, frame: Json) -> None:
        """Adds a frame as the session described it."""
        kind = frame["kind"]
        for name, reason in frame.pop("rejected", ()):
            if len(self.rejected) < MAX_REJECTED:
                shown = name if kind in ("outcome", "part") else f"{kind}.{name}"
                self.rejected.append({"collector": frame.get("id", ""), "field": shown, "reason": reason})
        if kind in ("part", "snapshot"):
            self.parts.append(frame)
        elif kind == "outcome":
            self.outcomes[frame["id"]] = frame
        elif kind == "clock":
            self.clocks.append({"fields": frame["fields"], "heard_ns": frame["heard_ns"]})
        elif kind == "hello":
            self.hello = frame["facts"]
        elif kind == "busy":
            self.busy = frame["facts"]
        elif kind == "refused":
            self.refusal = frame["facts"]
        elif kind == "end":
            self.end = frame["facts"]

    @property
    def brought_something(self) -> bool:
        """Whether any collector came home; the first snapshot alone is not worth ending a run for."""
        return bool(self.outcomes) or any(part["kind"] == "part" for part in self.parts)

    def quality_note(self) -> Json | None:
        """Return a sentence about what of the run itself was not stored, or None where everything was."""
        fields = [f"{one['field']} ({one['reason']})" for one in self.rejected if not one["collector"]]
        messages = [f"{reason}: {count}" for reason, count in sorted(self.dropped.items())]
        if not fields and not messages:
            return None
        count = sum(self.dropped.values()) + len(fields)
        return {
            "key": "run.host_data_rejected",
            "params": {"count": count, "what": ", ".join(messages + fields[:20])},
        }

    def without_details(self) -> Homecoming:
        """Return the same evidence with nothing in it that a host wrote as text or number.

        For the one case where a value could not be stored although each was checked: the artifacts count.
        """
        bare = {"reason": None, "way": None, "argv": None, "exit": None, "signal": None, "version": None}
        zero = {"started_ns": None, "ended_ns": None, "cpu_ms": None, "bytes": 0, "stderr": "", "id": ""}
        outcomes = {
            name: {**bare, **zero, "state": one["state"], "way": one["way"]}
            for name, one in self.outcomes.items()
        }
        return replace(
            self,
            outcomes=outcomes,
            clocks=[],
            hello={},
            end=None,
            timings={},
            rejected=[],
            failure={"key": "run.host_data_unstorable", "params": {}},
        )

    def as_json(self) -> Json:
        """For the spool."""
        return asdict(self)

    @classmethod
    def from_json(cls, kept: Json) -> Homecoming:
        """Out of the spool."""
        return cls(**kept)


def adopt(store: ArtifactStore, home: Homecoming) -> None:
    """Moves the bytes of all parts into the store. Repeatable: what is there already stays."""
    for part in home.parts:
        path = Path(part["path"])
        if path.exists():
            store.adopt(path, part["sha256"])


def commit(session: Session, claim: Claim, home: Homecoming, state: str, clock: Json | None) -> bool:
    """Writes rows for everything and leaves the run in `state`; False where it is no longer ours."""
    if not holds(session, claim):
        return False
    rows = {
        one.collector: one
        for one in session.scalars(select(RunCollector).where(RunCollector.run_id == claim.run_id))
    }
    for name, row in rows.items():
        _fill(row, home.outcomes.get(name), home)
        row.warnings = [
            {"key": FIELD_REJECTED + one["reason"], "params": {"field": one["field"]}}
            for one in home.rejected
            if one["collector"] == name
        ]
    for part in home.parts:
        collector = rows.get(part["id"])
        session.add(
            Artifact(
                run_id=claim.run_id,
                run_collector_id=collector.id if collector else None,
                part=part["part"],
                sha256=part["sha256"],
                size=part["raw"],
                stored_size=part["size"],
                encoding=part["encoding"],
                media_type=media_type(part["part"]),
                complete=part["complete"],
                attempt=claim.attempt,
            )
        )
    session.flush()
    _note_host(session, claim, home)
    return leave(
        session,
        claim,
        state,
        failure=home.failure,
        failure_side="host" if home.failure else None,
        boot_id=home.hello.get("boot_id"),
        clock=clock,
        timings=home.timings,
        host_cpu_ms=decimal((home.end or {}).get("cpu_ms", "")),
        bytes=home.bytes,
        progress=None,
        **_target(home),
    )


def _target(home: Homecoming) -> Json:
    """What the host made of the scope of the capture, kept where all is that was found out about the run."""
    target = scope.found(home.hello)
    return {"facts": {"target": target}} if target else {}


def media_type(part: str) -> str:
    """Text where we know that it is; everything else is bytes."""
    is_text = part in TEXT_PARTS or part.rpartition(".")[2] in ("txt", "log")
    return "text/plain; charset=utf-8" if is_text else "application/octet-stream"


def _fill(row: RunCollector, outcome: Json | None, home: Homecoming) -> None:
    if outcome is None:
        row.state = "cancelled" if home.cancelled else "failed"
        row.reason = {"key": "run.cancelled" if home.cancelled else "run.cut_before_outcome", "params": {}}
        return
    row.state = outcome["state"]
    row.reason = outcome["reason"]
    row.way = outcome["way"]
    row.argv = outcome["argv"]
    row.exit_code = outcome["exit"]
    row.signal = signal_number(outcome["signal"])
    row.tool_version = outcome["version"]
    row.started_ns = outcome["started_ns"]
    row.ended_ns = outcome["ended_ns"]
    row.cpu_ms = outcome["cpu_ms"]
    row.bytes = outcome["bytes"]
    row.stderr_tail = outcome["stderr"][-MAX_STDERR:] or None


def signal_number(name: str | None) -> int | None:
    """The number of a signal on Linux, with or without SIG in front; None for anything else."""
    if not name:
        return None
    if name.isdigit():
        return int(name) if int(name) < 128 else None
    found = signal.Signals.__members__.get("SIG" + name.removeprefix("SIG"))
    return int(found) if found else None


def _note_host(session: Session, claim: Claim, home: Homecoming) -> None:
    values = {name: home.hello[name] for name in ("boot_id", "machine_id") if home.hello.get(name)}
    if values:
        host_id = select(Run.host_id).where(Run.id == claim.run_id).scalar_subquery()
        session.execute(
            update(Host)
            .where(Host.id == host_id)
            .values(**values)
            .execution_options(synchronize_session=False)
        )
