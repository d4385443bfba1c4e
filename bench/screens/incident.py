"""Compare the requests of the page of an incident of 20 hosts with 10 captures each with those of a small incident.

    ./culprit bench incident [--asks 40] [--opens 10] [--json FILE]

It measures time, queries and bytes. Every run was evaluated by all rules (one in twelve matched, most did not, some
were not evaluated), in a separate PostgreSQL; three playbooks are attached to the incident. Both sizes are requested
alternately, A B A B. Each response is encoded as the API sends it. With --opens, a real browser then opens the large
incident that many times, from a separate platform.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from alembic import command
from alembic.config import Config
from culprit.accounts.actor import Actor
from culprit.domain.rules import json_form
from culprit.domain.rules.finding import Citation, Finding, Number
from culprit.domain.rules.registry import RULES
from culprit.domain.rules.rule import Rule
from culprit.incidents.records import journal, queries, service
from culprit.incidents.records.requests import IncidentCreate, IncidentHostRequest, IncidentRunsCreate
from culprit.incidents.responses import incident as read
from culprit.infra.db.session import Database
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.analysis.evaluation import Evaluation
from culprit.infra.models.analysis.finding import StoredFinding as FindingRow
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.hosts.credential import Credential
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.settings import REPOSITORY
from culprit.launcher.engines import Postgres
from culprit.web.http.json_response import fast_json
from sqlalchemy import event, text
from sqlalchemy.orm import Session

from bench.screens import incident_screen
from collectors.contract import Sentence

SMALL, LARGE = (2, 1), (20, 10)
PLAYBOOKS = ["intermittent-packet-loss", "thread-oversubscription", "major-page-faults"]
MATCHED_EVERY, UNMATCHED_EVERY = 12, 5
MISSING = Sentence("missing.not_collected", {"collector": "perf_record"})


def build_finding(at: int, rule: Rule, run: str) -> Finding:
    """Return the finding of a rule: every twelfth matches, every fifth is inconclusive."""
    number = Number("x", 42.0, "pct", ">", 5.0, (Citation(run, "cpu_stat", run, "samples", (3, 9)),))
    if at % MATCHED_EVERY == 0:
        return Finding(rule.id, "matched", "warn", rule.strength, (("pid", "4711"),), (number,))
    if at % UNMATCHED_EVERY == 0:
        return Finding(rule.id, "not_evaluated", "warn", rule.strength, (), (), MISSING)
    return Finding(rule.id, "not_matched", "warn", rule.strength, (), (number,))


def seed_incident(session: Session, actor: Actor, size: tuple[int, int]) -> Incident:
    """Create an incident with `size` = (hosts, captures of each)."""
    hosts, captures = size
    key = Credential(name=f"key of {hosts}", kind="agent", public={})
    session.add(key)
    session.flush()
    rows = [
        Host(name=f"host-{hosts}-{n:02}", address="192.0.2.1", username="u", credential_id=key.id, labels={})
        for n in range(hosts)
    ]
    session.add_all(rows)
    session.flush()
    incident_host_requests = [IncidentHostRequest(host_id=row.id) for row in rows]
    incident_create = IncidentCreate(
        title=f"{hosts} hosts", hosts=incident_host_requests, playbooks=PLAYBOOKS
    )
    incident = service.create_incident(session, actor, incident_create)
    begin = datetime.now(UTC) - timedelta(hours=1)
    for number in range(captures):
        capture = Capture(plan="triage", state="done")
        session.add(capture)
        session.flush()
        t0_ns = int((begin + timedelta(minutes=number)).timestamp() * 1e9)
        runs = [
            Run(capture_id=capture.id, host_id=row.id, state="done", t0_ns=t0_ns, t1_ns=t0_ns + 8 * 10**9)
            for row in rows
        ]
        session.add_all(runs)
        session.flush()
        for run in runs:
            store_findings(session, run)
        session.flush()
        version = session.get_one(Incident, incident.id).version
        service.add_runs(
            session, actor, incident.id, IncidentRunsCreate(version=version, run_ids=[run.id for run in runs])
        )
    return incident


def store_findings(session: Session, run: Run) -> None:
    """Store the findings of all rules for one run."""
    rules = [build_finding(at, rule, str(run.id)) for at, rule in enumerate(RULES.values())]
    for rule in rules:
        if rule.state == "matched":
            session.add(FindingRow(run_id=run.id, host_id=run.host_id, **json_form.finding_to_json(rule)))
    rest = {
        state: [json_form.finding_to_json(rule) for rule in rules if rule.state == state]
        for state in ("not_matched", "not_evaluated")
    }
    session.add(Evaluation(run_id=run.id, elapsed_ms=1.0, ranking={}, **rest))


def list_calls(session: Session, actor: Actor) -> dict[str, Callable[[Incident], object]]:
    """Return the requests of the page by name."""
    return {
        "GET /incidents/{id}": lambda item: read.build_incident(
            session, actor, journal.get_incident(session, actor, item.id)
        ),
        "GET /incidents": lambda _: read.build_summaries(
            session, actor, session.scalars(queries.select_incidents(actor)).all()
        ),
    }


def compare_calls(
    session: Session, actor: Actor, small: Incident, large: Incident, asks: int
) -> list[dict[str, object]]:
    """Measure each request for both incidents. Return one row for each."""
    counted = [0]

    def count(*_: object) -> None:
        counted[0] += 1

    event.listen(session.get_bind(), "before_cursor_execute", count)
    rows: list[dict[str, object]] = []
    for name, ask in list_calls(session, actor).items():
        taken: dict[str, list[float]] = {"small": [], "large": []}
        busy: dict[str, list[float]] = {"small": [], "large": []}
        size: dict[str, int] = {}
        requested: dict[str, int] = {}
        for _ in range(asks):
            for which, incident in (("small", small), ("large", large)):
                session.expire_all()
                counted[0] = 0
                began, cpu = time.perf_counter(), time.process_time()
                size[which] = len(fast_json(ask(incident)).body)
                taken[which].append((time.perf_counter() - began) * 1e3)
                busy[which].append((time.process_time() - cpu) * 1e3)
                requested[which] = counted[0]
        ratio = statistics.median(b / a for a, b in zip(taken["small"], taken["large"], strict=True))
        p95 = {which: statistics.quantiles(times, n=20)[-1] for which, times in taken.items()}
        rows.append(
            {
                "call": name, "p50_ms": [round(statistics.median(taken[item]), 1) for item in ("small", "large")],
                "cpu_ms": [round(statistics.median(busy[item]), 1) for item in ("small", "large")],
                "p95_ms": [round(p95[item], 1) for item in ("small", "large")], "ratio": round(ratio, 2),
                "kb": [round(size[item] / 1024, 1) for item in ("small", "large")],
                "queries": [requested["small"], requested["large"]],
            }
        )  # fmt: skip
        print(json.dumps(rows[-1]), flush=True)
    return rows


def main() -> None:
    """Seed both incidents, measure, and print the rows."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--asks", type=int, default=40)
    parser.add_argument("--opens", type=int, default=0, help="open its screen so often in a real browser")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="culprit-bench-") as place,
        Postgres(Path(place), durable=False) as server,
    ):
        Path(place).chmod(0o755)
        config = Config(REPOSITORY / "migrations" / "alembic.ini")
        url = server.url.replace("postgresql://", "postgresql+psycopg://", 1)
        config.attributes["url"] = url
        command.upgrade(config, "head")
        database = Database(url)
        try:
            with database.sessions() as session:
                person = UserAccount(name="bench", role="oncall")
                session.add(person)
                session.flush()
                actor = Actor(person.id, "bench", "oncall")
                small, large = (seed_incident(session, actor, size) for size in (SMALL, LARGE))
                session.commit()
                session.execute(text("ANALYZE"))
                rows = compare_calls(session, actor, small, large, chosen.asks)
        finally:
            database.close()
    seen = None
    if chosen.opens:
        seen = incident_screen.measure_screen(
            lambda session, actor: seed_incident(session, actor, LARGE), chosen.opens, chosen.asks
        )
        print(incident_screen.format_tables(seen))
    if chosen.json:
        chosen.json.write_text(json.dumps({"rows": rows, "screen": seen}, indent=1))


if __name__ == "__main__":
    main()
