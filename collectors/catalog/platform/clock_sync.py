"""Whether the host's clock is kept right, by whom, and how far off it is."""

# ruff: noqa: E501 - a statement of the program for the host stays on one line

from __future__ import annotations

import math
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
)
from collectors.parse.tables import field_lines
from collectors.parse.tables.field_lines import FieldColumn

_MAX_BYTES = 64 << 10
_COLUMNS = (
    FieldColumn("source", number=False),
    FieldColumn("synchronised", number=False),
    FieldColumn("offset", "ms", source="offset_ms"),
    FieldColumn("error", "ms", source="error_ms"),
    FieldColumn("detail", number=False),
)

#: `adjtimex -p` in busybox prints `offset: 0 us`; util-linux has none, Debian's prints `offset: 0`. The status
#: bit 0x40 is STA_UNSYNC, and 0x2000 means that the offset is in nanoseconds.
_SH = r"""
LC_ALL=C
export LC_ALL
trap : TERM
sleep "$SECS" & wait $!
run() { timeout 3 "$@" 2>/dev/null; }
have() { command -v "$1" >/dev/null 2>&1; }
({ have adjtimex && run adjtimex -p; } || run busybox adjtimex) | awk '/offset:/ && !/tick|freq/ { o = $2 } / status:/ { s = $2 } /maxerror:/ { m = $2 }
  END { if (s == "") exit; printf "clock\tsource=kernel\tsynchronised=%s\toffset_ms=%.6f\terror_ms=%.3f\n", int(s / 64) % 2 ? "no" : "yes", int(s / 8192) % 2 ? o / 1e6 : o / 1e3, m / 1e3 }'
have chronyc && run chronyc -n tracking | awk -F' *: *' '/^Leap/ { l = $2 } /^System time/ { split($2, a, " "); o = a[1] * 1000; if (a[3] == "slow") o = -o } /^Root disp/ { split($2, a, " "); d = a[1] * 1000 } /^Stratum/ { s = $2 }
  END { if (l != "") printf "clock\tsource=chrony\tsynchronised=%s\toffset_ms=%.6f\terror_ms=%.3f\tdetail=stratum %s\n", l == "Not synchronised" ? "no" : "yes", o, d, s }'
have ntpq && run ntpq -pn | awk '/^[*o]/ { printf "clock\tsource=ntpd\tsynchronised=yes\toffset_ms=%s\terror_ms=%s\tdetail=stratum %s\n", $9, $10, $3; f = 1 } END { if (NR > 2 && !f) print "clock\tsource=ntpd\tsynchronised=no" }'
have timedatectl && run timedatectl show | awk -F= '{ v[$1] = $2 } END { if ("NTPSynchronized" in v) printf "clock\tsource=timedatectl\tsynchronised=%s\tdetail=NTP %s\n", v["NTPSynchronized"], v["NTP"] }'
read -r c 2>/dev/null < /sys/devices/system/clocksource/clocksource0/current_clocksource && printf 'source\tname=%s\n' "$c"
for n in $(grep -shxE 'chronyd|ntpd|systemd-timesyn|ptp4l|phc2sys|openntpd' /proc/[0-9]*/comm | sort -u); do printf 'daemon\tname=%s\n' "$n"; done
echo "end"
"""


def parse_clock_sync(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Table `clock_sync`, one row for each source that answers; facts of the best: chrony, ntpd, the kernel."""
    del context
    matching_field_lines = field_lines.read_field_lines(
        parts, ("clock", "source", "daemon", "end"), max_lines=500
    )
    if matching_field_lines is None:
        return field_lines.report_missing_part()
    by_source = {line.text("source"): line for line in matching_field_lines["clock"]}
    best = next((by_source[n] for n in ("chrony", "ntpd", "kernel", "timedatectl") if n in by_source), None)
    offset = best.value("offset_ms") if best else float("nan")
    facts: dict[str, object] = {
        "clock_synchronised": best.text("synchronised") == "yes" if best else None,
        "clock_offset_ms": None if math.isnan(offset) else offset,
        "clock_judge": best.text("source") if best else None,
        "clock_daemons": [line.text("name", 40) for line in matching_field_lines["daemon"][:10]],
        "clocksource": matching_field_lines["source"][0].text("name", 40)
        if matching_field_lines["source"]
        else None,
    }
    return field_lines.build_parsed(
        matching_field_lines,
        tables=field_lines.build_table("clock_sync", matching_field_lines["clock"], _COLUMNS, 20),
        facts=facts,
    )


COLLECTOR = Collector(
    id="clock_sync",
    title=Text("Clock", "时钟同步"),
    why=Text(
        "Whether times of this host can be compared with those of other hosts.",
        "本机时间能否与其他主机的时间对比。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Script(
            "tools",
            Needs(tools=("awk", "timeout"), remedy="chrony, ntp or systemd-timesyncd"),
            sh=_SH,
            command_line="adjtimex -p; chronyc tracking; ntpq -pn; timedatectl show, after {seconds} s",
            stop="TERM",
        ),
    ),
    parse=parse_clock_sync,
    cost=Cost(0.2, 50, Text("Four short questions, at the end.", "结束时查询四个简短状态。")),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
