"""Whether a Redis server itself keeps its clients waiting: its main thread, the requests in its hands, its upkeep."""

from __future__ import annotations

import re
from collections.abc import Mapping

from collectors.contract import Sentence, Text
from culprit.domain.rules.finding import Measurement, MissingData, Reading
from culprit.domain.rules.measures.application.waits import sum_column
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView, TableRow

#: Events that no command of a client causes. https://redis.io/docs/latest/operate/oss_and_stack/management/optimization/latency-monitor/
UPKEEP = re.compile(r"(expire-cycle|expire-del|eviction-|fork|aof-|rdb-|active-defrag)")
#: What was long ago does not explain what is slow now.
RECENT_S = 300.0


def _info(view: HostView) -> Mapping[str, TableRow]:
    return {row.text("name"): row for row in view.rows("redis_info")}


def _main_thread(view: HostView) -> Reading:
    """Percent of one CPU. Before 6.2, Redis reports only all threads together."""
    info = _info(view)
    rows = [info.get(f"used_cpu_{mode}_main_thread") for mode in ("user", "sys")]
    if (
        None in rows
        and (reported := info.get("io_threads_active")) is not None
        and reported.number("number") == 0
    ):
        rows = [info.get(f"used_cpu_{mode}") for mode in ("user", "sys")]
    known = [row for row in rows if row is not None and row.number("change") is not None]
    if len(known) < len(rows):
        return MissingData(view.missing_reason(("redis_info",)))
    cpu = 100.0 * sum(row.number("change") or 0.0 for row in known)
    return [Measurement(cpu, (), tuple(row.citation for row in known))]


def _in_hand(view: HostView) -> Reading:
    """Requests on the server's sockets that are not answered, on average; one of them it may be working on."""
    fact = view.facts.get("redis_info")
    port = fact.get("redis_port") if isinstance(fact, Mapping) else None
    mine = [
        row
        for row in view.rows("tcp_waits")
        if row.text("direction") == "in" and port and row.text("peer").rpartition(":")[2] == str(port)
    ]
    if not mine:
        return MissingData(view.missing_reason(("tcp_waits",))) if not view.has_data("tcp_waits") else []
    value = sum_column(mine, "waiting") + sum_column(mine, "unread")
    return [Measurement(value, (), tuple(row.citation for row in mine))]


def _upkeep(view: HostView) -> Reading:
    """The longest recent stop that the server made for itself.

    Its monitor is off by default, and then it has no events: nothing is known unless there is one of any kind.
    """
    rows = view.rows("redis_latency")
    if not rows:
        on = view.has_data("redis_info")
        return MissingData(
            Sentence("missing.latency_monitor") if on else view.missing_reason(("redis_info",))
        )
    results = []
    for row in rows:
        latest, age = row.number("latest"), row.number("age")
        if latest is not None and age is not None and age <= RECENT_S and UPKEEP.match(row.text("event")):
            detail: dict[str, str | int | float] = {"event": row.text("event"), "age": round(age)}
            results.append(Measurement(latest, (), (row.citation,), 1, (), detail))
    return results


MAIN_THREAD = Measure("redis.main_thread_pct", "pct", Text("CPU of Redis' main thread", "Redis 主线程 CPU"),
                      (("redis_info",),), _main_thread)  # fmt: skip
IN_HAND = Measure("redis.requests_in_hand", "count", Text("Requests in hand", "在手请求数"),
                  (("redis_info",), ("tcp_waits",)), _in_hand)  # fmt: skip
UPKEEP_MS = Measure("redis.upkeep_ms", "ms", Text("Longest stop for upkeep", "维护停顿最长时间"), (("redis_info",),),
                    _upkeep)  # fmt: skip
