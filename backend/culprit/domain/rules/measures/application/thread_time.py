"""Measures over the time accounts of services: how long requests wait, and where their time goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from collectors.contract import Sentence, Text
from culprit.domain.rules.finding import Measurement, MissingData, Reading
from culprit.domain.rules.measures.application.time_accounts import TimeAccount, is_local, read_accounts
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView

NEEDS = (("proc_threads",), ("tcp_waits",))
Detail = dict[str, str | int | float]
Pick = Callable[[str, str], bool]


def _read(build: Callable[[HostView, TimeAccount], Iterator[Measurement]]) -> Callable[[HostView], Reading]:
    """Return how a measure is read from every account. Without samples of threads the reason is returned."""

    def read(view: HostView) -> Reading:
        if not view.rows("process_time"):
            return (
                MissingData(Sentence("missing.no_thread_time"))
                if view.has_data("proc_threads")
                else MissingData(view.missing_reason(("proc_threads",)))
            )
        return [item for account in read_accounts(view) for item in build(view, account)]

    return read


def _shorten_name(account: TimeAccount) -> str:
    return account.name.rpartition(" ")[0]


def _oldest(view: HostView, account: TimeAccount) -> Iterator[Measurement]:
    del view
    if account.citations:
        detail: Detail = {
            "name": _shorten_name(account),
            "waiting": round(account.waiting, 1),
            "queued": round(account.queued, 1),
        }
        yield Measurement(account.oldest_ms, account.subject, account.citations, account.samples, (), detail)


def _waiting(view: HostView, account: TimeAccount) -> Iterator[Measurement]:
    """Requests that a service has not answered; a service that others wait for has those of its callers."""
    del view
    if account.citations:
        value = account.waiting + account.queued
        yield Measurement(value, account.subject, account.citations, account.samples)


def _share_of(activities: frozenset[str], *, per_target: bool = False, pick: Pick | None = None) -> Measure:
    """Return the measure of the share of these activities in the time of a service that is not idle, in percent."""
    name = min(activities)

    def build(view: HostView, account: TimeAccount) -> Iterator[Measurement]:
        del view
        total = account.total
        if not total:
            return
        by_target: dict[str, float] = {}
        for (activity, target), amount in account.amounts.items():
            if activity in activities and (pick is None or pick(activity, target)):
                key = target if per_target else "-"
                by_target[key] = by_target.get(key, 0.0) + amount.number
        for target, number in by_target.items():
            yield _measure_share(account, activities, target, min(1.0, number / total), per_target=per_target)
        if not by_target:
            yield _measure_share(account, activities, "-", 0.0, per_target=False)

    measure_id = f"time.{name}_pct" if pick is None else f"time.remote_{name}_pct"
    return Measure(measure_id, "pct", TITLES[name], NEEDS, _read(build))


def _measure_share(
    account: TimeAccount, activities: frozenset[str], target: str, share: float, *, per_target: bool
) -> Measurement:
    cites = [
        citation
        for (activity, place), amount in account.amounts.items()
        if activity in activities and (not per_target or place == target)
        for citation in amount.citations
    ] or [citation for amount in account.amounts.values() for citation in amount.citations[:1]]
    _, low, high = account.share(activities)
    detail: Detail = {"name": _shorten_name(account), "target": target}
    params = {"samples": account.samples, "low": round(100 * low, 1), "high": round(100 * high, 1)}
    why = Sentence("doubt.between", params)
    subject = account.subject if target == "-" else tuple(sorted((*account.subject, ("dst", target))))
    bounds = None if per_target else (100 * min(low, share), 100 * max(high, share), why)
    return Measurement(100 * share, subject, tuple(cites[:8]), account.samples, (), detail, bounds)


TITLES = {
    "peer": Text("Time spent waiting for a peer", "等待对端的时间"),
    "name": Text("Time spent waiting for name resolution", "等待域名解析的时间"),
    "lock": Text("Time spent waiting for a lock", "等待锁的时间"),
    "file_lock": Text("Time spent waiting for a file lock", "等待文件锁的时间"),
    "park": Text("Time spent waiting for another thread", "等待其他线程的时间"),
    "disk": Text("Time spent waiting for a disk", "等待磁盘的时间"),
    "filesystem": Text("Time spent waiting for a remote file system", "等待远程文件系统的时间"),
    "fault": Text("Time spent in page faults", "处理缺页的时间"),
    "runnable": Text("Time spent waiting for a CPU", "等待 CPU 的时间"),
    "running": Text("Time spent on a CPU", "占用 CPU 的时间"),
    "pipe": Text("Time spent writing to a full pipe", "写满管道的等待时间"),
}

OLDEST = Measure(
    "requests.oldest_ms", "ms", Text("Longest wait of a request", "请求最长等待"), NEEDS, _read(_oldest)
)
WAITING = Measure(
    "requests.waiting_count", "count", Text("Requests that wait", "等待中的请求"), NEEDS, _read(_waiting)
)
PEER = _share_of(
    frozenset({"peer"}),
    per_target=True,
    pick=lambda activity, target: activity == "peer" and not is_local(target),
)
ANY_PEER = _share_of(frozenset({"peer"}), per_target=True)
NAME = _share_of(frozenset({"name"}))
LOCK = _share_of(frozenset({"lock"}))
FILE_LOCK = _share_of(frozenset({"file_lock"}))
PARK = _share_of(frozenset({"park"}))
DISK = _share_of(frozenset({"disk"}))
FILESYSTEM = _share_of(frozenset({"filesystem"}), per_target=True)
FAULT = _share_of(frozenset({"fault"}))
RUNNABLE = _share_of(frozenset({"runnable"}))
RUNNING = _share_of(frozenset({"running"}))


def _others(view: HostView, account: TimeAccount) -> Iterator[Measurement]:
    """Percent of the used CPU time that went to processes outside of the service, its callers and its peers."""
    related = {pid for item in read_accounts(view) for pid in item.pids}
    rows = [row for row in view.rows("processes") if row.number("cpu")]
    used = sum(row.number("cpu") or 0.0 for row in rows)
    others = sorted(
        (row for row in rows if row.text("pid") not in related), key=lambda row: -(row.number("cpu") or 0.0)
    )
    if not used:
        return
    share = 100 * sum(row.number("cpu") or 0.0 for row in others) / used
    busiest = ", ".join(f"{row.text('comm')} {row.number('cpu') or 0.0:.0f} %" for row in others[:3]) or "-"
    detail: Detail = {"name": _shorten_name(account), "busiest": busiest}
    cites = tuple(row.citation for row in (others or rows)[:6])
    yield Measurement(share, account.subject, cites, len(rows), (), detail)


OTHERS = Measure(
    "time.cpu_of_others_pct",
    "pct",
    Text("CPU time of other processes", "其他进程的 CPU 时间"),
    (*NEEDS, ("proc_top",)),
    _read(_others),
)
