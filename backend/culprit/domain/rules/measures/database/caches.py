"""How well local caches work: entries that callers missed, and entries that were evicted or never stored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping

from collectors.contract import Text
from culprit.domain.rules.finding import Measurement
from culprit.domain.rules.measures.application.counters import build_listed_measure, build_presence
from culprit.domain.rules.measures.database.lookups import CacheLookups
from culprit.domain.rules.measures.derived import Detail
from culprit.domain.rules.view import HostView, TableRow

_NEEDS = (("cache_stats",),)
_COUNTERS = ("hits", "misses", "evicted")
#: Only memcached counts these: a value that is larger than its limit of an item is never stored (-I, one megabyte).
_REFUSED = "refused"


def _list_caches(view: HostView) -> Iterator[tuple[str, str, Mapping[str, TableRow]]]:
    """Yield the program, the process ID and the rows of the counters of each cache."""
    caches: dict[tuple[str, str], dict[str, TableRow]] = defaultdict(dict)
    for row in view.rows("cache_counters"):
        program, _, rest = row.text("name").partition(" ")
        pid, _, counter = rest.partition(" ")
        caches[program, pid][counter] = row
    for (program, pid), rows in caches.items():
        yield program, pid, rows


def _read(
    measure: Callable[[CacheLookups], Iterator[Measurement]],
) -> Callable[[HostView], Iterator[Measurement]]:
    """Return how a number is read from the lookups of each cache that is used."""

    def read(view: HostView) -> Iterator[Measurement]:
        for program, pid, rows in _list_caches(view):
            counters = [rows[name] for name in _COUNTERS if name in rows]
            rates = [rate for row in counters if (rate := row.number("change")) is not None]
            if len(rates) != len(_COUNTERS):
                continue
            hits, misses, evicted = rates
            refused = (rows[_REFUSED].number("change") or 0.0) if _REFUSED in rows else 0.0
            limit = rows.get("limit_bytes")
            detail: Detail = {
                "name": program,
                "missed": round(misses, 1),
                "hit": round(hits, 1),
                "evicted": round(evicted, 1),
                "refused": round(refused, 1),
                "mb": round((limit.number("value") or 0.0) / (1 << 20)) if limit else 0,
            }
            others = (rows[name] for name in ("limit_bytes", _REFUSED) if name in rows)
            cites = tuple(row.citation for row in (*counters, *others))
            all_hits, all_misses = (row.number("value") or 0.0 for row in counters[:2])
            subject = (("cache", f"{program} {pid}"),)
            yield from measure(
                CacheLookups(hits, misses, evicted + refused, all_hits, all_misses, detail, cites, subject)
            )

    return read


PRESENT = build_presence("cache.programs_count", Text("Caches", "缓存程序"), r"varnishd|cache-main|memcached")
LOST_SHARE = build_listed_measure(
    "cache.lost_pct", "pct", "Lookups that miss an entry for lack of memory", "因内存不足而未命中的查找", _NEEDS,
    _read(CacheLookups.measure_lost_share),
)  # fmt: skip
MISS_GROWTH = build_listed_measure(
    "cache.miss_growth", "ratio", "Misses against those since the start", "未命中率与启动以来之比", _NEEDS,
    _read(CacheLookups.measure_miss_growth),
)  # fmt: skip
