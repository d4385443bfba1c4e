"""What the sessions of PostgreSQL do, read from the titles of their processes, without a connection."""

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

_MAX_BYTES = 1 << 20
_COLUMNS = (
    *(FieldColumn("pid"), FieldColumn("samples"), FieldColumn("ticks")),
    *(FieldColumn("waiting_s", "s"), FieldColumn("idle_in_transaction_s", "s"), FieldColumn("active_s", "s")),
    *(FieldColumn("waiting_samples", source="waits"), FieldColumn("active_samples", source="active")),
    FieldColumn("title", number=False),
)

#: `update_process_title` (on by default) keeps user, database, client and activity in the title: `idle`, `idle in
#: transaction`, or the command, with `waiting` at its end while it waits for a heavyweight lock. Twice a second at most,
#: and less often where there are many processes. Of each session the longest uninterrupted time in a state is printed.
_SH = r"""
LC_ALL=C
export LC_ALL
trap : TERM
grep -sqx postgres /proc/[0-9]*/comm || { echo "no PostgreSQL runs here" >&2; exit 69; }
read -r u x </proc/uptime
e=$((${u%.*} + SECS))
z=0.5
sleep 0.1 2>/dev/null || z=1
{
  trap 'k=1' TERM
  k=
  while read -r u x </proc/uptime && [ "${u%.*}" -lt $e ] && [ -z "$k" ]; do
    set -- $(grep -sxl postgres /proc/[0-9]*/comm | sed 's|comm$|cmdline|' | head -n 2000)
    echo "@ $u"
    [ $# -eq 0 ] || grep -saH '^postgres: ' "$@" | tr '\000\t' '  '
    [ $# -le 500 ] || z=2
    sleep $z &
    wait $!
  done
} | (trap '' TERM; awk '
function add(p, s) { if (now[p] - since[p] > most[p, s]) most[p, s] = now[p] - since[p] }
$1 == "@" { t = $2; ticks++; next }
{ i = index($0, ":"); split(substr($0, 1, i - 1), w, "/"); p = w[3]; v = substr($0, i + 1)
  sub(/^postgres: /, "", v); sub(/ +$/, "", v)
  if (v !~ /(\[local\]|\([0-9]+\)) /) next
  s = "active"
  if (v ~ / idle$/) s = "idle"
  if (v ~ / idle in transaction( \(aborted\))?$/) s = "held"
  if (v ~ / waiting$/) { s = "waits"; kept[p] = v }
  n[p]++; title[p] = v
  if (state[p] != s || seen[p] != ticks - 1) { state[p] = s; since[p] = t }
  seen[p] = ticks; now[p] = t; c[p, s]++; add(p, s) }
END {
  printf "ticks\tticks=%d\n", ticks
  for (p in n) {
    x = (p in kept) ? kept[p] : title[p]; gsub(/[[:cntrl:]=]/, "?", x)
    printf "session\tpid=%d\tsamples=%d\tticks=%d\twaiting_s=%.2f\tidle_in_transaction_s=%.2f\tactive_s=%.2f\twaits=%d\tactive=%d\ttitle=%s\n", \
      p, n[p], ticks, most[p, "waits"], most[p, "held"], most[p, "active"], c[p, "waits"], c[p, "active"], substr(x, 1, 200) | o
  }
}' o="sort -t= -k5,5nr | head -n 1000")
"""


def parse_postgres_titles(parts: Mapping[str, Part], context: Context) -> Parsed:
    """The sessions of clients: how long each was without interruption in a state, in seconds.

    A time is from the first to the last sample in the state, so a session was in it at least that long.
    `waiting_samples` and `active_samples` are samples in which it waited for a lock, or had a command and did not.
    """
    del context
    lines = field_lines.read_field_lines(parts, ("session", "ticks"))
    if lines is None:
        return field_lines.report_missing_part()
    return field_lines.build_parsed(
        lines, tables=field_lines.build_table("postgres_titles", lines["session"], _COLUMNS)
    )


COLLECTOR = Collector(
    id="postgres_titles",
    title=Text("PostgreSQL process titles", "PostgreSQL 进程标题"),
    why=Text(
        "Which sessions wait for locks and which are idle in a transaction, without connecting.",
        "无需连接即可看出哪些会话在等锁、哪些在事务中空闲。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Script(
            "proc",
            Needs(
                tools=("awk", "grep", "sed", "tr", "sort"),
                remedy="grep, sed, coreutils",
            ),
            sh=strip_indent(_SH),
            command_line="grep '^postgres: ' /proc/PID/cmdline of PostgreSQL, twice a second, {seconds} s",
            stop="TERM",
        ),
    ),
    parse=parse_postgres_titles,
    cost=Cost(
        0.5,
        200,
        Text("A read of each PostgreSQL process twice a second.", "每秒两次读取各 PostgreSQL 进程的标题。"),
    ),
    seconds_max=120,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
    on_demand=True,
)
