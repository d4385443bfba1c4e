"""Seed 500 hosts with months of captures, and time the API calls of each page for several lengths of history."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx2
import psycopg

DAYS_PER_MONTH = 30
API = "/api/v1"
#: A call ends after so many rounds, or so many seconds if each takes long.
ROUNDS, CALL_S = 100, 10.0
#: Row `n` of `rows` is `n * span / rows` milliseconds old. Its ID has 48 bits of that time, then its number.
AT_MS = "((extract(epoch FROM now()) * 1000)::bigint - n::bigint * {span} / {rows})"
ID = (
    "(lpad(to_hex({at}), 12, '0') || '7' || lpad(to_hex(n % 4096), 3, '0') || '8'"
    " || lpad(to_hex(n * 8 + {kind}), 15, '0'))::uuid"
)
SEED = """
CREATE TEMP TABLE seeded AS
  SELECT n, {run} AS id, {capture} AS capture, {collector} AS collector, {artifact} AS artifact,
    (SELECT array_agg(id ORDER BY name) FROM host)[1 + n % {hosts}] AS host,
    to_timestamp({at} / 1000.0) AS at, {at} * 1000000 AS ns FROM generate_series(1, {rows}) n;
INSERT INTO capture (id, plan, collectors, scope, reason, source, state, created_at, ended_at)
  SELECT capture, 'triage', '[]', '{{}}', '', 'schedule', 'done', at, at FROM seeded;
INSERT INTO run (id, capture_id, host_id, state, attempt, fence, queued_at, started_at, ended_at, bytes,
    ingest_attempts, worker_losses, host_failures, t0_ns, t1_ns)
  SELECT id, capture, host, 'done', 1, 1, at, at, at, 900, 1, 0, 0, ns - 30000000000, ns FROM seeded;
INSERT INTO run_collector (id, run_id, collector, state, bytes, warnings)
  SELECT collector, id, 'vmstat', 'done', 900, '[]' FROM seeded;
INSERT INTO artifact (id, run_id, run_collector_id, part, sha256, size, stored_size, encoding, media_type, complete,
    attempt, created_at)
  SELECT artifact, id, collector, 'stdout', md5(n::text) || md5(n::text), 900, 300, 'gzip', 'text/plain', true, 1, at
  FROM seeded;
INSERT INTO evaluation (run_id, at, elapsed_ms, not_matched, not_evaluated, ranking)
  SELECT id, at, 1, '[]', '[]', '{{}}' FROM seeded;
INSERT INTO finding (id, run_id, host_id, rule, state, severity, strength, subject, numbers, detail, created_at)
  SELECT {finding}, id, host, '{rule}', 'matched', 'warn', 'direct', '{{}}', '[]', '{{}}', at
  FROM seeded WHERE n % 3 = 0;
INSERT INTO event (id, host_id, run_id, t_ns, uncertainty_ns, kind, severity, title, detail)
  SELECT {event}, host, id, ns, 0, 'log', 'info', '{{"key": "event.log", "params": {{}}}}', 'a line' FROM seeded;
INSERT INTO diagnosis (id, host_id, scope, seconds, baseline, peers, reason, state, stages, created_at, ended_at)
  SELECT {diagnosis}, host, '{{}}', 10, 'auto', '[]', '', 'canceled', '[]', at, at FROM seeded WHERE n % 20 = 0;
INSERT INTO incident (id, title, symptom, severity, state, window_from, version, created_at, updated_at)
  SELECT {incident}, 'slow', '{{}}', 3, 'open', at, 1, at, at FROM seeded WHERE n % 400 = 0;
