"""What logs report of the capture: requests that failed, limits that were reached, and how fast they grow.

Several programs can write to one file, so who has it open does not show who is harmed. What a log of the baseline
reports as often is how the host always works (a limit refuses crawlers, a name does not exist): it shows no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from collectors.contract import Sentence
from culprit.domain.rules.finding import Measurement, Subject
from culprit.domain.rules.intervals import estimate_event_share, estimate_share
from culprit.domain.rules.measures.application.counters import build_listed_measure
from culprit.domain.rules.measures.derived import Detail, cite_rows
from culprit.domain.rules.measures.places import build_process_subject, cite_process
from culprit.domain.rules.measures.service_time.services import sum_column
from culprit.domain.rules.measures.service_time.shares import get_service_times
from culprit.domain.rules.measures.service_time.thread_amounts import get_window_ms
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView, TableRow

_LOGS = (("server_logs",),)
_WORK = (("server_logs",), ("proc_threads",))


def _messages(kind: str) -> Callable[[HostView], Iterator[Measurement]]:
    """Return a reader of how often logs reported one kind of limit during the capture."""

    def read(view: HostView) -> Iterator[Measurement]:
        rows = [row for row in view.rows("limit_messages") if row.text("kind") == kind]
        for row in rows:
            count = row.number("count") or 0.0
            doubts = _list_doubts(view, row, kind)
            yield Measurement(count, (), (row.citation,), round(count), doubts, {"name": row.text("comm")})
        if not rows and (logs := view.rows("growing_logs")):
            yield Measurement(0.0, (), tuple(row.citation for row in logs), 0, (), {"name": ""})

    return read


def _programs_die(view: HostView) -> Iterator[Measurement]:
    """How often logs reported it, at the program that writes the log: a supervisor is of the service of its workers."""
    for item in _messages("programs_die")(view):
        rows = [row for row in view.rows("limit_messages") if row.citation in item.citations]
        subject = (("pid", rows[0].text("pid")),) if rows else ()
        yield replace(item, subject=subject)


def _list_doubts(view: HostView, row: TableRow, kind: str) -> tuple[Sentence, ...]:
    """Return the reason not to rely on messages that the program wrote as often in the baseline; empty without.

    If nothing has changed, each of the lines of both captures is of this one with the chance of its part of their time.
    """
    before = view.baseline
    if before is None:
        return ()
    rows = [item for item in before.rows("limit_messages") if item.text("kind") == kind]
    then = sum(item.number("count") or 0.0 for item in rows if item.text("comm") == row.text("comm"))
    now = sum(
        item.number("count") or 0.0
        for item in view.rows("limit_messages")
        if (item.text("kind"), item.text("comm")) == (kind, row.text("comm"))
    )
    seconds, seconds_then = _read_seconds(view), _read_seconds(before)
    if not (then and seconds and seconds_then):
        return ()
    is_more = estimate_event_share(now, now + then, 1.0).low > seconds / (seconds + seconds_then)
    return () if is_more else (Sentence("doubt.as_before", {"before": round(then)}),)


def _read_seconds(view: HostView) -> float:
    return max((row.number("seconds") or 0.0 for row in view.rows("growing_logs")), default=0.0)


def _list_share_doubts(view: HostView, row: TableRow, column: str, low: float) -> tuple[Sentence, ...]:
    """Return the reason not to rely on a share of requests that is not above that of the baseline; empty without.

    Args:
        row: The requests of one log.
        column: What is counted of them.
        low: The lower end of the interval of its share, in percent.
    """
    before = view.baseline
    for item in before.rows("answers") if before is not None else ():
        requests, count = item.number("requests"), item.number(column)
        is_same = (item.text("comm"), item.text("path")) == (row.text("comm"), row.text("path"))
        if is_same and requests and count and low <= estimate_share(count / requests, requests).high:
            return (Sentence("doubt.as_before", {"before": round(count)}),)
    return ()


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
                doubts = _list_share_doubts(view, row, column, interval.low)
                yield Measurement(value, (), (row.citation,), round(requests), doubts, detail, interval)

    return read


def _main_failing_clients(view: HostView) -> Iterator[Measurement]:
    """Percent of the failures of each log that a few clients have, while the others are served.

    Nothing where they send more than three quarters of the requests, or more than half and the requests of the others
    fail more than a tenth as often: then they are all clients, such as proxies. Nothing where several clients are more
    than a quarter of all: of a few programs that call a service, some may call what fails.
    """
    for row in view.rows("answers"):
        requests, failed, part, sent = (
            row.number(name) for name in ("requests", "failed", "client_failed", "client_requests")
        )
        if (
            requests
            and failed
            and part is not None
            and sent is not None
            and _are_others_served(row, failed - part)
        ):
            detail: Detail = {
                "name": row.text("comm"),
                "sent": round(100.0 * sent / requests),
                "clients": round(row.number("failing_clients") or 1.0),
            }
            interval = estimate_share(part / failed, failed)
            yield Measurement(100.0 * part / failed, (), (row.citation,), round(failed), (), detail, interval)


def _are_others_served(row: TableRow, others_failed: float) -> bool:
    failing, clients = row.number("failing_clients") or 1.0, row.number("clients") or 0.0
    requests, sent, part = (
        row.number(name) or 0.0 for name in ("requests", "client_requests", "client_failed")
    )
    are_few = failing <= 1 or 4 * failing <= clients
    are_better_off = 10 * others_failed * sent <= part * (requests - sent)
    return are_few and (2 * sent < requests or (4 * sent <= 3 * requests and are_better_off))


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


def _list_logged_work(view: HostView) -> Iterator[tuple[float, Measurement]]:
    """Yield the lines per second of each log, and the CPU time in µs that its service takes for each line.

    Several processes can append to one file, so the CPU time is that of all processes of the service.
    """
    services = get_service_times(view).services
    window_ms = get_window_ms(view.rows("process_time"))
    for row in view.rows("growing_logs"):
        service = services.find_by_pid(row.text("pid"))
        lines, read, rate = (row.number(name) or 0.0 for name in ("lines", "read", "rate"))
        if service is None or not (lines and read and rate and window_ms):
            continue
        per_s = rate * lines / read
        cpu = sum_column(service.rows, "run_ms") / window_ms
        detail: Detail = {"name": row.text("comm"), "path": row.text("path"), "lines": round(per_s)}
        cites = cite_rows((row,), service.rows)
        measurement = Measurement(1e6 * cpu / per_s, service.subject, cites, round(lines), (), detail)
        yield per_s, measurement


def _cpu_per_line(view: HostView) -> Iterator[Measurement]:
    for _, item in _list_logged_work(view):
        yield item


def _lines_per_s(view: HostView) -> Iterator[Measurement]:
    for per_s, item in _list_logged_work(view):
        yield Measurement(per_s, item.subject, item.citations, item.sample_count)


#: Statuses 500 to 599.
FAILED = build_listed_measure(
    "logs.failed_pct", "pct", "Requests answered with an error", "以错误应答的请求", _LOGS,
    _share_of_requests("failed"),
)  # fmt: skip
FAILING_CLIENT = build_listed_measure(
    "logs.one_client_pct", "pct", "Failures of the clients that have most", "失败最多的客户端所占的失败", _LOGS,
    _main_failing_clients,
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


CLIENTS_LIMITED = _count("clients_limited", "a limit of each client", "单个客户端的上限")
CONNECTIONS_FULL = _count("connections_full", "a limit of connections", "连接上限")
REQUESTS_LIMITED = _count("requests_limited", "a limit of requests", "请求速率上限")
WORKERS_FULL = _count("workers_full", "a limit of workers", "工作进程上限")
DATABASE_FULL = _count("database_full", "a limit of database connections", "数据库连接上限")
POOL_FULL = _count("pool_full", "an empty connection pool", "连接池已空")
LOCKS_WAIT = _count("locks_wait", "locks that were not free in time", "锁等待超时")
CACHE_FULL = _count("cache_full", "a full cache", "缓存已满")
HEAP_FULL = _count("heap_full", "a full heap", "堆已满")
PEER_REFUSES = _count("peer_refuses", "connections that are refused or have no route", "连接被拒绝或无路由")
READ_ONLY = _count("read_only", "a file system that is read-only", "只读文件系统")
CERTIFICATE_EXPIRED = _count("certificate_expired", "an expired certificate", "证书过期")
NAMES_FAIL = _count("names_fail", "failed name resolution", "域名解析失败")
NAMES_UNKNOWN = _count("names_unknown", "names that do not exist", "不存在的域名")
FILES_FULL = _count("files_full", "a limit of open files", "打开文件上限")
SPACE_FULL = _count("space_full", "a full file system", "空间不足")
PROCESSES_FULL = _count("processes_full", "a limit of processes", "进程数上限")
PROGRAMS_DIE = build_listed_measure(
    "logs.programs_die_count", "count", "Log lines about programs that die", "日志中报告程序异常退出的行", _LOGS,
    _programs_die,
)  # fmt: skip
FLOOD_HOURS = build_listed_measure(
    "logs.hours_to_full",
    "h",
    "Time until a log fills its file system",
    "日志写满文件系统的时间",
    _LOGS,
    _flood_hours,
)
CPU_PER_LINE = build_listed_measure(
    "logs.cpu_us_per_line",
    "us",
    "CPU time for each line of a log",
    "每行日志的 CPU 时间",
    _WORK,
    _cpu_per_line,
)
LINES_PER_S = build_listed_measure(
    "logs.lines_per_s", "per_s", "Lines that are logged", "日志行速率", _WORK, _lines_per_s
)
