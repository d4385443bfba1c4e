"""Numbers of a local MariaDB or MySQL: sessions that wait, connections, rows read, its log, replication."""

from __future__ import annotations

import re
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

_NEEDS = (("mariadb_stats",),)
_COUNTERS = "mariadb_counters"
#: The server counts rows that it reads one after the other in a table, forward in an index, and backward.
_ROWS_READ = ("handler_read_rnd_next", "handler_read_next", "handler_read_prev")
#: Locks of the server itself: of a table (LOCK TABLES, MyISAM), its definition, or all tables (a backup). Each kind
#: has its words (mdl.cc, thr_lock.c, sql_base.cc).
_WAIT_STATE = re.compile(r"Waiting for (.* lock|table flush)")


def _lock_wait(view: HostView) -> Iterator[Measurement]:
    """How long the session has waited that waits longest for a row of another session."""
    rows = [row for row in view.rows("mariadb_locks") if row.number("wait") is not None]
    if rows:
        row = max(rows, key=lambda item: item.number("wait") or 0.0)
        waiting = {item.text("waiting") for item in rows}
        heads = sorted({item.text("blocking") for item in rows} - waiting) or [row.text("blocking")]
        detail: Detail = {"sessions": len(waiting), "head": heads[0]}
        cites = tuple(item.citation for item in rows)
        yield Measurement(row.number("wait") or 0.0, (), cites, len(waiting), (), detail)


def _idle_blocker(view: HostView) -> Iterator[Measurement]:
    """How long a session has been idle in a transaction that holds rows which others wait for."""
    for row in view.rows("mariadb_sessions"):
        mine = [item for item in view.rows("mariadb_locks") if item.text("blocking") == row.text("id")]
        idle_s = row.number("time")
        if (
            mine
            and idle_s is not None
            and row.text("command") == "Sleep"
            and row.text("trx_state") == "RUNNING"
        ):
            detail: Detail = {
                "session": row.text("id"),
                "waiting": len({item.text("waiting") for item in mine}),
            }
            cites = (row.citation, *(item.citation for item in mine[:10]))
            yield Measurement(idle_s, (), cites, len(mine), (), detail)


def _is_metadata_wait(row: TableRow) -> bool:
    return _WAIT_STATE.fullmatch(row.text("state")) is not None


def _table_waiters(view: HostView) -> Iterator[Measurement]:
    """Sessions that wait for locks of tables, on average.

    A sample finds each in its state with the chance of the time that it spends there (PASTA: the samples do not depend
    on the sessions). Sessions that the samples miss are too few to count.
    """
    rows = view.rows("mariadb_waits")
    if rows:
        most = max(rows, key=lambda row: row.number("sessions") or 0.0)
        detail: Detail = {
            "state": most.text("state") or "-",
            "most": round(most.number("sessions") or 0.0),
        }
        mean = sum(row.number("sessions") or 0.0 for row in rows) / len(rows)
        cites = (most.citation, *(row.citation for row in rows if row is not most))
        yield Measurement(mean, (), cites, len(rows), (), detail)


def _most_waiters(view: HostView) -> Iterator[Measurement]:
    """The most sessions that a sample has seen wait for locks of tables."""
    for mean in _table_waiters(view):
        yield Measurement(float(mean.detail["most"]), (), mean.citations, mean.sample_count, (), mean.detail)


def _connections(view: HostView) -> Iterator[Measurement]:
    """Connections as a share of their limit, without the one that asked."""
    rows = index_counters(view, _COUNTERS)
    used, most = rows.get("threads_connected"), rows.get("max_connections")
    count, limit = (row.number("value") if row else None for row in (used, most))
    if used is not None and most is not None and count is not None and limit:
        idle = sum(1 for row in view.rows("mariadb_sessions") if row.text("command") == "Sleep")
        detail: Detail = {"used": round(count - 1), "most": round(limit), "idle": idle}
        cites = (used.citation, most.citation)
        yield Measurement(100.0 * (count - 1) / limit, (), cites, round(count), (), detail)


