"""Command line and MCP while the server is overloaded."""

from __future__ import annotations

import json

import pytest
from culprit.cli import connection
from culprit.cli.connection import CliError, ExitCode, Server, ServerTarget
from culprit.tests.support.web import reply, web
from culprit.web.errors import OverloadedError

BUSY = json.dumps(
    {"type": OverloadedError.problem_type, "status": 503, "detail": "busy", "key": "platform.busy"}
).encode()
AWAY = json.dumps(
    {"type": "about:blank", "status": 503, "detail": "away", "key": "platform.database_away"}
).encode()
PROBLEM = {"Content-Type": "application/problem+json"}


@pytest.fixture
def pauses(monkeypatch):
    taken: list[float] = []
    monkeypatch.setattr(connection, "compute_retry_delay", taken.append)
    return taken


def in_turn(*answers):
    left = list(answers)

    def answer(handler):
        (left.pop(0) if len(left) > 1 else left[0])(handler)

    return answer


def ask(site, work):
    server = Server(ServerTarget(site.url, "culprit_x", "test"))
    with server.http:
        return work(server)


def read_text(server: Server) -> bytes:
    with server.stream("/file") as pieces:
        return b"".join(pieces)


def test_a_read_is_repeated_until_it_is_answered(pauses):
    busy, good = reply(503, BUSY, **PROBLEM), reply(200, b'{"a": 1}', **{"Content-Type": "application/json"})
    with web(in_turn(busy, busy, good)) as site:
        assert ask(site, lambda server: server.get("/me")) == {"a": 1}
    with web(in_turn(busy, good)) as site:
        assert ask(site, read_text) == b'{"a": 1}'
    assert pauses == [1.0, 2.0, 1.0]


@pytest.mark.parametrize("work", [lambda server: server.get("/me"), read_text])
def test_after_four_attempts_it_is_an_error(pauses, work):
    with web(reply(503, BUSY, **PROBLEM)) as site:
        with pytest.raises(CliError, match="busy") as stop:
            ask(site, work)
        assert stop.value.status == ExitCode.UNREACHABLE
        assert len(site.requests) == 4
    assert pauses == [1.0, 2.0, 4.0]


def test_writes_and_other_failures_are_not_repeated(pauses):
    with web(reply(503, BUSY, **PROBLEM)) as site, pytest.raises(CliError):
        ask(site, lambda server: server.post("/captures", {}))
    with web(reply(503, AWAY, **PROBLEM)) as site, pytest.raises(CliError, match="away"):
        ask(site, lambda server: server.get("/me"))
    assert len(site.requests) == 1 and pauses == []
