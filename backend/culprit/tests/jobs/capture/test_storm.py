"""Workers killed at random during captures: no run is lost, duplicated, overlapping or left behind."""

import os
import random
import signal
import time

import pytest
from culprit.tests.support.lab import left_on_host
from sqlalchemy import text

CAME_HOME = ("ingesting", "done")
OVER = (*CAME_HOME, "partial", "failed", "canceled", "expired")
FAST = {"CULPRIT_LEASE_SECONDS": "6", "CULPRIT_SSH_CONCURRENCY": "2", "CULPRIT_LOG_LEVEL": "WARNING"}


def note_starts(lab):
    """Make the database record every start and end of a run, to detect overlaps."""
    with lab.db.engine.begin() as connection:
        connection.execute(
            text("""
            CREATE TABLE witness
                (at timestamptz DEFAULT clock_timestamp(), host uuid, run uuid, running boolean);
            CREATE FUNCTION witness() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
              IF NEW.state <> OLD.state OR NEW.fence <> OLD.fence THEN
                INSERT INTO witness(host, run, running) VALUES (NEW.host_id, NEW.id, NEW.state = 'running');
              END IF; RETURN NEW; END $$;
            CREATE TRIGGER witness AFTER UPDATE ON run FOR EACH ROW EXECUTE FUNCTION witness();
            """)
        )


def overlaps(lab) -> int:
    """Return how often a host had two running runs, according to the database."""
    active, result = {}, 0
    with lab.db.engine.begin() as connection:
        for host, run, is_running in connection.execute(
            text("SELECT host, run, running FROM witness ORDER BY at")
        ):
            runs = active.setdefault(host, set())
            (runs.add if is_running else runs.discard)(run)
            result += len(runs) > 1
    return result


def busy(runs, workers):
    """Return the workers that own a run."""
    named = {run.worker.rpartition(":")[2] for run in runs if run.state == "running" and run.worker}
    return [worker for worker in workers if str(worker.pid) in named]


def storm(lab, *, kills: int, hosts: int, captures: int, seed: int):
    chance = random.Random(seed)
    note_starts(lab)
    machines = [lab.add_host(lab.sshd()) for _ in range(hosts)]
    results = [lab.capture(*machines, seconds=1) for _ in range(captures)]
    lab.start("scheduler", **FAST)
    workers = [lab.worker(**FAST) for _ in range(3)]

    def everything():
        return [run for capture in results for run in lab.runs(capture)]

    def victims_now():
        if all(run.state in OVER for run in everything()):
            results.append(lab.capture(*machines, seconds=1))
        return busy(everything(), workers)

    for _ in range(kills):
        lab.until(victims_now, 120, "a worker with a run")
        time.sleep(chance.uniform(0, 1.5))
        victims = busy(everything(), workers) or workers
        victim = workers.index(chance.choice(victims))
        os.kill(workers[victim].pid, signal.SIGKILL)
        workers[victim].wait()
        workers[victim] = lab.worker(**FAST)
    lab.until(lambda: all(run.state in OVER for run in everything()), 400, "every run over")
    return everything()


def verdict(lab, runs):
    states = [run.state for run in runs]
    supplied_up = [run for run in runs if run.state == "failed"]
    assert all(run.failure["key"] == "run.worker_lost" and run.worker_losses > 3 for run in supplied_up)
    assert len(supplied_up) + sum(state in CAME_HOME for state in states) == len(runs), states
    for run in runs:
        parts = [(artifact.run_collector_id, artifact.part) for artifact in lab.artifacts(run.id)]
        assert len(parts) == len(set(parts))
        assert bool(parts) == (run.state in CAME_HOME)
    assert overlaps(lab) == 0
    lab.until(lambda: not [item for run in runs for item in left_on_host(run.id)], 30, "clean hosts")
    print(f"{len(runs)} runs, {sum(run.worker_losses for run in runs)} losses, {len(supplied_up)} given up")


@pytest.mark.slow  # minutes of kills, only on a quiet machine
def test_twenty_killed_workers_lose_nothing(lab):
    verdict(lab, storm(lab, kills=20, hosts=4, captures=4, seed=int(time.time())))


@pytest.mark.slow
def test_two_hundred_killed_workers_lose_nothing(lab):
    verdict(lab, storm(lab, kills=200, hosts=8, captures=30, seed=int(time.time())))
