"""An incident of 20 hosts with 10 captures each, beside a small one: time, queries and bytes of what its screen asks.

    python -m bench.incident [--asks 40] [--opens 10] [--json FILE]

Every run was evaluated by all rules (one in twelve fired, most stayed quiet, some could not be said), in a PostgreSQL
of its own; three playbooks lie on the incident. Both sizes are asked in turn, A B A B. Each answer is what the API
sends, encoded. With --opens a real browser then opens the large one that many times, over a platform of its own.
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
from culprit.auth.actor import Actor
from culprit.config import REPOSITORY
from culprit.core.rules import form
from culprit.core.rules.contract import Citation, Finding, Number, Rule
from culprit.core.rules.registry import RULES
from culprit.incidents import journal, queries, read, service
from culprit.incidents.given import HostGiven, IncidentCreate, RunsAdd
from culprit.infra.db import Database
from culprit.kit.answers import fast_json
from culprit.launch.engines import Postgres
from culprit.models import Capture, Credential, Evaluation, Host, Incident, Run, UserAccount
from culprit.models import Finding as FindingRow
from sqlalchemy import event, text
from sqlalchemy.orm import Session

from bench import incident_screen
from collectors.contract import Sentence

SMALL, LARGE = (2, 1), (20, 10)
BOOKS = ["intermittent-packet-loss", "thread-oversubscription", "major-page-faults"]
FIRES, SILENT = 12, 5
MISSING = Sentence("missing.not_collected", {"collector": "perf_record"})


def said(at: int, rule: Rule, run: str) -> Finding:
    """What a rule said of a run: every twelfth fires, every fifth could not say anything."""
    number = Number("x", 42.0, "pct", ">", 5.0, (Citation(run, "cpu_stat", run, "samples", (3, 9)),))
    if at % FIRES == 0:
        return Finding(rule.id, "fired", "warn", rule.grade, (("pid", "4711"),), (number,))
    if at % SILENT == 0:
        return Finding(rule.id, "not_evaluated", "warn", rule.grade, (), (), MISSING)
    return Finding(rule.id, "quiet", "warn", rule.grade, (), (number,))


def seed(session: Session, actor: Actor, size: tuple[int, int]) -> Incident:
    """An incident over so many hosts with so many captures each."""
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
    given = [HostGiven(host_id=one.id) for one in rows]
    wanted = IncidentCreate(title=f"{hosts} hosts", hosts=given, playbooks=BOOKS)
    incident = service.create(session, actor, wanted)
    begin = datetime.now(UTC) - timedelta(hours=1)
    for number in range(captures):
        capture = Capture(plan="triage", state="done")
        session.add(capture)
        session.flush()
        t0_ns = int((begin + timedelta(minutes=number)).timestamp() * 1e9)
        made = [
            Run(capture_id=capture.id, host_id=one.id, state="done", t0_ns=t0_ns, t1_ns=t0_ns + 8 * 10**9)
            for one in rows
        ]
        session.add_all(made)
        session.flush()
        for run in made:
            evaluate(session, run)
        session.flush()
        version = session.get_one(Incident, incident.id).version
        service.add_runs(
            session, actor, incident.id, RunsAdd(version=version, run_ids=[one.id for one in made])
        )
    return incident


def evaluate(session: Session, run: Run) -> None:
    """What all rules said of one run."""
    found = [said(at, rule, str(run.id)) for at, rule in enumerate(RULES.values())]
    for one in found:
        if one.state == "fired":
            session.add(FindingRow(run_id=run.id, host_id=run.host_id, **form.finding(one)))
    rest = {
        state: [form.finding(one) for one in found if one.state == state]
        for state in ("quiet", "not_evaluated")
    }
    session.add(Evaluation(run_id=run.id, elapsed_ms=1.0, ranking={}, **rest))


def calls(session: Session, actor: Actor) -> dict[str, Callable[[Incident], object]]:
    """What the screen asks when it is opened."""
    return {
        "GET /incidents/{id}": lambda one: read.read(session, actor, journal.found(session, actor, one.id)),
        "GET /incidents": lambda _: read.summaries(
            session, actor, session.scalars(queries.incidents(actor)).all()
        ),
    }


def compare(
    session: Session, actor: Actor, small: Incident, large: Incident, asks: int
) -> list[dict[str, object]]:
    """One row for each call."""
    counted = [0]

    def count(*_: object) -> None:
        counted[0] += 1

    event.listen(session.get_bind(), "before_cursor_execute", count)
    rows: list[dict[str, object]] = []
    for name, ask in calls(session, actor).items():
        taken: dict[str, list[float]] = {"small": [], "large": []}
        busy: dict[str, list[float]] = {"small": [], "large": []}
        size: dict[str, int] = {}
        asked: dict[str, int] = {}
        for _ in range(asks):
            for which, incident in (("small", small), ("large", large)):
                session.expire_all()
                counted[0] = 0
                began, cpu = time.perf_counter(), time.process_time()
                size[which] = len(fast_json(ask(incident)).body)
                taken[which].append((time.perf_counter() - began) * 1e3)
                busy[which].append((time.process_time() - cpu) * 1e3)
                asked[which] = counted[0]
        ratio = statistics.median(b / a for a, b in zip(taken["small"], taken["large"], strict=True))
        p95 = {which: statistics.quantiles(times, n=20)[-1] for which, times in taken.items()}
        rows.append(
            {
                "call": name, "p50_ms": [round(statistics.median(taken[one]), 1) for one in ("small", "large")],
                "cpu_ms": [round(statistics.median(busy[one]), 1) for one in ("small", "large")],
                "p95_ms": [round(p95[one], 1) for one in ("small", "large")], "ratio": round(ratio, 2),
                "kb": [round(size[one] / 1024, 1) for one in ("small", "large")],
                "queries": [asked["small"], asked["large"]],
            }
        )  # fmt: skip
        print(json.dumps(rows[-1]), flush=True)
    return rows


def main() -> None:
    """Seed both, ask, print the rows."""
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
                small, large = (seed(session, actor, size) for size in (SMALL, LARGE))
                session.commit()
                session.execute(text("ANALYZE"))
                rows = compare(session, actor, small, large, chosen.asks)
        finally:
            database.close()
    seen = None
    if chosen.opens:
        seen = incident_screen.measured(
            lambda session, actor: seed(session, actor, LARGE), chosen.opens, chosen.asks
        )
        print(incident_screen.table(seen))
    if chosen.json:
        chosen.json.write_text(json.dumps({"rows": rows, "screen": seen}, indent=1))


if __name__ == "__main__":
    main()
