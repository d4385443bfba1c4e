"""Fixtures of host tests: sshd servers, and an admin with a network allow-list."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.hosts.network_rule import NetworkRule
from culprit.tests.support.sshd import Sshd, sshd


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    with sshd(tmp_path_factory.mktemp("sshd")) as running:
        yield running


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    with sshd(tmp_path_factory.mktemp("other")) as running:
        yield running


@pytest.fixture
def admin(as_, db: Database):
    """Return a client of an admin, with loopback on the network allow-list."""
    with unit_of_work(db.sessions) as session:
        session.add(NetworkRule(cidr="127.0.0.0/8", port_from=1, port_to=65535))
        session.add(NetworkRule(cidr="10.0.0.0/8", port_from=22, port_to=22))
    return as_("admin")
