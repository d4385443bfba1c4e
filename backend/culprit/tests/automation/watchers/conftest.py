"""A clean artifact store for each test."""

from __future__ import annotations

import pytest
from culprit.infra.artifacts import artifact_store
from culprit.infra.progress import publisher


@pytest.fixture(autouse=True)
def fresh_caches(config):
    for cached in (artifact_store, publisher):
        cached.cache_clear()
    yield
    for cached in (artifact_store, publisher):
        cached.cache_clear()
