"""Java threads that queue for a lock, as far as requests wait at the same time."""

from __future__ import annotations

from collections.abc import Iterator

from collectors.contract import Text
from culprit.domain.rules.finding import Measurement, Subject
from culprit.domain.rules.measures.derived import cite_rows
from culprit.domain.rules.measures.service_time.services import LocalService
from culprit.domain.rules.measures.service_time.shares import get_service_times
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView, TableRow


def _list_queues(view: HostView) -> Iterator[tuple[TableRow, TableRow | None, LocalService | None]]:
    """Yield each lock that Java threads want, with the row that shows its process and the service, None if unknown.

    Where the dump does not state its process, the threads of the host do: `nid` is the ID of the thread in the kernel.
    """
    rows = [row for row in view.rows("java_locks") if row.number("queue_dumps")]
    if not rows:
        return
    services, tids = (
        get_service_times(view).services,
        {row.number("tid") for row in view.rows("java_threads")},
    )
    known = next((row for row in view.rows("threads") if row.number("tid") in tids), None)
    for row in rows:
        source = row if row.number("pid") else known
        pid = str(int(source.number("pid") or 0)) if source is not None else ""
        yield row, source, services.find_by_pid(pid)


def _build_subject(row: TableRow, source: TableRow | None, service: LocalService | None) -> Subject:
    place = dict(service.subject) if service is not None else {}
    if service is None and source is not None:
        place["pid"] = str(int(source.number("pid") or 0))
    return tuple(sorted({**place, "lock": row.text("lock")}.items()))


def _queue(view: HostView) -> Iterator[Measurement]:
    """Threads that want to lock it, on average over all dumps, by lock."""
    for row, source, service in _list_queues(view):
        detail: dict[str, str | int | float] = {
            "lock": row.text("lock_class"), "seen": int(row.number("queue_dumps") or 0),
            "dumps": int(row.number("dumps") or 0), "name": service.name if service is not None else "java",
        }  # fmt: skip
        cites = cite_rows([row], [source] if source is not None else [])
        yield Measurement(
            row.number("queue_mean") or 0.0,
            _build_subject(row, source, service),
            cites,
            int(detail["dumps"]),
            (),
            detail,
        )


def _seen(view: HostView) -> Iterator[Measurement]:
    """Dumps in which a thread wants to lock it, by lock."""
    for row, source, service in _list_queues(view):
        value, dumps = row.number("queue_dumps") or 0.0, int(row.number("dumps") or 0)
        yield Measurement(value, _build_subject(row, source, service), (row.citation,), dumps)


def _part(view: HostView) -> Iterator[Measurement]:
    """Percent of the requests of the service that wait, on average, which as many threads as queue for the lock are."""
    times = get_service_times(view)
    for row, source, service in _list_queues(view):
        account = times.find(service) if service is not None else None
        requests = account.waiting + account.queued if account is not None else 0.0
        if account is not None and requests > 0:
            value = min(1.0, (row.number("queue_mean") or 0.0) / requests)
            cites = tuple(dict.fromkeys((row.citation, *account.citations, *account.sources)))
            subject = _build_subject(row, source, service)
            yield Measurement(100.0 * value, subject, cites, int(row.number("dumps") or 0))


_DUMPS = (("jstack",),)
JAVA_QUEUE = Measure(
    "lock.java_queue_mean", "count", Text("Java threads that want one lock", "想获取同一把锁的 Java 线程数"), _DUMPS,
    lambda view: list(_queue(view)),
)  # fmt: skip
JAVA_QUEUE_SEEN = Measure(
    "lock.java_queue_dumps", "count", Text("Dumps with a queue for the lock", "出现锁队列的转储数"), _DUMPS,
    lambda view: list(_seen(view)),
)  # fmt: skip
JAVA_QUEUE_PART = Measure(
    "lock.java_queue_pct", "pct", Text("Requests that the queue for the lock may be", "锁队列占等待请求的比例"),
    (("jstack",), ("tcp_waits",), ("proc_threads",)), lambda view: list(_part(view)),
)  # fmt: skip
