"""Measure a batch of retention with a year of data and with a tenth of it: milliseconds, and their ratio.

    ./culprit bench storage [--hosts 500] [--days 365] [--batches 15] [--json FILE]

A year of captures, one a day of every host, each with two artifacts and two chunks, and a tenth of that, in two
databases of one PostgreSQL; every twentieth run is cited by an incident, and some by pins. Batches alternate between
both, A B A B, so that other work of the machine affects both alike. Every batch is one transaction, rolled back.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
from alembic import command
from alembic.config import Config
from culprit.evidence.retention.retain import remove_batch
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import Database
from culprit.infra.models.system.retention_policy import RetentionPolicy
from culprit.infra.settings import REPOSITORY
from culprit.launcher.engines import Postgres
from sqlalchemy import text
from sqlalchemy.orm import Session

KINDS = ("recordings", "texts", "series")
# An id like those of `culprit.infra.db.uuid7`, from the number of a row: 48 bits of milliseconds, then the number.
ID = "(lpad(to_hex({at}), 12, '0') || '7' || lpad(to_hex({n} % 4096), 3, '0') || {low})::uuid"
LOW = "'8' || lpad(to_hex({n}), 15, '0')"
AT = "((extract(epoch FROM now()) * 1000)::bigint - (n * {span} / {rows})::bigint)"
SEED = """
CREATE TEMP TABLE seeded AS SELECT n, {run} AS id, {other} AS capture FROM generate_series(1, {rows}) n;
INSERT INTO host (id, name, address, port, username, sudo, labels, state, max_silence_s, allows_ptrace, created_at)
  SELECT gen_random_uuid(), 'host ' || n, '', 22, '', 'none', '{{}}', 'imported', 90, false, now()
  FROM generate_series(1, {hosts}) n;
INSERT INTO capture (id, plan, collectors, scope, reason, source, state, created_at)
  SELECT capture, 'triage', '[]', '{{}}', '', 'schedule', 'done', now() FROM seeded;
INSERT INTO run (id, capture_id, host_id, state, attempt, fence, queued_at, ended_at, bytes, ingest_attempts,
    worker_losses, host_failures)
  SELECT id, capture, (array(SELECT id FROM host))[1 + n % {hosts}], 'done', 1, 1, now(), now(), 0, 1, 0, 0 FROM seeded;
INSERT INTO artifact (id, run_id, part, sha256, size, stored_size, encoding, media_type, complete, attempt, created_at)
  SELECT {artifact}, id, 'stdout', md5(n::text || part) || md5(part || n::text), 900, 300, 'gzip',
    CASE part WHEN 1 THEN 'text/plain' ELSE 'application/octet-stream' END, true, 1, now()
  FROM seeded, generate_series(0, 1) part;
INSERT INTO series_chunk (id, run_id, metric, labels, level, t0_ns, t1_ns, step_ns, raw_step_ns, n, data,
    parser_version)
  SELECT {artifact}, id, 'cpu.user', '{{}}', part, 1, 2, 1, 1, 1, '\\x00', 1 FROM seeded, generate_series(0, 1) part;
INSERT INTO incident (id, title, symptom, severity, state, window_from, version, created_at, updated_at)
  SELECT gen_random_uuid(), 'i', '{{}}', 3, 'open', now(), 1, now(), now() FROM generate_series(1, {incidents});
INSERT INTO incident_run (incident_id, run_id, role, created_at)
  SELECT (array(SELECT id FROM incident))[1 + n % {incidents}], id, 'evidence', now() FROM seeded WHERE n % 20 = 0;
INSERT INTO pin (id, incident_id, kind, ref, view, snapshot, created_at)
  SELECT gen_random_uuid(), (array(SELECT id FROM incident))[1 + n % {incidents}], 'range',
    jsonb_build_object('run_id', id), '/', jsonb_build_object('run_id', id), now() FROM seeded WHERE n % 20 = 0;
