"""Processes killed at random during captures: nothing is lost, doubled, overlapping or stuck."""

import os
import random

import pytest
from culprit.tests.support.storm import LONG, SHORT, run_storm

pytestmark = pytest.mark.long(90)

#: The seed of a storm, to repeat it.
SEED = "CULPRIT_TEST_STORM_SEED"


def check_storm(directory, plan):
    seed = int(os.environ.get(SEED) or random.SystemRandom().randrange(10**6))
    print(f"{SEED}={seed}", flush=True)
    result = run_storm(directory, plan, seed)
    print(result.summary)
    assert result.problems == []
    assert result.kills == plan.kills
    assert (result.lost, result.doubled, result.overlapping, result.stuck, result.left_on_hosts) == (
        0,
        0,
        0,
        0,
        0,
    )
    assert result.captures >= plan.captures


def test_ten_kills_of_all_kinds_lose_nothing(tmp_path):
    check_storm(tmp_path, SHORT)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_two_hundred_kills_of_all_kinds_lose_nothing(tmp_path):
    check_storm(tmp_path, LONG)
