"""What stops the one thread of a Redis server: long commands, flushes of its log, and a full memory."""

from __future__ import annotations

from collections.abc import Iterator

from culprit.domain.rules.finding import Measurement
from culprit.domain.rules.measures.application.counters import build_listed_measure
from culprit.domain.rules.measures.database.lookups import CacheLookups
from culprit.domain.rules.measures.derived import Detail
from culprit.domain.rules.view import HostView, TableRow

_NEEDS = (("redis_info",),)
_LOOKUPS = ("keyspace_hits", "keyspace_misses", "evicted_keys")
#: Errors of writes that Redis (6.2 or later) refuses: the memory is full and the policy lets it evict nothing.
_REFUSED = "errorstat_OOM"
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


def _read_lookups(view: HostView) -> CacheLookups | None:
    """Return the lookups of a second, and since the server started; None if one of the counters is not known."""
    rows = {name: _info(view, name) for name in _LOOKUPS}
    known = [row for row in rows.values() if row is not None]
    if len(known) < len(_LOOKUPS) or any(row.number("change") is None for row in known):
        return None
    refused, limit, policy = (_info(view, name) for name in (_REFUSED, "maxmemory", "maxmemory_policy"))
    hits, misses, evicted = (row.number("change") or 0.0 for row in known)
    all_hits, all_misses = (row.number("number") or 0.0 for row in known[:2])
    others = tuple(row for row in (refused, limit) if row is not None)
    detail: Detail = {
        "missed": round(misses, 1),
        "hit": round(hits, 1),
        "evicted": round(evicted, 1),
        "refused": round((refused.number("change") or 0.0) if refused else 0.0, 1),
        "policy": policy.text("value") if policy else "?",
        "mb": round((limit.number("number") or 0.0) / (1 << 20)) if limit else 0,
    }
    lost = evicted + ((refused.number("change") or 0.0) if refused else 0.0)
    cites = tuple(row.citation for row in (*known, *others))
    return CacheLookups(hits, misses, lost, all_hits, all_misses, detail, cites)


def _lost_share(view: HostView) -> Iterator[Measurement]:
    """Percent of the lookups that miss a key which the full memory has cost."""
    if (lookups := _read_lookups(view)) is not None:
        yield from lookups.measure_lost_share()


def _miss_growth(view: HostView) -> Iterator[Measurement]:
    """How many times more of the lookups miss than since the server started."""
    if (lookups := _read_lookups(view)) is not None:
        yield from lookups.measure_miss_growth()


def _refused_part(view: HostView) -> Iterator[Measurement]:
    """Percent of the commands that are refused because the memory is full. Without such errors there is no counter."""
    commands, refused = _info(view, "total_commands_processed"), _info(view, _REFUSED)
    every = commands.number("change") if commands is not None else None
    if commands is not None and every:
        limit, policy = _info(view, "maxmemory"), _info(view, "maxmemory_policy")
        per_s = (refused.number("change") or 0.0) if refused else 0.0
        detail: Detail = {
            "per_s": round(per_s, 1),
            "policy": policy.text("value") if policy else "?",
            "mb": round((limit.number("number") or 0.0) / (1 << 20)) if limit else 0,
        }
        cites = tuple(row.citation for row in (refused, commands, limit) if row is not None)
        yield Measurement(100.0 * per_s / every, (), cites, 1, (), detail)


def _refused_clients(view: HostView) -> Iterator[Measurement]:
    """Connections that the server closed because it had as many clients as `maxclients` allows: 1 if it was our own."""
    refused = _info(view, "refused_clients") or _info(view, "rejected_connections")
    if refused is not None:
        is_own = refused.text("name") == "refused_clients"
        per_s = refused.number("number" if is_own else "change")
        most = _info(view, "maxclients")
        if per_s is not None:
            detail: Detail = {"most": round((most.number("number") or 0.0) if most else 0.0) or "?"}
            cites = tuple(row.citation for row in (refused, most) if row is not None)
            yield Measurement(per_s, (), cites, 1, (), detail)


def _broken_links(view: HostView) -> Iterator[Measurement]:
    """Return 1 for a replica that is not connected to its primary, 0 for others; nothing for a primary."""
    link = _info(view, "master_link_status")
    if link is not None:
        yield Measurement(float(link.text("value") != "up"), (), (link.citation,), 1)


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
LOST_SHARE = build_listed_measure(
    "redis.lost_keys_pct", "pct", "Lookups that miss a key for lack of memory", "因内存不足而未命中的查找", _NEEDS,
    _lost_share,
)  # fmt: skip
MISS_GROWTH = build_listed_measure(
    "redis.miss_growth",
    "ratio",
    "Misses against those since the start",
    "未命中率与启动以来之比",
    _NEEDS,
    _miss_growth,
)
REFUSED_PART = build_listed_measure(
    "redis.refused_writes_pct", "pct", "Commands refused for lack of memory", "因内存已满被拒绝的命令", _NEEDS,
    _refused_part,
)  # fmt: skip
REFUSED_CLIENTS = build_listed_measure(
    "redis.refused_clients", "per_s", "Connections above maxclients", "超过 maxclients 的连接", _NEEDS,
    _refused_clients,
)  # fmt: skip
BROKEN_LINKS = build_listed_measure(
    "redis.broken_links_count",
    "count",
    "Replicas without their primary",
    "与主节点断开的副本",
    _NEEDS,
    _broken_links,
)