DROP TABLE seeded;
"""


def build_id_sql(at: str, n: str) -> str:
    """SQL for the id of row `n`."""
    return ID.format(at=at, n=n, low=LOW.format(n=n))


def seed_year(url: str, hosts: int, days: int) -> int:
    """The year; returns its runs."""
    config = Config(REPOSITORY / "migrations" / "alembic.ini")
    config.attributes["url"] = url.replace("postgresql://", "postgresql+psycopg://", 1)
    command.upgrade(config, "head")
    rows = hosts * days
    at = AT.format(span=days * 86_400_000, rows=rows)
    names = {
        "rows": rows,
        "hosts": hosts,
        "incidents": max(1, rows // 400),
        "run": build_id_sql(at, "n"),
        "other": build_id_sql(at, "(n + 1000000000)"),
        "artifact": build_id_sql(at, "(n * 2 + part)"),
    }
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in SEED.format(**names).split(";\n"):
            if statement.strip():
                connection.execute(statement)
        connection.execute("VACUUM ANALYZE")
    return rows


def measure_batch_ms(session: Session, kind: str, at_share: float, days: int) -> tuple[float, int]:
    """One batch that begins somewhere in the year: milliseconds, and how many rows it deleted."""
    table = "series_chunk" if kind == "series" else "artifact"
    count = session.scalar(text(f"SELECT count(*) FROM {table}")) or 0
    place = text(f"SELECT id FROM {table} ORDER BY id OFFSET :at LIMIT 1")
    cursor = session.scalar(place, {"at": int(count * at_share)})
    policy = RetentionPolicy(kind=kind, days=max(1, days // 12), cursor=cursor, due_at=utc_now())
    session.add(policy)
    session.flush()
    began = time.perf_counter()
    done = remove_batch(session, policy, utc_now() + timedelta(seconds=1))
    took = (time.perf_counter() - began) * 1e3
    session.rollback()
    return took, done.items


def measure_batches(sizes: dict[str, Database], batches: int, days: int) -> list[dict[str, object]]:
    """For each kind: the median of either size, in turns."""
    rows = []
    for kind in KINDS:
        taken: dict[str, list[float]] = {name: [] for name in sizes}
        items: dict[str, list[int]] = {name: [] for name in sizes}
        for n in range(batches + 1):
            for name, db in sizes.items():
                with db.sessions() as session:
                    took, deleted = measure_batch_ms(session, kind, 0.8 * n / (batches + 1), days)
                if n:  # the first one warms up
                    taken[name].append(took)
                    items[name].append(deleted)
        small, large = (statistics.median(taken[name]) for name in sizes)
        medians = [statistics.median(items[name]) for name in sizes]
        rows.append(
            {"kind": kind, "small_ms": round(small, 1), "large_ms": round(large, 1),
             "ratio": round(large / small, 2), "rows": medians}
        )  # fmt: skip
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--hosts", type=int, default=500)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--batches", type=int, default=15)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as place,
        Postgres(Path(place) / "pg", durable=False) as server,
    ):
        sizes: dict[str, Database] = {}
        runs: dict[str, int] = {}
        for name, hosts in (("a tenth", max(1, args.hosts // 10)), ("all", args.hosts)):
            database = f"bench_{hosts}"
            url = urlunsplit(urlsplit(server.url)._replace(path=f"/{database}"))
            with psycopg.connect(server.url, autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE {database} TEMPLATE template0")
            runs[name] = seed_year(url, hosts, args.days)
            sizes[name] = Database(
                url.replace("postgresql://", "postgresql+psycopg://", 1), statement_timeout_s=0
            )
        rows = measure_batches(sizes, args.batches, args.days)
        for db in sizes.values():
            db.close()
    print(f"runs: {runs}")
    for row in rows:
        print(row)
    if args.json:
        args.json.write_text(json.dumps({"runs": runs, "rows": rows}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
