"""Captures with a real sshd, real worker processes, PostgreSQL and Valkey."""

import os
import signal
import time

import pytest
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.captures.run import Run
from culprit.infra.task_queue import enqueue_job
from culprit.tests.support.lab import left_on_host
from culprit.tests.support.sshd import make_key, public_key
from redis import Redis
from sqlalchemy import func, update

pytestmark = pytest.mark.long(180)

LONG = 40
NORMAL_END = ("ingesting", "done")


def change(lab, run_id, **values):
    with unit_of_work(lab.db.sessions) as session:
        session.execute(update(Run).where(Run.id == run_id).values(**values))


def soon(lab, capture):
    """Make waiting runs due: the pause after a failure is a minute."""
    with unit_of_work(lab.db.sessions) as session:
        session.execute(update(Run).where(Run.capture_id == capture).values(not_before=func.now()))


def nothing_left(lab, run_id):
    return lab.until(lambda: not left_on_host(run_id), 30, "a clean host")


def running(lab, capture):
    """Wait until the host has reported that a collector runs."""

    def begun():
        run = lab.run(capture)
        return run if run.state == "running" and run.progress else None

    return lab.until(begun, 60, "a collector that runs")


def test_three_collectors_come_home_through_a_real_worker(lab):
    server = lab.sshd()
    host = lab.add_host(server)
    lab.worker()
    capture = lab.capture(host, collectors=("vmstat", "softirqs", "perf_record"), seconds=3)
    [run] = lab.until_runs(capture, "ingesting", "failed", "partial")
    assert run.failure is None
    collectors = lab.collectors(run.id)
    assert {name: (item.state, item.reason) for name, item in collectors.items()} == {
        "vmstat": ("done", None),
        "softirqs": ("done", None),
        "perf_record": ("done", None),
    }
    store = artifact_store()
    for artifact in lab.artifacts(run.id):
        store.verify(artifact.sha256)
        assert artifact.complete
    parts = {(a.run_collector_id, a.part) for a in lab.artifacts(run.id)}
    assert (collectors["vmstat"].id, "stdout") in parts
    assert (None, "snapshot") in parts
    assert run.clock["known"]
    now_ns = time.time_ns()
    assert now_ns - 300 * 10**9 < collectors["vmstat"].started_ns < collectors["vmstat"].ended_ns < now_ns
    assert run.timings["login_ms"] > 0
    store.verify(run.spec["program_sha256"])
    nothing_left(lab, run.id)
    # The worker deletes the spool after the commit that `until_runs` has seen.
    spool = lab.directory / "home" / "spool"
    lab.until(lambda: not list(spool.iterdir()), 30, "an empty spool")


@pytest.mark.parametrize(
    ("pid", "lost"), [(os.getpid(), None), (1 << 22, "target.no_process")], ids=["ours", "nobody's"]
)
def test_scope_is_resolved_on_the_host(lab, pid, lost):
    """The resolved scope is stored with the run, also if it does not exist."""
    host = lab.add_host(lab.sshd())
    lab.worker()
    capture = lab.capture(host, scope={"kind": "process", "value": str(pid)})
    [run] = lab.until_runs(capture, "ingesting", "failed", "partial")
    target = run.facts["target"]
    assert target["kind"] == "process" and target["pid"] == (None if lost else pid)
    assert target["lost"] == ({"key": lost, "params": {}} if lost else None)
    assert run.spec["scope"] == {"kind": "process", "value": str(pid)}
    assert lab.collectors(run.id)["vmstat"].state == "done"


def test_a_changed_host_key_stops_the_run_for_good(lab, tmp_path):
    make_key(tmp_path / "other")
    server = lab.sshd()
    host = lab.add_host(server, host_key=public_key(tmp_path / "other"))
    lab.worker()
    [run] = lab.until_runs(lab.capture(host), "failed")
    assert run.failure["key"] == "ssh.host_key_changed"
    assert run.failure["params"]["shown"] == server.host_key.fingerprint
    assert run.failure_side == "host"
    assert "Accepted" not in server.log
    assert "Failed" not in server.log


