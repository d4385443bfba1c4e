"""An incident with a fix, whose captures the test completes:

each has /proc/stat with a CPU load, and an access log.
"""

from __future__ import annotations

import gzip
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np
from culprit.captures import service as captures
from culprit.captures.schemas import CaptureCreate
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.incidents.fix import Fix
from culprit.infra.models.incidents.hypothesis import Hypothesis
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.incidents.incident_host import IncidentHost
from culprit.infra.models.incidents.incident_run import IncidentRun
from culprit.infra.models.incidents.journal_entry import JournalEntry
from culprit.infra.models.incidents.verification import Verification
from culprit.jobs.analysis.evaluate_run import evaluate_run
from culprit.jobs.ingest.ingest_run import ingest_run
from culprit.jobs.verification.advance_verification import advance_verification
from culprit.tests.support import runs
from sqlalchemy import select

BOOT = 500 * 10**9
SECONDS = 15
PRIMARY = {"read": "cpu.total_busy_pct", "better": "lower"}
LOG = {"app_metrics": {"path": "/var/log/shop/access.log", "format": "lab"}}


@dataclass
class Case:
    """An incident with a fix that was applied a moment ago."""

    db: object
    actor: object
    hosts: list = field(default_factory=list)
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(5))

    def __post_init__(self) -> None:
        with unit_of_work(self.db.sessions) as session:
            self.applied = datetime.now(UTC) - timedelta(seconds=5)
            incident = Incident(title="slow", symptom={}, window_from=self.applied - timedelta(hours=2))
            session.add(incident)
            session.flush()
            self.incident = incident.id
            hypothesis = Hypothesis(
                incident_id=incident.id, key="own/1", summary={"en": "x", "zh": "x"}, primary=PRIMARY
            )
            session.add(hypothesis)
            session.flush()
            self.hypothesis = hypothesis.id

    def host(self, name: str, role: str = "suspect"):
        host = runs.make_host(self.db, name)
        with unit_of_work(self.db.sessions) as session:
            session.add(IncidentHost(incident_id=self.incident, host_id=host, role=role))
        return host

    def fix(self, *hosts):
        with unit_of_work(self.db.sessions) as session:
            fix = Fix(
                incident_id=self.incident, hypothesis_id=self.hypothesis, what="fewer workers",
                hosts=[str(host) for host in hosts], state="applied", applied_at=self.applied,
            )  # fmt: skip
            session.add(fix)
            session.flush()
            return fix.id

    def ask(self, fix, **more):
        with unit_of_work(self.db.sessions) as session:
            values = {"primary": PRIMARY, "requested_by": self.actor.id, **more}
            verification = Verification(fix_id=fix, **values)
            session.add(verification)
            session.flush()
            return verification.id

    def capture(self, *hosts, seconds=SECONDS):
        with unit_of_work(self.db.sessions) as session:
            capture_create = CaptureCreate(
                host_ids=list(hosts), plan="custom", seconds=seconds, collectors=["cpu_stat", "app_metrics"],
                options=LOG, reason="evidence",
            )  # fmt: skip
            return captures.create_capture(session, self.actor, artifact_store(), capture_create).id

    def before(self, *hosts, busy, count=3, rate=100.0, seconds=SECONDS):
        """Store captures, a minute apart, the last one 30 s before the fix. `busy`: percent, by host."""
        for at in range(count):
            result = self.capture(*hosts, seconds=seconds)
            self.home(
                result,
                busy,
                rate=rate,
                at=self.applied.timestamp() - 30 - 60 * (count - 1 - at),
                seconds=seconds,
            )
            with unit_of_work(self.db.sessions) as session:
                for run in session.scalars(select(Run).where(Run.capture_id == result)):
                    session.add(IncidentRun(incident_id=self.incident, run_id=run.id, role="evidence"))

    def home(self, capture_id, busy, *, rate=100.0, at=None, seconds=SECONDS, fails=False):
        """Complete all runs of a capture; `busy` is a number or one by host."""
        at = time.time() - 2 * seconds if at is None else at
        with self.db.sessions() as session:
            runs_of_capture = session.scalars(select(Run).where(Run.capture_id == capture_id)).all()
        for run in runs_of_capture:
            level = busy[run.host_id] if isinstance(busy, dict) else busy
            if fails:
                self._fail(run.id)
                continue
            self._arrive(run.id, self._parts(level, rate, at, seconds), at)
            assert ingest_run(run.id) == "done"
            evaluate_run(run.id)

    def _fail(self, run_id):
        with unit_of_work(self.db.sessions) as session:
            run = session.get_one(Run, run_id)
            run.state, run.ended_at = "failed", datetime.now(UTC)

    def _arrive(self, run_id, parts, at):
        with unit_of_work(self.db.sessions) as session:
            run = session.get_one(Run, run_id)
            run.state, run.attempt, run.fence = "ingesting", 1, 1
            run.clock = runs.clock_now(BOOT, int(at * 1e9))
            for row in session.scalars(select(RunCollector).where(RunCollector.run_id == run_id)):
                row.state, row.method = "done", "sampled" if row.collector == "cpu_stat" else "awk"
                part, data = parts[row.collector]
                packed = gzip.compress(data, mtime=0)
                stored = artifact_store().put([packed], 1 << 30)
                session.add(
                    Artifact(
                        run_id=run_id, run_collector_id=row.id, part=part, sha256=stored.sha256, size=len(data),
                        stored_size=stored.size, encoding="gzip",
                    )
                )  # fmt: skip

    def _parts(self, busy, rate, at, seconds):
        level = busy * (1 + 0.005 * self.rng.normal())
        usr, idle, texts = 0.0, 0.0, []
        for _ in range(seconds + 1):
            texts.append(f"cpu  {usr:.0f} 0 0 {idle:.0f} 0 0 0 0 0 0\n")
            share = min(max(level + 0.5 * self.rng.normal(), 0.0), 100.0)
            usr, idle = usr + 100 * share, idle + 100 * (100 - share)
        first = int(at / 5) * 5 - 60
        points = "".join(
            f"point\tt={t}\troute=*\tn={5 * rate:.0f}\tper_s={rate:.3f}\terrors=0\terrors_pct=0.000\tp50=9.0\n"
            for t in range(first, int(at) + seconds - 4, 5)
        )
        log = f"log\twindow_s={seconds + 60}\todd=0\troutes=1\tseen=9\n{points}"
        return {
            "cpu_stat": ("samples", runs.sampled("/proc/stat", texts, BOOT)),
            "app_metrics": ("stdout", log.encode()),
        }

    def read(self, table, item):
        with self.db.sessions() as session:
            return session.get_one(table, item)

    def taken(self, requested) -> list:
        return self.read(Verification, requested).after

    def play(self, requested, busy, **how):
        """Complete the verification: finish each capture that it starts."""
        start = how.pop("at", self.applied.timestamp() + 5)
        for _ in range(20):
            state = advance_verification(requested)
            if state not in {"collecting", "judging"}:
                break
            result = self.taken(requested)
            with self.db.sessions() as session:
                still = session.scalars(
                    select(Capture.id).where(Capture.id.in_(result), Capture.state.in_(("queued", "running")))
                ).all()
            for item in still:
                self.home(item, busy, at=start + 60 * result.index(str(item)), **how)
        outcome = self.read(Verification, requested)
        assert outcome.state == "done", (outcome.state, outcome.failure)
        return outcome.result

    def journal(self) -> list[JournalEntry]:
        with self.db.sessions() as session:
            rows = select(JournalEntry).where(JournalEntry.incident_id == self.incident)
            return list(session.scalars(rows.order_by(JournalEntry.version)))
