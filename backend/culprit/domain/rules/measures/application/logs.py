"""What logs report of the capture: requests that failed, limits that were reached, and how fast they grow.

Several programs can write to one file, so who has it open does not show who is harmed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from culprit.domain.rules.finding import Measurement, Subject
from culprit.domain.rules.intervals import estimate_share
from culprit.domain.rules.measures.application.counters import build_listed_measure
from culprit.domain.rules.measures.derived import Detail
from culprit.domain.rules.measures.places import build_process_subject, cite_process
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView, TableRow

_LOGS = (("server_logs",),)


def _messages(kind: str) -> Callable[[HostView], Iterator[Measurement]]:
    """Return a reader of how often logs reported one kind of limit during the capture."""

    def read(view: HostView) -> Iterator[Measurement]:
        rows = [row for row in view.rows("limit_messages") if row.text("kind") == kind]
        for row in rows:
            count = row.number("count") or 0.0
            yield Measurement(count, (), (row.citation,), round(count), (), {"name": row.text("comm")})
        if not rows and (logs := view.rows("growing_logs")):
            yield Measurement(0.0, (), tuple(row.citation for row in logs), 0, (), {"name": ""})

    return read


def _share_of_requests(column: str) -> Callable[[HostView], Iterator[Measurement]]:
    """Return a reader of the percent of the requests of each log that a column of the table `answers` counts."""

    def read(view: HostView) -> Iterator[Measurement]:
        for row in view.rows("answers"):
            requests, count = row.number("requests"), row.number(column)
            if requests and count is not None:
                detail: Detail = {
                    "name": row.text("comm"),
                    "path": row.text("path"),
                    "requests": round(requests),
                    "status": round(row.number("worst") or 0),
                }
                interval = estimate_share(count / requests, requests)
                value = 100.0 * count / requests
                yield Measurement(value, (), (row.citation,), round(requests), (), detail, interval)

    return read


def _main_failing_client(view: HostView) -> Iterator[Measurement]:
    """Percent of the failures of each log that one client has, which sends the smaller part of its requests.

    Nothing where it sends more than half of them: then it is all clients, such as a proxy.
    """
    for row in view.rows("answers"):
        requests, failed, part, sent = (
            row.number(name) for name in ("requests", "failed", "client_failed", "client_requests")
        )
        if requests and failed and part is not None and sent is not None and 2 * sent < requests:
            detail: Detail = {"name": row.text("comm"), "sent": round(100.0 * sent / requests)}
            interval = estimate_share(part / failed, failed)
            yield Measurement(100.0 * part / failed, (), (row.citation,), round(failed), (), detail, interval)


def _about_log(view: HostView, row: TableRow) -> Subject:
    return tuple(sorted((*build_process_subject(view, row), ("path", row.text("path")))))


def _flood_hours(view: HostView) -> Iterator[Measurement]:
    """Hours until a growing log has used the free space of its file system."""
    for row in view.rows("growing_logs"):
        rate, free = row.number("rate"), row.number("free")
        if rate and free is not None:
            lines = row.number("lines") or 0.0
            detail: Detail = {
                "name": row.text("comm"),
                "path": row.text("path"),
                "kb": round(rate / 1024),
                "same": round(100.0 * (row.number("same") or 0.0) / lines) if lines else 0,
            }
            yield Measurement(
                free / rate / 3600.0, _about_log(view, row), cite_process(view, row), round(lines), (), detail
            )


#: Statuses 500 to 599.
FAILED = build_listed_measure(
    "logs.failed_pct", "pct", "Requests answered with an error", "以错误应答的请求", _LOGS,
    _share_of_requests("failed"),
)  # fmt: skip
FAILING_CLIENT = build_listed_measure(
    "logs.one_client_pct", "pct", "Failures of the client that has most", "失败最多的客户端所占的失败", _LOGS,
    _main_failing_client,
)  # fmt: skip
#: Status 499 of nginx.
CLIENT_CLOSED = build_listed_measure(
    "logs.given_up_pct", "pct", "Requests that clients gave up", "客户端放弃的请求", _LOGS,
    _share_of_requests("given_up"),
)  # fmt: skip
#: Status 429 (RFC 6585, section 4).
LIMITED = build_listed_measure(
    "logs.limited_pct", "pct", "Requests refused by a limit of their rate", "因速率上限被拒的请求", _LOGS,
    _share_of_requests("limited"),
)  # fmt: skip


def _count(kind: str, en: str, zh: str) -> Measure:
    title = f"Log lines about {en}", f"日志中报告{zh}的行"
    return build_listed_measure(f"logs.{kind}_count", "count", *title, _LOGS, _messages(kind))


CONNECTIONS_FULL = _count("connections_full", "a limit of connections", "连接上限")
REQUESTS_LIMITED = _count("requests_limited", "a limit of requests", "请求速率上限")
WORKERS_FULL = _count("workers_full", "a limit of workers", "工作进程上限")
DATABASE_FULL = _count("database_full", "a limit of database connections", "数据库连接上限")
POOL_FULL = _count("pool_full", "an empty connection pool", "连接池已空")
LOCKS_WAIT = _count("locks_wait", "locks that were not free in time", "锁等待超时")
CACHE_FULL = _count("cache_full", "a full cache", "缓存已满")
HEAP_FULL = _count("heap_full", "a full heap", "堆已满")
READ_ONLY = _count("read_only", "a file system that is read-only", "只读文件系统")
CERTIFICATE_EXPIRED = _count("certificate_expired", "an expired certificate", "证书过期")
NAMES_FAIL = _count("names_fail", "failed name resolution", "域名解析失败")
FILES_FULL = _count("files_full", "a limit of open files", "打开文件上限")
SPACE_FULL = _count("space_full", "a full file system", "空间不足")
PROCESSES_FULL = _count("processes_full", "a limit of processes", "进程数上限")
FLOOD_HOURS = build_listed_measure(
    "logs.hours_to_full",
    "h",
    "Time until a log fills its file system",
    "日志写满文件系统的时间",
    _LOGS,
    _flood_hours,
)