def test_a_host_that_is_down_is_tried_again_later_and_not_for_ever(lab):
    server = lab.sshd()
    host = lab.add_host(server)
    server.process.kill()
    server.process.wait()
    lab.worker()
    lab.scheduler()
    capture = lab.capture(host)
    for failures in (1, 2):
        run = lab.until(lambda n=failures: (r := lab.run(capture)).host_failures == n and r, 60)
        assert (run.state, run.waiting["key"]) == ("queued", "ssh.refused")
        pause = (run.not_before - run.heartbeat_at).total_seconds()
        assert pause >= 59
        soon(lab, capture)
    [run] = lab.until_runs(capture, "failed")
    assert (run.failure["key"], run.attempt, lab.state(capture)) == ("ssh.refused", 3, "failed")


def test_canceling_ends_what_runs_and_what_waits(lab):
    server = lab.sshd()
    host = lab.add_host(server)
    first = lab.capture(host, collectors=("vmstat", "softirqs"), seconds=LONG)
    lab.worker()
    run = running(lab, first)
    second = lab.capture(host)
    lab.cancel(second)
    assert lab.run(second).state == "canceled"
    assert lab.state(second) == "canceled"
    lab.cancel(first)
    [run] = lab.until_runs(first, "canceled")
    took = (run.ended_at - run.cancel_requested_at).total_seconds()
    assert took < 5
    assert {item.state for item in lab.collectors(run.id).values()} == {"canceled"}
    nothing_left(lab, run.id)


def test_fifty_deliveries_store_artifacts_once(lab):
    host = lab.add_host(lab.sshd())
    capture = lab.capture(host, seconds=2)
    run = lab.run(capture)
    for _ in range(49):
        enqueue_job("culprit.run_capture", run.id)
    lab.worker()
    lab.worker()
    [run] = lab.until_runs(capture, *NORMAL_END)
    time.sleep(3)
    assert lab.run(capture).attempt == 1
    parts = [(a.run_collector_id, a.part) for a in lab.artifacts(run.id)]
    assert len(parts) == len(set(parts))


def test_run_of_killed_worker_is_repeated_and_stored_once(lab):
    host = lab.add_host(lab.sshd())
    capture = lab.capture(host, collectors=("vmstat", "softirqs"), seconds=6)
    first = lab.worker()
    run = running(lab, capture)
    os.kill(first.pid, signal.SIGKILL)
    lab.worker()
    lab.scheduler()
    nothing_left(lab, run.id)
    change(lab, run.id, lease_until=func.clock_timestamp())  # the thirty seconds of the lease
    [run] = lab.until_runs(capture, *NORMAL_END, "failed", "partial")
    assert (run.state in NORMAL_END, run.worker_losses, run.attempt) == (True, 1, 2)
    parts = [(a.run_collector_id, a.part) for a in lab.artifacts(run.id)]
    assert len(parts) == len(set(parts))
    assert {a.attempt for a in lab.artifacts(run.id)} == {2}


@pytest.mark.slow  # waits for a full lease
def test_after_a_killed_worker_the_run_begins_again_within_45_seconds(lab):
    host = lab.add_host(lab.sshd())
    capture = lab.capture(host, collectors=("vmstat",), seconds=20)
    first = lab.worker()
    run = running(lab, capture)
    lab.worker()
    lab.scheduler()
    os.kill(first.pid, signal.SIGKILL)
    nothing_left(lab, run.id)
    free = time.monotonic()
    lab.until(lambda: lab.run(capture).attempt == 2 and lab.run(capture).state == "running", 100)
    took = time.monotonic() - free
    print(f"restarted {took:.1f} s after the host was free")
    assert took < 45
    lab.until_runs(capture, *NORMAL_END)


def test_a_stopped_worker_hands_its_runs_on(lab):
    host = lab.add_host(lab.sshd())
    capture = lab.capture(host, collectors=("vmstat",), seconds=5)
    first = lab.worker()
    running(lab, capture)
    first.stop()
    run = lab.run(capture)
    assert (run.state, run.worker_losses) == ("queued", 0), lab.logs()
    lab.worker()
    lab.scheduler()
    [run] = lab.until_runs(capture, *NORMAL_END)
    assert run.attempt == 2


def test_a_frozen_worker_finds_its_fence_refused_and_ends_its_session(lab):
    host = lab.add_host(lab.sshd())
    capture = lab.capture(host, collectors=("vmstat", "softirqs"), seconds=8)
    first = lab.worker()
    run = running(lab, capture)
    os.killpg(first.pid, signal.SIGSTOP)
    change(lab, run.id, lease_until=func.clock_timestamp())
    lab.scheduler()
    lab.until(lambda: lab.run(capture).fence > 1)
    os.killpg(first.pid, signal.SIGCONT)
    [run] = lab.until_runs(capture, *NORMAL_END, "failed", "partial", seconds=120)
    assert run.state in NORMAL_END
    parts = [(a.run_collector_id, a.part) for a in lab.artifacts(run.id)]
    assert len(parts) == len(set(parts))
    assert {a.attempt for a in lab.artifacts(run.id)} == {run.attempt}
    nothing_left(lab, run.id)


