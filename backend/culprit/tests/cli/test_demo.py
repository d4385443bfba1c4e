"""The demo without root: an incident over a recorded host."""

from __future__ import annotations

import json

import pytest
from culprit.cli import lab_host
from culprit.cli.commands import demo
from culprit.cli.connection import CliError


class RecordingServer:
    """A server that records its requests."""

    def __init__(self) -> None:
        self.posts: list[tuple[str, dict]] = []
        self.target = type("Target", (), {"url": "http://here"})()

    def post(self, path, body, **headers):
        assert headers["Idempotency-Key"]
        self.posts.append((path, body))
        return {"id": "i-1", "number": 3}

    def get(self, path):
        return {"state": "done", "runs": [{"id": "r-1"}]}


def test_demo_without_root_opens_recorded_host_and_reports_it(monkeypatch, capsys):
    server = RecordingServer()
    monkeypatch.setattr(demo, "Server", lambda target: server)
    monkeypatch.setattr(demo, "find_target", lambda: None)
    monkeypatch.setattr(demo.os, "geteuid", lambda: 1000)
    demo.run_demo()
    assert [path for path, _ in server.posts] == ["/imports/example", "/incidents"]
    assert server.posts[1][1]["run_ids"] == ["r-1"]
    out = capsys.readouterr().out
    assert "recorded" in out and "http://here/incidents/i-1" in out


def test_demo_refuses_unknown_fault():
    with pytest.raises(CliError, match="listen-overflow"):
        demo.run_demo(fault="gremlins")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"skipped": ["gcc"]}', "needs gcc"),
        ('{"error": "no such command"}', "no such"),
        ("", "stopped unexpectedly"),
    ],
)
def test_demo_reports_what_the_lab_cannot_do(line, message):
    process = type("Process", (), {"stdout": type("Out", (), {"readline": lambda self: line})()})()
    with pytest.raises(CliError, match=message):
        lab_host._read_event(process)


def test_the_proof_is_a_line():
    numbers = [
        {"citations": [{"artifact": "", "lines": []}, {"artifact": "a", "part": "samples", "lines": [7, 9]}]}
    ]
    pin = demo._build_pin([{"numbers": numbers}], "book/step")
    assert pin is not None and json.loads(json.dumps(pin))["ref"]["lines"] == [7, 9]
    assert demo._build_pin([{"numbers": []}], "book/step") is None


def test_demo_waives_open_steps_and_dismisses_other_playbooks(monkeypatch, capsys):
    walk = demo._IncidentDemo.__new__(demo._IncidentDemo)
    walk.incident = {"gaps": ["ports/a", "ports/b", "osync/a", "own/1"]}
    sent = []

    def change(method, path, body):
        sent.append((method, path, body.get("steps") or body["dismissed"]))
        gone = body.get("steps") or [gap for gap in walk.incident["gaps"] if f"/playbooks/{gap[:5]}" == path]
        walk.incident = {"gaps": [gap for gap in walk.incident["gaps"] if gap not in gone]}

    monkeypatch.setattr(walk, "_send_change", change)
    walk._close_open_steps({"key": "ports/search"})
    assert sent == [
        ("post", "/waivers", ["ports/a", "ports/b"]),
        ("patch", "/playbooks/osync", True),
        ("post", "/waivers", ["own/1"]),
    ]
    assert walk.incident["gaps"] == [] and "with 1 open steps" in capsys.readouterr().out
