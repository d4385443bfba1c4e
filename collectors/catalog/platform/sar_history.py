"""The last three hours as sysstat recorded them, so that an incident has a before."""

# ruff: noqa: E501 - a statement of the program for the host stays on one line

from __future__ import annotations

from collections.abc import Mapping

from collectors.contract import Collector, Context, Cost, Needs, Parsed, Part, Script, Text, Tier, Tool
from collectors.parse.reports import recorded_history

_MAX_BYTES = 2 << 20

#: `sadf -d -U`: semicolons, epoch seconds, and a header line before each block, so columns go by name. Disks and
#: interfaces that did nothing are left out.
_SH = r"""
LC_ALL=C
export LC_ALL
f=
for one in $(ls -t /var/log/sysstat/sa[0-9]* /var/log/sa/sa[0-9]* 2>/dev/null | head -n 2); do f="$one $f"; done
[ -n "$f" ] || { echo "sysstat recorded nothing in /var/log/sysstat or /var/log/sa" >&2; exit 69; }
trap : TERM
sleep "$SECS" & wait $!
for one in $f; do
  for a in "-u" "-q" "-r" "-S" "-B" "-W" "-b" "-w" "-d -p" "-n DEV" "-n TCP,ETCP"; do
    timeout 5 sadf -d -U "$one" -- $a 2>/dev/null
  done
done | awk -F';' -v from=$(($(date +%s) - 10800)) '
  /^#/ { n = NF; for (i = 1; i <= NF; i++) h[i] = $i; k = ($4 == "CPU" || $4 == "DEV" || $4 == "IFACE") ? 5 : 4; next }
  NF != n || $3 !~ /^[0-9]+$/ || $3 < from { next }
  { s = 0; for (i = k; i <= NF; i++) s += $i; if (k == 5 && h[4] != "CPU" && s == 0) next
    if (!printed++) printf "file\tinterval_s=%d\n", $2
    d = k == 5 ? $4 : ""; if (d == "-1") d = "all"
    for (i = k; i <= NF && rows < 6000; i++) { rows++; printf "history\tt=%s\tmetric=%s\tdevice=%s\tvalue=%s\n", $3, h[i], d, $i } }' > .out
[ -s .out ] || { echo "sysstat recorded nothing in the last three hours" >&2; exit 69; }
cat .out
rm -f .out
"""


def parse_sar_history(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Table `history` with sar's own names (`%user`, `await`, `rxkB/s`): they are means over sar's interval."""
    del context
    return recorded_history.parse_history(parts, "sar")


COLLECTOR = Collector(
    id="sar_history",
    title=Text("History of sar", "sar 历史"),
    why=Text(
        "Whether the trouble is new: CPU, memory, disks and network of the last three hours.",
        "问题是否是新出现的：最近三小时的 CPU、内存、磁盘与网络。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Script(
            "sadf",
            Needs(
                tools=(Tool("sadf", package="sysstat"), "awk"),
                remedy="sysstat with its collection switched on",
            ),
            sh=_SH,
            command_line="sadf -d -U on the newest two files, after {seconds} s",
            version="sadf -V | head -n 1",
            stop="TERM",
        ),
    ),
    parse=parse_sar_history,
    cost=Cost(0.3, 5_000, Text("Reads two files of a few MB, at the end.", "结束时读取两个几兆字节的文件。")),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset(),
)
