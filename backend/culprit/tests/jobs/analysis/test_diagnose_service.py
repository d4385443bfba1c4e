"""A diagnosis that names a declared service: what that is on the host is found there, when it is captured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from pathlib import Path
from uuid import UUID

import pytest
from culprit.config import REPOSITORY
from culprit.diagnoses import service
from culprit.diagnoses.schemas import DiagnosisCreate
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Capture, Diagnosis, Run, RunCollector, SeriesChunk, Service
from culprit.tests.support.web import free_port
from sqlalchemy import select

from collectors.tests.host.test_scope import IDLE, group, started

pytestmark = pytest.mark.long(70)

LABELS = {"role": "feed"}
LISTEN = "import socket, time; server = socket.create_server(('127.0.0.1', {port})); time.sleep(600)"


def declare(lab, locate, source_kind="none", **source) -> None:
    with unit_of_work(lab.db.sessions) as session:
        session.add(
            Service(name="feed", selector=LABELS, locate=locate, source_kind=source_kind, source=source)
        )


def listener(port: int):
    return started(sys.executable, "-c", LISTEN.format(port=port))


def first_run(lab, diagnosis_id) -> Run | None:
    """The run of the first stage, once the host has said what the scope is there."""
    with lab.db.sessions() as session:
        query = select(Run).join(Capture).where(Capture.diagnosis_id == diagnosis_id).order_by(Capture.number)
        run = session.scalars(query).first()
        return run if run is not None and (run.facts or {}).get("target") else None


def located(lab, host) -> dict:
    """What the service is on the host; the diagnosis is called off as soon as that is known."""
    lab.worker()
    with unit_of_work(lab.db.sessions) as session:
        wanted = DiagnosisCreate(host_id=host, seconds=5, scope={"kind": "service", "value": "feed"})
        diagnosis_id = service.create(session, lab.actor, wanted).id
    lab.worker("parse")
    run = lab.until(lambda: first_run(lab, diagnosis_id), 90, "a target")
    with unit_of_work(lab.db.sessions) as session:
        service.cancel(session, lab.actor, diagnosis_id)
    lab.until(lambda: lab.state(run.capture_id) not in {"queued", "running"}, 60, "a cancelled capture")
    return run.facts["target"]


def test_the_command_line_names_a_service_and_its_process_is_looked_at(lab, people):
    port, api = free_port(), free_port()
    host = lab.enrol(lab.sshd(), "web1", labels=LABELS)
    declare(lab, {"kind": "port", "value": str(port)}, "accepts", port=port)
    lab.worker()
    lab.worker("parse")
    lab.start("uvicorn", "culprit.main:app", "--port", str(api), "--log-level", "warning")
    with listener(port) as pid:
        command = [
            sys.executable,
            "-m",
            "culprit.cli",
            "diagnose",
            "web1",
            "--service",
            "feed",
            "--seconds",
            "5",
        ]
        environment = {
            **os.environ,
            "PYTHONPATH": f"{REPOSITORY}/backend:{REPOSITORY}",
            "CULPRIT_URL": f"http://127.0.0.1:{api}",
            "CULPRIT_TOKEN": people["oncall"].token,
        }
        lab.until(lambda: answers(api), 60, "the server")
        done = subprocess.run(
            [*command, "--json"], env=environment, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout)
    assert (told["state"], told["scope"]) == ("done", {"kind": "service", "value": "feed"})
    with lab.db.sessions() as session:
        diagnosis = session.get_one(Diagnosis, UUID(told["diagnosis"]))
        runs = [session.get_one(Run, UUID(one)) for one in told["runs"]]
        assert diagnosis.host_id == host and runs
        for run in runs:
            target = run.facts["target"]
            assert (target["kind"], target["pid"], target["lost"]) == ("process", pid, None)
            assert session.get_one(Capture, run.capture_id).scope == {"kind": "port", "value": str(port)}
            accepts = session.scalars(
                select(RunCollector).where(RunCollector.run_id == run.id, RunCollector.collector == "accepts")
            ).one()
            assert accepts.state == "done", accepts.reason
        proxies = session.scalars(select(SeriesChunk).where(SeriesChunk.metric == "app.accepts_per_s")).all()
        assert proxies and {one.labels["proxy"] for one in proxies} == {"accepts"}


def answers(port: int) -> bool:
    """Whether somebody listens."""
    return any(
        line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A"
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
    )


def test_a_service_that_moved_is_not_guessed(lab):
    """Nobody listens where it was declared to: that is told with the run, and nobody else is taken for it."""
    declare(lab, {"kind": "port", "value": str(free_port())})
    target = located(lab, lab.enrol(lab.sshd(), labels=LABELS))
    assert (target["pid"], target["lost"]) == (None, {"key": "target.no_listener", "params": {}})


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("kind", ["unit", "container"])
def test_a_unit_and_a_container_are_control_groups(lab, kind):
    name = uuid.uuid4().hex * 2
    path, value = {
        "unit": (f"system.slice/culprit-{name[:8]}.service", f"culprit-{name[:8]}.service"),
        "container": (f"kube/{name}", name[:12]),
    }[kind]
    declare(lab, {"kind": kind, "value": value})
    with group("cpu", path) as directory, started(*IDLE) as pid:
        (directory / "cgroup.procs").write_text(str(pid))
        time.sleep(0.3)
        target = located(lab, lab.enrol(lab.sshd(), labels=LABELS))
    assert (target["kind"], target["pid"], target["lost"]) == ("cgroup", pid, None)
