"""Captures on 20 and 50 hosts at once: wall time, CPU and proportional memory of the server.

    ./culprit bench fanout [--hosts 20 50] [--plan triage] [--seconds 10]

Every host is a separate sshd on this machine, with private /run and /var/tmp. The hosts use the same cores, so the
wall time is an upper bound. The server's CPU is that of the worker, its fork server and all its children; its memory is
the sum of their PSS, sampled twice a second. For comparison, the same run measures a child that imports all modules
itself instead of being forked.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from uuid import UUID

from alembic import command
from alembic.config import Config
from culprit.accounts.actor import build_actor
from culprit.captures import service
from culprit.captures.schemas import CaptureCreate
from culprit.hosts.credentials import seal_credential
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.captures.run import Run
from culprit.infra.models.hosts.credential import Credential
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.hosts.network_rule import NetworkRule
from culprit.infra.settings import REPOSITORY, get_settings
from culprit.infra.vault import get_vault
from culprit.launcher.engines import Postgres, Valkey
from sqlalchemy import select

from lab.hosts import Lab, LabHost

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
STORED_STATES = ("ingesting", "done")
FINAL_STATES = (*STORED_STATES, "partial", "failed", "canceled", "expired")


def list_process_tree(pid: int) -> list[int]:
    """Return the PIDs of a process and all its descendants."""
    result, new = [pid], [pid]
    while new:
        children = []
        for item in new:
            try:
                text = Path(f"/proc/{item}/task/{item}/children").read_text()
            except FileNotFoundError:
                continue
            children += [int(child) for child in text.split()]
        result += children
        new = children
    return result


def read_cpu_s(pid: int) -> float:
    """Return the CPU seconds of a process and of all children that it has waited for."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0
    return sum(int(fields[n]) for n in (11, 12, 13, 14)) / TICKS_PER_S


