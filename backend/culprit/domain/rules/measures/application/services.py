"""Numbers that applications, databases and caches report, and the cost of a database's statements."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from collectors.contract import Text
from culprit.domain.profiles.search import search_frames
from culprit.domain.profiles.stacks import SampleFilter
from culprit.domain.rules.finding import Measurement, MissingData, Reading
from culprit.domain.rules.intervals import (
    Interval,
    estimate_event_rate,
    estimate_event_share,
    estimate_share,
    poisson_interval,
)
from culprit.domain.rules.measures.derived import cite_rows
from culprit.domain.rules.measures.service_time.shares import cite_time, get_service_times
from culprit.domain.rules.measures.service_time.thread_amounts import get_window_ms
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView, TableRow

Detail = dict[str, str | int | float]

DATABASES = re.compile(r"(postgres|postmaster|mysqld|mariadbd|mongod)\Z")
#: Functions that work on the rows of one statement: scans, expressions, sorts, joins and matching of text.
STATEMENT = (
    r"^(Exec[A-Z]|heap|HeapTuple|SeqNext|Index|index_|_bt_|tts_|slot_|tuplesort|ReadBuffer|textregex|RE_"
    r"|(longest|shortest|miss|cfind|getvacant)$|jsonb_|numeric_|row_search|rec_get|sub_select|Item_)"
)
#: Collector names of imported files in their run.
LOAD_TESTS = ("import.wrk", "import.vegeta", "import.jmeter", "import.iperf3")
TRACES = ("import.jaeger", "import.zipkin", "import.otlp")
#: A slow command is news while it is young.
RECENT_S = 300.0


def _pattern(view: HostView, name: str) -> TableRow | None:
    return next((row for row in view.rows("log_patterns") if row.text("pattern") == name), None)


def _lines_of(pattern: str) -> Callable[[HostView], Reading]:
    """How many lines of one kind the log has; none where it has none of it."""

    def read(view: HostView) -> Reading:
        row = _pattern(view, pattern)
        if row is not None:
            ago = row.number("last_ago") or 0.0
            detail: Detail = {"ago": round(ago), "rate": round(row.number("rate") or 0.0, 2)}
            return [Measurement(row.number("count") or 0.0, (), (row.citation,), 0, (), detail)]
        return [] if view.has_data("app_log") else MissingData(view.missing_reason(("app_log",)))

    return read


def _timeout_mode(view: HostView) -> Iterator[Measurement]:
    row = _pattern(view, "timeout")
    count = row.number("count") if row else None
    if row is not None and count:
        detail: Detail = {"mode": row.number("mode") or 0.0}
        share = (row.number("mode_count") or 0.0) / count
        yield Measurement(
            100.0 * share, (), (row.citation,), int(count), (), detail, estimate_share(share, count)
        )


def _complaints(view: HostView) -> Iterator[Measurement]:
    """Lines of each kind a minute."""
    for row in view.rows("log_patterns"):
        rate = row.number("rate")
        if rate is not None:
            kind = row.text("pattern")
            count = int(row.number("count") or 0)
            interval = estimate_event_rate(count, count / (60.0 * rate)) if rate > 0 else None
            yield Measurement(
                60.0 * rate, (("pattern", kind),), (row.citation,), count, (), {"pattern": kind}, interval
            )


def _bad_answers(view: HostView) -> Iterator[Measurement]:
    """Of the worst stage of a load test that was imported, else of probes."""
    stages = [row for row in view.rows("load_test") if row.number("non2xx_pct") is not None]
    if stages:
        row = max(stages, key=lambda stage: stage.number("non2xx_pct") or 0.0)
        share, requests = row.number("non2xx_pct") or 0.0, row.number("requests") or 0.0
        interval = estimate_event_share(share * requests / 100, requests) if requests else None
        yield Measurement(share, (), (row.citation,), int(requests), interval=interval)
    for row in view.rows("probes"):
        answered, bad = row.number("answered"), row.number("http_errors")
        if row.text("kind") == "http" and answered and bad is not None:
            interval = estimate_share(bad / answered, answered)
            yield Measurement(100.0 * bad / answered, (), (row.citation,), int(answered), interval=interval)


def _span_share(view: HostView) -> Iterator[Measurement]:
    """Measure the operation with the greatest share of self time."""
    rows = view.rows("spans_by_operation")
    row = max(rows, key=lambda row: row.number("self_share_pct") or 0.0, default=None)
    if row is not None:
        detail: Detail = {"service": row.text("service"), "operation": row.text("operation")}
        share, count = row.number("self_share_pct") or 0.0, int(row.number("count") or 0)
        yield Measurement(share, (("service", row.text("service")),), (row.citation,), count, (), detail)


def _redis_slowest(view: HostView) -> Iterator[Measurement]:
    for row in view.rows("redis_slowlog"):
        ms, age = row.number("duration"), row.number("age")
        if ms is not None and (age is None or age <= RECENT_S):
            yield Measurement(ms, (), (row.citation,), 1, (), {"command": row.text("command")})


def _redis_value(view: HostView, *names: str) -> Iterator[Measurement]:
    for row in view.rows("redis_info"):
        value = row.number("number")
        if row.text("name") in names and value is not None:
            yield Measurement(value, (), (row.citation,))


def _statement_share(view: HostView) -> Iterator[Measurement]:
    """The greatest share of the time of all statements, since the server's statistics were last reset."""
    rows = view.rows("db_statements")
    total = sum(row.number("total") or 0.0 for row in rows)
    if total > 0 and len(rows) > 1:
        row = max(rows, key=lambda row: row.number("total") or 0.0)
        calls = int(row.number("calls") or 0)
        detail: Detail = {"query": row.text("query")[:80]}
        yield Measurement(
            100.0 * (row.number("total") or 0.0) / total, (), cite_rows(rows), calls, (), detail
        )


