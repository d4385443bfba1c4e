"""Much ado in system calls: tiny reads, lines written twice, and what strace saw of one process."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from collectors.contract import Text
from culprit.domain.rules.finding import Measurement
from culprit.domain.rules.intervals import estimate_event_rate, estimate_share
from culprit.domain.rules.measures.derived import cite_rows
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView, TableRow

Detail = dict[str, str | int | float]

#: A page: who reads less at a time than the cache holds in one piece pays for calls and not for bytes.
TINY_BYTES = 4096.0
#: A server answers after it reads; a program that reads a file reads many times before it writes.
READS_PER_WRITE = 10.0
#: One seek for each read, but for the few that go on where the one before ended.
SEEKS_PER_READ = 0.8
#: Programs that read /proc or other people's logs for a living, or whose work is to copy lines to several files.
COPIERS = re.compile(
    r"(rsyslogd|syslog-ng|journald?|systemd-journal|fluent|vector|filebeat|promtail|tee|auditd)"
)
_FILE_CALLS = re.compile(r"(read|pread64|lseek|readv)\Z")
_IMMUTABLE = re.compile(r"\.(jar|so(\.[0-9.]+)?|war|zip|pyc|class)\Z")


def _tiny_reads(view: HostView) -> Iterator[Measurement]:
    for row in view.rows("proc_io"):
        reads, size = row.number("syscr_per_s"), row.number("bytes_per_read")
        writes = row.number("syscw_per_s") or 0.0
        if reads is None or size is None or row.number("kernel_thread"):
            continue
        tiny = size <= TINY_BYTES and reads >= READS_PER_WRITE * writes
        detail: Detail = {"name": row.text("comm"), "bytes": round(size), "reads": round(reads)}
        pid = str(int(row.number("pid") or 0))
        yield Measurement(reads if tiny else 0.0, (("pid", pid),), (row.citation,), int(reads), (), detail)


def _cpu(view: HostView) -> Iterator[Measurement]:
    for row in view.rows("processes"):
        cpu, pid = row.number("cpu"), row.number("pid")
        if cpu is not None and pid is not None:
            yield Measurement(cpu, (("pid", str(int(pid))),), (row.citation,))


def _cpu_per_read(view: HostView) -> Iterator[Measurement]:
    """All that the process computes, by its reads: kernels differ in whether a short call counts as theirs."""
    reads = {row.number("pid"): row for row in view.rows("proc_io")}
    for row in view.rows("processes"):
        cpu, pid = row.number("cpu"), row.number("pid")
        mine = reads.get(pid)
        rate = mine.number("syscr_per_s") if mine else None
        if cpu is not None and pid is not None and mine is not None and rate:
            yield Measurement(
                1e4 * cpu / rate, (("pid", str(int(pid))),), (row.citation, mine.citation), int(rate)
            )


def _repeated_lines(view: HostView) -> Iterator[Measurement]:
    for row in view.rows("log_repeats"):
        share, lines = row.number("share"), row.number("other_lines")
        if share is not None and lines is not None and not COPIERS.search(row.text("comm")):
            detail: Detail = {
                "name": row.text("comm"),
                "file": row.text("file"),
                "copy": row.text("other_file"),
            }
            pid = str(int(row.number("pid") or 0))
            yield Measurement(
                share,
                (("file", row.text("other_file")), ("pid", pid)),
                (row.citation,),
                int(lines),
                (),
                detail,
            )


def _repeated_count(view: HostView) -> Iterator[Measurement]:
    for row in view.rows("log_repeats"):
        pid = str(int(row.number("pid") or 0))
        repeated = row.number("repeated") or 0.0
        yield Measurement(
            repeated, (("file", row.text("other_file")), ("pid", pid)), (row.citation,), int(repeated)
        )


def _measure_second_file_lines(view: HostView) -> Iterator[Measurement]:
    """Lines that went into the file that holds the copies, in the window."""
    for row in view.rows("log_repeats"):
        pid, lines = str(int(row.number("pid") or 0)), row.number("other_lines")
        if lines is not None:
            yield Measurement(
                lines, (("file", row.text("other_file")), ("pid", pid)), (row.citation,), int(lines)
            )


def _of_writers(view: HostView, column: str) -> Iterator[Measurement]:
    """A rate of each process that writes, of all its files and connections together."""
    for row in view.rows("proc_io"):
        value = row.number(column)
        if value is not None:
            yield Measurement(value, (("pid", str(int(row.number("pid") or 0))),), (row.citation,))


def _repeated_payloads(view: HostView) -> Iterator[Measurement]:
    for row in view.rows("strace_repeats"):
        share = row.number("share")
        if share is not None:
            detail: Detail = {"file": row.text("from"), "copy": row.text("to")}
            count = int(row.number("of_writes") or 0)
            yield Measurement(
                share, (("file", row.text("to")),), (row.citation,), count, (), detail,
                estimate_share(share / 100, count),
            )  # fmt: skip


def _futex_waits(view: HostView) -> Iterator[Measurement]:
    for row in view.rows("strace_futex"):
        wait = row.number("max_wait")
        if wait is not None:
            waker = row.text("waker_tid") or "-"
            detail: Detail = {"address": row.text("address"), "waker": waker}
            yield Measurement(
                wait, (("tid", row.text("tid")),), (row.citation,), int(row.number("waits") or 0), (), detail
            )


def _futex_wakes(view: HostView) -> Iterator[Measurement]:
    for row in view.rows("strace_futex"):
        yield Measurement(row.number("wakes") or 0.0, (("tid", row.text("tid")),), (row.citation,))


def _reply_waits(view: HostView) -> Iterator[Measurement]:
    """The longest wait of a thread on a connection: in the read itself, or in a poll with nothing else to do."""
    for row in view.rows("strace_waits"):
        wait, syscall = row.number("wait"), row.text("syscall")
        on_socket = "TCP" in row.text("what") or "UNIX" in row.text("what")
        if wait is not None and (syscall in {"poll", "ppoll"} or (syscall.startswith("recv") and on_socket)):
            yield Measurement(wait, (("tid", row.text("tid")),), (row.citation,), 1, (), {"call": syscall})


def _broken_pipes(view: HostView) -> Iterator[Measurement]:
    """Of the log a second; of strace, which looks for three, the same."""
    for row in view.rows("log_patterns"):
        if row.text("pattern") == "epipe":
            rate, count = row.number("rate") or 0.0, row.number("count") or 0.0
            interval = estimate_event_rate(count, count / rate) if rate > 0 else None
            yield Measurement(rate, (), (row.citation,), int(count), interval=interval)
    fact = view.facts.get("strace")
    seconds = fact.get("strace_seconds") if isinstance(fact, dict) else None
    for row in view.rows("strace_calls"):
        if row.text("top_error") == "EPIPE":
            errors = row.number("errors") or 0.0
            rate = errors / (seconds if isinstance(seconds, int) and seconds > 0 else 3.0)
            yield Measurement(rate, (("tid", row.text("tid")),), (row.citation,), int(errors))


def _archive_time(view: HostView) -> Iterator[Measurement]:
    """Of all the time that a thread spent in calls, the part on one file that never changes."""
    spent: dict[str, float] = defaultdict(float)
    for row in view.rows("strace_calls"):
        spent[row.text("tid")] += row.number("total") or 0.0
    on_file: dict[tuple[str, str], float] = defaultdict(float)
    rows: dict[tuple[str, str], list[TableRow]] = {}
    for row in view.rows("strace_calls"):
        if _FILE_CALLS.match(row.text("syscall")) and _IMMUTABLE.search(row.text("what")):
            key = row.text("tid"), row.text("what")
            on_file[key] += row.number("total") or 0.0
            rows.setdefault(key, []).append(row)
    for (tid, what), ms in on_file.items():
        cites = cite_rows(row for row in view.rows("strace_calls") if row.text("tid") == tid)
        calls = int(sum(row.number("calls") or 0 for row in rows[tid, what]))
        yield Measurement(
            100.0 * ms / max(spent[tid], 1e-9), (("tid", tid),), cites, calls, (), {"file": what}
        )


def _seek_reads(view: HostView) -> Iterator[Measurement]:
    """Reads of a page or less in one file that never changes, each after a seek, by thread."""
    calls: dict[tuple[str, str], dict[str, TableRow]] = defaultdict(dict)
    for row in view.rows("strace_calls"):
        if _FILE_CALLS.match(row.text("syscall")) and _IMMUTABLE.search(row.text("what")):
            calls[row.text("tid"), row.text("what")][row.text("syscall")] = row
    for (tid, what), rows in calls.items():
        # pread64 brings its own place along: each of them is a seek and a read.
        own = rows.get("pread64")
        reading, seeking = rows.get("read", own), rows.get("lseek", own)
        if reading is None:
            continue
        reads = reading.number("calls") or 0.0
        seeks = (seeking.number("calls") or 0.0) if seeking else 0.0
        size = reading.number("mode_bytes")
        tiny = size is not None and size <= TINY_BYTES and seeks >= SEEKS_PER_READ * reads
        detail: Detail = {"file": what, "bytes": round(size or 0.0), "seeks": int(seeks)}
        yield Measurement(
            reads if tiny else 0.0, (("tid", tid),), cite_rows(rows.values()), int(reads), (), detail
        )


_STRACE = (("strace",),)
TINY_READS = Measure("io.tiny_reads_per_s", "per_s", Text("Reads of a page or less", "不超过一页的读"),
                     (("proc_io",),), lambda view: list(_tiny_reads(view)))  # fmt: skip
CPU = Measure(
    "proc.cpu_total_pct",
    "pct",
    Text("CPU of the process", "进程 CPU"),
    (("proc_top",),),
    lambda view: list(_cpu(view)),
)
CPU_PER_READ = Measure("io.cpu_us_per_read", "us", Text("CPU for each read", "每次读的 CPU"),
                       (("proc_top",), ("proc_io",)), lambda view: list(_cpu_per_read(view)))  # fmt: skip
REPEATED_LINES = Measure("log.repeated_pct", "pct", Text("Lines in both files", "两个文件中都有的行"),
                         (("log_repeats",),), lambda view: list(_repeated_lines(view)))  # fmt: skip
REPEATED_COUNT = Measure("log.repeated_count", "count", Text("Lines in both files", "两个文件中都有的行数"),
                         (("log_repeats",),), lambda view: list(_repeated_count(view)))  # fmt: skip
REPEATED_PAYLOADS = Measure("fd.write_dup_ratio_pct", "pct", Text("Payloads written twice", "重复写入的内容"),
                            _STRACE, lambda view: list(_repeated_payloads(view)))  # fmt: skip
OTHER_LINES = Measure("log.twin_lines", "count", Text("Lines in the second file", "第二个文件的行数"),
                     (("log_repeats",),), lambda view: list(_measure_second_file_lines(view)))  # fmt: skip
WRITTEN = Measure("proc.written_bytes_per_s", "bytes_per_s", Text("Written by the process", "进程写入速率"),
                  (("proc_io",),), lambda view: list(_of_writers(view, "wchar_per_s")))  # fmt: skip
WRITES = Measure("proc.writes_per_s", "per_s", Text("Writes of the process", "进程写次数"), (("proc_io",),),
                 lambda view: list(_of_writers(view, "syscw_per_s")))  # fmt: skip
FUTEX_WAIT = Measure("futex.wait_ms", "ms", Text("Longest futex wait", "最长 futex 等待"), _STRACE,
                     lambda view: list(_futex_waits(view)))  # fmt: skip
FUTEX_WAKES = Measure("futex.wakes_count", "count", Text("Waits that another thread ended", "由其他线程唤醒的等待"),
                      _STRACE, lambda view: list(_futex_wakes(view)))  # fmt: skip
CALL_WAIT = Measure("strace.reply_wait_ms", "ms", Text("Wait for a reply", "等待应答"), _STRACE,
                    lambda view: list(_reply_waits(view)))  # fmt: skip
BROKEN_PIPES = Measure("app.epipe_per_s", "per_s", Text("Broken pipes", "管道断开"), (("app_log", "strace"),),
                       lambda view: list(_broken_pipes(view)))  # fmt: skip
ARCHIVE_TIME = Measure("strace.fd_time_share_pct", "pct", Text("Time on one archive", "单个归档文件耗时"), _STRACE,
                       lambda view: list(_archive_time(view)))  # fmt: skip
SEEK_READS = Measure("strace.seek_reads_count", "count", Text("Tiny reads, each after a seek", "先定位再读的极小读取"),
                     _STRACE, lambda view: list(_seek_reads(view)))  # fmt: skip
