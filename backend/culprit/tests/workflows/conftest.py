"""A laboratory per test."""

import pytest
from culprit.infra.artifacts import artifact_store
from culprit.infra.progress import publisher
from culprit.tests.support.lab import laboratory
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
