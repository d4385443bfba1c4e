"""The screen of an incident of 20 hosts with 10 captures each, in a real browser over a real platform.

A platform of this checkout's own is started, the incident of `bench.incident` is written into its database with lanes
for every capture, and a headless Chromium opens it: cold (a browser that was never here) and warm. The clock runs in
the page, from the start of the navigation until chain, evidence and timeline were painted and the button of the next
step has answered to its key. Then every call that the screen made is asked again, one after the other.
"""

from __future__ import annotations

import re
import statistics
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from culprit.auth.actor import Actor
from culprit.core import chunks
from culprit.core.chunks import HOUR_NS
from culprit.core.rollup import HOURS, Row, combine, day_with
from culprit.infra.db import Database
from culprit.kit.uuid7 import uuid7
from culprit.launch.paths import ROOT
from culprit.models import Incident, Run, Series, SeriesChunk, SeriesDay, UserAccount
from sqlalchemy import insert, select, text
from sqlalchemy.orm import Session

from bench import platforms

UP_S, BROWSER_S = 600.0, 420.0
SECOND = 10**9
CPUS = 8
#: What a triage brings home and a timeline shows by itself, one value a second.
MATRICES = ("cpu.busy_pct", "cpu.sys_pct")
PLAIN = ("load.avg1", "sched.runq", "cpu.total_busy_pct", "mem.available_pct", "mem.pgmajfault_per_s")
PARTS = ("chain", "evidence", "timeline", "reacts")
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")
Seed = Callable[[Session, Actor], Incident]


def add_lanes(session: Session, incident: Incident) -> None:
    """Lanes for every run of an incident, as workers write them: chunks, summaries, hours."""
    runs: dict[Any, list[Run]] = {}
    of_incident = text("SELECT run_id FROM incident_run WHERE incident_id = :one")
    ids = [row.run_id for row in session.execute(of_incident, {"one": incident.id})]
    for run in session.scalars(select(Run).where(Run.id.in_(ids)).order_by(Run.t0_ns)):
        runs.setdefault(run.host_id, []).append(run)
    rng = np.random.default_rng(1)
    for host_id, mine in runs.items():
        for metric in (*MATRICES, *PLAIN):
            _lane(session, rng, host_id, metric, mine)


def _lane(session: Session, rng: np.random.Generator, host_id: Any, metric: str, runs: Sequence[Run]) -> None:
    names = [str(cpu) for cpu in range(CPUS)] if metric in MATRICES else None
    series = Series(
        host_id=host_id, metric=metric, labels={}, labels_key="{}", axis="cpu" if names else None,
        first_ns=runs[0].t0_ns, last_ns=runs[-1].t1_ns,
    )  # fmt: skip
    session.add(series)
    session.flush()
    columns = tuple(names) if names else ("",)
    rows = []
    hours: dict[int, dict[int, list[Row]]] = {}
    for run in runs:
        begin, end = run.t0_ns or 0, run.t1_ns or 0
        t_ns = np.arange(begin, end, SECOND, dtype=np.int64)
        values = rng.gamma(2.0, 10.0, (len(t_ns), len(columns))).round(2)
        summary = chunks.summary(chunks.raw_rows(t_ns, values))
        day, hour = divmod(begin // HOUR_NS, HOURS)
        hours.setdefault(day, {}).setdefault(hour, []).append(Row(columns, chunks.read_summary(summary)))
        rows.append(
            {
                "id": uuid7(), "series_id": series.id, "host_id": host_id, "run_id": run.id, "metric": metric,
                "labels": {}, "axis": series.axis, "axis_values": names, "level": 0, "t0_ns": int(t_ns[0]),
                "t1_ns": int(t_ns[-1]), "step_ns": SECOND, "raw_step_ns": SECOND, "n": len(t_ns),
                "data": chunks.encode_raw(t_ns, values), "summary": summary, "parser_version": 1,
            }
        )  # fmt: skip
    session.execute(insert(SeriesChunk), rows)
    for day, found in hours.items():
        kept, planes = day_with((), None, {hour: combine(each) for hour, each in found.items()})
        row = dict(zip(("low", "mean", "high", "count"), planes, strict=True)) | {
            "series_id": series.id, "day": day, "axis_values": list(kept)
        }  # fmt: skip
        session.execute(insert(SeriesDay), [row])


def measured(seed: Seed, opens: int, asks: int) -> dict[str, Any]:
    """What the browser saw. Raises platforms.Broken where the platform or the page does not come up."""
    platforms.stop_on_term()
    with ExitStack() as stack:
        top = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="incident-", ignore_cleanup_errors=True))
        )
        home = top / "home"
        chromium = platforms.prepare_browser()
        stack.callback(platforms.purge, ROOT, home)
        with platforms.running(ROOT, home, top / "up.log", UP_S) as platform:
            incident = _written(platform["database_url"], seed)
            asked = {
                "chromium": chromium, "url": platform["url"], "login_url": platform["login_url"],
                "incident": incident, "opens": opens, "asks": asks,
            }  # fmt: skip
            return platforms.browse("incident.mjs", asked, BROWSER_S)


def _written(url: str, seed: Seed) -> str:
    database = Database(url.replace("postgresql://", "postgresql+psycopg://", 1))
    try:
        with database.sessions() as session:
            admin = session.scalars(select(UserAccount).where(UserAccount.role == "admin")).first()
            if admin is None:
                raise platforms.Broken("the platform has no admin")
            incident = seed(session, Actor(admin.id, admin.name, "admin"))
            add_lanes(session, incident)
            session.commit()
            session.execute(text("ANALYZE"))
            return str(incident.id)
    finally:
        database.close()


def table(found: dict[str, Any]) -> str:
    """Both tables for docs/figures.md."""
    lines = [
        "| painted, ms since the navigation began | cold: median, max | warm: median, max |",
        "|---|---|---|",
    ]
    says = {"reacts": "the next step answers to its key (all above drawn)"}
    for part in PARTS:
        cells = [
            f"{statistics.median(values):.0f}, {max(values):.0f}"
            for values in ([one[part] for one in found["opens"][how]] for how in ("cold", "warm"))
        ]
        lines.append(f"| {says.get(part, part)} | {' | '.join(cells)} |")
    lines += ["", "| call of the screen | p50 ms | p95 ms | kB, packed → unpacked |", "|---|--:|--:|---|"]
    for url, one in sorted(found["calls"].items(), key=lambda item: -statistics.median(item[1]["ms"])):
        path = ID.sub("{id}", url.partition("/api/v1")[2].partition("?")[0])
        p95 = statistics.quantiles(one["ms"], n=20)[-1]
        size = f"{one['wire'] / 1024:.1f} → {one['bytes'] / 1024:.1f}"
        lines.append(f"| GET {path} | {statistics.median(one['ms']):.1f} | {p95:.1f} | {size} |")
    return "\n".join(lines)
