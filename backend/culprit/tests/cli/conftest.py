"""The command line as its own process, against a real server process."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from culprit.config import Settings
from culprit.infra.db import Database
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import NetworkRule
from culprit.tests.support.command_line import PYTHON, Cli
from culprit.tests.support.sshd import Sshd, sshd


@pytest.fixture
def server_url(config: Settings) -> Iterator[str]:
    """A real uvicorn process on the test's database."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "uvicorn", "culprit.main:app", "--port", str(port), "--log-level", "warning"],
        env={**os.environ, **PYTHON},
    )
    try:
        for _ in range(1200):
            assert process.poll() is None
            with socket.socket() as knock:
                if knock.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture
def cli(server_url: str, people, tmp_path: Path) -> Cli:
    """As admin."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return Cli(
        {
            **kept, **PYTHON, "HOME": str(tmp_path), "CULPRIT_HOME": str(tmp_path / "none"),
            "CULPRIT_URL": server_url, "CULPRIT_TOKEN": people["admin"].token,
        }
    )  # fmt: skip


@pytest.fixture
def target(db: Database, tmp_path: Path) -> Iterator[Sshd]:
    with unit_of_work(db.sessions) as session:
        session.add(NetworkRule(cidr="127.0.0.0/8", port_from=1, port_to=65535))
    with sshd(tmp_path / "sshd") as running:
        (running.directory / "key").write_text(running.client_key)
        yield running