def _user_connections(view: HostView) -> Iterator[Measurement]:
    """Connections of the account that is nearest to a limit of its own, as a share of that limit."""
    rows = [
        row for row in view.rows("mariadb_users") if row.number("limit") and row.number("used") is not None
    ]
    if rows:
        row = max(rows, key=lambda item: (item.number("used") or 0.0) / (item.number("limit") or 1.0))
        used, limit = row.number("used") or 0.0, row.number("limit") or 1.0
        detail: Detail = {"used": round(used), "most": round(limit)}
        yield Measurement(100.0 * used / limit, (), (row.citation,), round(used), (), detail)


def _replica_scans(view: HostView) -> Iterator[Measurement]:
    """Measure the threads that apply changes of a primary and are searching a table for the row to change."""
    appliers = [
        row
        for row in view.rows("mariadb_sessions")
        if row.text("command").startswith(("Slave_SQL", "Slave_worker"))
    ]
    searching = [row for row in appliers if row.text("state").partition("(")[0].endswith("::find_row")]
    if appliers:
        detail: Detail = {"state": searching[0].text("state") if searching else "-"}
        cites = tuple(row.citation for row in appliers)
        yield Measurement(float(len(searching)), (), cites, len(appliers), (), detail)


def _stopped_replicas(view: HostView) -> Iterator[Measurement]:
    """Replicas one of whose threads does not work. Such a replica states no delay, and it grows with every second."""
    rows = view.rows("mariadb_replicas")
    stopped = [row for row in rows if {row.text("io"), row.text("sql")} != {"Yes"}]
    if rows:
        first = (stopped or rows)[0]
        detail: Detail = {"io": first.text("io"), "sql": first.text("sql")}
        yield Measurement(float(len(stopped)), (), tuple(row.citation for row in rows), len(rows), (), detail)


def _checkpoint_age(view: HostView) -> Iterator[Measurement]:
    """How much of the redo log is not covered by a checkpoint yet, as a share of what is allowed."""
    rows = index_counters(view, _COUNTERS)
    age, most = rows.get("innodb_checkpoint_age"), rows.get("innodb_checkpoint_max_age")
    value, limit = (row.number("value") if row else None for row in (age, most))
    if age is not None and most is not None and value is not None and limit:
        yield Measurement(100.0 * value / limit, (), (age.citation, most.citation), 1)


def _lock_time(view: HostView) -> Iterator[Measurement]:
    """Measure how many sessions wait for rows on average: the time of all waits that ended, for each second.

    By Little's law this is their mean number, without the bias of a single sample.
    """
    rows = index_counters(view, _COUNTERS)
    time, waits = rows.get("innodb_row_lock_time"), rows.get("innodb_row_lock_waits")
    spent_ms, ended = (row.number("change") if row else None for row in (time, waits))
    if time is not None and waits is not None and spent_ms is not None and ended:
        detail: Detail = {"mean_ms": round(spent_ms / ended), "per_s": round(ended, 1)}
        number = round(waits.number("grown") or 0)
        yield Measurement(spent_ms / 1e3, (), (time.citation, waits.citation), number, (), detail)


