"""Measure timeline requests for a year, a month, a day and a minute of a year of captures with 256 CPUs.

    ./culprit bench timeline [--every-minutes 60] [--cpus 256] [--json FILE]

Periodic captures of 30 s, each with two per-CPU matrices and ten plain series at 1 Hz, are written as the workers
write them (chunks, summaries, hours), into a separate PostgreSQL. Each ratio is relative to the same request without
roll-ups and downsampled levels: every raw chunk in the range is decoded, joined and reduced, in the same process,
A B A B.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt
from alembic import command
from alembic.config import Config
from culprit.domain.series import chunks, tracks
from culprit.domain.series.chunks import HOUR_NS
from culprit.domain.series.rollup import HOURS, SummaryRow, combine_rows, update_day
from culprit.domain.series.tracks import TrackPiece
from culprit.evidence.timeline import track_builder
from culprit.infra.db.session import Database
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.evidence.series import StoredSeries
from culprit.infra.models.evidence.series_chunk import SeriesChunk
from culprit.infra.models.evidence.series_day import SeriesDay
from culprit.infra.models.hosts.host import Host
from culprit.infra.settings import REPOSITORY
from culprit.launcher.engines import Postgres
from culprit.web.http.json_response import fast_json
from sqlalchemy import insert, select, text
from sqlalchemy.orm import Session

SECOND = 10**9
T0 = 1_760_000_000 * SECOND // (24 * HOUR_NS) * 24 * HOUR_NS
SAMPLES = 30
DAY = 24 * HOUR_NS
MATRICES = ("cpu.busy_pct", "cpu.sys_pct")
PLAIN_SERIES = ("load.load1", "mem.free_kb", *(f"bench.plain_{i}" for i in range(8)))
RANGES = {"minute": 60 * SECOND, "hour": HOUR_NS, "day": DAY, "month": 30 * DAY, "year": 365 * DAY}


def seed_year(session: Session, every_minutes: int, cpus: int) -> tuple[dict[str, StoredSeries], int]:
    """A year of captures; returns the tracks by metric, and how many captures there are."""
    host = Host(name="bench", address="", username="", state="imported", labels={})
    capture = Capture(plan="triage", state="done", source="import", collectors=[])
    session.add_all([host, capture])
    session.flush()
    series: dict[str, StoredSeries] = {}
    for metric in (*MATRICES, *PLAIN_SERIES):
        axis = "cpu" if metric in MATRICES else None
        item = StoredSeries(
            host_id=host.id, metric=metric, labels={}, labels_key="{}", axis=axis, first_ns=T0,
            last_ns=T0 + 365 * DAY,
        )  # fmt: skip
        session.add(item)
        series[metric] = item
    session.flush()
    rng = np.random.default_rng(1)
    names = [str(cpu) for cpu in range(cpus)]
    blocks = {k: [rng.gamma(2.0, 10.0, (SAMPLES, k)).round(2) for _ in range(16)] for k in (1, cpus)}
    starts = range(T0, T0 + 365 * DAY, every_minutes * 60 * SECOND)
    for day in range(365):
        today = [at for at in starts if T0 + day * DAY <= at < T0 + (day + 1) * DAY]
        _build_day(session, host.id, capture.id, series, today, names, blocks, T0 // DAY + day)
    session.commit()
    session.execute(text("ANALYZE"))
    return series, len(starts)


def _build_day(
    session: Session,
    host_id: UUID,
    capture_id: UUID,
    new_series: Mapping[str, StoredSeries],
    today: list[int],
    names: list[str],
    blocks: Mapping[int, list[npt.NDArray[np.float64]]],
    day: int,
) -> None:
    """The runs, chunks and hours of one day."""
    runs: list[dict[str, Any]] = [
        {
            "id": new_uuid7(), "capture_id": capture_id, "host_id": host_id, "state": "done", "t0_ns": at,
            "t1_ns": at + (SAMPLES - 1) * SECOND,
        }
        for at in today
    ]  # fmt: skip
    session.execute(insert(Run), runs)
    rows, days = [], []
    for metric, series in new_series.items():
        k = len(names) if series.axis else 1
        hours: dict[int, list[SummaryRow]] = {}
        for number, run in enumerate(runs):
            values = blocks[k][(number + day) % 16]
            t_ns = np.arange(SAMPLES, dtype=np.int64) * SECOND + run["t0_ns"]
            summary = chunks.encode_summary(chunks.make_raw_rows(t_ns, values))
            columns = tuple(names) if series.axis else ("",)
            hours.setdefault(run["t0_ns"] // HOUR_NS % HOURS, []).append(
                SummaryRow(columns, chunks.decode_summary(summary))
            )
            rows.append(
                {
                    "id": new_uuid7(), "series_id": series.id, "host_id": host_id, "run_id": run["id"],
                    "metric": metric, "labels": {}, "axis": series.axis,
                    "axis_values": names if series.axis else None, "level": 0, "t0_ns": int(t_ns[0]),
                    "t1_ns": int(t_ns[-1]), "step_ns": SECOND, "raw_step_ns": SECOND, "n": SAMPLES,
                    "data": chunks.encode_raw(t_ns, values), "summary": summary, "parser_version": 1,
                }
            )  # fmt: skip
        columns, planes = update_day((), None, {hour: combine_rows(result) for hour, result in hours.items()})
        days.append(
            dict(zip(("low", "mean", "high", "count"), planes, strict=True))
            | {"series_id": series.id, "day": day, "axis_values": list(columns)}
        )
    session.execute(insert(SeriesChunk), rows)
    session.execute(insert(SeriesDay), days)


def read_timeline(session: Session, series: list[StoredSeries], begin: int, end: int) -> bytes:
    """The answer as the API gives it."""
    tracks = track_builder.build_tracks(session, series, from_ns=begin, to_ns=end, width=1200, plane="mean")
    return bytes(fast_json(tracks).body)


def read_raw_chunks(session: Session, series: list[StoredSeries], begin: int, end: int) -> bytes:
    """The same picture from raw chunks alone."""
    rendered = []
    for item in series:
        query = select(SeriesChunk.data, SeriesChunk.axis_values).where(
            SeriesChunk.series_id == item.id, SeriesChunk.level == 0, SeriesChunk.t0_ns < end,
            SeriesChunk.t0_ns > begin - HOUR_NS, SeriesChunk.t1_ns >= begin,
        )  # fmt: skip
        pieces = [
            TrackPiece(chunks.decode_rows(row.data), tuple(row.axis_values or ("",)), 3 * SECOND)
            for row in session.execute(query)
        ]
        track = tracks.build_track(pieces, begin, end, 1200 if item.axis is None else 600)
        rendered.append(
            {
                **track_builder.describe_series(item),
                **track_builder._values_to_json(track, item.axis, begin, "mean"),
            }
        )
    return bytes(fast_json(rendered).body)


def time_calls(ask: Callable[[], bytes], times: int) -> tuple[list[float], int]:
    """Milliseconds of each try, and the size of the answer."""
    taken, size = [], 0
    for _ in range(times):
        began = time.perf_counter()
        size = len(ask())
        taken.append((time.perf_counter() - began) * 1000)
    return taken, size


def compare_ranges(session: Session, series: dict[str, StoredSeries], cpus: int) -> list[dict[str, object]]:
    """One row per range and kind of track."""
    kinds = {
        f"1 heatmap of {cpus} CPUs": [series[MATRICES[0]]],
        "10 lines": [series[m] for m in PLAIN_SERIES],
    }
    rows = []
    for name, span in RANGES.items():
        begin = T0 if span > 300 * DAY else T0 + 200 * DAY
        for kind, requested in kinds.items():
            slow_times = 1 if span > DAY and "heatmap" in kind else 2
            read_timeline(session, requested, begin, begin + span)
            fast: list[float] = []
            slow: list[float] = []
            sizes = (0, 0)
            for _ in range(slow_times):
                a, size_a = time_calls(lambda: read_timeline(session, requested, begin, begin + span), 5)  # noqa: B023
                b, size_b = time_calls(lambda: read_raw_chunks(session, requested, begin, begin + span), 1)  # noqa: B023
                fast, slow, sizes = fast + a, slow + b, (size_a, size_b)
            rows.append(
                {
                    "range": name, "tracks": kind, "ms": round(statistics.median(fast), 1),
                    "ms_max": round(max(fast), 1), "kb": round(sizes[0] / 1024, 1),
                    "raw_ms": round(statistics.median(slow), 1),
                    "ratio": round(statistics.median(fast) / statistics.median(slow), 3),
                }
            )  # fmt: skip
            print(json.dumps(rows[-1]), flush=True)
    return rows


def main() -> None:
    """Seed, ask, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--every-minutes", type=int, default=60)
    parser.add_argument("--cpus", type=int, default=256)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="culprit-bench-") as place,
        Postgres(Path(place), durable=False) as server,
    ):
        Path(place).chmod(0o755)
        config = Config(REPOSITORY / "migrations" / "alembic.ini")
        config.attributes["url"] = server.url.replace("postgresql://", "postgresql+psycopg://", 1)
        command.upgrade(config, "head")
        database = Database(config.attributes["url"])
        with database.sessions() as session:
            began = time.perf_counter()
            result, captures = seed_year(session, chosen.every_minutes, chosen.cpus)
            took = time.perf_counter() - began
            sizes = {
                table: session.scalar(text(f"SELECT pg_total_relation_size('{table}')"))
                for table in ("series_chunk", "series_day")
            }
            about = {"captures": captures, "cpus": chosen.cpus, "seed_s": round(took, 1)} | {
                f"{table}_mb": round(size / 2**20, 1) for table, size in sizes.items()
            }
            print(json.dumps(about), flush=True)
            rows = compare_ranges(session, result, chosen.cpus)
        database.close()
    if chosen.json:
        chosen.json.write_text(json.dumps({"about": about, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
