"""A diagnosis of a service: the scope on the host is resolved when it is captured."""

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
from culprit.analysis.diagnoses import service
from culprit.analysis.diagnoses.schemas import DiagnosisCreate
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.analysis.diagnosis import Diagnosis
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.series_chunk import SeriesChunk
from culprit.infra.models.hosts.service import Service
from culprit.infra.settings import REPOSITORY
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
    """Return the run of the first stage after the host has resolved the scope."""
    with lab.db.sessions() as session:
        query = select(Run).join(Capture).where(Capture.diagnosis_id == diagnosis_id).order_by(Capture.number)
        run = session.scalars(query).first()
        return run if run is not None and (run.facts or {}).get("target") else None


def located(lab, host) -> dict:
    """Return the resolved service on the host, and cancel the diagnosis."""
    lab.worker()
    with unit_of_work(lab.db.sessions) as session:
        diagnosis_create = DiagnosisCreate(
            host_id=host, seconds=5, scope={"kind": "service", "value": "feed"}
        )
        diagnosis_id = service.create_diagnosis(session, lab.actor, diagnosis_create).id
    lab.worker("parse")
    run = lab.until(lambda: first_run(lab, diagnosis_id), 90, "a target")
    with unit_of_work(lab.db.sessions) as session:
        service.cancel_diagnosis(session, lab.actor, diagnosis_id)
    lab.until(lambda: lab.state(run.capture_id) not in {"queued", "running"}, 60, "a canceled capture")
    return run.facts["target"]


def test_diagnose_command_accepts_service_name(lab, people):
    port, api = free_port(), free_port()
    host = lab.add_host(lab.sshd(), "web1", labels=LABELS)
    declare(lab, {"kind": "port", "value": str(port)}, "accepts", port=port)
    lab.worker()
    lab.worker("parse")
    lab.start("api", "--port", str(api), "--log-level", "warning")
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
    reported = json.loads(done.stdout)
    assert (reported["state"], reported["scope"]) == ("done", {"kind": "service", "value": "feed"})
    with lab.db.sessions() as session:
        diagnosis = session.get_one(Diagnosis, UUID(reported["diagnosis"]))
        runs = [session.get_one(Run, UUID(run)) for run in reported["runs"]]
        assert diagnosis.host_id == host and runs
        stages = {stage["capture_id"]: stage["scope"] for stage in diagnosis.stages}
        located = {"kind": "port", "value": str(port)}
        first = min(runs, key=lambda run: session.get_one(Capture, run.capture_id).number)
        assert stages[str(first.capture_id)] == {"kind": "service", "value": "feed"}
        for run in runs:
            # A later stage may be about one process that the first stage suspects.
            requested = stages[str(run.capture_id)]
            expected = located if requested["kind"] == "service" else requested
            assert session.get_one(Capture, run.capture_id).scope == expected
            target = run.facts["target"]
            if expected in (located, {"kind": "process", "value": str(pid)}):
                assert (target["kind"], target["pid"], target["lost"]) == ("process", pid, None)
            else:
                assert run is not first
            accepts = session.scalars(
                select(RunCollector).where(RunCollector.run_id == run.id, RunCollector.collector == "accepts")
            ).one()
            assert accepts.state == "done", accepts.reason
        proxies = session.scalars(select(SeriesChunk).where(SeriesChunk.metric == "app.accepts_per_s")).all()
        assert proxies and {proxy.labels["proxy"] for proxy in proxies} == {"accepts"}


def answers(port: int) -> bool:
    """Return whether a process listens."""
    return any(
        line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A"
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
    )


def test_a_service_that_moved_is_not_guessed(lab):
    """No process listens on the port: the run reports that, and no other process is selected."""
    declare(lab, {"kind": "port", "value": str(free_port())})
    target = located(lab, lab.add_host(lab.sshd(), labels=LABELS))
    assert (target["pid"], target["lost"]) == (None, {"key": "target.no_listener", "params": {}})


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("kind", ["container", pytest.param("unit", marks=pytest.mark.slow)])
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
        target = located(lab, lab.add_host(lab.sshd(), labels=LABELS))
    assert (target["kind"], target["pid"], target["lost"]) == ("cgroup", pid, None)
