"""A trigger with hosts, and a clean artifact store for each test."""

from __future__ import annotations

import pytest
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.event_stream import get_event_publisher
from culprit.infra.models.hosts.network_rule import NetworkRule
from culprit.tests.support.runs import make_host
from culprit.tests.support.senders import FEED, sender


@pytest.fixture(autouse=True)
def fresh_caches(config):
    for cached in (artifact_store, get_event_publisher):
        cached.cache_clear()
    yield
    for cached in (artifact_store, get_event_publisher):
        cached.cache_clear()


@pytest.fixture
def loopback(db):
    """Allow connections to loopback."""
    with unit_of_work(db.sessions) as session:
        session.add(NetworkRule(cidr="127.0.0.0/8", port_from=1, port_to=65535))


@pytest.fixture
def feed(as_, client, db):
    """Create four hosts of one role, one of another, and a trigger of the on-call user."""
    for n in range(1, 5):
        make_host(db, f"feed-{n}", {**FEED, "dc": "a" if n < 4 else "b"})
    make_host(db, "ads-1", {"role": "ads"})
    return sender(as_("oncall"), client)
