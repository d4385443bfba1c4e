"""Watchers with a real sshd and real workers: their buffer is collected, and nothing remains on the host."""

from __future__ import annotations

import os
import signal
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest
from culprit.automation.triggers.start_response import respond_to_alert
from culprit.automation.watchers import service
from culprit.automation.watchers.schemas import ConditionalWatcherCreate, LookbackWatcherCreate
from culprit.domain.alerts.contract import IncomingAlert
from culprit.evidence.view_loader import load_view
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.clock import to_ns, utc_now
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.automation.trigger import Trigger
from culprit.infra.models.automation.watcher import Watcher
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.evidence.series_chunk import SeriesChunk
from culprit.jobs.ingest.ingest_run import ingest_run
from culprit.jobs.system.sweep import expire_watchers
from sqlalchemy import func, select, update

pytestmark = pytest.mark.long(90)


def stand(lab, requested) -> object:
    with unit_of_work(lab.db.sessions) as session:
        return service.create_watcher(session, lab.actor, requested).id


def ring(lab, host, **more) -> object:
    return stand(lab, LookbackWatcherCreate(kind="lookback", host_id=host, **more))


def arm(lab, host, *conditions, **more) -> object:
    supplied = {"plan": "custom", "collectors": ["vmstat"], "seconds": 2} | more
    return stand(
        lab,
        ConditionalWatcherCreate(kind="conditional", host_id=host, conditions=list(conditions), **supplied),
    )


def watcher(lab, item) -> Watcher:
    with lab.db.sessions() as session:
        return session.get_one(Watcher, item)


def watching(lab, item) -> Watcher:
    """Return a watcher once it has readings."""
    lab.until(lambda: watcher(lab, item).cost, 90, "watching")
    return watcher(lab, item)


def gone(lab, run: str) -> None:
    """Check that neither file nor process of the watcher remains on the host."""
    mark = f"CULPRIT_RUN={run}".encode()

    def left() -> list[str]:
        results = [
            str(path)
            for top in ("/var/tmp", "/tmp", "/dev/shm")
            for path in Path(top).glob(f"culprit-{run}*")
        ]
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (process / "environ").read_bytes().split(b"\0"):
                    results.append(process.name)
            except OSError:
                continue
        return results

    lab.until(lambda: not left(), 25, f"left: {left()}")


def run_of(lab, item) -> str:
    return watcher(lab, item).session_spec["limits"]["run"]


def test_a_capture_holds_the_seconds_before_it(lab) -> None:
    """Series begin before the run, at their true times; rules still read the capture alone."""
    host = lab.add_host(lab.sshd())
    lab.worker()
    item = ring(lab, host, seconds=60)
    watching(lab, item)
    stored_since = watcher(lab, item).started_at
    lab.until(lambda: utc_now() - stored_since > timedelta(seconds=8), 30)
    requested = utc_now()
    capture = lab.capture(host, seconds=2)
    [run] = lab.until_runs(capture, "ingesting", "failed")
    assert run.state == "ingesting", run.failure
    assert lab.collectors(run.id)["look_back"].state == "done"
    assert ingest_run(run.id) in {"done", "partial"}
    run = lab.run(capture)
    assert run.look_back_ns is not None and run.look_back_ns < to_ns(requested) - 5 * 10**9
    assert run.look_back_ns < run.t0_ns
    assert abs(run.look_back_ns - to_ns(stored_since)) < 10 * 10**9
    with lab.db.sessions() as session:
        early = select(SeriesChunk.metric).where(
            SeriesChunk.run_id == run.id, SeriesChunk.t0_ns < to_ns(requested)
        )
        assert {"softirq.total_per_s", "sched.runq", "cpu.total_busy_pct", "net.rx_mb_s"} & set(
            session.scalars(early)
        )
        view = load_view(session, artifact_store(), [run.id])
        assert {series.citation.collector for series in view.series} == {"vmstat"}
    name = run_of(lab, item)
    with unit_of_work(lab.db.sessions) as session:
        service.stop_watcher(session, lab.actor, item)
    lab.until(lambda: watcher(lab, item).state == "canceled")
    gone(lab, name)


def test_what_was_armed_for_captures_from_its_beginning(lab, tmp_path) -> None:
    host = lab.add_host(lab.sshd())
    lab.worker()
    item = arm(lab, host, {"kind": "process_start", "key": "slow-start"}, max_captures=1)
    since = watching(lab, item).started_at
    lab.until(lambda: utc_now() - since > timedelta(seconds=3), 30)
    name = run_of(lab, item)
    program = tmp_path / "slow-start"
    program.symlink_to("/bin/sleep")
    began = utc_now()
    child = subprocess.Popen([str(program), "60"])
    try:
        lab.until(lambda: watcher(lab, item).capture_count == 1, 30, "fired")
        with lab.db.sessions() as session:
            capture = session.scalars(select(Capture).where(Capture.watcher_id == item)).one()
        assert capture.source == "watcher"
        [run] = lab.until_runs(capture.id, "ingesting", "failed")
    finally:
        child.kill()
        child.wait()
    assert ingest_run(run.id) in {"done", "partial"}
    assert lab.run(capture.id).look_back_ns < to_ns(began)
    lab.until(lambda: watcher(lab, item).state == "completed", 60)
    gone(lab, name)


