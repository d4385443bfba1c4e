"""The command line as its own process, against a real server process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.hosts.network_rule import NetworkRule
from culprit.infra.settings import Settings
from culprit.tests.support.command_line import PYTHON, Cli
from culprit.tests.support.live import server
from culprit.tests.support.sshd import Sshd, sshd


@pytest.fixture
def server_url(config: Settings) -> Iterator[str]:
    """Run a real uvicorn process on the database of the test."""
    with server() as running:
        yield running.url


@pytest.fixture
def cli(server_url: str, people, tmp_path: Path) -> Cli:
    """Return the command line with the token of an admin."""
    stored = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return Cli(
        {
            **stored, **PYTHON, "HOME": str(tmp_path), "CULPRIT_HOME": str(tmp_path / "none"),
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