PRESENT = build_presence(
    "mariadb.programs_count", Text("MariaDB and MySQL servers", "MariaDB 与 MySQL 服务"), r"mariadbd|mysqld"
)
LOCK_WAIT = build_listed_measure(
    "mariadb.lock_wait_s",
    "s",
    "Longest wait for a row of another session",
    "等待其他会话行锁的最长时间",
    _NEEDS,
    _lock_wait,
)
LOCK_TIME = build_listed_measure(
    "mariadb.lock_waiters_count",
    "count",
    "Sessions that wait for rows, on average",
    "平均等待行锁的会话数",
    _NEEDS,
    _lock_time,
)
MEAN_LOCK_WAIT = build_listed_measure(
    "mariadb.mean_lock_wait_ms",
    "ms",
    "Mean wait for a row",
    "行锁平均等待时间",
    _NEEDS,
    read_ratio(_COUNTERS, ("innodb_row_lock_time",), "innodb_row_lock_waits"),
)
IDLE_BLOCKER = build_listed_measure(
    "mariadb.idle_blocker_s", "s", "Idle while others wait", "空闲事务阻塞他人的时间", _NEEDS, _idle_blocker
)
TABLE_WAITERS = build_listed_measure(
    "mariadb.table_waiters_count", "count", "Sessions that wait for a table, on average", "平均等待表锁的会话数",
    _NEEDS, _table_waiters,
)  # fmt: skip
MOST_TABLE_WAITERS = build_listed_measure(
    "mariadb.most_table_waiters_count", "count", "Sessions that wait for a table at once", "同时等待表锁的最多会话数",
    _NEEDS, _most_waiters,
)  # fmt: skip
METADATA_WAIT = build_listed_measure(
    "mariadb.metadata_wait_s", "s", "Longest wait for the definition of a table", "等待元数据锁的最长时间", _NEEDS,
    read_longest("mariadb_sessions", "time", "verb", _is_metadata_wait),
)  # fmt: skip
CONNECTIONS = build_listed_measure(
    "mariadb.connections_pct", "pct", "Connections against their limit", "连接数占上限", _NEEDS, _connections
)
USER_CONNECTIONS = build_listed_measure(
    "mariadb.user_connections_pct", "pct", "Connections of an account against its limit", "账户连接数占其上限",
    _NEEDS, _user_connections,
)  # fmt: skip
ABOVE_LIMIT = build_listed_measure(
    "mariadb.above_max_connections_count", "count", "Connections above max_connections", "超过 max_connections 的连接",
    _NEEDS, read_counter(_COUNTERS, "connection_errors_max_connections"),
)  # fmt: skip
REFUSED = build_listed_measure(
    "mariadb.refused_count", "count", "Connections that failed before their first statement", "首条语句之前失败的连接",
    _NEEDS, read_counter(_COUNTERS, "aborted_connects"),
)  # fmt: skip
ROWS_PER_ROW = build_listed_measure(
    "mariadb.rows_read_per_row", "count", "Rows read by scans for each row sent", "每返回一行扫描的行数", _NEEDS,
    read_ratio(_COUNTERS, _ROWS_READ, "rows_sent"),
)  # fmt: skip
ROWS_PER_SELECT = build_listed_measure(
    "mariadb.rows_read_per_select", "count", "Rows read by scans for each query", "每次查询扫描的行数", _NEEDS,
    read_ratio(_COUNTERS, _ROWS_READ, "com_select"),
)  # fmt: skip
SCANS = build_listed_measure(
    "mariadb.scans_count", "count", "Queries that scanned a whole table", "全表扫描的查询数", _NEEDS,
    read_counter(_COUNTERS, "select_scan"),
)  # fmt: skip
CHECKPOINT_AGE = build_listed_measure(
    "mariadb.checkpoint_age_pct",
    "pct",
    "Redo log without a checkpoint",
    "未做检查点的重做日志占比",
    _NEEDS,
    _checkpoint_age,
)
REPLICA_SCANS = build_listed_measure(
    "mariadb.replica_scans_count",
    "count",
    "Replica threads that search a table for a row",
    "正在表中查找行的复制线程",
    _NEEDS,
    _replica_scans,
)
REPLICA_LAG = build_listed_measure(
    "mariadb.replica_lag_s", "s", "Delay of this replica", "本副本的延迟", _NEEDS,
    read_longest("mariadb_replicas", "lag", "sql"),
)  # fmt: skip
STOPPED_REPLICAS = build_listed_measure(
    "mariadb.stopped_replicas_count",
    "count",
    "Replicas that are stopped",
    "已停止的复制",
    _NEEDS,
    _stopped_replicas,
)
