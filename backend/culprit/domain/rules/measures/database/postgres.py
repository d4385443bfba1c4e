"""Numbers of a local PostgreSQL: connections, rows read, checkpoints, dead rows, replication."""

from __future__ import annotations

from collections.abc import Iterator

from collectors.contract import Text
from culprit.domain.rules.finding import Measurement
from culprit.domain.rules.measures.application.counters import (
    build_listed_measure,
    build_presence,
    index_counters,
    read_counter,
    read_longest,
    read_ratio,
)
from culprit.domain.rules.measures.derived import Detail
from culprit.domain.rules.view import HostView, TableRow

_NEEDS = (("postgres_stats",),)
_COUNTERS = "postgres_counters"
#: A table with fewer dead rows fits into a few pages at any ratio.
_MIN_DEAD = 10_000.0
#: Before PostgreSQL 15, counters reach the statistics once in half a second, and are written as often.
_STATISTICS_DELAY_S = 1.0
_read_oldest = read_longest("postgres_horizons", "since", "name")
#: The default of autovacuum_naptime: within this time autovacuum has had its turn in each database.
NAPTIME_S = 60.0


def _connections(view: HostView) -> Iterator[Measurement]:
    """Connections of clients as a share of those that are not reserved for administrators."""
    rows = index_counters(view, _COUNTERS)
    counters = [
        rows.get(name)
        for name in ("connections", "max_connections", "reserved_connections", "idle_connections")
    ]
    used, most, reserved, idle = (row.number("value") if row else None for row in counters)
    if used is not None and most is not None and reserved is not None and most > reserved:
        detail: Detail = {"used": round(used), "most": round(most - reserved), "idle": round(idle or 0)}
        cites = tuple(row.citation for row in counters if row is not None)
        yield Measurement(100.0 * used / (most - reserved), (), cites, round(used), (), detail)


def _scan_share(view: HostView) -> Iterator[Measurement]:
    """Percent of the rows read from tables that sequential scans have read."""
    rows = index_counters(view, _COUNTERS)
    scanned, commits = rows.get("rows_scanned"), rows.get("commits")
    fetched = rows.get("rows_by_index")
    by_scan = scanned.number("grown") if scanned else None
    done = commits.number("grown") if commits else None
    if scanned is None or commits is None or by_scan is None or done is None:
        return
    by_index = (fetched.number("grown") if fetched else None) or 0.0
    total = by_scan + by_index
    if total > 0:
        cites = (scanned.citation, commits.citation, *((fetched.citation,) if fetched else ()))
        detail: Detail = {
            "rows": round(by_scan),
            "each": round(by_scan / max(done, 1.0)),
            "done": round(done),
        }
        yield Measurement(100.0 * by_scan / total, (), cites, round(total), (), detail)


def _sync_ms(view: HostView) -> Iterator[Measurement]:
    """Mean time that a checkpoint which ended in the capture spent in fsync."""
    rows = index_counters(view, _COUNTERS)
    names = ("checkpoint_sync_time", "checkpoints_req", "checkpoints_timed")
    rows_by_name = [row for row in map(rows.get, names) if row is not None]
    grown = [row.number("grown") for row in rows_by_name]
    if len(rows_by_name) < len(names) or None in grown:
        return
    sync_ms, requested, timed = (value or 0.0 for value in grown)
    count = requested + timed
    if count >= 1:
        detail: Detail = {"count": round(count), "requested": round(requested)}
        yield Measurement(
            sync_ms / count, (), tuple(row.citation for row in rows_by_name), round(count), (), detail
        )
    else:
        yield Measurement(
            0.0, (), tuple(row.citation for row in rows_by_name), 0, (), {"count": 0, "requested": 0}
        )


def _sync_share(view: HostView) -> Iterator[Measurement]:
    """Percent of the time that checkpoints spent in fsync. A checkpoint counts when it ends."""
    row = index_counters(view, _COUNTERS).get("checkpoint_sync_time")
    ms_per_s = row.number("change") if row is not None else None
    if row is not None and ms_per_s is not None:
        yield Measurement(ms_per_s / 10.0, (), (row.citation,), round(row.number("grown") or 0.0))


def _dead_rows(view: HostView) -> Iterator[Measurement]:
    """Dead rows of a table for each hundred live ones."""
    for row in view.rows("postgres_tables"):
        dead, live = row.number("dead"), row.number("live")
        if dead is not None and live is not None and dead >= _MIN_DEAD:
            detail: Detail = {"table": row.text("table"), "dead": round(dead), "live": round(live)}
            subject = (("table", row.text("table")),)
            yield Measurement(
                100.0 * dead / max(live, 1.0), subject, (row.citation,), round(dead), (), detail
            )


