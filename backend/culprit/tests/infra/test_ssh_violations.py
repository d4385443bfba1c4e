"""Sessions with servers that violate the protocol: the right error, in time, and nothing is left."""

import logging
from concurrent.futures import ProcessPoolExecutor
from itertools import groupby
from multiprocessing import get_context

import pytest
from culprit.tests.support.misbehaving_server import run_misbehaving_servers
from culprit.tests.support.protocol_violations import VIOLATIONS
from culprit.tests.support.violation_sessions import run_series, run_sessions

pytestmark = [pytest.mark.long(80), pytest.mark.filterwarnings("error")]

MAX_GROWTH_BYTES = 20_000_000


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    logger = logging.getLogger("paramiko")
    level = logger.level
    logger.setLevel(logging.CRITICAL)  # as in a session; pytest keeps every record
    with run_misbehaving_servers(tmp_path_factory.mktemp("servers")) as hops:
        yield hops
    logger.setLevel(level)


GROUPS = {
    "-".join(key): [case.name for case in cases]
    for key, cases in groupby(
        sorted(VIOLATIONS.values(), key=lambda case: (case.at, case.step)), lambda case: (case.at, case.step)
    )
}


@pytest.mark.parametrize("group", GROUPS)
def test_each_violation_ends_in_its_error_within_its_deadline_and_leaves_nothing(servers, group):
    endings = run_sessions(servers, GROUPS[group])
    assert [ending.problem for ending in endings if ending.problem] == []


def check_series(servers, count, monkeypatch):
    monkeypatch.setenv("MALLOC_ARENA_MAX", "1")
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        series = pool.submit(run_series, servers, count).result()
    print(series.summary)
    assert series.problems == []
    assert series.grown_bytes <= MAX_GROWTH_BYTES


def test_forty_sessions_in_random_order_leave_nothing(servers, monkeypatch):
    check_series(servers, 40, monkeypatch)


@pytest.mark.slow
def test_a_thousand_sessions_in_random_order_leave_nothing(servers, monkeypatch):
    check_series(servers, 1000, monkeypatch)