DROP TABLE seeded;
"""
KINDS = ("run", "capture", "collector", "artifact", "finding", "event", "diagnosis", "incident")


def seed_history(url: str, days: int, rule: str) -> int:
    """Add a capture a day of each host, with one finding in three. Return the number of runs."""
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute("SELECT count(*) FROM host").fetchone()
        hosts = int(row[0]) if row else 0
        rows = hosts * days
        at = AT_MS.format(span=days * 86_400_000, rows=rows)
        ids = {name: ID.format(at=at, kind=kind) for kind, name in enumerate(KINDS)}
        for statement in SEED.format(rows=rows, hosts=hosts, at=at, rule=rule, **ids).split(";\n"):
            if statement.strip():
                connection.execute(statement)
        connection.execute("VACUUM ANALYZE")
    return rows


@dataclass
class PageServer:
    """An API process over one length of history, and what its pages display."""

    client: httpx2.Client
    hosts: list[str]
    captures: list[str] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)
    incidents: list[str] = field(default_factory=list)

    def list_objects(self) -> None:
        """Read the newest captures with their runs, and the newest incidents."""
        self.captures = self._list_ids("/captures?limit=50")
        self.runs = [
            str(run["id"])
            for capture in self.captures
            for run in self.client.get(f"{API}/captures/{capture}").raise_for_status().json()["runs"]
        ][:50]
        self.incidents = self._list_ids("/incidents")

    def _list_ids(self, path: str) -> list[str]:
        items = self.client.get(API + path).raise_for_status().json()["items"]
        return [str(item["id"]) for item in items]

    def list_calls(self, turn: int) -> dict[str, str]:
        """Return the paths of all calls; the object changes with each turn."""

        def pick(items: Sequence[str]) -> str:
            return items[turn % len(items)]

        host, run = f"/hosts/{pick(self.hosts)}", f"/runs/{pick(self.runs)}"
        capture, incident = f"/captures/{pick(self.captures)}", f"/incidents/{pick(self.incidents)}"
        of_host = f"host={pick(self.hosts)}"
        return {
            "Overview, Hosts: hosts": "/hosts?limit=200",
            "Overview, Captures: captures": "/captures?limit=50",
            "Overview, Incidents: incidents": "/incidents",
            "Overview, Fleet: findings": "/fleet/findings",
            "Fleet: use": "/fleet/use",
            "Fleet: peers": "/fleet/peers?label=role",
            "Host": host,
            "Host: findings": f"{host}/findings",
            "Host: timeline": f"{host}/timeline/overview",
            "Host: context": f"{host}/context",
            "Host: captures": f"/captures?{of_host}&limit=50",
            "Host, Diagnosis: diagnoses": f"/diagnoses?{of_host}",
            "Host: profiles": f"/profiles?{of_host}&limit=200",
            "Capture": capture,
            "Run": run,
            "Run: findings": f"{run}/findings",
            "Run: series": f"{run}/series",
            "Run: events": f"{run}/events",
            "Incident": incident,
            "Incident: journal": f"{incident}/journal",
        }


def time_pages(servers: Mapping[int, PageServer]) -> list[dict[str, Any]]:
    """Time each call on all servers in turns. Return its p50 and p99 in milliseconds for each length of history."""
    rows = []
    for name in next(iter(servers.values())).list_calls(0):
        taken: dict[int, list[float]] = {months: [] for months in servers}
        end = time.monotonic() + CALL_S
        for turn in range(-2, ROUNDS):
            if turn > 0 and time.monotonic() > end:
                break
            for months, server in servers.items():
                path = API + server.list_calls(turn)[name]
                began = time.perf_counter()
                answer = server.client.get(path)
                took = (time.perf_counter() - began) * 1e3
                if answer.status_code != 200:
                    raise SystemExit(f"{path}: {answer.status_code} {answer.text[:300]}")
                if turn >= 0:  # the first ones warm up
                    taken[months].append(took)
        rows.append({"call": name, "rounds": len(next(iter(taken.values())))} | {
            f"{label}_{months}": round(value(times), 1)
            for months, times in taken.items()
            for label, value in (("p50", statistics.median), ("p99", compute_p99))
        })  # fmt: skip
        print(rows[-1], flush=True)
    return rows


def compute_p99(times: Sequence[float]) -> float:
    """Return the 99th percentile; with fewer than 100 times, the longest."""
    return sorted(times)[min(len(times) - 1, int(len(times) * 0.99))]


def print_curve(rows: Sequence[Mapping[str, Any]], runs: Mapping[int, int]) -> None:
    """Print the table for docs/figures.md."""
    months = list(runs)
    first, last = months[0], months[-1]
    heads = [f"p99, {item} months" for item in months]
    print(f"\n| call | rounds | {' | '.join(heads)} | ratio of p99 | ratio of p50 |")
    print(f"|---|--:|{'--:|' * (len(heads) + 2)}")
    for row in rows:
        times = " | ".join(f"{row[f'p99_{item}']:.0f}" for item in months)
        p99 = row[f"p99_{last}"] / row[f"p99_{first}"]
        p50 = row[f"p50_{last}"] / row[f"p50_{first}"]
        print(f"| {row['call']} | {row['rounds']} | {times} | {p99:.2f} | {p50:.2f} |")
