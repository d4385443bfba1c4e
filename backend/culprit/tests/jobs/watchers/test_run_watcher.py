"""Standbys over real sshd, through real workers: what is kept comes home, and nothing stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest
from culprit.core.alerts.contract import Incoming
from culprit.infra.artifacts import artifact_store
from culprit.kit.clock import now, to_ns
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Capture, SeriesChunk, Standby, Trigger
from culprit.standbys import service
from culprit.standbys.schemas import ArmedCreate, RingCreate
from culprit.tests.support.lab import end
from culprit.triggers.fire import take
from culprit.workflows.ingest_run import ingest_run
from culprit.workflows.read_view import read_view
from culprit.workflows.sweep import expire_standbys
from sqlalchemy import func, select, update

pytestmark = pytest.mark.long(90)


def stand(lab, wanted) -> object:
    with unit_of_work(lab.db.sessions) as session:
        return service.create(session, lab.actor, wanted).id


def ring(lab, host, **more) -> object:
    return stand(lab, RingCreate(kind="ring", host_id=host, **more))


def arm(lab, host, *conditions, **more) -> object:
    given = {"plan": "custom", "collectors": ["vmstat"], "seconds": 2} | more
    return stand(lab, ArmedCreate(kind="armed", host_id=host, conditions=list(conditions), **given))


def standby(lab, one) -> Standby:
    with lab.db.sessions() as session:
        return session.get_one(Standby, one)


def watching(lab, one) -> Standby:
    """Once its watcher was heard."""
    lab.until(lambda: standby(lab, one).cost, 90, "watching")
    return standby(lab, one)


def gone(lab, run: str) -> None:
    """What the host was sent under that name has left neither file nor process there."""
    mark = f"CULPRIT_RUN={run}".encode()

    def left() -> list[str]:
        found = [
            str(path)
            for top in ("/var/tmp", "/tmp", "/dev/shm")
            for path in Path(top).glob(f"culprit-{run}*")
        ]
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (process / "environ").read_bytes().split(b"\0"):
                    found.append(process.name)
            except OSError:
                continue
        return found

    lab.until(lambda: not left(), 25, f"left: {left()}")


def run_of(lab, one) -> str:
    return standby(lab, one).spec["limits"]["run"]


def test_a_capture_holds_the_seconds_before_it(lab) -> None:
    """The lanes begin before the run, at their true instants; rules still read the capture alone."""
    host = lab.enrol(lab.sshd())
    lab.worker()
    one = ring(lab, host, seconds=60)
    watching(lab, one)
    kept_since = standby(lab, one).started_at
    lab.until(lambda: now() - kept_since > timedelta(seconds=8), 30)
    asked = now()
    capture = lab.capture(host, seconds=2)
    [run] = lab.until_runs(capture, "ingesting", "failed")
    assert run.state == "ingesting", run.failure
    assert lab.collectors(run.id)["look_back"].state == "done"
    assert ingest_run(run.id) in {"done", "partial"}
    run = lab.run(capture)
    assert run.look_back_ns is not None and run.look_back_ns < to_ns(asked) - 5 * 10**9
    assert run.look_back_ns < run.t0_ns
    assert abs(run.look_back_ns - to_ns(kept_since)) < 10 * 10**9
    with lab.db.sessions() as session:
        early = select(SeriesChunk.metric).where(
            SeriesChunk.run_id == run.id, SeriesChunk.t0_ns < to_ns(asked)
        )
        assert {"softirq.total_per_s", "sched.runq", "cpu.total_busy_pct", "net.rx_mb_s"} & set(
            session.scalars(early)
        )
        view = read_view(session, artifact_store(), [run.id])
        assert {lane.cite.collector for lane in view.lanes} == {"vmstat"}
    name = run_of(lab, one)
    with unit_of_work(lab.db.sessions) as session:
        service.end(session, lab.actor, one)
    lab.until(lambda: standby(lab, one).state == "cancelled")
    gone(lab, name)


def test_what_was_armed_for_captures_from_its_beginning(lab, tmp_path) -> None:
    host = lab.enrol(lab.sshd())
    lab.worker()
    one = arm(lab, host, {"kind": "process_start", "key": "slow-start"}, fires_max=1)
    since = watching(lab, one).started_at
    lab.until(lambda: now() - since > timedelta(seconds=3), 30)
    name = run_of(lab, one)
    program = tmp_path / "slow-start"
    program.symlink_to("/bin/sleep")
    began = now()
    child = subprocess.Popen([str(program), "60"])
    try:
        lab.until(lambda: standby(lab, one).fires == 1, 30, "fired")
        with lab.db.sessions() as session:
            capture = session.scalars(select(Capture).where(Capture.standby_id == one)).one()
        assert capture.source == "armed"
        [run] = lab.until_runs(capture.id, "ingesting", "failed")
    finally:
        child.kill()
        child.wait()
    assert ingest_run(run.id) in {"done", "partial"}
    assert lab.run(capture.id).look_back_ns < to_ns(began)
    lab.until(lambda: standby(lab, one).state == "fired", 60)
    gone(lab, name)


def test_an_alert_captures_the_time_before_it(lab) -> None:
    """With healthy peers left out: the host of the alert alone, through the whole of what a trigger does."""
    host = lab.enrol(lab.sshd(), "feed-7")
    lab.worker()
    one = ring(lab, host, seconds=60)
    since = watching(lab, one).started_at
    lab.until(lambda: now() - since > timedelta(seconds=10), 30)
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
        alert = Incoming(
            fingerprint="f", firing=True, cause="HighLatency", title="p99", labels={"host": "feed-7"}
        )
        at = now()
        assert take(session, trigger, alert, at) == "fired"
    with lab.db.sessions() as session:
        capture = session.scalars(select(Capture).where(Capture.source == "trigger")).one()
    [run] = lab.until_runs(capture.id, "ingesting", "failed", seconds=120)
    assert lab.collectors(run.id)["look_back"].state == "done"
    assert ingest_run(run.id) in {"done", "partial"}
    assert lab.run(capture.id).look_back_ns < to_ns(at) - 8 * 10**9


def test_its_hours_are_kept_by_the_host_and_it_ends_as_expired(lab) -> None:
    host = lab.enrol(lab.sshd())
    lab.worker()
    one = ring(lab, host)
    with unit_of_work(lab.db.sessions) as session:
        session.execute(update(Standby).values(until=now() + timedelta(seconds=15)))
    lab.until(lambda: standby(lab, one).state == "expired", 60)
    assert standby(lab, one).spec["limits"]["deadline_s"] <= 15
    gone(lab, run_of(lab, one))


@pytest.mark.parametrize("fault", ["worker killed", "session cut", "watcher killed", "worker stopped"])
def test_whatever_breaks_leaves_nothing_and_begins_again(lab, fault: str) -> None:
    server = lab.sshd()
    one = ring(lab, lab.enrol(server))
    worker = lab.worker()
    watching(lab, one)
    name = run_of(lab, one)
    if fault == "worker killed":
        os.kill(worker.pid, signal.SIGKILL)
    elif fault == "worker stopped":
        end(worker)
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
            session.execute(update(Standby).values(lease_until=func.clock_timestamp()))
        with unit_of_work(lab.db.sessions) as session:
            expire_standbys(session)
    waits = lab.until(lambda: (row := standby(lab, one)).state == "waiting" and row, 60, fault)
    assert waits.interrupted == 1 and waits.waiting["key"]
    with unit_of_work(lab.db.sessions) as session:
        session.execute(update(Standby).values(not_before=None))
    if fault.startswith("worker"):
        lab.worker()
    again = watching(lab, one)
    assert run_of(lab, one) != name and again.fence >= 2


def test_a_kill_switch_ends_it_within_seconds(lab) -> None:
    host = lab.enrol(lab.sshd())
    lab.worker()
    kept = ring(lab, host)
    armed = arm(lab, host, {"kind": "load1", "limit": 1e9})
    names = []
    for one in (kept, armed):
        watching(lab, one)
        names.append(run_of(lab, one))
    with unit_of_work(lab.db.sessions) as session:
        why = {"key": "kill_switch.everywhere", "params": {"reason": "-"}}
        assert len(service.call_off_on(session, Standby.host_id.is_not(None), why)) == 2
    for one, name in zip((kept, armed), names, strict=True):
        lab.until(lambda one=one: standby(lab, one).state == "cancelled", 20)
        assert standby(lab, one).failure["key"] == "kill_switch.everywhere"
        gone(lab, name)


def test_another_ring_of_the_same_machine_is_waited_for(lab) -> None:
    server = lab.sshd()
    first, second = lab.enrol(server, "one"), lab.enrol(server, "the-same-machine")
    lab.worker()
    kept = ring(lab, first)
    watching(lab, kept)
    other = ring(lab, second)
    waits = lab.until(lambda: (row := standby(lab, other)).waiting and row, 60)
    assert (waits.state, waits.waiting["key"], waits.failures) == ("waiting", "standby.host_busy", 0)
