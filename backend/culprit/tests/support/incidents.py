"""Runs that rules have spoken about, and incidents that look at them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from culprit.core.rules import form
from culprit.core.rules.contract import Finding, Number
from culprit.core.rules.registry import RULES
from culprit.infra.artifacts import artifact_store
from culprit.infra.db import Database
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import (
    Artifact,
    Capture,
    Evaluation,
    Fix,
    Hypothesis,
    ResultTable,
    Run,
    RunCollector,
)
from culprit.models import Finding as FindingRow
from culprit.tests.support import runs
from fastapi.testclient import TestClient

from collectors.contract import Sentence

API = "/api/v1"
BOOK = "connect-port-exhaustion"
RULE_OF = {
    "cpu-busy": "F-CPU-BUSY",
    "time-wait": "F-NET-TIMEWAIT-PRESSURE",
    "ports-left": "F-NET-PORT-EXHAUSTION",
    "refused": "F-NET-CONNECT-FAILS",
    "connect-slow": "F-SYSCALL-SLOW-CONNECT",
    "port-search": "F-FLAME-INET-HASH-CONNECT",
    "peer-slow": "F-DEP-SLOW-REPLY",
}
LINES = b"first line\nsecond line\nthird line\n"
MISSING = Sentence("missing.not_collected", {"collector": "perf_record"})
DOUBT = Sentence("doubt.between", {"samples": 12, "low": 1.0, "high": 30.0})


def finding(rule: str, state: str) -> Finding:
    """One finding with one number."""
    reason = {"inconclusive": DOUBT, "not_evaluated": MISSING}.get(state)
    numbers = () if state == "not_evaluated" else (Number("x", 42.0, "pct", ">", 5.0, ()),)
    return Finding(rule, state, "warn", RULES[rule].grade, (), numbers, reason)  # type: ignore[arg-type]


@dataclass
class Evaluated:
    """A run that is done and evaluated, with one artifact of three lines and a table of two rows."""

    run_id: Any
    capture_id: Any
    host_id: Any
    artifact_id: Any
    table_id: Any


def evaluated(
    db: Database,
    host_id: Any,
    states: Mapping[str, str],
    *,
    t0_ns: int | None = None,
    collectors: Iterable[str] = ("ss",),
    ranking: Mapping[str, Any] | None = None,
    lines: bytes = LINES,
) -> Evaluated:
    """A run on a host. `states` are by step of BOOK, or by rule; its artifact holds `lines`."""
    found = [finding(RULE_OF.get(name, name), state) for name, state in states.items()]
    stored = artifact_store().put([lines], 1000)
    begin = t0_ns if t0_ns is not None else time.time_ns()
    with unit_of_work(db.sessions) as session:
        capture = Capture(plan="triage", state="done")
        session.add(capture)
        session.flush()
        run = Run(capture_id=capture.id, host_id=host_id, state="done", t0_ns=begin, t1_ns=begin + 8 * 10**9)
        session.add(run)
        session.flush()
        rows = [RunCollector(run_id=run.id, collector=name, state="done") for name in collectors]
        session.add_all(rows)
        session.flush()
        artifact = Artifact(
            run_id=run.id,
            run_collector_id=rows[0].id,
            part="stdout",
            sha256=stored.sha256,
            size=len(lines),
            stored_size=len(lines),
        )
        session.add(artifact)
        session.flush()
        table = ResultTable(
            run_id=run.id,
            run_collector_id=rows[0].id,
            kind="connections",
            columns=[{"id": "peer", "unit": ""}, {"id": "time_wait", "unit": "count"}],
            rows=[["10.0.0.1:80", 28000], ["10.0.0.2:80", 3]],
            lines=[2, 3],
            artifact_id=artifact.id,
        )
        session.add(table)
        for one in found:
            if one.state in {"fired", "inconclusive"}:
                session.add(FindingRow(run_id=run.id, host_id=host_id, **form.finding(one)))
        session.add(
            Evaluation(
                run_id=run.id,
                elapsed_ms=1.0,
                quiet=[form.finding(one) for one in found if one.state == "quiet"],
                not_evaluated=[form.finding(one) for one in found if one.state == "not_evaluated"],
                ranking=dict(ranking or {}),
            )
        )
        session.flush()
        return Evaluated(run.id, capture.id, host_id, artifact.id, table.id)


class Desk:
    """Somebody at work on one incident: every write says the version that the last answer had."""

    def __init__(self, client: TestClient, incident: Mapping[str, Any]) -> None:
        self.client = client
        self.now = dict(incident)

    @property
    def url(self) -> str:
        """Of the incident."""
        return f"{API}/incidents/{self.now['id']}"

    def look(self) -> dict[str, Any]:
        """The incident as it is."""
        answer = self.client.get(self.url)
        assert answer.status_code == 200, answer.text
        self.now = answer.json()
        return self.now

    def ask(self, method: str, what: str, /, **body: Any) -> Any:
        """The answer to a write, whatever it is."""
        url = self.url + (f"/{what}" if what else "")
        answer = self.client.request(method, url, json={"version": self.now["version"], **body})
        if answer.status_code in {200, 201}:
            self.now = answer.json()
        return answer

    def post(self, what: str, /, **body: Any) -> dict[str, Any]:
        """A write that succeeds."""
        answer = self.ask("POST", what, **body)
        assert answer.status_code in {200, 201}, answer.text
        return self.now

    def patch(self, what: str = "", /, **body: Any) -> dict[str, Any]:
        """A change that succeeds."""
        answer = self.ask("PATCH", what, **body)
        assert answer.status_code == 200, answer.text
        return self.now

    def refused(self, method: str, what: str, /, **body: Any) -> tuple[int, str]:
        """The status and key of a write that is refused."""
        answer = self.ask(method, what, **body)
        assert answer.status_code >= 400, answer.text
        return answer.status_code, answer.json()["key"]

    def pin(self, run: Evaluated, *lines: int) -> str:
        """A pin of lines of a run's artifact."""
        ref = {"artifact_id": str(run.artifact_id), "lines": list(lines or (1,))}
        return str(self.post("pins", kind="line", view=f"/runs/{run.run_id}", ref=ref)["made"])

    def step(self, name: str, book: str = BOOK) -> dict[str, Any]:
        """A step as it stands."""
        return next(one for one in self.now["steps"] if one["key"] == f"{book}/{name}")

    def answer(self, name: str, host_id: object = None) -> dict[str, Any]:
        """What a step says of a host, or of the first."""
        hosts = self.step(name)["hosts"]
        return next(
            one for one in hosts if host_id in {None, one["host_id"]} or str(host_id) == one["host_id"]
        )

    def hypothesis(self, name: str, book: str = BOOK) -> dict[str, Any]:
        """A hypothesis as it stands."""
        return next(one for one in self.now["hypotheses"] if one["key"] == f"{book}/{name}")

    def waive_all(self) -> None:
        """Leaves every gap as it is."""
        while self.now["gaps"]:
            book = self.now["gaps"][0].partition("/")[0]
            steps = [one for one in self.now["gaps"] if one.startswith(f"{book}/")]
            self.post("waivers", steps=steps, reason="not here")


def opened(client: TestClient, *hosts: object, **more: Any) -> Desk:
    """A new incident on hosts, with BOOK."""
    body = {
        "title": "feed is slow",
        "hosts": [{"host_id": str(one)} for one in hosts],
        "playbooks": [BOOK],
        **more,
    }
    answer = client.post(f"{API}/incidents", json=body)
    assert answer.status_code == 201, answer.text
    return Desk(client, answer.json())


def verified(db: Database, desk: Desk, hypothesis: str) -> None:
    """A fix of that hypothesis that was judged to have helped, as the judging leaves it."""
    with unit_of_work(db.sessions) as session:
        one = session.get_one(Hypothesis, UUID(hypothesis))
        session.add(
            Fix(incident_id=one.incident_id, hypothesis_id=one.id, what="keep alive", state="verified")
        )


def host_maker(db: Database) -> Callable[..., Any]:
    """Makes hosts that are never reached."""
    return lambda name="web1", **labels: runs.make_host(db, name, labels)
