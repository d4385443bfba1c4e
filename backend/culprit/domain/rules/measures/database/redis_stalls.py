"""What stops the one thread of a Redis server: long commands, flushes of its log, and a full memory."""

from __future__ import annotations

from collections.abc import Iterator

from culprit.domain.rules.finding import Citation, Measurement
from culprit.domain.rules.measures.application.counters import build_listed_measure
from culprit.domain.rules.measures.derived import Detail
from culprit.domain.rules.view import HostView, TableRow

_NEEDS = (("redis_info",),)
#: A command that ended this long before the capture can still explain what its callers saw.
RECENT_S = 60.0


def _info(view: HostView, name: str) -> TableRow | None:
    return next((row for row in view.rows("redis_info") if row.text("name") == name), None)


def _slow_commands(view: HostView) -> Iterator[Measurement]:
    """The longest command of the last minute. Redis serves no other client while it runs."""
    recent = [row for row in view.rows("redis_slowlog") if (row.number("age") or 0.0) <= RECENT_S]
    if recent:
        top = max(recent, key=lambda row: row.number("duration") or 0.0)
        total = sum(row.number("duration") or 0.0 for row in recent)
        detail: Detail = {"command": top.text("command"), "count": len(recent), "total": round(total)}
        cites = (top.citation, *(row.citation for row in recent if row is not top))
        yield Measurement(top.number("duration") or 0.0, (), cites, len(recent), (), detail)
    elif (row := _info(view, "slowlog_len")) is not None:
        yield Measurement(0.0, (), (row.citation,), 0, (), {"command": "", "count": 0, "total": 0})


def _slow_share(view: HostView) -> Iterator[Measurement]:
    """Percent of the last minute in which slow commands kept every other client waiting."""
    recent = [row for row in view.rows("redis_slowlog") if (row.number("age") or 0.0) <= RECENT_S]
    if recent:
        total_ms = sum(row.number("duration") or 0.0 for row in recent)
        cites = tuple(row.citation for row in recent)
        yield Measurement(min(100.0, total_ms / (10.0 * RECENT_S)), (), cites, len(recent))


def _commands(view: HostView) -> Iterator[Measurement]:
    """Commands that the server executes in a second, among them up to two of the collector."""
    row = _info(view, "total_commands_processed")
    change = row.number("change") if row is not None else None
    if row is not None and change is not None:
        yield Measurement(change, (), (row.citation,), 1)


def _delayed_fsyncs(view: HostView) -> Iterator[Measurement]:
    """How often a write of the append-only file waited because the last fsync had not ended."""
    row = _info(view, "aof_delayed_fsync")
    change = row.number("change") if row is not None else None
    if row is not None and change is not None:
        yield Measurement(change, (), (row.citation,), 1)


def _memory_use(view: HostView) -> Iterator[Measurement]:
    """Memory of the data as a share of maxmemory; nothing where there is no limit."""
    used, most = _info(view, "used_memory"), _info(view, "maxmemory")
    policy = _info(view, "maxmemory_policy")
    if used is not None and most is not None and (limit := most.number("number")):
        detail: Detail = {"policy": policy.text("value") if policy else "?", "mb": round(limit / (1 << 20))}
        yield Measurement(
            100.0 * (used.number("number") or 0.0) / limit, (), (used.citation, most.citation), 1, (), detail
        )


def _read_lookups(view: HostView) -> tuple[dict[str, float], tuple[Citation, ...]] | None:
    """Return keys that were evicted, found and missed in a second, or None if one of them is not known."""
    rows = {name: _info(view, name) for name in ("evicted_keys", "keyspace_hits", "keyspace_misses")}
    rates = {name: row.number("change") for name, row in rows.items() if row is not None}
    known = {name: rate for name, rate in rates.items() if rate is not None}
    return (known, tuple(row.citation for row in rows.values() if row)) if len(known) == len(rows) else None


def _miss_share(view: HostView) -> Iterator[Measurement]:
    """Percent of the keys that callers looked for and did not find."""
    lookups = _read_lookups(view)
    if lookups is not None:
        rates, cites = lookups
        hit, missed = rates["keyspace_hits"], rates["keyspace_misses"]
        if hit + missed > 0:
            detail: Detail = {"missed": round(missed, 1), "hit": round(hit, 1)}
            yield Measurement(100.0 * missed / (hit + missed), (), cites, 1, (), detail)


def _evicted_per_miss(view: HostView) -> Iterator[Measurement]:
    """Keys that were evicted for each one that was missed: what is missed is stored again and evicts another."""
    lookups = _read_lookups(view)
    if lookups is not None:
        rates, cites = lookups
        if rates["keyspace_misses"] > 0:
            detail: Detail = {"evicted": round(rates["evicted_keys"], 1)}
            yield Measurement(rates["evicted_keys"] / rates["keyspace_misses"], (), cites, 1, (), detail)


SLOW_COMMAND = build_listed_measure(
    "redis.recent_slow_command_ms",
    "ms",
    "Longest command of the last minute",
    "最近一分钟最慢的命令",
    _NEEDS,
    _slow_commands,
)
SLOW_SHARE = build_listed_measure(
    "redis.slow_commands_pct",
    "pct",
    "Time in slow commands",
    "慢命令耗时占比",
    _NEEDS,
    _slow_share,
)
COMMANDS = build_listed_measure(
    "redis.commands_per_s", "per_s", "Commands executed", "已执行命令", _NEEDS, _commands
)
DELAYED_FSYNCS = build_listed_measure(
    "redis.delayed_fsyncs_per_s",
    "per_s",
    "Writes that waited for an fsync",
    "等待 fsync 的写入",
    _NEEDS,
    _delayed_fsyncs,
)
MEMORY_USE = build_listed_measure(
    "redis.memory_use_pct", "pct", "Memory against maxmemory", "内存占 maxmemory", _NEEDS, _memory_use
)
MISS_SHARE = build_listed_measure(
    "redis.missed_keys_pct", "pct", "Keys not found", "未命中的键", _NEEDS, _miss_share
)
EVICTED_PER_MISS = build_listed_measure(
    "redis.evicted_per_miss", "ratio", "Keys evicted for each missed one", "每次未命中对应的淘汰数", _NEEDS,
    _evicted_per_miss,
)  # fmt: skip
