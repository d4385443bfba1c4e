"""How well local caches work: entries that callers missed, and entries that were evicted or never stored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping

from collectors.contract import Text
from culprit.domain.rules.finding import Measurement
from culprit.domain.rules.measures.application.counters import build_listed_measure, build_presence
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
    ratio: Callable[[float, float, float], tuple[float, float]],
) -> Callable[[HostView], Iterator[Measurement]]:
    """Return how a ratio of the rates of hits, misses and lost entries is read from each cache that is used."""

    def read(view: HostView) -> Iterator[Measurement]:
        for program, pid, rows in _list_caches(view):
            counters = [rows[name] for name in _COUNTERS if name in rows]
            rates = [rate for row in counters if (rate := row.number("change")) is not None]
            if len(rates) != len(_COUNTERS):
                continue
            hits, misses, evicted = rates
            refused = (rows[_REFUSED].number("change") or 0.0) if _REFUSED in rows else 0.0
            part, whole = ratio(hits, misses, evicted + refused)
            if whole > 0:
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
                yield Measurement(part / whole, (("cache", f"{program} {pid}"),), cites, 1, (), detail)

    return read


PRESENT = build_presence("cache.programs_count", Text("Caches", "缓存程序"), r"varnishd|cache-main|memcached")
MISSED = build_listed_measure(
    "cache.missed_pct", "pct", "Entries not found", "未命中的条目", _NEEDS,
    _read(lambda hits, misses, lost: (100.0 * misses, hits + misses)),
)  # fmt: skip
EVICTED_PER_MISS = build_listed_measure(
    "cache.evicted_per_miss", "ratio", "Entries evicted or refused for each missed one", "每次未命中对应的淘汰或拒绝数",
    _NEEDS, _read(lambda hits, misses, lost: (lost, misses)),
)  # fmt: skip