def _list_processes(view: HostView) -> Sequence[tuple[TableRow, float]]:
    """Return processes and their CPU time in percent of one CPU.

    `thread_groups` has only the processes that a diagnosis is about, `process_time` those of the whole host.
    """
    rows = view.rows("process_time")
    window_ms = get_window_ms(rows)
    if window_ms > 0:
        return [(row, 100.0 * (row.number("run_ms") or 0.0) / window_ms) for row in rows]
    return [(row, row.number("cpu_pct") or 0.0) for row in view.rows("thread_groups")]


def _servers(view: HostView) -> Mapping[str, Sequence[tuple[TableRow, float]]]:
    """Return processes of databases and their CPU time by control group."""
    by_group: dict[str, list[tuple[TableRow, float]]] = defaultdict(list)
    for row, cpu in _list_processes(view):
        if DATABASES.match(row.text("comm")):
            by_group[row.text("cgroup") or "/"].append((row, cpu))
    return by_group


def _database_cpu(view: HostView) -> Iterator[Measurement]:
    for cgroup, processes in _servers(view).items():
        rows = [row for row, _ in processes]
        detail: Detail = {"name": rows[0].text("comm")}
        yield Measurement(
            sum(cpu for _, cpu in processes), (("cgroup", cgroup),), cite_rows(rows), len(rows), (), detail
        )


def _database_share(view: HostView) -> Iterator[Measurement]:
    """Return the share of each database in the CPU time of all processes."""
    everything = _list_processes(view)
    total = sum(cpu for _, cpu in everything)
    cites = cite_rows(row for row, _ in everything)
    for item in _database_cpu(view) if total > 0 else ():
        yield replace(item, value=100.0 * item.value / total, citations=cites, sample_count=len(everything))


def _cpu_per_turn(view: HostView) -> Iterator[Measurement]:
    """CPU between two waits: a session waits for its client at least once a statement.

    Where the threads of a server are not listed, because the diagnosis is about another process, it is the CPU time of
    the statement that has waited longest: that part of the time of the server's requests which it runs.
    """
    threads: dict[float, list[TableRow]] = defaultdict(list)
    for row in view.rows("threads"):
        threads[row.number("pid") or 0.0].append(row)
    for cgroup, processes in _servers(view).items():
        groups = [row for row, _ in processes]
        rows = [row for group in groups for row in threads.get(group.number("pid") or 0.0, [])]
        cpu_ms = sum(10.0 * (row.number("cpu_pct") or 0.0) for row in rows)
        turns = sum(row.number("voluntary_per_s") or 0.0 for row in rows)
        if rows:
            seconds = view.covered_seconds("proc_threads")
            low, high = (end / seconds for end in poisson_interval(turns * seconds))
            interval = Interval("events", cpu_ms / high, cpu_ms / low if low else math.inf)
            value = cpu_ms / max(turns, 1 / seconds)
            yield Measurement(
                value,
                (("cgroup", cgroup),),
                cite_rows(rows, groups),
                round(turns * seconds),
                interval=interval,
            )
        else:
            yield from _measure_longest_statement(view, cgroup, groups)


