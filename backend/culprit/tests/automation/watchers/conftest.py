"""A clean artifact store for each test."""

from __future__ import annotations

import pytest
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.event_stream import get_event_publisher


@pytest.fixture(autouse=True)
def fresh_caches(config):
    for cached in (artifact_store, get_event_publisher):
        cached.cache_clear()
    yield
    for cached in (artifact_store, get_event_publisher):
        cached.cache_clear()
