"""Whether a Redis server itself keeps its clients waiting: its main thread, the requests in its hands, its upkeep."""

from __future__ import annotations

import re
from collections.abc import Mapping

from collectors.contract import Sentence, Text
from culprit.core.rules.contract import Measure, Measured, Missing, Reading
from culprit.core.rules.measures.app_waits import total
from culprit.core.rules.view import Row, View

#: Events that nobody asked for with a command. https://redis.io/docs/latest/operate/oss_and_stack/management/optimization/latency-monitor/
UPKEEP = re.compile(r"(expire-cycle|expire-del|eviction-|fork|aof-|rdb-|active-defrag)")
#: What was long ago does not explain what is slow now.
RECENT_S = 300.0


def _info(view: View) -> Mapping[str, Row]:
    return {row.text("name"): row for row in view.rows("redis_info")}


def _main_thread(view: View) -> Reading:
    """Percent of one CPU. Before 6.2 only all threads together are told, which is the main one where no other works."""
    info = _info(view)
    rows = [info.get(f"used_cpu_{mode}_main_thread") for mode in ("user", "sys")]
    if None in rows and (told := info.get("io_threads_active")) is not None and told.number("number") == 0:
        rows = [info.get(f"used_cpu_{mode}") for mode in ("user", "sys")]
    known = [row for row in rows if row is not None and row.number("change") is not None]
    if len(known) < len(rows):
        return Missing(view.why_not(("redis_info",)))
    cpu = 100.0 * sum(row.number("change") or 0.0 for row in known)
    return [Measured(cpu, (), tuple(row.cite for row in known))]


def _in_hand(view: View) -> Reading:
    """Requests on the server's sockets that are not answered, on average; one of them it may be working on."""
    told = view.facts.get("redis_info")
    port = told.get("redis_port") if isinstance(told, Mapping) else None
    mine = [
        row
        for row in view.rows("tcp_waits")
        if row.text("direction") == "in" and port and row.text("peer").rpartition(":")[2] == str(port)
    ]
    if not mine:
        return Missing(view.why_not(("tcp_waits",))) if not view.has("tcp_waits") else []
    value = total(mine, "waiting") + total(mine, "unread")
    return [Measured(value, (), tuple(row.cite for row in mine[:3]))]


def _upkeep(view: View) -> Reading:
    """The longest recent stop that the server made for itself.

    Its monitor is off by default, and then it has no events: nothing is known unless there is one of any kind.
    """
    rows = view.rows("redis_latency")
    if not rows:
        on = view.has("redis_info")
        return Missing(Sentence("missing.latency_monitor") if on else view.why_not(("redis_info",)))
    found = []
    for row in rows:
        latest, age = row.number("latest"), row.number("age")
        if latest is not None and age is not None and age <= RECENT_S and UPKEEP.match(row.text("event")):
            detail: dict[str, str | int | float] = {"event": row.text("event"), "age": round(age)}
            found.append(Measured(latest, (), (row.cite,), 1, (), detail))
    return found


MAIN_THREAD = Measure("redis.main_thread_pct", "pct", Text("CPU of Redis' main thread", "Redis 主线程 CPU"),
                      (("redis_info",),), _main_thread)  # fmt: skip
IN_HAND = Measure("redis.requests_in_hand", "count", Text("Requests in hand", "在手请求数"),
                  (("redis_info",), ("tcp_waits",)), _in_hand)  # fmt: skip
UPKEEP_MS = Measure("redis.upkeep_ms", "ms", Text("Longest stop for upkeep", "维护停顿最长时间"), (("redis_info",),),
                    _upkeep)  # fmt: skip
