"""Kill three schedulers at random over 1e5 due times, and count due times that fired twice or have no record.

    ./culprit bench schedule [--due 100000] [--schedules 200] [--kills 30] [--zones 60] [--years 3] [--json FILE]

The first part runs three processes on a separate PostgreSQL with an accelerated clock, which does not wait for them.
Every due time must be in exactly one row, and every capture in exactly one row that fired: this is counted in SQL, by
a query that is independent of the code. The second part compares cron fields with an iteration over every minute of
the wall clock, in a sample of all zones and years.
"""

from __future__ import annotations

import argparse
import json
import logging
import multiprocessing
import os
import random
import signal
import tempfile
import time
from datetime import UTC, datetime, timedelta
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Semaphore
from pathlib import Path
from typing import Any
from zoneinfo import available_timezones

import structlog
from alembic import command
from alembic.config import Config
from culprit.domain.scheduling.cron import get_zone, iter_due_times, normalize_fields
from culprit.infra import task_queue
from culprit.infra.artifacts.store import DirectoryStore
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.automation.schedule import Schedule
from culprit.infra.models.hosts.credential import Credential
from culprit.infra.models.hosts.host import Host
from culprit.infra.settings import REPOSITORY
from culprit.jobs.system.fire_schedules import start_all_due
from culprit.launcher.engines import Postgres
from culprit.tests.support import cron_oracle
from sqlalchemy import text

START = datetime(2031, 1, 1, tzinfo=UTC)
SCHEDULERS = 3
#: What the clock shows until all of them are there, and once they shall end.
BEFORE, OVER = -1, -2
#: A scheduler that finds nothing due looks again after so long.
IDLE_S = 0.05
COUNT = """
WITH enqueued AS (
  SELECT s.id, g.at, count(f.id) AS rows
  FROM schedule s
  CROSS JOIN generate_series(CAST(:first AS timestamptz), CAST(:last AS timestamptz), interval '1 minute') AS g(at)
  LEFT JOIN schedule_firing f ON f.schedule_id = s.id AND g.at BETWEEN f.due_at AND f.last_due_at
  GROUP BY s.id, g.at
)
SELECT count(*) AS due, count(*) FILTER (WHERE rows = 0) AS silent, count(*) FILTER (WHERE rows > 1) AS doubles
FROM enqueued
"""
CAPTURES = """
SELECT (SELECT count(*) FROM capture) AS captures,
  (SELECT count(DISTINCT capture_id) FROM schedule_firing WHERE state = 'started') AS started,
  (SELECT count(*) FROM capture c WHERE NOT EXISTS
    (SELECT FROM schedule_firing f WHERE f.capture_id = c.id)) AS without_row,
  (SELECT coalesce(sum(count), 0) FROM schedule_firing WHERE state = 'missed') AS missed
"""


def seed_schedules(db: Database, schedules: int) -> None:
    """One host, and schedules that are due every minute."""
    with unit_of_work(db.sessions) as session:
        owner = UserAccount(name="bench", role="oncall")
        key = Credential(name="key", kind="agent", public={})
        session.add_all([owner, key])
        session.flush()
        session.add(
            Host(name="one", address="192.0.2.1", username="u", credential_id=key.id, labels={"role": "feed"})
        )
        requested = {"plan": "custom", "collectors": ["vmstat"], "seconds": 5}
        session.add_all(
            Schedule(
                name=f"s{number}", kind="cron", cron="* * * * *", zone="UTC", capture=requested, next_due=START,
                selector={"role": "feed"}, owner_id=owner.id, tolerance_s=30,
            )
            for number in range(schedules)
        )  # fmt: skip


def run_scheduler(url: str, folder: str, name: str, minute: Synchronized[int], ready: Semaphore) -> None:
    """One scheduler: fires what is due by the common clock until it is killed or the clock shows that it is over."""
    # No worker listens: a capture that is not enqueued waits in the database, as it would for the next sweep.
    task_queue.enqueue_job = lambda *_: False
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    db = Database(url)
    store = DirectoryStore(Path(folder))
    db.ping()
    ready.release()
    while (now := minute.value) != OVER:
        at = START + timedelta(minutes=now, seconds=random.random() * 20)
        if start_all_due(db, store, name, at=at) == 0:
            time.sleep(IDLE_S)
    db.close()


