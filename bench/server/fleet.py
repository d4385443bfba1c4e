"""The fleet screen for 50 and for 500 hosts: time, queries and bytes of each call, side by side, packed and unchanged.

    python -m bench.fleet [--looks 6] [--pairs 5] [--json FILE]

500 hosts with some looks each (two thirds of the rules answered, every tenth host sick, every twentieth never looked
at) in a PostgreSQL of its own; 50 of them carry a label, so that both sizes are asked of the same database, A B A B.
Each answer is what the API sends, encoded; then packed as the API packs it, and then asked for once more by somebody
who has it already.
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
from culprit.auth.actor import Actor
from culprit.config import REPOSITORY
from culprit.fleet import peers, read, service
from culprit.infra.db import Database
from culprit.kit.answers import fast_json
from culprit.kit.compression import LEVEL
from culprit.kit.uuid7 import uuid7
from culprit.launch.engines import Postgres
from culprit.tests.support.fleet import add_hosts, add_looks, crowd
from sqlalchemy import event, text
from sqlalchemy.orm import Session

HOSTS, SOME = 500, 50
ACTOR = Actor(uuid7(), "bench", "viewer")
Labels = tuple[tuple[str, str], ...]
#: Each question once of 50 and once of 500 hosts.
SIZES: dict[int, Labels] = {SOME: (("some", "yes"),), HOSTS: ()}


def seed(session: Session, looks: int) -> None:
    """The hosts, and what rules said of them; the oldest look first, as time would have it."""
    names = [f"host-{at:03}" for at in range(HOSTS)]
    labels = [
        {"role": f"role-{at % 12}"} | ({"some": "yes"} if at % (HOSTS // SOME) == 3 else {})
        for at in range(HOSTS)
    ]
    hosts = add_hosts(session, names, labels)
    for batch in reversed(list(crowd(hosts, looks))):
        add_looks(session, batch)
    session.commit()
    session.execute(text("ANALYZE"))


def questions(session: Session) -> dict[str, Callable[[Labels], object]]:
    """What the screen asks."""
    day = timedelta(days=1)

    def glance(labels: Labels) -> read.Glance:
        return read.glance(session, ACTOR, labels)

    return {
        "GET /fleet/use": lambda labels: service.use(session, glance(labels)),
        "GET /fleet/peers": lambda labels: peers.peers(
            session, glance(labels), label="role", measure="", within=day
        ),
        "GET /fleet/findings": lambda labels: service.findings(session, glance(labels)),
    }


def clocked(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Milliseconds, milliseconds of this process's CPU, and what came of it."""
    began, cpu = time.perf_counter(), time.process_time()
    made = work()
    return (time.perf_counter() - began) * 1e3, (time.process_time() - cpu) * 1e3, made


def answered(ask: Callable[[Labels], object], labels: Labels) -> bytes:
    """The answer as it is sent."""
    return bytes(fast_json(ask(labels)).body)


def packed(body: bytes) -> bytes:
    """As the API packs it."""
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    return packer.compress(body) + packer.flush()


def compare(session: Session, pairs: int) -> list[dict[str, object]]:
    """One row for each question."""
    queries = [0]

    def count(*_: object) -> None:
        queries[0] += 1

    event.listen(session.get_bind(), "before_cursor_execute", count)
    rows: list[dict[str, object]] = []
    for name, ask in questions(session).items():
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
                took, busy, body = clocked(partial(answered, ask, labels))
                taken[size].append(took)
                cpu[size].append(busy)
                counted[size] = queries[0]
                _, pack_ms, less = clocked(partial(packed, body))
                sizes[size], small[size] = len(body), len(less)
            packing.append(pack_ms)
            took, busy, _ = clocked(lambda: read.glance(session, ACTOR, SIZES[HOSTS]).tag("use"))
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
    """Seed, ask, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--looks", type=int, default=6)
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
                seed(session, chosen.looks)
                rows = compare(session, chosen.pairs)
        finally:
            database.close()
    if chosen.json:
        chosen.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
