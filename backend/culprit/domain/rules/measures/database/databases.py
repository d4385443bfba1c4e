"""Sessions and statements of a database, and how much of the CPU is a database's."""

from __future__ import annotations

import re
from collections.abc import Mapping

from collectors.contract import Sentence, Text
from culprit.domain.rules.finding import Measurement, MissingData, Reading
from culprit.domain.rules.measures.application.services import DATABASES
from culprit.domain.rules.measures.derived import cite_rows
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView, TableRow

Detail = dict[str, str | int | float]

POSTGRES = re.compile(r"(postgres|postmaster)\Z")
#: On a host that is less busy, per CPU, no process counts as the main user of the CPU.
BUSY_PCT = 25.0


def _first_of(chain: Mapping[str, TableRow], pid: str) -> str:
    """The session at the head of a row of waiting ones; the first that comes again where they wait in a circle."""
    seen: set[str] = set()
    while pid in chain and pid not in seen:
        seen.add(pid)
        pid = chain[pid].text("blocked_by").split(" ")[0]
    return pid


def _lock_wait(view: HostView) -> Reading:
    """How long the session has waited that waits longest for a lock of another one.

    The age of a state counts from its beginning, so a wait is at most that long.
    """
    rows = view.rows("db_sessions")
    waiting = {
        row.text("pid"): row for row in rows if row.text("wait_type") == "Lock" and row.text("blocked_by")
    }
    ages = {pid: age for pid, row in waiting.items() if (age := row.number("state_age")) is not None}
    if ages:
        pid = max(sorted(ages), key=lambda item: ages[item])
        row, head = waiting[pid], _first_of(waiting, pid)
        server, sources = _find_server(view, pid)
        cites = cite_rows([row], waiting.values(), (row for row in rows if row.text("pid") == head), sources)
        detail: Detail = {"head": head, "sessions": len(waiting), "query": row.text("query")[:80]}
        return [Measurement(ages[pid], (("pid", server),), cites, len(waiting), (), detail)]
    return [] if view.has_data("db_sessions") else MissingData(view.missing_reason(("db_sessions",)))


def _find_server(view: HostView, session: str) -> tuple[str, list[TableRow]]:
    """Return the server process of the sessions, or the session where it is not known, and the rows that show it.

    Sessions may begin after the first look. All rows are from one server, so its process is the parent of any session
    that was there, or the only server of the host.
    """
    sessions = view.rows("db_sessions")
    pids = {pid for row in sessions for pid in (row.text("pid"), *row.text("blocked_by").split())}
    processes = {row.text("pid"): row for row in view.rows("processes") if POSTGRES.match(row.text("comm"))}
    servers = {pid for pid, row in processes.items() if row.text("ppid") not in processes}
    known = {processes[pid].text("ppid") for pid in pids if pid in processes} & servers
    candidates = known or servers
    return (candidates.pop() if len(candidates) == 1 else session), [*sessions, *processes.values()]


def _idle_blocker(view: HostView) -> Reading:
    """How long sessions have been idle in a transaction whose locks other sessions wait for.

    A session that is idle keeps the locks of its transaction until its client goes on: nothing that the server does
    ends the wait.
    """
    rows = view.rows("db_sessions")
    if not rows and not view.has_data("db_sessions"):
        return MissingData(view.missing_reason(("db_sessions",)))
    waiting = [row for row in rows if row.text("wait_type") == "Lock"]
    results = []
    for row in rows:
        mine = [item for item in waiting if row.text("pid") in item.text("blocked_by").split(" ")]
        age = row.number("state_age")
        if mine and age is not None and row.text("state").startswith("idle in transaction"):
            cites = cite_rows([row], mine)
            detail: Detail = {
                "session": row.text("pid"),
                "waiting": len(mine),
                "query": row.text("query")[:80],
            }
            results.append(Measurement(age, (), cites, len(mine), (), detail))
    return results


