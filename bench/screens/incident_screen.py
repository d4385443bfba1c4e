"""The screen of an incident of 20 hosts with 10 captures each, in a real browser with a real platform.

The benchmark starts a platform of this checkout and writes the incident of `bench.screens.incident` into its database,
with series for every capture. A headless Chromium opens it: cold (with an empty cache) and warm. The page measures
the time from the start of the navigation until chain, evidence and timeline are painted and the button of the next
step reacts to its key. Then every request of the screen is repeated, one after the other.
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
from culprit.accounts.actor import Actor
from culprit.domain.series import chunks
from culprit.domain.series.chunks import HOUR_NS
from culprit.domain.series.rollup import HOURS, SummaryRow, combine_rows, update_day
from culprit.infra.db.session import Database
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.captures.run import Run
from culprit.infra.models.evidence.series import StoredSeries
from culprit.infra.models.evidence.series_chunk import SeriesChunk
from culprit.infra.models.evidence.series_day import SeriesDay
from culprit.infra.models.incidents.incident import Incident
from culprit.launcher.paths import ROOT
from sqlalchemy import insert, select, text
from sqlalchemy.orm import Session

from bench.support import platforms

UP_S, BROWSER_S = 600.0, 420.0
SECOND = 10**9
CPUS = 8
#: Series that a triage stores and a timeline shows by default, one value a second.
MATRICES = ("cpu.busy_pct", "cpu.sys_pct")
PLAIN_SERIES = ("load.avg1", "sched.runq", "cpu.total_busy_pct", "mem.available_pct", "mem.pgmajfault_per_s")
SCREEN_PARTS = ("chain", "evidence", "timeline", "reacts")
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")
Seed = Callable[[Session, Actor], Incident]


def add_series(session: Session, incident: Incident) -> None:
    """Series for every run of an incident, as workers write them: chunks, summaries, hours."""
    runs: dict[Any, list[Run]] = {}
    of_incident = text("SELECT run_id FROM incident_run WHERE incident_id = :one")
    ids = [row.run_id for row in session.execute(of_incident, {"one": incident.id})]
    for run in session.scalars(select(Run).where(Run.id.in_(ids)).order_by(Run.t0_ns)):
        runs.setdefault(run.host_id, []).append(run)
    rng = np.random.default_rng(1)
    for host_id, mine in runs.items():
        for metric in (*MATRICES, *PLAIN_SERIES):
            _add_host_series(session, rng, host_id, metric, mine)


def _add_host_series(
    session: Session, rng: np.random.Generator, host_id: Any, metric: str, runs: Sequence[Run]
) -> None:
    names = [str(cpu) for cpu in range(CPUS)] if metric in MATRICES else None
    series = StoredSeries(
        host_id=host_id, metric=metric, labels={}, labels_key="{}", axis="cpu" if names else None,
        first_ns=runs[0].t0_ns, last_ns=runs[-1].t1_ns,
    )  # fmt: skip
    session.add(series)
    session.flush()
    columns = tuple(names) if names else ("",)
    rows = []
    hours: dict[int, dict[int, list[SummaryRow]]] = {}
    for run in runs:
        begin, end = run.t0_ns or 0, run.t1_ns or 0
        t_ns = np.arange(begin, end, SECOND, dtype=np.int64)
        values = rng.gamma(2.0, 10.0, (len(t_ns), len(columns))).round(2)
        summary = chunks.encode_summary(chunks.make_raw_rows(t_ns, values))
        day, hour = divmod(begin // HOUR_NS, HOURS)
        hours.setdefault(day, {}).setdefault(hour, []).append(
            SummaryRow(columns, chunks.decode_summary(summary))
        )
        rows.append(
            {
                "id": new_uuid7(), "series_id": series.id, "host_id": host_id, "run_id": run.id, "metric": metric,
                "labels": {}, "axis": series.axis, "axis_values": names, "level": 0, "t0_ns": int(t_ns[0]),
                "t1_ns": int(t_ns[-1]), "step_ns": SECOND, "raw_step_ns": SECOND, "n": len(t_ns),
                "data": chunks.encode_raw(t_ns, values), "summary": summary, "parser_version": 1,
            }
        )  # fmt: skip
    session.execute(insert(SeriesChunk), rows)
    for day, result in hours.items():
        stored, planes = update_day((), None, {hour: combine_rows(each) for hour, each in result.items()})
        row = dict(zip(("low", "mean", "high", "count"), planes, strict=True)) | {
            "series_id": series.id, "day": day, "axis_values": list(stored)
        }  # fmt: skip
        session.execute(insert(SeriesDay), [row])


def measure_screen(seed: Seed, opens: int, asks: int) -> dict[str, Any]:
    """What the browser saw. Raises platforms.PlatformError where the platform or the page does not come up."""
    platforms.stop_on_term()
    with ExitStack() as stack:
        top = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="incident-", ignore_cleanup_errors=True))
        )
        home = top / "home"
        chromium = platforms.prepare_browser()
        stack.callback(platforms.purge_data, ROOT, home)
        with platforms.run_platform(ROOT, home, top / "up.log", UP_S) as platform:
            incident = _store_incident(platform["database_url"], seed)
            requested = {
                "chromium": chromium, "url": platform["url"], "login_url": platform["login_url"],
                "incident": incident, "opens": opens, "asks": asks,
            }  # fmt: skip
            return platforms.run_browser(Path(__file__).with_name("incident.mjs"), requested, BROWSER_S)


def _store_incident(url: str, seed: Seed) -> str:
    database = Database(url.replace("postgresql://", "postgresql+psycopg://", 1))
    try:
        with database.sessions() as session:
            admin = session.scalars(select(UserAccount).where(UserAccount.role == "admin")).first()
            if admin is None:
                raise platforms.PlatformError("the platform has no admin")
            incident = seed(session, Actor(admin.id, admin.name, "admin"))
            add_series(session, incident)
            session.commit()
            session.execute(text("ANALYZE"))
            return str(incident.id)
    finally:
        database.close()


def format_tables(result: dict[str, Any]) -> str:
    """Both tables for docs/figures.md."""
    lines = [
        "| painted, ms since the navigation began | cold: median, max | warm: median, max |",
        "|---|---|---|",
    ]
    messages = {"reacts": "the next step answers to its key (all above drawn)"}
    for part in SCREEN_PARTS:
        cells = [
            f"{statistics.median(values):.0f}, {max(values):.0f}"
            for values in ([item[part] for item in result["opens"][how]] for how in ("cold", "warm"))
        ]
        lines.append(f"| {messages.get(part, part)} | {' | '.join(cells)} |")
    lines += ["", "| call of the screen | p50 ms | p95 ms | kB, packed → unpacked |", "|---|--:|--:|---|"]
    for url, item in sorted(result["calls"].items(), key=lambda item: -statistics.median(item[1]["ms"])):
        path = ID.sub("{id}", url.partition("/api/v1")[2].partition("?")[0])
        p95 = statistics.quantiles(item["ms"], n=20)[-1]
        size = f"{item['wire'] / 1024:.1f} → {item['bytes'] / 1024:.1f}"
        lines.append(f"| GET {path} | {statistics.median(item['ms']):.1f} | {p95:.1f} | {size} |")
    return "\n".join(lines)