def _measure_longest_statement(
    view: HostView, cgroup: str, groups: Sequence[TableRow]
) -> Iterator[Measurement]:
    pids = {row.text("pid") for row in groups}
    for account in get_service_times(view).accounts:
        if account.service.pids & pids and account.oldest_ms > 0:
            part = account.share_of("running", "")
            low, value, high = (account.oldest_ms * share for share in (part.low, part.value, part.high))
            yield Measurement(
                value, (("cgroup", cgroup),), cite_time(account), account.samples,
                interval=Interval("sampled", low, high),
            )  # fmt: skip


def _statement_stacks(view: HostView) -> Iterator[Measurement]:
    """Percent of the samples of a database's processes that fall into work on rows."""
    stacks = view.stacks.get("on_cpu")
    if stacks is None:
        return
    for cgroup, rows in _servers(view).items():
        pids = tuple(int(row.number("pid") or 0) for row, _ in rows)
        seen = stacks.profile.view(SampleFilter(pid=pids, hide_idle=True))
        frames = search_frames(seen, STATEMENT, regex=True)
        citations = (replace(stacks.citation, frame=STATEMENT), *cite_rows(row for row, _ in rows))
        detail: Detail = {"frames": ", ".join(frames.frames[:4]), "samples": seen.samples}
        yield Measurement(
            100.0 * frames.share, (("cgroup", cgroup),), citations, seen.samples, stacks.quality_issues(), detail,
            stacks.estimate_interval(frames.share, seen.samples),
        )  # fmt: skip


_LOG, _REDIS, _THREADS = (("app_log",),), (("redis_info",),), (("proc_threads",),)
TIMEOUT_MODE = Measure("log.duration_mode_pct", "pct", Text("Timeouts of one duration", "同一时长的超时"), _LOG,
                       lambda view: list(_timeout_mode(view)))  # fmt: skip
WORKERS_FULL = Measure("log.workers_full_count", "count", Text("Lines about a full pool", "工作池已满的日志行"), _LOG,
                       _lines_of("workers_full"))  # fmt: skip
POOL_EXHAUSTED = Measure("log.pool_exhausted_count", "count", Text("Lines about an empty pool", "连接池耗尽的日志行"),
                         _LOG, _lines_of("pool_exhausted"))  # fmt: skip
COMPLAINTS = Measure("log.matches_per_min", "per_min", Text("Lines a minute", "每分钟行数"), _LOG,
                     lambda view: list(_complaints(view)))  # fmt: skip
BAD_ANSWERS = Measure("app.non2xx_pct", "pct", Text("Answers that are errors", "错误应答"),
                      ((*LOAD_TESTS, "http_probe"),), lambda view: list(_bad_answers(view)))  # fmt: skip
SPAN_SHARE = Measure("span.self_time_share_pct", "pct", Text("Own time of a segment", "分段自身耗时"),
                     (TRACES,), lambda view: list(_span_share(view)))  # fmt: skip
REDIS_SLOWEST = Measure("redis.slowlog_max_ms", "ms", Text("Slowest command", "最慢命令"), _REDIS,
                        lambda view: list(_redis_slowest(view)))  # fmt: skip
REDIS_HZ = Measure("redis.hz", "per_s", Text("hz", "hz"), _REDIS,
                   lambda view: list(_redis_value(view, "hz", "config_hz")))  # fmt: skip
STATEMENT_SHARE = Measure("db.sql_cpu_share_pct", "pct", Text("Time of one statement", "单条语句耗时占比"),
                          (("db_sessions",),), lambda view: list(_statement_share(view)))  # fmt: skip
DATABASE_CPU = Measure("db.cpu_pct", "pct", Text("CPU of the database", "数据库 CPU"), _THREADS,
                       lambda view: list(_database_cpu(view)))  # fmt: skip
DATABASE_SHARE = Measure("db.share_of_busy_pct", "pct", Text("The database's part of the CPU used", "数据库占已用 CPU"),
                         _THREADS, lambda view: list(_database_share(view)))  # fmt: skip
CPU_PER_TURN = Measure("db.cpu_ms_per_statement", "ms", Text("CPU between two waits", "两次等待间的 CPU"), _THREADS,
                       lambda view: list(_cpu_per_turn(view)))  # fmt: skip
STATEMENT_STACKS = Measure("db.statement_samples_pct", "pct", Text("Samples in work on rows", "处理行数据的采样"),
                           (("perf_record",), ("proc_threads",)),
                           lambda view: list(_statement_stacks(view)))  # fmt: skip