def test_a_wiped_broker_loses_nothing(lab, redis_url):
    host = lab.add_host(lab.sshd())
    captures = [lab.capture(host, seconds=1) for _ in range(3)]
    with Redis.from_url(redis_url) as redis:
        redis.flushall()
        lab.worker()
        lab.scheduler()
        lab.until(lambda: lab.run(captures[0]).state != "queued", 60)
        redis.flushall()
        for capture in captures:
            lab.until_runs(capture, *NORMAL_END, seconds=120)


def test_without_a_broker_workers_look_for_themselves(lab, tmp_path):
    host = lab.add_host(lab.sshd())
    capture = lab.capture(host, seconds=1)
    lab.worker(REDIS_URL=f"unix://{tmp_path}/nothing-here")
    lab.until_runs(capture, *NORMAL_END)


def test_run_waits_for_busy_host_with_reason(lab):
    server = lab.sshd()
    item, other = lab.add_host(server, "one"), lab.add_host(server, "the-same-machine")
    lab.worker()
    first = lab.capture(item, collectors=("vmstat",), seconds=12)
    running(lab, first)
    second = lab.capture(other, collectors=("vmstat",), seconds=1)
    run = lab.until(lambda: (r := lab.run(second)).waiting and r, 60)
    assert (run.waiting["key"], run.attempt, run.host_failures) == ("run.host_busy", 0, 0)
    lab.until_runs(first, *NORMAL_END)
    soon(lab, second)
    enqueue_job("culprit.run_capture", run.id)
    lab.scheduler()
    lab.until_runs(second, *NORMAL_END)


def test_through_a_jump_host(lab):
    jump = lab.add_host(lab.sshd(), "jump")
    host = lab.add_host(lab.sshd(), "behind", jump_host_id=jump)
    lab.worker()
    [run] = lab.until_runs(lab.capture(host, seconds=1), *NORMAL_END, "failed")
    assert run.state in NORMAL_END, run.failure
    assert run.timings["jump_auth_ms"] > 0


def test_who_lost_the_right_meanwhile_does_not_get_the_run(lab, people):
    changes = {
        "oncall": ({"role": "viewer"}, "auth.role_too_low"),
        "admin": ({"disabled_at": func.now()}, "run.requester_gone"),
        "investigator": ({"label_scope": {"role": ["other"]}}, "host.not_found"),
    }
    captures = {}
    for name, (values, _) in changes.items():
        captures[name] = lab.capture(lab.add_host(lab.sshd()), actor=people[name].actor)
        with unit_of_work(lab.db.sessions) as session:
            session.execute(update(UserAccount).where(UserAccount.id == people[name].id).values(**values))
    lab.worker()
    for name, (_, key) in changes.items():
        [run] = lab.until_runs(captures[name], "failed")
        assert (run.failure["key"], run.failure_side) == (key, "user")


def test_a_cut_connection_keeps_what_had_come_home(lab):
    server = lab.sshd()
    host = lab.add_host(server)
    lengths = {"vmstat": LONG, "softirqs": 2}
    capture = lab.capture(host, collectors=tuple(lengths), lengths=lengths)
    lab.worker()
    run = running(lab, capture)
    lab.until(lambda: ((lab.run(capture).progress or {}).get("softirqs") or {}).get("state") == "done")
    for pid in server.sessions():
        os.kill(pid, signal.SIGKILL)
    [run] = lab.until_runs(capture, *NORMAL_END, "partial", "failed", "queued")
    assert (run.state, run.failure["key"]) == ("ingesting", "ssh.cut")
    states = {name: item.state for name, item in lab.collectors(run.id).items()}
    assert states == {"vmstat": "failed", "softirqs": "done"}
    nothing_left(lab, run.id)


def test_a_single_worker_captures_many_hosts_at_once(lab):
    hosts = [lab.add_host(lab.sshd()) for _ in range(6)]
    capture = lab.capture(*hosts, seconds=5)
    lab.worker()
    lab.until(lambda: {run.state for run in lab.runs(capture)} == {"running"}, 60, "all run at the same time")
    lab.until_runs(capture, *NORMAL_END)
