"""Programs that a schedule started: children of cron or at, and services of systemd timers."""

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
)
from collectors.parse.tables import field_lines
from collectors.parse.tables.field_lines import FieldColumn

_MAX_BYTES = 256 << 10
_COLUMNS = (
    *(FieldColumn("pid"), FieldColumn("comm", number=False), FieldColumn("scheduler", number=False)),
    *(FieldColumn("job", number=False), FieldColumn("line", number=False), FieldColumn("age", "s")),
)

#: The family tree of all processes is read once, at the end, while the job still runs. A line of a crontab is named by file,
#: number and schedule; its command may hold secrets and stays on the host. A unit that a timer starts is in
#: `systemctl list-timers`.
_SH = r"""
LC_ALL=C
export LC_ALL
trap : TERM
sleep "$SECS" & wait $!
h=$(getconf CLK_TCK 2>/dev/null || echo 100)
read -r u x </proc/uptime
: >.units
[ -d /run/systemd/system ] && timeout 3 systemctl list-timers --all --no-legend --plain 2>/dev/null | awk '{ print $NF }' >.units
cat /proc/[0-9]*/stat 2>/dev/null | awk -v h="$h" -v u="$u" '{ o = index($0, "("); r = $0; c = 0; while ((i = index(r, ")"))) { c += i; r = substr(r, i + 1) }
  p = $1; n = substr($0, o + 1, c - o - 1); gsub(/[\t=\n]/, "_", n); split(substr($0, c + 2), f, " ")
  up[p] = f[2]; name[p] = n; age[p] = int(u - f[20] / h); if (int(f[7] / 2097152) % 2) kernel[p] = 1 }
  END { for (p in name) if (!(p in kernel)) { d = ""; q = p; top = p
    for (k = 0; k < 64 && q > 1; k++) { if (q != p && name[q] ~ /^(cron|crond|anacron|atd|fcron|dcron|busybox-cron|CRON|CROND)$/) { if (name[q] !~ /^CRON/) { d = name[q]; break } } else if (name[q] !~ /^CRON/) top = q; q = up[q] }
    print p, (d == "" ? "-" : d), top, age[p], name[top], name[p] } }' >.tree
awk '$2 != "-"' .tree | while read -r p d top a n; do
  t=$(cat "/proc/$top/comm" 2>/dev/null)
  l=$(awk -v t="$t" 'index($0, t) && $0 !~ /^[ \t]*(#|$)/ && t != "sh" && t != "bash" { print FILENAME ":" FNR " " ($1 ~ /^@/ ? $1 : $1 " " $2 " " $3 " " $4 " " $5); exit }' /etc/crontab /etc/cron.d/* /var/spool/cron/crontabs/* /var/spool/cron/* 2>/dev/null)
  printf 'job\tpid=%s\tcomm=%s\tscheduler=%s\tjob=%s\tline=%s\tage=%s\n' "$p" "$(tr '\t=\n' '__ ' <"/proc/$p/comm" 2>/dev/null | sed 's/ $//')" "$d" "$t" "$l" "$a"
done | head -n 200
[ ! -s .units ] || grep -sHE '^[0-9]+:(name=systemd)?:/' /proc/[0-9]*/cgroup | awk 'NR == FNR { u[$1] = 1; next }
  { n = split($0, w, "/"); for (i = 4; i <= n; i++) if (w[i] in u) print w[3], w[i] }' .units - | sort -u | while read -r p n; do
  printf 'job\tpid=%s\tcomm=%s\tscheduler=systemd timer\tjob=%s\tage=%s\n' "$p" "$(tr '\t=\n' '__ ' <"/proc/$p/comm" 2>/dev/null | sed 's/ $//')" "$n" "$(awk -v p="$p" '$1 == p { print $4 }' .tree)"
done | head -n 200
rm -f .units .tree
echo end
"""


def parse_scheduled_jobs(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Table `scheduled_jobs`: a row for each process of a job. `job` is the unit, or the program that cron started."""
    del context
    matching_field_lines = field_lines.read_field_lines(parts, ("job", "end"))
    if matching_field_lines is None:
        return field_lines.report_missing_part()
    return field_lines.build_parsed(
        matching_field_lines,
        tables=field_lines.build_table("scheduled_jobs", matching_field_lines["job"], _COLUMNS),
    )


COLLECTOR = Collector(
    id="scheduled_jobs",
    title=Text("Scheduled jobs", "定时任务"),
    why=Text(
        "A backup or a log rotation that runs now takes CPU and disk from everything else, and is over when you look.",
        "正在运行的备份或日志轮转会抢占 CPU 与磁盘，等你去看时往往已经结束。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Script(
            "proc",
            Needs(tools=("awk", "grep", "sed", "sort"), remedy="awk, grep, sed"),
            sh=_SH,
            command_line="read /proc/PID/stat, systemctl list-timers, crontabs (file, line and schedule only), after {seconds} s",
            stop="TERM",
        ),
    ),
    parse=parse_scheduled_jobs,
    cost=Cost(0.2, 50, Text("All processes are read once, at the end.", "结束时读取一次所有进程。")),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
