"""What local caches count about themselves: entries that callers found and missed, and entries that were evicted."""

# ruff: noqa: E501 - a statement of the program for the host stays on one line

from __future__ import annotations

from collections.abc import Mapping

from collectors.contract import (
    Collector,
    Context,
    Cost,
    Needs,
    Parsed,
    Part,
    Script,
    TargetAccess,
    Text,
    Tier,
    Tool,
)
from collectors.parse.tables import field_lines
from collectors.parse.tables.counters import list_counters
from collectors.shell.target import LOW

_MAX_BYTES = 1 << 16
#: Caches of each program that are read at most.
_MAX_CACHES = 3

#: A memcached answers `stats` in its text protocol, which needs no client: bash opens the connection. Varnish keeps its counters in
#: shared memory, which its own user may read; its maps show the folder. What a program wrote is never parsed as
#: root, so a Varnish that runs as root is left out.
_SH = f"""
LC_ALL=C
export LC_ALL
{LOW}
ss -Hltnp 2>/dev/null | awk '/"memcached"/ && match($0, /pid=[0-9]+/) {{
  q = substr($0, RSTART + 4, RLENGTH - 4); n = split($4, a, ":"); h = substr($4, 1, length($4) - length(a[n]) - 1)
  gsub(/[][*]/, "", h); if (h == "" || h == "0.0.0.0" || h == "::") h = "127.0.0.1"
  if (h ~ /^[0-9.]+$/ && !(q in seen) && m++ < {_MAX_CACHES}) {{ seen[q]; print q, h, a[n] }} }}' > .memcached
command -v bash >/dev/null || : > .memcached
: > .varnish
if command -v varnishstat >/dev/null; then
  for f in $(grep -lsx cache-main /proc/[0-9]*/comm | head -n {_MAX_CACHES}); do
    f=${{f%/comm}}
    n=$(awk 'match($0, /\\/[^ ]*\\/_[.]vsm_child\\//) {{ print substr($0, RSTART, RLENGTH - 13); exit }}' "$f/maps" 2>/dev/null)
    awk -v q="${{f#/proc/}}" -v n="$n" '$1 == "Uid:" {{ u = $3 }} $1 == "Gid:" {{ if (u > 0) print q, u, $3, n; exit }}' "$f/status" >> .varnish 2>/dev/null
  done
fi
[ -s .memcached ] || [ -s .varnish ] || {{ echo "no memcached and no Varnish runs here that can be read" >&2; exit 69; }}
counters() {{
  while read -r q h p; do
    timeout 2 $low bash -c 'exec 3<>"/dev/tcp/$1/$2" && printf "stats\\r\\nquit\\r\\n" >&3 && head -c 20000 <&3' stats "$h" "$p" 2>/dev/null |
      tr -d '\\r' | awk -v when="$1" -v q="$q" '
        BEGIN {{ k["get_hits"] = "hits"; k["get_misses"] = "misses"; k["evictions"] = "evicted"; k["store_too_large"] = "refused"; k["bytes"] = "used_bytes"; k["limit_maxbytes"] = "limit_bytes" }}
        $1 == "STAT" && $2 in k && $3 ~ /^[0-9]+$/ {{ printf "counter\\twhen=%s\\tname=memcached %s %s\\tvalue=%s\\n", when, q, k[$2], $3 }}'
  done < .memcached
  while read -r q u g n; do
    as="setpriv --reuid $u --regid $g --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all"
    [ "$(id -u)" = 0 ] || as=
    [ -n "$n" ] || continue
    timeout 4 $as varnishstat -1 -n "$n" -f MAIN.cache_hit -f MAIN.cache_miss -f MAIN.n_lru_nuked -f '*.g_bytes' -f '*.g_space' 2>/dev/null |
      awk -v when="$1" -v q="$q" '
        function put(name, value) {{ printf "counter\\twhen=%s\\tname=varnish %s %s\\tvalue=%.0f\\n", when, q, name, value }}
        $2 !~ /^[0-9]+$/ || /Transient/ {{ next }}
        $1 == "MAIN.cache_hit" {{ put("hits", $2) }} $1 == "MAIN.cache_miss" {{ put("misses", $2) }} $1 == "MAIN.n_lru_nuked" {{ put("evicted", $2) }}
        $1 ~ /g_bytes$/ {{ used += $2; some = 1 }} $1 ~ /g_space$/ {{ free += $2 }}
        END {{ if (some) {{ put("used_bytes", used); put("limit_bytes", used + free) }} }}'
  done < .varnish
}}
trap : TERM
counters start
sleep "$SECS" & wait $!
printf 'span\\tseconds=%s\\n' "$SECS"
counters end
rm -f .memcached .varnish
"""


def parse_cache_stats(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Table `cache_counters`: names are `PROGRAM PID COUNTER`, with the counters hits, misses, evicted, refused
    (values that are too large for an item) and bytes."""
    matching = field_lines.read_field_lines(parts, ("counter", "span"), max_lines=500)
    if matching is None:
        return field_lines.report_missing_part()
    counters = list_counters("cache_counters", matching["counter"], matching["span"], context)
    return field_lines.build_parsed(matching, tables=counters)


COLLECTOR = Collector(
    id="cache_stats",
    title=Text("Varnish and memcached", "Varnish 与 memcached"),
    why=Text(
        "Whether local caches are too small: entries found, missed and evicted.",
        "本机缓存是否过小：命中、未命中与淘汰的条目。",
    ),
    tier=Tier.LIGHT,
    on_demand=True,
    methods=(
        Script(
            "stats",
            Needs(
                tools=(Tool("ss", package="iproute2"), "awk"),
                remedy="ss, and bash for memcached, varnishstat for Varnish",
            ),
            sh=_SH,
            command_line="memcached: stats; varnishstat -1: before and after {seconds} s",
            version="ss -V",
            stop="TERM",
        ),
    ),
    parse=parse_cache_stats,
    cost=Cost(0.1, 50, Text("Two readings of a few counters.", "两次读取少量计数器。")),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.SOCKETS}),
)
