"""A trigger with hosts, and a clean artifact store for each test."""

from __future__ import annotations

import pytest
from culprit.infra.artifacts import artifact_store
from culprit.infra.progress import publisher
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import NetworkRule


@pytest.fixture(autouse=True)
def fresh_caches(config):
    for cached in (artifact_store, publisher):
        cached.cache_clear()
    yield
    for cached in (artifact_store, publisher):
        cached.cache_clear()


@pytest.fixture
def loopback(db):
    """Loopback may be dialled."""
    with unit_of_work(db.sessions) as session:
        session.add(NetworkRule(cidr="127.0.0.0/8", port_from=1, port_to=65535))
