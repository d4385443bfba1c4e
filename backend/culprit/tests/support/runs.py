"""Runs whose artifacts are stored and not parsed yet, as after a session."""

from __future__ import annotations

import gzip
import time
from collections.abc import Mapping
from dataclasses import dataclass

from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.hosts.credential import Credential
from culprit.infra.models.hosts.host import Host


@dataclass
class Waiting:
    """A run in state `ingesting`."""

    host_id: object
    capture_id: object
    run_id: object


def make_host(db: Database, name: str = "web1", labels: Mapping[str, str] | None = None) -> object:
    """Create a host that is never connected."""
    with unit_of_work(db.sessions) as session:
        key = Credential(name=f"key of {name}", kind="agent", public={})
        session.add(key)
        session.flush()
        host = Host(
            name=name, address="192.0.2.1", username="u", credential_id=key.id, labels=dict(labels or {})
        )
        session.add(host)
        session.flush()
        return host.id


def waiting_run(
    db: Database,
    store: ArtifactStore,
    parts: Mapping[str, Mapping[str, bytes]],
    *,
    host_id: object = None,
    clock: dict | None = None,
    states: Mapping[str, str] | None = None,
) -> Waiting:
    """Create a run of `parts` (collector → part → bytes, stored as gzip) on a host."""
    host_id = host_id or make_host(db)
    with unit_of_work(db.sessions) as session:
        capture = Capture(plan="triage", state="running", collectors=[{"id": name} for name in parts])
        session.add(capture)
        session.flush()
        run = Run(capture_id=capture.id, host_id=host_id, state="ingesting", attempt=1, fence=1, clock=clock)
        session.add(run)
        session.flush()
        for name, files in parts.items():
            row = RunCollector(
                run_id=run.id, collector=name, state=(states or {}).get(name, "done"), method="sampled"
            )
            session.add(row)
            session.flush()
            for part, data in files.items():
                packed = gzip.compress(data, mtime=0)
                stored = store.put([packed], 1 << 30)
                session.add(
                    Artifact(
                        run_id=run.id,
                        run_collector_id=row.id,
                        part=part,
                        sha256=stored.sha256,
                        size=len(data),
                        stored_size=stored.size,
                        encoding="gzip",
                    )
                )
        return Waiting(host_id, capture.id, run.id)


def sampled(path: str, texts: list[str], boot_ns: int, step_ns: int = 1_000_000_000) -> bytes:
    """Return the output of the runner's sampler for one file, read once a step."""
    return "".join(
        f"@ {tick} {boot_ns + tick * step_ns} {path}\n{text}" for tick, text in enumerate(texts)
    ).encode()


def clock_now(boot_ns: int, at_ns: int | None = None) -> dict:
    """Return a clock in which `boot_ns` of the host's boottime is `at_ns` (default: now)."""
    from collectors.clock.mapping import ClockMap

    real = time.time_ns() if at_ns is None else at_ns
    record = {
        "seq": "1", "at": "start", "bt0": str(boot_ns - 1000), "bt1": str(boot_ns + 1000),
        "m0": "-", "m1": "-", "real": str(real), "res": "1", "src": "date",
    }  # fmt: skip
    return ClockMap.from_records([record]).with_server_offset(0, 1_000_000).to_json()


def loadavg(tick: int) -> str:
    """Return one reading of /proc/loadavg."""
    return f"{tick / 10:.2f} 0.50 0.25 {tick + 1}/200 4242\n"
