"""The last three hours as atop recorded them, so that an incident has a before."""

# ruff: noqa: E501 - a statement of the program for the host stays on one line

from __future__ import annotations

from collections.abc import Mapping

from collectors.contract import Collector, Context, Cost, Needs, Parsed, Part, Script, Text, Tier, Tool
from collectors.parse.reports import recorded_history

_MAX_BYTES = 2 << 20

#: Fields by place, as atop(1) fixes them under PARSEABLE OUTPUT; new ones are only ever added at the end.
#: The first report of a file is since boot: it follows RESET and is left out.
_SH = r"""
LC_ALL=C
export LC_ALL
f=$(ls -t /var/log/atop/atop_[0-9]* 2>/dev/null | head -n 1)
[ -n "$f" ] || { echo "atop recorded nothing in /var/log/atop" >&2; exit 69; }
trap : TERM
sleep "$SECS" & wait $!
timeout 15 atop -r "$f" -P CPU,CPL,MEM,PAG,DSK 2>/dev/null | awk -v from=$(($(date +%s) - 10800)) '
  $1 == "RESET" { skip = 1; next } $1 == "SEP" { skip = 0; next }
  skip || $3 !~ /^[0-9]+$/ || $3 < from { next }
  function put(m, d, v) { if (rows++ < 6000) printf "history\tt=%s\tmetric=%s\tdevice=%s\tvalue=%.2f\n", $3, m, d, v }
  !printed++ { printf "file\tinterval_s=%d\n", $6 }
  $6 < 1 { next }
  $1 == "CPU" { n = $8; if (n < 1) next; a = $7 * $6 * n / 100; put("cpu_sys_pct", "", $9 / a); put("cpu_user_pct", "", ($10 + $11) / a); put("cpu_idle_pct", "", $12 / a); put("cpu_wait_pct", "", $13 / a); put("cpu_softirq_pct", "", $15 / a); put("cpu_steal_pct", "", $16 / a) }
  $1 == "CPL" { put("load1", "", $8); put("load5", "", $9); put("switches_per_s", "", $11 / $6) }
  $1 == "MEM" { put("mem_free_mb", "", $9 * $7 / 1048576); put("mem_cache_mb", "", $10 * $7 / 1048576) }
  $1 == "PAG" { put("page_scans_per_s", "", $8 / $6); put("swap_in_per_s", "", $11 / $6); put("swap_out_per_s", "", $12 / $6) }
  $1 == "DSK" && $9 + $11 > 0 { put("disk_busy_pct", $7, $8 / 10 / $6); put("disk_reads_per_s", $7, $9 / $6); put("disk_writes_per_s", $7, $11 / $6) }' > .out
[ -s .out ] || { echo "atop recorded nothing in the last three hours" >&2; exit 69; }
cat .out
rm -f .out
"""


def parse_atop_history(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Table `history`; each name states its unit. Each number is a mean over atop's interval."""
    del context
    return recorded_history.parse_history(parts, "atop")


COLLECTOR = Collector(
    id="atop_history",
    title=Text("History of atop", "atop 历史"),
    why=Text(
        "Whether the trouble is new: CPU, memory and disks of the last three hours.",
        "问题是否是新出现的：最近三小时的 CPU、内存与磁盘。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Script(
            "atop",
            Needs(tools=(Tool("atop", package="atop"), "awk"), remedy="atop with its daily log"),
            sh=_SH,
            command_line="atop -r FILE -P CPU,CPL,MEM,PAG,DSK on the newest file, after {seconds} s",
            version="atop -V",
            stop="TERM",
        ),
    ),
    parse=parse_atop_history,
    cost=Cost(0.5, 5_000, Text("Reads one file of a few MB, at the end.", "结束时读取一个几兆字节的文件。")),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset(),
)
