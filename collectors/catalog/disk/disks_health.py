"""Health of disks: degraded arrays, counted I/O errors, SMART."""

# ruff: noqa: E501 - a statement of the program for the host stays on one line

from __future__ import annotations

from collections.abc import Mapping

from collectors.contract import Collector, Context, Cost, Needs, Parsed, Part, Script, Text, Tier
from collectors.parse.tables import field_lines
from collectors.parse.tables.field_lines import FieldColumn

_MAX_BYTES = 256 << 10
_COLUMNS = (
    FieldColumn("device", number=False),
    FieldColumn("source", number=False),
    FieldColumn("state", number=False),
    FieldColumn("errors"),
    FieldColumn("delta"),
    FieldColumn("detail", number=False),
)

#: Counters of SCSI are hexadecimal; /dev/zram and loops have none. They count every command that a disk refuses, and
#: it refuses two for each question of smartctl: a growing counter alone is not a fault. smartctl is asked for at most 16 disks,
#: never waking a sleeping one (-n standby), because a disk that hangs would hang the question.
_SH = r"""
LC_ALL=C
export LC_ALL
count() { for f in /sys/block/*/device/ioerr_cnt; do
  d=${f#/sys/block/}; read -r n 2>/dev/null < "$f" && echo "${d%%/*} $((n))"; done; }
count > .before
trap : TERM
sleep "$SECS" & wait $!
count | awk 'NR == FNR { b[$1] = $2; next } { printf "disk\tdevice=%s\tsource=ioerr\tstate=%s\terrors=%d\tdelta=%d\n", $1, ($2 > b[$1] ? "counting" : "ok"), $2, $2 - b[$1] }' .before -
awk '/^md[^ ]* :/ { d = $1; s = $3; l = $4; f = gsub(/\(F\)/, "") }
  d && match($0, /\[[U_]+\]/) { m = substr($0, RSTART, RLENGTH); u = gsub(/_/, "_", m)
    printf "disk\tdevice=%s\tsource=mdstat\tstate=%s\terrors=%d\tdetail=%s %s %s\n", d, (u || f ? "degraded" : "ok"), u, l, s, m; d = "" }' /proc/mdstat 2>/dev/null
n=0
for d in /sys/block/sd* /sys/block/nvme*; do
  [ -e "$d" ] || continue
  [ "$(id -u)" = 0 ] && [ $n -lt 16 ] && command -v smartctl >/dev/null 2>&1 || break
  n=$((n + 1))
  timeout 4 smartctl -n standby -H -j "/dev/${d##*/}" 2>/dev/null | awk -v d="${d##*/}" '/"passed": *(true|false)/ { p = $0 ~ /true/ ? "ok" : "failing" }
    END { if (p != "") printf "disk\tdevice=%s\tsource=smart\tstate=%s\n", d, p }'
done
for d in /sys/block/*; do
  case $d in */loop* | */ram* | */zram* | */\*) continue ;; esac
  s=; read -r s 2>/dev/null < "$d/device/state"; read -r r 2>/dev/null < "$d/ro"
  printf 'disk\tdevice=%s\tsource=sysfs\tstate=%s\tdetail=%s\n' "${d##*/}" "${s:-unknown}" "$([ "$r" = 1 ] && echo read-only)"
done | head -n 500
echo end
"""


def parse_disks_health(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Table `disks_health`: one row for each disk and source. `errors` of an array are the members it lacks.

    `counting` is the state of a disk that refused commands in the window, which a sound one does as well.
    """
    del context
    matching_field_lines = field_lines.read_field_lines(parts, ("disk", "end"), max_lines=5_000)
    if matching_field_lines is None:
        return field_lines.report_missing_part()
    ill = sum(
        line.text("state") in {"failing", "degraded", "offline", "dead"}
        for line in matching_field_lines["disk"]
    )
    facts = {"disks_ill": ill}
    return field_lines.build_parsed(
        matching_field_lines,
        tables=field_lines.build_table("disks_health", matching_field_lines["disk"], _COLUMNS),
        facts=facts,
    )


COLLECTOR = Collector(
    id="disks_health",
    title=Text("Health of disks", "磁盘健康"),
    why=Text(
        "A dying disk or an array that rebuilds makes everything above it slow.",
        "将坏的磁盘或正在重建的阵列会拖慢上层的一切。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Script(
            "sysfs",
            Needs(tools=("awk",), remedy="mount -t sysfs sysfs /sys"),
            sh=_SH,
            command_line="read /proc/mdstat and ioerr_cnt; smartctl -n standby -H -j, after {seconds} s",
            stop="TERM",
        ),
    ),
    parse=parse_disks_health,
    cost=Cost(
        0.1,
        100,
        Text("A few files, and one short query to each disk.", "读取少量文件，并向每块磁盘查询一次。"),
    ),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset(),
)
