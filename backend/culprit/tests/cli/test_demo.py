"""The demo without root: a recorded host, and an incident over it. With root it is walked by hand and by `--full`."""

from __future__ import annotations

import json

import pytest
from culprit.cli import demo, lab_host
from culprit.cli.connection import Stop


class Asked:
    """A server that keeps what it was asked."""

    def __init__(self) -> None:
        self.posts: list[tuple[str, dict]] = []
        self.target = type("Target", (), {"url": "http://here"})()

    def post(self, path, body, **headers):
        assert headers["Idempotency-Key"]
        self.posts.append((path, body))
        return {"id": "i-1", "number": 3}

    def get(self, path):
        return {"state": "done", "runs": [{"id": "r-1"}]}


def test_without_root_a_recorded_host_is_opened_and_said_to_be_one(monkeypatch, capsys):
    server = Asked()
    monkeypatch.setattr(demo, "Server", lambda target: server)
    monkeypatch.setattr(demo, "find_target", lambda: None)
    monkeypatch.setattr(demo.os, "geteuid", lambda: 1000)
    demo.demo()
    assert [path for path, _ in server.posts] == ["/imports/example", "/incidents"]
    assert server.posts[1][1]["run_ids"] == ["r-1"]
    said = capsys.readouterr().out
    assert "recorded" in said and "http://here/incidents/i-1" in said


def test_an_illness_that_there_is_none_of_is_refused():
    with pytest.raises(Stop, match="listen-overflow"):
        demo.demo(fault="gremlins")


@pytest.mark.parametrize(
    ("line", "said"),
    [('{"skipped": ["gcc"]}', "needs gcc"), ('{"error": "no such command"}', "no such"), ("", "went away")],
)
def test_what_the_lab_cannot_do_is_said(line, said):
    process = type("Process", (), {"stdout": type("Out", (), {"readline": lambda self: line})()})()
    with pytest.raises(Stop, match=said):
        lab_host._hear(process)


def test_the_proof_is_a_line():
    numbers = [
        {"citations": [{"artifact": "", "lines": []}, {"artifact": "a", "part": "samples", "lines": [7, 9]}]}
    ]
    pin = demo._proof([{"numbers": numbers}], "book/step")
    assert pin is not None and json.loads(json.dumps(pin))["ref"]["lines"] == [7, 9]
    assert demo._proof([{"numbers": []}], "book/step") is None


def test_what_the_cause_left_open_is_waived_by_name_and_other_playbooks_are_set_aside(monkeypatch, capsys):
    walk = demo._Walk.__new__(demo._Walk)
    walk.incident = {"gaps": ["ports/a", "ports/b", "osync/a", "own/1"]}
    sent = []

    def change(method, path, body):
        sent.append((method, path, body.get("steps") or body["aside"]))
        gone = body.get("steps") or [one for one in walk.incident["gaps"] if f"/playbooks/{one[:5]}" == path]
        walk.incident = {"gaps": [one for one in walk.incident["gaps"] if one not in gone]}

    monkeypatch.setattr(walk, "_change", change)
    walk._leave({"key": "ports/search"})
    assert sent == [
        ("post", "/waivers", ["ports/a", "ports/b"]),
        ("patch", "/playbooks/osync", True),
        ("post", "/waivers", ["own/1"]),
    ]
    assert walk.incident["gaps"] == [] and "which still asked 1 steps" in capsys.readouterr().out
