"""The search for symbols over several build IDs and servers is bounded: connections, bytes, time."""

from __future__ import annotations

import threading
import time
from uuid import uuid4

import pytest
from culprit.evidence.symbols import debug_search
from culprit.evidence.symbols.debug_search import DebugSearch, SearchLimits
from culprit.evidence.symbols.debuginfod import DebuginfodSource
from culprit.evidence.symbols.debuginfod_queries import StoredAnswer
from culprit.evidence.symbols.queries import LOST_AFTER_NS
from culprit.infra.artifacts.store import DirectoryStore
from culprit.infra.network.addresses import AddressRule
from culprit.infra.network.http_client import parse_base_url
from culprit.tests.support.web import free_port, reply, web

RULES = (AddressRule("127.0.0.0/8", 1, 65535),)
BUILD_IDS = [f"{number:040x}" for number in range(12)]


def make_source(url: str) -> DebuginfodSource:
    return DebuginfodSource(uuid4(), parse_base_url(url), url, RULES)


@pytest.fixture
def search(tmp_path):
    """Return a function that searches servers for the build IDs."""
    store = DirectoryStore(tmp_path / "store")

    def run(*sources, stored=(), build_ids=BUILD_IDS, **limits):
        searched = DebugSearch(store, sources, dict(stored), SearchLimits(**limits))
        return searched.search(build_ids, tmp_path / "work")

    (tmp_path / "work").mkdir()
    return run


def list_states(result) -> list[str]:
    return [result.answers[build_id].state for build_id in result.answers]


def test_a_server_has_few_connections_at_once(search):
    lock, active, most = threading.Lock(), 0, 0

    def answer(handler):
        nonlocal active, most
        with lock:
            active += 1
            most = max(most, active)
        time.sleep(0.1)
        with lock:
            active -= 1
        reply(404, b"")(handler)

    with web(answer) as server:
        result = search(make_source(server.url), connections=3)
        assert sorted(path for path, _ in server.requests) == [
            f"/buildid/{item}/debuginfo" for item in BUILD_IDS
        ]
    assert list_states(result) == ["absent"] * 12
    assert 1 < most <= 3
    assert (result.failure, len(result.refusals)) == (None, 12)


def test_only_the_first_build_ids_are_requested(search):
    with web(reply(404, b"")) as server:
        result = search(make_source(server.url), build_ids=["../../x", *BUILD_IDS], max_build_ids=2)
        assert {path for path, _ in server.requests} == {
            f"/buildid/{item}/debuginfo" for item in BUILD_IDS[:2]
        }
    assert list_states(result) == ["limit", "absent", "absent"] + ["limit"] * 10


def test_all_files_of_a_run_share_a_limit_of_bytes(search):
    with web(reply(200, bytes(300_000))) as server:
        result = search(make_source(server.url), connections=1, total_bytes=700_000)
        assert list_states(result) == ["unreadable"] * 2 + ["limit"] * 10
        assert len(server.requests) == 3
    assert list(result.refusals.values()) == ["unreadable"] * 2, "a limit of this run is not remembered"


def test_the_search_ends_with_its_time(search):
    def hang(handler):
        time.sleep(30)

    began = time.monotonic()
    with web(hang) as server:
        result = search(make_source(server.url), total_s=2.0, request_s=20.0)
        assert len(server.requests) <= SearchLimits().connections
    assert time.monotonic() - began < 8
    assert set(list_states(result)) == {"limit"}
    assert (result.failure, result.refusals) == (None, {})


def test_a_server_that_is_down_is_contacted_once(search):
    source = make_source(f"http://127.0.0.1:{free_port()}")
    calls = []
    download = DebuginfodSource.download

    def count(self, build_id, write, **limits):
        calls.append(build_id)
        return download(self, build_id, write, **limits)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DebuginfodSource, "download", count)
        result = search(source, connections=1)
    assert calls == BUILD_IDS[:1]
    assert set(list_states(result)) == {"failed"}
    assert result.failure["key"] == "outgoing.unreachable"


def test_stored_answers_are_of_their_server_only(search):
    with web(reply(404, b"")) as server:
        first, second = make_source(server.url), make_source(f"{server.url}/second")
        stored = {(first.server_id, item): StoredAnswer("absent", None, []) for item in BUILD_IDS}
        result = search(first, second, stored=stored)
        assert {path.split("/")[1] for path, _ in server.requests} == {"second"}
    assert set(result.refusals) == {(second.server_id, item) for item in BUILD_IDS}


def test_a_worker_has_more_time_than_the_search():
    longest = SearchLimits().total_s + SearchLimits().request_s + 2 * debug_search.SANDBOX.wall_s
    assert longest < LOST_AFTER_NS / 1e9
