"""A verification with a real sshd, real workers, the scheduler, and a log that grows."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime

import pytest
from culprit.captures import service as captures
from culprit.captures.schemas import CaptureCreate
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.incidents.fix import Fix
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.incidents.incident_host import IncidentHost
from culprit.infra.models.incidents.incident_run import IncidentRun
from culprit.infra.models.incidents.journal_entry import JournalEntry
from culprit.infra.models.incidents.verification import Verification
from sqlalchemy import select

SECONDS = 15
RATE = 20


@pytest.fixture
def access_log(tmp_path):
    """Write a log of a steady service."""
    path, over = tmp_path / "access.log", threading.Event()

    def serve() -> None:
        with path.open("a", buffering=1) as out:
            while not over.wait(1 / RATE):
                out.write(f"{time.time():.3f} GET /price 200 9.0\n")

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield path
    over.set()
    thread.join()


def evidence(lab, incident, host, log) -> None:
    with unit_of_work(lab.db.sessions) as session:
        capture_create = CaptureCreate(
            host_ids=[host], plan="custom", seconds=SECONDS, collectors=["cpu_stat", "app_metrics"],
            options={"app_metrics": {"path": str(log), "format": "lab"}},
        )  # fmt: skip
        capture = captures.create_capture(session, lab.actor, artifact_store(), capture_create)
        run = capture.runs[0].id
        session.add(IncidentRun(incident_id=incident, run_id=run, role="before"))
    lab.until_runs(capture.id, "done", seconds=60)


@pytest.mark.slow  # ten minutes; e2e journeys verify fixes in every round
def test_a_fix_is_verified_by_captures_of_its_own(lab, access_log):
    host = lab.add_host(lab.sshd())
    for item in (("ssh",), ("parse",)):
        lab.worker(*item)
    lab.scheduler()
    with unit_of_work(lab.db.sessions) as session:
        incident = Incident(title="slow", symptom={}, window_from=datetime.now(UTC))
        session.add(incident)
        session.flush()
        session.add(IncidentHost(incident_id=incident.id, host_id=host))
        known = incident.id
    for _ in range(3):
        evidence(lab, known, host, access_log)
    with unit_of_work(lab.db.sessions) as session:
        fix = Fix(
            incident_id=known,
            what="nothing",
            hosts=[str(host)],
            state="applied",
            applied_at=datetime.now(UTC),
        )
        session.add(fix)
        session.flush()
        primary = {"read": "app.p50_ms", "better": "lower"}
        verification = Verification(fix_id=fix.id, primary=primary, requested_by=lab.actor.id)
        session.add(verification)
        session.flush()
        fix_id, requested_id = fix.id, verification.id

    def get_row(table, item):
        with lab.db.sessions() as session:
            return session.get_one(table, item)

    lab.until(
        lambda: get_row(Verification, requested_id).state not in {"collecting", "judging"},
        900,
        "the end of a verification",
    )
    done = get_row(Verification, requested_id)
    assert (done.state, done.failure) == ("done", None)
    assert done.result["outcome"] == "no_effect", done.result["reasons"]
    assert done.result["load"]["kind"] == "goodput"
    assert done.result["load"]["after"] == pytest.approx(RATE, rel=0.2)
    sides = [window["side"] for window in done.result["windows"]]
    assert sides.count("before") == 3 and sides.count("after") >= 3
    assert get_row(Fix, fix_id).state == "no_effect"
    with lab.db.sessions() as session:
        kinds = session.scalars(select(JournalEntry.kind).where(JournalEntry.incident_id == known)).all()
    assert kinds == ["fix_no_effect"]