def read_pss_mb(pid: int) -> float:
    """Return the proportional set size of a process in MiB; 0 if it cannot be read."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return 0.0
    return 0.0


def measure_unforked_mb() -> float:
    """Return the PSS in MiB of a child that is not forked: an idle new interpreter with the same imports."""
    code = "import culprit.jobs.capture.session, sys; print(1, flush=True); sys.stdin.read()"
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdin is not None and child.stdout is not None
    child.stdout.readline()
    result = read_pss_mb(child.pid)
    child.stdin.close()
    child.wait()
    return result


def add_hosts(db: Database, hosts: Sequence[LabHost]) -> tuple[object, list[UUID]]:
    """Add an account and the hosts to the database."""
    with unit_of_work(db.sessions) as session:
        user = UserAccount(name=f"bench-{secrets.token_hex(3)}", role="oncall", label_scope={})
        session.add(user)
        session.add(NetworkRule(cidr="127.0.0.0/8", port_from=1, port_to=65535))
        credential = Credential(id=new_uuid7(), name=f"bench {secrets.token_hex(3)}", kind="key", public={})
        seal_credential(credential, {"secret": hosts[0].key.read_text()}, get_vault())
        session.add(credential)
        session.flush()
        ids = []
        for host in hosts:
            kind, blob = (host.directory / "host_key.pub").read_text().split()[:2]
            row = Host(
                name=f"{host.name}-{secrets.token_hex(2)}",
                address=host.address,
                port=host.port,
                username=host.user,
                credential_id=credential.id,
                host_key_type=kind,
                host_key=base64.b64decode(blob),
                host_key_fingerprint=host.fingerprint,
                labels={},
            )
            session.add(row)
            session.flush()
            ids.append(row.id)
        return build_actor(user), ids


def measure_fanout(
    db: Database, worker: int, actor: object, hosts: list[UUID], plan: str, seconds: int
) -> dict[str, object]:
    """Run one capture over all hosts and measure the worker during it."""
    before = sum(read_cpu_s(pid) for pid in list_process_tree(worker))
    begun = time.monotonic()
    with unit_of_work(db.sessions) as session:
        capture_create = CaptureCreate(host_ids=hosts, plan=plan, seconds=seconds, reason="bench")
        capture = service.create_capture(session, actor, artifact_store(), capture_create).id  # type: ignore[arg-type]
    peak, at_peak, together = 0.0, 0, 0
    while True:
        pids = list_process_tree(worker)
        memory = sum(read_pss_mb(pid) for pid in pids)
        if memory > peak:
            peak, at_peak = memory, len(pids) - 2
        with db.sessions() as session:
            states = session.scalars(select(Run.state).where(Run.capture_id == capture)).all()
        together = max(together, sum(state == "running" for state in states))
        if all(state in FINAL_STATES for state in states):
            break
        time.sleep(0.5)
    wall = time.monotonic() - begun
    time.sleep(2)
    with db.sessions() as session:
        runs = session.scalars(select(Run).where(Run.capture_id == capture)).unique().all()
    idle = sum(read_pss_mb(pid) for pid in list_process_tree(worker))
    return {
        "hosts": len(hosts),
        "stored": sum(run.state in STORED_STATES and run.failure is None for run in runs),
        "at_once": together,
        "wall_s": round(wall, 1),
        "beyond_plan_s": round(wall - seconds, 1),
        "server_cpu_s": round(sum(read_cpu_s(pid) for pid in list_process_tree(worker)) - before, 2),
        "host_cpu_s": round(sum(run.host_cpu_ms or 0 for run in runs) / 1000, 1),
        "bytes_stored": sum(run.bytes for run in runs),
        "pss_peak_mb": round(peak),
        "children_at_peak": at_peak,
        "pss_idle_mb": round(idle),
        "pss_per_child_mb": round((peak - idle) / max(1, at_peak), 2),
        "failures": sorted({run.failure["key"] for run in runs if run.failure}),
    }


def main() -> None:
    """Start the services, measure, and print one JSON line per number of hosts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, nargs="+", default=[20, 50])
    parser.add_argument("--plan", default="triage")
    parser.add_argument("--seconds", type=int, default=10)
    chosen = parser.parse_args()
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fanout-")))
        directory.chmod(0o755)
        postgres = stack.enter_context(Postgres(directory / "postgres", durable=False))
        valkey = stack.enter_context(Valkey(directory / "valkey"))
        os.environ |= {
            "CULPRIT_HOME": str(directory / "home"),
            "DATABASE_URL": postgres.url,
            "REDIS_URL": valkey.url,
            "CULPRIT_SECRET_KEY": base64.b64encode(secrets.token_bytes(32)).decode(),
            "CULPRIT_SSH_CONCURRENCY": str(max(chosen.hosts)),
            "CULPRIT_LOG_LEVEL": "WARNING",
            "PYTHONPATH": f"{REPOSITORY}/backend:{REPOSITORY}",
        }
        (directory / "home").mkdir()
        migrations = Config(REPOSITORY / "migrations" / "alembic.ini")
        migrations.attributes["url"] = get_settings().sqlalchemy_url
        command.upgrade(migrations, "head")
        db = Database(get_settings().sqlalchemy_url)
        stack.callback(db.close)
        lab = stack.enter_context(Lab(directory / "lab"))
        hosts = [lab.start(f"host{n}") for n in range(max(chosen.hosts))]
        worker = subprocess.Popen(
            [sys.executable, "-m", "culprit.server.worker", "ssh"], stdout=subprocess.DEVNULL
        )
        stack.callback(worker.wait)
        stack.callback(worker.terminate)
        actor, ids = add_hosts(db, hosts)
        measure_fanout(db, worker.pid, actor, ids[:1], chosen.plan, 1)  # so that everything is warm
        print(json.dumps({"pss_of_an_unforked_child_mb": round(measure_unforked_mb(), 1)}), flush=True)
        for count in chosen.hosts:
            print(
                json.dumps(measure_fanout(db, worker.pid, actor, ids[:count], chosen.plan, chosen.seconds)),
                flush=True,
            )


if __name__ == "__main__":
    main()