def _oldest_request(view: HostView) -> Reading:
    """How long a PostgreSQL on this host has owed the answer that it has owed longest, over TCP."""
    rows = [
        row
        for row in view.rows("tcp_waits")
        if row.text("direction") == "in" and POSTGRES.match(row.text("comm"))
    ]
    if not rows and not view.has_data("tcp_waits"):
        return MissingData(view.missing_reason(("tcp_waits",)))
    return [
        Measurement(row.number("oldest") or 0.0, (), (row.citation,), 0, (), {"port": row.text("peer")})
        for row in rows
    ]


def _costliest(view: HostView) -> TableRow | None:
    return max(view.rows("db_statements"), key=lambda row: row.number("total") or 0.0, default=None)


def _time_per_row(view: HostView) -> Reading:
    """Milliseconds that the costliest statement takes for each row that it returns or changes, one at least a call."""
    row = _costliest(view)
    mean, calls = (row.number("mean"), row.number("calls")) if row else (None, None)
    if row is None or mean is None or not calls:
        return MissingData(
            Sentence("missing.no_statements")
            if view.has_data("db_sessions")
            else view.missing_reason(("db_sessions",))
        )  # fmt: skip
    each = (row.number("rows") or 0.0) / calls
    detail: Detail = {"query": row.text("query")[:80], "mean": round(mean, 1), "rows": round(each, 1)}
    return [Measurement(mean / max(each, 1.0), (), (row.citation,), int(calls), (), detail)]


def _calls(view: HostView) -> Reading:
    row = _costliest(view)
    return [Measurement(row.number("calls") or 0.0, (), (row.citation,))] if row else []


def _of_all_cpu(view: HostView) -> Reading:
    """Percent of the CPU time of all programs that is a database's."""
    rows = [row for row in view.rows("processes") if row.number("cpu")]
    everything = sum(row.number("cpu") or 0.0 for row in rows)
    if everything < BUSY_PCT * (view.cpus or 1):
        return MissingData(
            Sentence("missing.no_busy_process")
            if view.has_data("proc_top")
            else view.missing_reason(("proc_top",))
        )
    mine = [row for row in rows if DATABASES.match(row.text("comm"))]
    top = max(mine or rows, key=lambda row: row.number("cpu") or 0.0)
    cpu = sum(row.number("cpu") or 0.0 for row in mine)
    cites = cite_rows(rows)
    detail: Detail = {"name": top.text("comm"), "cpu": round(cpu, 1), "all": round(everything, 1)}
    return [Measurement(100.0 * cpu / everything, (), cites, len(rows), (), detail)]


_SESSIONS = (("db_sessions",),)
LOCK_WAIT = Measure("db.lock_wait_s", "s", Text("Longest wait for another session", "等待其他会话最久的时间"),
                    _SESSIONS, _lock_wait)  # fmt: skip
IDLE_BLOCKER = Measure("db.idle_blocker_s", "s", Text("Idle while others wait", "空闲事务阻塞他人的时间"),
                       _SESSIONS, _idle_blocker)  # fmt: skip
OLDEST_REQUEST = Measure("db.oldest_request_ms", "ms", Text("Longest wait for the database", "等待数据库最久的时间"),
                         (("tcp_waits",),), _oldest_request)  # fmt: skip
TIME_PER_ROW = Measure("db.ms_per_row", "ms", Text("Time for each row returned", "每返回一行的耗时"), _SESSIONS,
                       _time_per_row)  # fmt: skip
CALLS = Measure("db.calls_count", "count", Text("Calls of the costliest statement", "最耗时语句的调用数"), _SESSIONS,
                _calls)  # fmt: skip
OF_ALL_CPU = Measure("db.share_of_cpu_pct", "pct", Text("The database's part of the CPU used", "数据库占已用 CPU"),
                     (("proc_top",),), _of_all_cpu)  # fmt: skip