def run_storm(url: str, folder: str, minutes: int, kills: int, most_s: float) -> dict[str, Any]:
    """Moves the clock on, ends captures, kills schedulers; then counts what was due until it stood still."""
    context = multiprocessing.get_context("spawn")
    minute: Synchronized[int] = context.Value("q", BEFORE)
    ready = context.Semaphore(0)
    names = [f"scheduler {number}" for number in range(SCHEDULERS)]

    def start(name: str) -> Any:
        child = context.Process(target=run_scheduler, args=(url, folder, name, minute, ready), daemon=True)
        child.start()
        return child

    pool = {name: start(name) for name in names}
    for _ in names:
        ready.acquire()
    deadly = set(random.sample(range(minutes), min(kills, minutes)))
    db = Database(url)
    began = time.perf_counter()
    behind = text("SELECT count(*) FROM schedule WHERE next_due <= :at")
    killed = 0
    for now in range(minutes):
        if time.perf_counter() - began > most_s:
            minutes = now
            break
        minute.value = now
        if now in deadly:
            name = random.choice(names)
            os.kill(pool[name].pid, signal.SIGKILL)
            pool[name].join()
            pool[name] = start(name)
            killed += 1
        # The clock waits for most of them and for none of the last: what is late then counts as missed.
        for _ in range(400):
            with db.sessions() as session:
                left = session.execute(behind, {"at": START + timedelta(minutes=now)}).scalar_one()
            if left <= 1:
                break
            time.sleep(0.02)
        with unit_of_work(db.sessions) as session:
            session.execute(text("UPDATE capture SET state = 'done' WHERE state = 'queued'"))
        if now % 10 == 0:
            print(json.dumps({"minute": now, "seconds": round(time.perf_counter() - began)}), flush=True)
    for _ in range(3000):
        with db.sessions() as session:
            if not session.execute(behind, {"at": START + timedelta(minutes=minutes - 1)}).scalar_one():
                break
        time.sleep(0.02)
    took = time.perf_counter() - began
    minute.value = OVER
    for child in pool.values():
        child.join(30)
    with db.sessions() as session:
        last = START + timedelta(minutes=minutes - 1)
        row = session.execute(text(COUNT), {"first": START, "last": last}).mappings().one()
        captures = session.execute(text(CAPTURES)).mappings().one()
    db.close()
    return {**row, **captures, "kills": killed, "seconds": round(took, 1)} | {
        "due_per_s": round(row["due"] / took)
    }


def draw_fields(dice: random.Random) -> str:
    """Random cron fields, common and rare forms."""

    def draw_field(low: int, high: int, stars: float) -> str:
        if dice.random() < stars:
            return dice.choice(["*", f"*/{dice.randint(2, max(2, (high - low) // 2))}"])
        first = dice.randint(low, high)
        last = dice.randint(first, high)
        return dice.choice(
            [str(first), f"{first}-{last}", f"{first},{last}", f"{first}-{last}/{dice.randint(1, 5)}"]
        )

    return " ".join(
        [
            draw_field(0, 59, 0.2),
            draw_field(0, 23, 0.3),
            draw_field(1, 31, 0.6),
            draw_field(1, 12, 0.8),
            draw_field(0, 7, 0.6),
        ]
    )


def compare_due_instants(zones: int, years: int, expressions: int, seed_: int) -> dict[str, Any]:
    """Compares every due instant of a sample."""
    dice = random.Random(seed_)
    places = dice.sample(sorted(available_timezones()), zones)
    began = time.perf_counter()
    compared = differences = odd = 0
    for number, place in enumerate(places):
        zone = get_zone(place)
        for year in dice.sample(range(2005, 2038), years):
            start = datetime(year, 1, 1, tzinfo=UTC)
            end = datetime(year + 1, 1, 1, tzinfo=UTC)
            clock = cron_oracle.Clock(zone, start, end)
            for _ in range(expressions):
                reported = draw_fields(dice)
                expected = {at for at in cron_oracle.due(reported, clock) if at > start}
                result = set()
                try:
                    for item in iter_due_times(normalize_fields(reported), zone, start):
                        if item.at >= end:
                            break
                        result.add(item.at)
                        odd += item.kind != "plain"
                except ValueError:
                    assert not expected, reported  # a day that no month has: it is refused at once
                compared += len(expected | result)
                wrong = expected ^ result
                differences += len(wrong)
                if wrong:
                    print(
                        json.dumps({"place": place, "year": year, "fields": reported, "at": str(min(wrong))}),
                        flush=True,
                    )
        if number % 10 == 9:
            print(
                json.dumps({"zones": number + 1, "compared": compared, "differences": differences}),
                flush=True,
            )
    return {
        "zones": zones, "years": years, "expressions": expressions, "compared": compared, "gaps_and_overlaps": odd,
        "differences": differences, "seconds": round(time.perf_counter() - began, 1),
    }  # fmt: skip


def main() -> None:
    """Run both parts. Exit with 1 if there was an error."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--due", type=int, default=100_000)
    parser.add_argument("--schedules", type=int, default=200)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument(
        "--most-s", type=float, default=3600, help="The clock of the storm stops after this many seconds"
    )
    parser.add_argument("--zones", type=int, default=60)
    parser.add_argument("--years", type=int, default=3)
    parser.add_argument("--expressions", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    random.seed(chosen.seed)
    results: dict[str, Any] = {}
    if chosen.zones:
        results["oracle"] = compare_due_instants(chosen.zones, chosen.years, chosen.expressions, chosen.seed)
        print(json.dumps(results["oracle"]), flush=True)
    if chosen.due:
        with (
            tempfile.TemporaryDirectory(prefix="culprit-bench-") as place,
            Postgres(Path(place), durable=False) as server,
        ):
            Path(place).chmod(0o755)
            config = Config(REPOSITORY / "migrations" / "alembic.ini")
            url = server.url.replace("postgresql://", "postgresql+psycopg://", 1)
            config.attributes["url"] = url
            command.upgrade(config, "head")
            db = Database(url)
            seed_schedules(db, chosen.schedules)
            db.close()
            minutes = chosen.due // chosen.schedules
            results["storm"] = run_storm(url, place, minutes, chosen.kills, chosen.most_s)
        print(json.dumps(results["storm"]), flush=True)
    if chosen.json:
        chosen.json.write_text(json.dumps(results, indent=1))
    storm_ = results.get("storm", {"silent": 0, "doubles": 0, "without_row": 0})
    wrong = [
        storm_["silent"],
        storm_["doubles"],
        storm_["without_row"],
        results.get("oracle", {}).get("differences", 0),
    ]
    raise SystemExit(any(wrong))


if __name__ == "__main__":
    main()