def _left_by_vacuum(view: HostView) -> Iterator[Measurement]:
    """Dead rows that the last vacuum of a table left, for each hundred live ones.

    These are the dead rows less those that changes at the present rate have made since that vacuum. The counter of a
    table is reset to what vacuum could not remove.
    """
    changes = index_counters(view, _COUNTERS)
    for row in view.rows("postgres_tables"):
        dead, live, age = row.number("dead"), row.number("live"), row.number("vacuum_age")
        changed = changes.get(f"changed.{row.text('table')[:50]}")
        per_s = changed.number("change") if changed else None
        if (
            changed is None
            or per_s is None
            or dead is None
            or live is None
            or age is None
            or dead < _MIN_DEAD
        ):
            continue
        left = max(0.0, dead - per_s * (age + _STATISTICS_DELAY_S))
        detail: Detail = {"table": row.text("table"), "left": round(left), "live": round(live)}
        cites = (row.citation, changed.citation)
        yield Measurement(
            100.0 * left / max(live, 1.0), (("table", row.text("table")),), cites, round(dead), (), detail
        )


def _oldest_snapshot(view: HostView) -> Iterator[Measurement]:
    """The age of the oldest snapshot that vacuum has to respect.

    A role without `pg_read_all_stats` does not see the snapshots of other roles, so a young one shows nothing then.
    """
    sees_all = index_counters(view, _COUNTERS).get("sees_all_sessions")
    for measured in _read_oldest(view):
        if measured.value >= NAPTIME_S or sees_all is None or sees_all.number("value"):
            yield measured


def _is_replica_late(row: TableRow) -> bool:
    return (row.number("behind") or 0.0) > 0


def _commit_waits(view: HostView) -> Iterator[Measurement]:
    """How long the session has waited that waits longest for a standby to confirm its commit."""
    rows = [row for row in view.rows("db_sessions") if row.text("wait_event") == "SyncRep"]
    for row in rows:
        age = row.number("state_age")
        if age is not None:
            yield Measurement(
                age, (), tuple(item.citation for item in rows[:10]), len(rows), (), {"count": len(rows)}
            )


PRESENT = build_presence(
    "postgres.programs_count", Text("PostgreSQL servers", "PostgreSQL 服务"), r"postgres|postmaster"
)
CONNECTIONS = build_listed_measure(
    "postgres.connections_pct", "pct", "Connections against their limit", "连接数占上限", _NEEDS, _connections
)
SCAN_SHARE = build_listed_measure(
    "postgres.rows_by_scan_pct",
    "pct",
    "Rows read by sequential scans",
    "顺序扫描读取的行",
    _NEEDS,
    _scan_share,
)
SCANNED_PER_COMMIT = build_listed_measure(
    "postgres.rows_scanned_per_commit", "count", "Rows scanned for each transaction", "每个事务扫描的行数", _NEEDS,
    read_ratio(_COUNTERS, ("rows_scanned",), "commits"),
)  # fmt: skip
COMMITS = build_listed_measure(
    "postgres.commits_count", "count", "Transactions", "事务数", _NEEDS, read_counter(_COUNTERS, "commits")
)
SYNC_MS = build_listed_measure(
    "postgres.checkpoint_sync_ms",
    "ms",
    "Time of a checkpoint in fsync",
    "检查点 fsync 耗时",
    _NEEDS,
    _sync_ms,
)
SYNC_SHARE = build_listed_measure(
    "postgres.checkpoint_sync_pct",
    "pct",
    "Time in fsync of checkpoints",
    "检查点 fsync 时间占比",
    _NEEDS,
    _sync_share,
)
REQUESTED = build_listed_measure(
    "postgres.checkpoints_requested_per_s", "per_s", "Checkpoints because the log was full", "因日志写满而触发的检查点",
    _NEEDS, read_counter(_COUNTERS, "checkpoints_req", "change"),
)  # fmt: skip
DEAD_ROWS = build_listed_measure(
    "postgres.dead_rows_pct",
    "pct",
    "Dead rows for a hundred live ones",
    "死元组与活元组之比",
    _NEEDS,
    _dead_rows,
)
LEFT_BY_VACUUM = build_listed_measure(
    "postgres.rows_left_by_vacuum_pct", "pct", "Dead rows that the last vacuum left against live rows",
    "上次 VACUUM 未能清除的死元组占活元组", _NEEDS, _left_by_vacuum,
)  # fmt: skip
HORIZON_S = build_listed_measure(
    "postgres.oldest_snapshot_s",
    "s",
    "Age of the oldest snapshot",
    "最老快照的时长",
    _NEEDS,
    _oldest_snapshot,
)
XID_AGE = build_listed_measure(
    "postgres.transaction_id_age", "count", "Age of the oldest transaction ID", "最老事务 ID 的年龄", _NEEDS,
    read_counter(_COUNTERS, "xid_age", "value"),
)  # fmt: skip
REPLICA_LAG = build_listed_measure(
    "postgres.standby_lag_s", "s", "Delay of a standby", "备库延迟", _NEEDS,
    read_longest("postgres_standbys", "lag", "name", _is_replica_late),
)  # fmt: skip
COMMIT_WAIT = build_listed_measure(
    "postgres.commit_wait_s", "s", "Longest wait for a standby at commit", "提交时等待备库的最长时间",
    (("db_sessions",),), _commit_waits,
)  # fmt: skip
