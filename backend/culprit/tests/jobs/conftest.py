"""A lab per test, and an incident with a fix."""

from datetime import timedelta

import pytest
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.event_stream import get_event_publisher
from culprit.jobs.verification import schedule, state
from culprit.tests.support.fixed import Case
from culprit.tests.support.lab import laboratory
from redis import Redis


@pytest.fixture
def lab(db, config, people, tmp_path, redis_url):
    for cached in (artifact_store, get_event_publisher):
        cached.cache_clear()
    with Redis.from_url(redis_url) as redis:
        redis.flushall()
    with laboratory(db, people["oncall"].actor, tmp_path) as result:
        yield result
    for cached in (artifact_store, get_event_publisher):
        cached.cache_clear()


@pytest.fixture
def at_once(config, monkeypatch):
    """Remove the pauses between captures and after the fix."""
    monkeypatch.setattr(state, "CAPTURE_PAUSE", timedelta(0))
    monkeypatch.setattr(schedule, "WIDE_PAUSE", timedelta(0))
    monkeypatch.setattr(schedule, "SETTLING_TIME", timedelta(0))
    # The captures of a test are completed at times of its own.
    monkeypatch.setattr(schedule, "MAX_OBSERVED_S", 1e6)
    for cached in (artifact_store, get_event_publisher):
        cached.cache_clear()
    yield
    for cached in (artifact_store, get_event_publisher):
        cached.cache_clear()


@pytest.fixture
def case(at_once, parsed_here, db, people) -> Case:
    return Case(db, people["oncall"].actor)
