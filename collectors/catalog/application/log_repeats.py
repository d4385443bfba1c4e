"""Lines that one process writes to two files at once, compared on the host. No line leaves it."""

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
from collectors.shell.dedent import strip_indent
from collectors.shell.log_files import READ_END

_MAX_BYTES = 1 << 20
_REPEATS = (
    *(
        FieldColumn("pid"),
        FieldColumn("comm", number=False),
        FieldColumn("file", number=False),
        FieldColumn("other_file", number=False),
    ),
    *(FieldColumn("lines"), FieldColumn("other_lines"), FieldColumn("repeated"), FieldColumn("share", "pct")),
    *(FieldColumn("grew", "bytes_per_s"), FieldColumn("other_grew", "bytes_per_s")),
)

#: Of the target, else of the 30 processes that wrote most: regular files that are open for writing and grew, four to
#: a process. What they grew by, 64 kB of it at most, is compared line by line; lines of fewer than eight bytes and
#: repetitions within one file are normal. A file is read only where its process has another one. The files are reached
#: through the process, in any namespace.
_SH = (
    READ_END
    + r"""
LC_ALL=C
export LC_ALL
umask 077
trap : TERM
P=${TARGET_PIDS-}
wrote() { grep -Hs ^wchar: /proc/[0-9]*/io; }
[ -n "$P" ] || wrote > .before
# One program where the descriptors are few enough for a command.
grown() {
  set --
  for p in $P; do [ $# -gt 8000 ] || set -- "$@" /proc/$p/fd/*; done
  if [ $# -le 8000 ]; then
    stat -L -c '%n %s %d:%i %F' "$@" 2>/dev/null
  else
    for p in $P; do printf '%s\n' /proc/$p/fd/*; done | head -n 20000 | xargs stat -L -c '%n %s %d:%i %F' 2>/dev/null
  fi
}
if [ -z "$P" ]; then
  sleep 1
  P=$(wrote | awk -F '[/:]' 'NR == FNR { a[$3] = $NF; next } ($3 in a) && $NF > a[$3] { d[$3] = $NF - a[$3] }
    END { while (n++ < 30) { k = ""; for (p in d) if (k == "" || d[p] > d[k]) k = p; if (k == "") exit; print k; delete d[k] } }' .before -)
  SECS=$((SECS - 1))
fi
[ "$SECS" -ge 1 ] || SECS=1
grown > .first
sleep "$SECS" &
wait $!
grown > .last
echo "looked	seconds=$SECS"
awk '$4 != "regular" { next } NR == FNR { if (m++ < 4000) { size[$1] = $2; node[$1] = $3 } next }
  ($1 in size) && node[$1] == $3 && $2 > size[$1] {
    split($1, w, "/")
    if ((w[3], $3) in had) next
    had[w[3], $3] = 1
    print w[3], $2 - size[$1], $1
  }' .first .last | sort -k1,1n -k2,2nr | awk 'function emit(  i) { if (n > 1) for (i = 1; i <= n && i <= 4; i++) if (written(b[i])) print b[i] }
  function written(l,  w, f, x, r) { split(l, w, "[ /]"); f = "/proc/" w[1] "/fdinfo/" w[7]
    while ((getline x < f) > 0) if (x ~ /^flags:.*[12]$/) r = 1
    close(f); return r }
  $1 != p { emit(); p = $1; n = 0 } { b[++n] = $0 } END { emit() }' > .grown
name() {
  N=$(readlink "$1")
  case $N in *[!\ -\<\>-~]*) N=$(printf %s "$N" | tr -d '\000-\037=') ;; esac
  [ ${#N} -le 200 ] || N=$(printf %.200s "$N")
}
# Each file is read once, in a file of its own.
end_of() {
  E=.end.$p.${1##*/}
  [ -e "$E" ] || read_end "$1" $2 > "$E" 2>/dev/null
}
while read -r p g f; do
  while read -r q h o; do
    [ "$q" = "$p" ] && [ "$o" != "$f" ] || continue
    [ "$h" -lt "$g" ] || { [ "$h" = "$g" ] && [ "${o##*/}" -gt "${f##*/}" ]; } || continue
    t=$g
    [ $t -le 65536 ] || t=65536
    end_of "$f" $t
    A=$E
    t=$h
    [ $t -le 65536 ] || t=65536
    end_of "$o" $t
    c=
    read -r c </proc/$p/comm
    set -- $(awk 'length < 8 { next } NR == FNR { if (!($0 in a)) n++; a[$0]; next } !($0 in b) { b[$0]; m++; r += ($0 in a) }
      END { printf "%d %d %d", n, m, r }' $A $E)
    [ "$2" -gt 0 ] || continue
    name "$f"
    M=$N
    name "$o"
    printf 'pair\tpid=%s\tcomm=%s\tfile=%s\tother_file=%s\tlines=%s\tother_lines=%s\trepeated=%s\tshare=%s\tgrew=%s\tother_grew=%s\n' \
      "$p" "$c" "$M" "$N" "$1" "$2" "$3" $((100 * $3 / $2)) $((g / SECS)) $((h / SECS))
  done < .grown
done < .grown
exit 0
"""
)


def parse_log_repeats(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Table `log_repeats`: pairs of files that one process wrote to, the slower growing one as `other_file`.

    Lines are counted once each; `share` is how many of the lines of `other_file` are also in `file`.
    """
    del context
    matching_field_lines = field_lines.read_field_lines(parts, ("looked", "pair"))
    if matching_field_lines is None:
        return field_lines.report_missing_part()
    return field_lines.build_parsed(
        matching_field_lines,
        tables=field_lines.build_table("log_repeats", matching_field_lines["pair"], _REPEATS, 200),
    )


COLLECTOR = Collector(
    id="log_repeats",
    title=Text("Lines written twice", "重复写入的日志"),
    why=Text(
        "Whether a process writes the same lines to two files: twice the work for every request.",
        "进程是否把相同的行写入两个文件：每个请求都多做一遍。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Script(
            "proc",
            Needs(
                tools=("awk", "grep", "stat", "tail", "timeout", "readlink", "xargs"),
                files=("/proc/self/fdinfo",),
                root=True,
                remedy="coreutils; root for the files of other users",
            ),
            sh=strip_indent(_SH),
            command_line="stat /proc/PID/fd/* twice in {seconds} s; what grew is compared on the host, lines are counted",
            stop="TERM",
        ),
    ),
    parse=parse_log_repeats,
    cost=Cost(
        0.4,
        300,
        Text(
            "Two samples of the files of up to 30 processes, then up to 64 kB of each file that grew.",
            "读取两次至多 30 个进程的文件，再读取每个增长文件的至多 64 kB。",
        ),
    ),
    seconds_max=120,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS, TargetAccess.FILES}),
)
