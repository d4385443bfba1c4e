"""A laboratory per test, and an incident with a fix."""

from datetime import timedelta

import pytest
from culprit.infra.artifacts import artifact_store
from culprit.infra.progress import publisher
from culprit.tests.support.fixed import Case
from culprit.tests.support.lab import laboratory
from culprit.workflows import verify_fix, verify_state
from redis import Redis


@pytest.fixture
def lab(db, config, people, tmp_path, redis_url):
    for cached in (artifact_store, publisher):
        cached.cache_clear()
    with Redis.from_url(redis_url) as redis:
        redis.flushall()
    with laboratory(db, people["oncall"].actor, tmp_path) as made:
        yield made
    for cached in (artifact_store, publisher):
        cached.cache_clear()


@pytest.fixture
def at_once(config, monkeypatch):
    """Captures follow one another at once, and the fix has settled."""
    monkeypatch.setattr(verify_state, "PAUSE", timedelta(0))
    monkeypatch.setattr(verify_fix, "SETTLED", timedelta(0))
    for cached in (artifact_store, publisher):
        cached.cache_clear()
    yield
    for cached in (artifact_store, publisher):
        cached.cache_clear()


@pytest.fixture
def case(at_once, db, people) -> Case:
    return Case(db, people["oncall"].actor)
