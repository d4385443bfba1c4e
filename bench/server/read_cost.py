"""Measure the CPU time that each read of a page costs in the API and in PostgreSQL.

    ./culprit bench read_cost [--reads 50] [--json FILE]

One API process as the platform starts it, with the data of `./culprit bench viewers`. One reader sends each request
`--reads` times in each of ten rounds, one after the other. The CPU time is what the kernel counted for the process, in
the round where it was least: other work on the machine makes all rounds slower, but rarely each of them as much. "reads
per CPU second" is for how many reads one CPU of the API is enough.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

import httpx2
import psycopg
from culprit.launcher.engines import Postgres, Valkey

from bench.server import viewers
from bench.support import platforms

WARM_READS = 20
ROUNDS = 10
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def read_cpu_s(pids: Iterable[int]) -> float:
    """Return the CPU seconds of processes and of their children that have ended."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
        ticks += sum(int(field) for field in fields[11:15])
    return ticks / TICKS_PER_S


def list_children(pid: int) -> list[int]:
    """Return a process and its children."""
    return [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split())]


def read_postmaster(url: str) -> int:
    """Return the main process of PostgreSQL."""
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute("SELECT pg_read_file('postmaster.pid')").fetchone()
    assert row is not None
    return int(row[0].split()[0])


def measure_path(
    client: httpx2.Client, path: str, reads: int, api: int, postmaster: int
) -> dict[str, str | int | float]:
    """Return the cost of one read of `path`. Raises PlatformError for a refused read."""
    for _ in range(WARM_READS):
        client.get(path)
    rounds, size = [], 0
    for _ in range(ROUNDS):
        before, before_database = read_cpu_s([api]), read_cpu_s(list_children(postmaster))
        for _ in range(reads):
            answer = client.get(path)
            if answer.status_code != httpx2.codes.OK:
                raise platforms.PlatformError(f"{path}: {answer.status_code}")
            size = len(answer.content)
        rounds.append((read_cpu_s([api]) - before, read_cpu_s(list_children(postmaster)) - before_database))
    used, used_database = min(rounds)
    return {
        "path": path.removeprefix(viewers.API),
        "bytes": size,
        "api_ms": round(1e3 * used / reads, 2),
        "database_ms": round(1e3 * used_database / reads, 2),
        "per_cpu_s": round(reads / used),
    }


def main() -> None:
    """Measure, and print a table for docs/figures.md."""
    ask = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    ask.add_argument("--reads", type=int, default=50)
    ask.add_argument("--json", type=Path)
    chosen = ask.parse_args()
    if not 10 <= chosen.reads <= 100_000:
        ask.error("--reads needs a number from 10 to 100000")
    platforms.stop_on_term()
    random.seed(7)
    with ExitStack() as stack:
        top = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="read-cost-", ignore_cleanup_errors=True))
        )
        postgres = stack.enter_context(Postgres(top / "postgres", durable=False))
        valkey = stack.enter_context(Valkey(top / "valkey"))
        tokens, hosts, captures = viewers.seed_viewers(postgres.url)
        api, base = stack.enter_context(viewers.run_api(top, postgres.url, valkey.url))
        headers = {"Authorization": f"Bearer {tokens[0]}"}
        client = stack.enter_context(httpx2.Client(base_url=base, headers=headers, timeout=30))
        pages = viewers.list_pages(hosts, viewers.open_incidents(client, hosts), captures)[:2]
        paths = ["/healthz", *(viewers.API + path for _, listed in pages for path in listed)]
        pid, postmaster = viewers.find_api_pid(api), read_postmaster(postgres.url)
        rows = [measure_path(client, path, chosen.reads, pid, postmaster) for path in paths]
    sys.stdout.write(
        "| read | bytes | API, CPU ms | PostgreSQL, CPU ms | reads per CPU second |\n|---|--:|--:|--:|--:|\n"
    )
    for row in rows:
        sys.stdout.write("| " + " | ".join(str(value) for value in row.values()) + " |\n")
    if chosen.json:
        chosen.json.write_text(json.dumps(rows, indent=1), "utf-8")


if __name__ == "__main__":
    main()