def test_an_alert_captures_the_time_before_it(lab) -> None:
    """Without healthy peers: the host of the alert alone, through the whole response of a trigger."""
    host = lab.add_host(lab.sshd(), "feed-7")
    lab.worker()
    item = ring(lab, host, seconds=60)
    since = watching(lab, item).started_at
    lab.until(lambda: utc_now() - since > timedelta(seconds=10), 30)
    with unit_of_work(lab.db.sessions) as session:
        trigger = Trigger(
            name="t",
            kind="generic",
            proof="token",
            token_hash=b"x" * 32,
            options={"peers": 0},
            owner_id=lab.actor.id,
        )
        session.add(trigger)
        session.flush()
        alert = IncomingAlert(
            fingerprint="f", firing=True, cause="HighLatency", title="p99", labels={"host": "feed-7"}
        )
        at = utc_now()
        assert respond_to_alert(session, trigger, alert, at) == "started"
    with lab.db.sessions() as session:
        capture = session.scalars(select(Capture).where(Capture.source == "trigger")).one()
    [run] = lab.until_runs(capture.id, "ingesting", "failed", seconds=120)
    assert lab.collectors(run.id)["look_back"].state == "done"
    assert ingest_run(run.id) in {"done", "partial"}
    assert lab.run(capture.id).look_back_ns < to_ns(at) - 8 * 10**9


def test_its_hours_are_kept_by_the_host_and_it_ends_as_expired(lab) -> None:
    host = lab.add_host(lab.sshd())
    lab.worker()
    item = ring(lab, host)
    with unit_of_work(lab.db.sessions) as session:
        session.execute(update(Watcher).values(expires_at=utc_now() + timedelta(seconds=15)))
    lab.until(lambda: watcher(lab, item).state == "expired", 60)
    assert watcher(lab, item).session_spec["limits"]["deadline_s"] <= 15
    gone(lab, run_of(lab, item))


@pytest.mark.parametrize("fault", ["worker killed", "session cut", "watcher killed", "worker stopped"])
def test_whatever_breaks_leaves_nothing_and_begins_again(lab, fault: str) -> None:
    server = lab.sshd()
    item = ring(lab, lab.add_host(server))
    worker = lab.worker()
    watching(lab, item)
    name = run_of(lab, item)
    if fault == "worker killed":
        os.kill(worker.pid, signal.SIGKILL)
    elif fault == "worker stopped":
        worker.stop()
    elif fault == "session cut":
        for pid in server.sessions():
            os.kill(pid, signal.SIGKILL)
    else:
        [manifest] = [
            *Path("/dev/shm").glob(f"culprit-{name}/l/s1"),
            *Path("/var/tmp").glob(f"culprit-{name}/l/s1"),
        ]
        os.kill(int(manifest.read_text().split()[0]), signal.SIGKILL)
    gone(lab, name)
    if fault == "worker killed":
        with unit_of_work(lab.db.sessions) as session:
            session.execute(update(Watcher).values(lease_until=func.clock_timestamp()))
        with unit_of_work(lab.db.sessions) as session:
            expire_watchers(session)
    waits = lab.until(lambda: (row := watcher(lab, item)).state == "waiting" and row, 60, fault)
    assert waits.interruption_count == 1 and waits.wait_reason["key"]
    with unit_of_work(lab.db.sessions) as session:
        session.execute(update(Watcher).values(not_before=None))
    if fault.startswith("worker"):
        lab.worker()
    again = watching(lab, item)
    assert run_of(lab, item) != name and again.fence >= 2


def test_a_kill_switch_ends_it_within_seconds(lab) -> None:
    host = lab.add_host(lab.sshd())
    lab.worker()
    stored = ring(lab, host)
    armed = arm(lab, host, {"kind": "load1", "limit": 1e9})
    names = []
    for item in (stored, armed):
        watching(lab, item)
        names.append(run_of(lab, item))
    with unit_of_work(lab.db.sessions) as session:
        why = {"key": "kill_switch.everywhere", "params": {"reason": "-"}}
        assert len(service.stop_watchers_on_hosts(session, Watcher.host_id.is_not(None), why)) == 2
    for item, name in zip((stored, armed), names, strict=True):
        lab.until(lambda item=item: watcher(lab, item).state == "canceled", 20)
        assert watcher(lab, item).failure["key"] == "kill_switch.everywhere"
        gone(lab, name)


def test_another_ring_of_the_same_machine_is_waited_for(lab) -> None:
    server = lab.sshd()
    first, second = lab.add_host(server, "one"), lab.add_host(server, "the-same-machine")
    lab.worker()
    stored = ring(lab, first)
    watching(lab, stored)
    other = ring(lab, second)
    waits = lab.until(lambda: (row := watcher(lab, other)).wait_reason and row, 60)
    assert (waits.state, waits.wait_reason["key"], waits.failure_count) == ("waiting", "watcher.host_busy", 0)
