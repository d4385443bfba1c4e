"""Deleted files that processes still hold open, on file systems that are nearly full."""

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
    *(FieldColumn("mount", number=False), FieldColumn("pid"), FieldColumn("comm", number=False)),
    *(FieldColumn("files"), FieldColumn("held_kb", "kb"), FieldColumn("largest", number=False)),
)
_CHECKED = (FieldColumn("mount", number=False), FieldColumn("size_kb", "kb"), FieldColumn("used_kb", "kb"))

#: Only file systems on local disks and in memory are asked how full they are. Descriptors are searched only where one is
#: 90 % full. A file is asked for its blocks (stat) only if it is on such a file system, by its mount in fdinfo: a hung
#: mount is never touched.
_SH = r"""
LC_ALL=C
export LC_ALL
trap : TERM
sleep "$SECS" & wait $!
awk '$5 !~ /\\/ { for (i = 7; $i != "-"; i++) { } if ($(i + 1) ~ /^(ext[234]|xfs|btrfs|f2fs|tmpfs|jfs|reiserfs|zfs|overlay)$/ && $6 ~ /^rw/) print $1, $5 }' /proc/self/mountinfo | head -n 200 >.mounts
[ -s .mounts ] || exit 69
timeout 3 df -kP $(sed 's/^[^ ]* //' .mounts) 2>/dev/null | awk 'NR > 1 && NF == 6 { u = $3; f = $4; t = u + f; if (t > 0) printf "checked\tmount=%s\tsize_kb=%d\tused_kb=%d\n", $6, t, u; if (t > 0 && u >= 0.9 * t) print $6 >".full" }'
[ -s .full ] || { echo end; exit 0; }
awk 'NR == FNR { f[$1] = 1; next } $2 in f { print $1, $2 }' .full .mounts >.ids
find /proc/[0-9]*/fd -lname '* (deleted)' -printf '%p\t%l\n' 2>/dev/null | tr -d '\r' | head -n 5000 >.links
cut -f1 .links | sed 's|/fd/|/fdinfo/|' | xargs grep -sH '^mnt_id:' /dev/null | sed 's|:mnt_id:[^0-9]*| |; s|/fdinfo/|/fd/|' |
  awk 'NR == FNR { m[$1] = $2; next } $2 in m { print $1, m[$2] }' .ids - >.here
cut -d ' ' -f1 .here | xargs stat -L -c '%n %h %b %B %i' 2>/dev/null | awk '$2 == 0 && $3 > 0 { print $1, int($3 * $4 / 1024), $5 }' >.sizes
sed 's|/fd/.*|/comm|' .sizes | sort -u | xargs grep -sH '' /dev/null | sed 's|^/proc/\([0-9]*\)/comm:|\1 |' | tr '\t=' '__' >.comms
awk -v OFS='\t' 'FILENAME == ".here" { at[$1] = $2; next } FILENAME == ".comms" { p = $1; sub(/^[0-9]* /, ""); comm[p] = $0; next }
  FILENAME == ".links" { f = $1; sub(/^[^\t]*\t/, ""); sub(/ \(deleted\)$/, ""); gsub(/[\t=]/, "_"); name[f] = $0; next }
  { split($1, w, "/"); k = "mount=" at[$1] OFS "pid=" w[3] OFS "comm=" comm[w[3]]; if ((at[$1], $3) in s) next; s[at[$1], $3] = 1
    n[k]++; z[k] += $2; if ($2 > m[k]) { m[k] = $2; l[k] = name[$1] } }
  END { for (k in n) print "held", k, "files=" n[k], "held_kb=" z[k], "largest=" l[k] }' .here .comms .links .sizes | head -n 200
echo end
"""


def parse_deleted_files(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Table `deleted_files`: what each process holds on each mount; a file counts once. Table `checked_mounts`: which were looked at.

    Without rights of root only the user's own processes are seen.
    """
    del context
    matching_field_lines = field_lines.read_field_lines(parts, ("checked", "held", "end"))
    if matching_field_lines is None:
        return field_lines.report_missing_part()
    return field_lines.build_parsed(
        matching_field_lines,
        tables=(
            *field_lines.build_table("deleted_files", matching_field_lines["held"], _COLUMNS),
            *field_lines.build_table("checked_mounts", matching_field_lines["checked"], _CHECKED),
        ),
    )


COLLECTOR = Collector(
    id="deleted_files",
    title=Text("Deleted files that are open", "已删除但仍打开的文件"),
    why=Text(
        "A deleted file keeps its space until the last process closes it, and no directory shows it.",
        "已删除的文件在最后一个进程关闭之前仍占用空间，任何目录都看不到它。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Script(
            "proc",
            Needs(
                tools=("awk", "df", "find", "grep", "stat", "timeout", "xargs"),
                remedy="coreutils, GNU findutils, awk",
            ),
            sh=_SH,
            command_line="df of local file systems; where one is 90 % full, find /proc/PID/fd -lname '* (deleted)'; after {seconds} s",
            stop="TERM",
        ),
    ),
    parse=parse_deleted_files,
    cost=Cost(
        0.1,
        50,
        Text("Descriptors are searched only if a disk is nearly full.", "仅当磁盘将满时才检索描述符。"),
    ),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
