"""Profiles without a parse worker wait; with a worker they are built."""

import os
import signal
import subprocess
import sys
import time
from uuid import UUID

import pytest
from culprit.infra.settings import REPOSITORY
from redis import Redis

FOLDED = b"web;main;parse 30\nweb;main;render 10\n"
TIMEOUT_S = 120


@pytest.fixture
def worker(config, redis_url, tmp_path):
    """Return a function that starts a worker of the queue `parse`; stop it at the end."""
    with Redis.from_url(redis_url) as redis:
        redis.flushall()
    started = []

    def start():
        environment = {**os.environ, "PYTHONPATH": f"{REPOSITORY}/backend:{REPOSITORY}", "C_FORCE_ROOT": "1"}
        with (tmp_path / "worker.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "culprit.server.worker", "parse"],
                env=environment,
                cwd=tmp_path,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_for(what, requested):
    until = time.monotonic() + TIMEOUT_S
    while (seen := what()) != requested:
        assert time.monotonic() < until, f"still {seen}"
        time.sleep(0.2)


def test_profile_is_built_when_a_worker_starts(as_, worker):
    client = as_("investigator")
    result = client.post("/api/v1/imports", files={"file": ("f", FOLDED)}).json()
    run = f"/api/v1/runs/{result['runs'][0]['id']}"
    time.sleep(0.5)
    assert client.get(run).json()["state"] == "ingesting"

    first = worker()
    wait_for(lambda: client.get(run).json()["state"], "done")
    (profile,) = client.get(run).json()["profiles"]
    address = f"/api/v1/profiles/{profile['id']}"
    wait_for(lambda: client.get(address).json()["state"], "ready")
    assert client.get(f"{address}/tree").json()["total"] == 40
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()

    side = {"profile_id": profile["id"]}
    diff = client.post("/api/v1/comparisons", json={"a": side, "b": side}).json()
    time.sleep(0.5)
    assert client.get(f"/api/v1/comparisons/{diff['id']}").json()["state"] == "queued"
    assert client.get(f"/api/v1/comparisons/{diff['id']}/tree").status_code == 409
    worker()
    wait_for(lambda: client.get(f"/api/v1/comparisons/{diff['id']}").json()["state"], "ready")
    assert client.get(f"/api/v1/comparisons/{UUID(diff['id'])}/tree").json()["total_b"] == 40
