"""The fleet screen for 50 and for 500 hosts: time, queries and bytes of each call, side by side, packed and unchanged.

    ./culprit bench fleet [--runs 6] [--pairs 5] [--json FILE]

500 hosts with several evaluated runs each: results of two thirds of the rules, every tenth host unhealthy, every
twentieth without a run. They are in a PostgreSQL of their own. 50 of them carry a label, so that both sizes are
requested from the same database, alternately. Each answer is encoded and compressed as the API sends it, and then
requested again with its ETag.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
import zlib
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from culprit.accounts.actor import Actor
from culprit.analysis.fleet import peers, responses, service
from culprit.infra.db.session import Database
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.settings import REPOSITORY
from culprit.launcher.engines import Postgres
from culprit.tests.support.fleet import add_evaluated_runs, add_hosts, generate_runs
from culprit.web.http.compression import LEVEL
from culprit.web.http.json_response import fast_json
from sqlalchemy import event, text
from sqlalchemy.orm import Session

HOSTS, SOME = 500, 50
ACTOR = Actor(new_uuid7(), "bench", "viewer")
Labels = tuple[tuple[str, str], ...]
#: Numbers of hosts for which each request is measured.
SIZES: dict[int, Labels] = {SOME: (("some", "yes"),), HOSTS: ()}


def seed_hosts(session: Session, runs_per_host: int) -> None:
    """Store the hosts and the findings of their rules, the oldest diagnosis first."""
    names = [f"host-{at:03}" for at in range(HOSTS)]
    labels = [
        {"role": f"role-{at % 12}"} | ({"some": "yes"} if at % (HOSTS // SOME) == 3 else {})
        for at in range(HOSTS)
    ]
    hosts = add_hosts(session, names, labels)
    for batch in reversed(list(generate_runs(hosts, runs_per_host))):
        add_evaluated_runs(session, batch)
    session.commit()
    session.execute(text("ANALYZE"))


def list_calls(session: Session) -> dict[str, Callable[[Labels], object]]:
    """Return the requests of the fleet screen."""
    day = timedelta(days=1)

    def snapshot(labels: Labels) -> responses.FleetSnapshot:
        return responses.load_snapshot(session, ACTOR, labels)

    return {
        "GET /fleet/use": lambda labels: service.build_use_grid(session, snapshot(labels)),
        "GET /fleet/peers": lambda labels: peers.compare_peers(
            session, snapshot(labels), label="role", measure="", within=day
        ),
        "GET /fleet/findings": lambda labels: service.build_findings_matrix(session, snapshot(labels)),
    }


def time_call(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Return wall time and CPU time in milliseconds, and the result of `work`."""
    began, cpu = time.perf_counter(), time.process_time()
    result = work()
    return (time.perf_counter() - began) * 1e3, (time.process_time() - cpu) * 1e3, result


def encode_answer(ask: Callable[[Labels], object], labels: Labels) -> bytes:
    """Return the encoded response."""
    return bytes(fast_json(ask(labels)).body)


def compress_answer(body: bytes) -> bytes:
    """Compress a response as the API does."""
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    return packer.compress(body) + packer.flush()


def compare_calls(session: Session, pairs: int) -> list[dict[str, object]]:
    """Measure each request for both sizes. Return one row for each."""
    queries = [0]

    def count(*_: object) -> None:
        queries[0] += 1

    event.listen(session.get_bind(), "before_cursor_execute", count)
    rows: list[dict[str, object]] = []
    for name, ask in list_calls(session).items():
        taken: dict[int, list[float]] = {size: [] for size in SIZES}
        cpu: dict[int, list[float]] = {size: [] for size in SIZES}
        packing: list[float] = []
        same: dict[str, list[float]] = {"ms": [], "cpu": []}
        sizes: dict[int, int] = {}
        small: dict[int, int] = {}
        counted: dict[int, int] = {}
        for _ in range(pairs):
            for size, labels in SIZES.items():
                queries[0] = 0
                took, busy, body = time_call(partial(encode_answer, ask, labels))
                taken[size].append(took)
                cpu[size].append(busy)
                counted[size] = queries[0]
                _, pack_ms, less = time_call(partial(compress_answer, body))
                sizes[size], small[size] = len(body), len(less)
            packing.append(pack_ms)
            took, busy, _ = time_call(
                lambda: responses.load_snapshot(session, ACTOR, SIZES[HOSTS]).build_etag("use")
            )
            same["ms"].append(took)
            same["cpu"].append(busy)
        ratios = [big / small for small, big in zip(taken[SOME], taken[HOSTS], strict=True)]
        rows.append(
            {
                "call": name, "ms_50": round(statistics.median(taken[SOME]), 1),
                "ms_500": round(statistics.median(taken[HOSTS]), 1), "ratio": round(statistics.median(ratios), 2),
                "ratio_min_max": [round(min(ratios), 2), round(max(ratios), 2)],
                "cpu_ms_50": round(statistics.median(cpu[SOME]), 1),
                "cpu_ms_500": round(statistics.median(cpu[HOSTS]), 1),
                "kb_50": round(sizes[SOME] / 1024, 1), "kb_500": round(sizes[HOSTS] / 1024, 1),
                "packed_kb_50": round(small[SOME] / 1024, 1), "packed_kb_500": round(small[HOSTS] / 1024, 1),
                "pack_cpu_ms_500": round(statistics.median(packing), 1),
                "same_ms_500": round(statistics.median(same["ms"]), 1),
                "same_cpu_ms_500": round(statistics.median(same["cpu"]), 1),
                "queries_50": counted[SOME], "queries_500": counted[HOSTS],
            }
        )  # fmt: skip
        print(json.dumps(rows[-1]), flush=True)
    return rows


def main() -> None:
    """Seed the database, measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--pairs", type=int, default=5)
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
                seed_hosts(session, chosen.runs)
                rows = compare_calls(session, chosen.pairs)
        finally:
            database.close()
    if chosen.json:
        chosen.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
