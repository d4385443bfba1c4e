"""Evaluated runs, and incidents that use them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from culprit.domain.rules import json_form
from culprit.domain.rules.finding import Finding, Number
from culprit.domain.rules.registry import RULES
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.analysis.evaluation import Evaluation
from culprit.infra.models.analysis.finding import StoredFinding as FindingRow
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.result_table import ResultTable
from culprit.infra.models.incidents.fix import Fix
from culprit.infra.models.incidents.hypothesis import Hypothesis
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
DOUBT = Sentence("doubt.unknown_frames", {"share": 40})


def finding(rule: str, state: str) -> Finding:
    """Return one finding with one number."""
    reason = {"inconclusive": DOUBT, "not_evaluated": MISSING}.get(state)
    numbers = () if state == "not_evaluated" else (Number("x", 42.0, "pct", ">", 5.0, ()),)
    return Finding(rule, state, "warn", RULES[rule].strength, (), numbers, reason)  # type: ignore[arg-type]


@dataclass
class Evaluated:
    """A finished, evaluated run with one artifact of three lines and a table of two rows."""

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
    """Store a run of a host. `states` are by step of BOOK, or by rule; its artifact contains `lines`."""
    matching_states = [finding(RULE_OF.get(name, name), state) for name, state in states.items()]
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
        for state in matching_states:
            if state.state in {"matched", "inconclusive"}:
                session.add(FindingRow(run_id=run.id, host_id=host_id, **json_form.finding_to_json(state)))
        session.add(
            Evaluation(
                run_id=run.id,
                elapsed_ms=1.0,
                not_matched=[
                    json_form.finding_to_json(state)
                    for state in matching_states
                    if state.state == "not_matched"
                ],
                not_evaluated=[
                    json_form.finding_to_json(state)
                    for state in matching_states
                    if state.state == "not_evaluated"
                ],
                ranking=dict(ranking or {}),
            )
        )
        session.flush()
        return Evaluated(run.id, capture.id, host_id, artifact.id, table.id)


class Desk:
    """A user who works on one incident: every write sends the version of the last answer."""

    def __init__(self, client: TestClient, incident: Mapping[str, Any]) -> None:
        self.client = client
        self.now = dict(incident)

    @property
    def url(self) -> str:
        """Return the URL of the incident."""
        return f"{API}/incidents/{self.now['id']}"

    def look(self) -> dict[str, Any]:
        """Return the current incident."""
        answer = self.client.get(self.url)
        assert answer.status_code == 200, answer.text
        self.now = answer.json()
        return self.now

    def ask(self, method: str, what: str, /, **body: Any) -> Any:
        """Return the answer to a write."""
        url = self.url + (f"/{what}" if what else "")
        answer = self.client.request(method, url, json={"version": self.now["version"], **body})
        if answer.status_code in {200, 201}:
            self.now = answer.json()
        return answer

    def post(self, what: str, /, **body: Any) -> dict[str, Any]:
        """Send a POST that succeeds."""
        answer = self.ask("POST", what, **body)
        assert answer.status_code in {200, 201}, answer.text
        return self.now

    def patch(self, what: str = "", /, **body: Any) -> dict[str, Any]:
        """Send a PATCH that succeeds."""
        answer = self.ask("PATCH", what, **body)
        assert answer.status_code == 200, answer.text
        return self.now

    def refused(self, method: str, what: str, /, **body: Any) -> tuple[int, str]:
        """Return the status and key of a rejected write."""
        answer = self.ask(method, what, **body)
        assert answer.status_code >= 400, answer.text
        return answer.status_code, answer.json()["key"]

    def pin(self, run: Evaluated, *lines: int) -> str:
        """Pin lines of an artifact of a run."""
        ref = {"artifact_id": str(run.artifact_id), "lines": list(lines or (1,))}
        return str(self.post("pins", kind="line", view=f"/runs/{run.run_id}", ref=ref)["created_id"])

    def step(self, name: str, book: str = BOOK) -> dict[str, Any]:
        """Return a step."""
        return next(step for step in self.now["steps"] if step["key"] == f"{book}/{name}")

    def answer(self, name: str, host_id: object = None) -> dict[str, Any]:
        """Return the answer of a step for a host, or for the first."""
        hosts = self.step(name)["hosts"]
        return next(
            host for host in hosts if host_id in {None, host["host_id"]} or str(host_id) == host["host_id"]
        )

    def hypothesis(self, name: str, book: str = BOOK) -> dict[str, Any]:
        """Return a hypothesis."""
        return next(
            hypothesis for hypothesis in self.now["hypotheses"] if hypothesis["key"] == f"{book}/{name}"
        )

    def waive_all(self) -> None:
        """Waive all open steps."""
        while self.now["gaps"]:
            book = self.now["gaps"][0].partition("/")[0]
            steps = [gap for gap in self.now["gaps"] if gap.startswith(f"{book}/")]
            self.post("waivers", steps=steps, reason="not here")


def opened(client: TestClient, *hosts: object, **more: Any) -> Desk:
    """Create an incident on hosts, with BOOK."""
    body = {
        "title": "feed is slow",
        "hosts": [{"host_id": str(host)} for host in hosts],
        "playbooks": [BOOK],
        **more,
    }
    answer = client.post(f"{API}/incidents", json=body)
    assert answer.status_code == 201, answer.text
    return Desk(client, answer.json())


def verified(db: Database, desk: Desk, hypothesis: str) -> None:
    """Create a fix of the hypothesis that was verified."""
    with unit_of_work(db.sessions) as session:
        item = session.get_one(Hypothesis, UUID(hypothesis))
        session.add(
            Fix(incident_id=item.incident_id, hypothesis_id=item.id, what="keep alive", state="verified")
        )


def host_maker(db: Database) -> Callable[..., Any]:
    """Return a function that creates hosts that are never connected."""
    return lambda name="web1", **labels: runs.make_host(db, name, labels)
