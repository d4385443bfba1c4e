"""What an application's log complains of, as counts. No line of the log leaves the host."""

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
from collectors.shell.log_files import OPEN, PATH

_MAX_BYTES = 1 << 20
_PATTERNS = (
    FieldColumn("pattern", number=False),
    FieldColumn("count"),
    FieldColumn("rate", "per_s", source="per_s"),
    FieldColumn("first_ago", "s", source="first_s"),
    FieldColumn("last_ago", "s", source="last_s"),
    FieldColumn("mode", "ms", source="mode_ms"),
    FieldColumn("mode_count"),
)
_TEMPLATES = (
    FieldColumn("template", number=False),
    FieldColumn("pattern", number=False),
    FieldColumn("count"),
)

#: Lines are dated by the clock time in their first 60 characters, as an age behind the newest line: neither the
#: date format nor the time zone needs to be known. Templates keep plain words only, not what follows words like
#: `token`, and none that was seen once: what happens once may be anything, what repeats is the program speaking.
_AWK = r"""
function clock(s) { s = substr(s, 1, 60)
  if (!match(s, /[0-2][0-9]:[0-5][0-9]:[0-6][0-9]/)) return -1
  return substr(s, RSTART, 2) * 3600 + substr(s, RSTART + 3, 2) * 60 + substr(s, RSTART + 6, 2) }
function mask(s,  n, w, i, k, o, last, hide) {
  gsub(/"[^"]*"|\047[^\047]*\047|`[^`]*`|<[^>]*>|\{.*\}/, " # ", s); gsub(/[=]/, "= ", s); n = split(s, w, /[ \t,;()\[\]|]+/); o = ""; k = 0
  for (i = 1; i <= n && k < 14; i++) {
    x = w[i]; sub(/^[^A-Za-z0-9#]+/, "", x); sub(/[^A-Za-z=:]+$/, "", x)
    if (x == "") continue
    y = x; sub(/[:=]$/, "", y)
    if (hide || !(y ~ /^[A-Za-z][A-Za-z_-]*$/ && length(y) <= 20 || y ~ /^[A-Za-z.]+(Exception|Error)$/)) y = "#"
    hide = x ~ /=$/ || tolower(x) ~ /pass|token|secret|auth|bearer|cookie|session|key|user|login|mail|account|phone|name|for$/
    if (y == "#" && last == "#") continue
    o = o (o == "" ? "" : " ") y; last = y; k++ }
  return substr(o, 1, 120) }
function hit(p) { c[p]++; if (!(p in first) || age > first[p]) first[p] = age; if (!(p in newest) || age < newest[p]) newest[p] = age; of = of == "" ? p : of }
NR == FNR { t = clock($0); if (t >= 0) newestclock = t; next }
FNR == 1 { age = idle }
{
  t = clock($0); if (t >= 0) { stamped++; age = (newestclock - t + 86400) % 86400; if (age > 43200) age = 0; age += idle }
  if (age > window) next
  seen++; l = tolower(substr($0, 1, 2000)); of = ""
  if (l ~ /eaddrnotavail|cannot assign requested address/) hit("eaddrnotavail")
  if (l ~ /epipe|broken pipe/) hit("epipe")
  if (l ~ /econnrefused|connection refused/) hit("connection_refused")
  if (l ~ /econnreset|connection reset/) hit("connection_reset")
  if (l ~ /out of memory|outofmemory|oom-kill|cannot allocate memory/) hit("oom")
  if (l ~ /emfile|too many open files/) hit("too_many_open_files")
  if (l ~ /enospc|no space left/) hit("no_space")
  if (l ~ /ehostunreach|no route to host|network is unreachable/) hit("unreachable")
  if (l ~ /name resolution|name or service not known|servfail|unknownhost/) hit("dns")
  if (l ~ /pool (is )?(exhausted|full)|get a resource from the pool|too many (connections|clients)|waiting for (an )?(idle|free|available) (object|connection)/) hit("pool_exhausted")
  if (l ~ /reached (pm\.)?max(_children|requestworkers|clients)|worker_connections are not enough|all threads .*busy/) hit("workers_full")
  if (l ~ /timed ?out|time-out|timeout|deadline exceeded/) { hit("timeout")
    if (match(l, /[0-9]+(\.[0-9]+)? ?(ms|milliseconds|s|secs?|seconds)([^a-z]|$)/)) { v = substr(l, RSTART, RLENGTH); d = (v + 0) * (v ~ /m(s|i)/ ? 1 : 1000); if (lasted[d]++ == 0) durations++; if (durations > 2000) { split("", lasted); durations = 0 } } }
  if (l ~ /(^|[^a-z])(fatal|panic|critical)([^a-z]|$)/) hit("fatal"); else if (l ~ /(^|[^a-z])(error|err|severe)([^a-z]|$)/) hit("error"); else if (l ~ /(^|[^a-z])warn(ing)?([^a-z]|$)/) hit("warning")
  if (of != "" && kinds < 3000) { s = substr($0, 1, 600); if (match(substr(s, 1, 60), /[0-2][0-9]:[0-5][0-9]:[0-6][0-9][0-9.,]*Z?/)) s = substr(s, RSTART + RLENGTH); m = mask(s); if (!((m, of) in tc)) kinds++; tc[m, of]++ }
}
END {
  printf "log\tlines=%d\tstamped=%d\twindow_s=%d\tidle_s=%d\n", seen, stamped, window, idle
  for (d in lasted) if (lasted[d] > best) { best = lasted[d]; mode = d }
  for (p in c) printf "pattern\tpattern=%s\tcount=%d\tper_s=%.3f\tfirst_s=%d\tlast_s=%d%s\n", p, c[p], c[p] / window, first[p], newest[p], p == "timeout" && best ? sprintf("\tmode_ms=%g\tmode_count=%d", mode, best) : ""
  for (m in tc) if (tc[m] > 1 && shown++ < 200) { split(m, part, SUBSEP); gsub(/[\t=]/, "_", part[1]); printf "template\ttemplate=%s\tpattern=%s\tcount=%d\n", part[1], part[2], tc[m] }
}
"""

_SH = f"""
LC_ALL=C
export LC_ALL
{OPEN}
trap : TERM
sleep "$SECS" & wait $!
echo "count patterns in the last 20 MB of $OPT_PATH" > "${{ARGV:-/dev/null}}"
read_log 200000 > .end || exit 69
read -r m < .end
sed 1d .end | tail -n 200 | cut -c1-80 > .tail
[ -s .tail ] || echo > .tail
read_log 20000000 | sed 1d | awk -v idle=$(($(date +%s) - m)) -v window=$((SECS + 60)) '{_AWK}' .tail - > .out
{{ grep '^log' .out; grep -v '^log' .out | sort; }}
"""


def parse_app_log(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Tables `log_patterns` and `log_templates`; ages are seconds before the end of the capture.

    `mode` is the duration that most timeouts name: a setting shows as a round number.
    """
    del context
    matching_field_lines = field_lines.read_field_lines(parts, ("log", "pattern", "template"))
    if matching_field_lines is None:
        return field_lines.report_missing_part()
    for tag in ("pattern", "template"):
        matching_field_lines[tag].sort(key=lambda line: -(line.whole("count") or 0))
    names = ("lines", "stamped", "window_s", "idle_s")
    return field_lines.build_parsed(
        matching_field_lines,
        tables=(
            *field_lines.build_table("log_patterns", matching_field_lines["pattern"], _PATTERNS),
            *field_lines.build_table("log_templates", matching_field_lines["template"], _TEMPLATES, 200),
        ),
        facts={f"log_{name}": line.whole(name) for line in matching_field_lines["log"][:1] for name in names},
    )


COLLECTOR = Collector(
    id="app_log",
    title=Text("Application log", "应用日志"),
    why=Text(
        "Timeouts, broken pipes, refused connections, exhausted addresses or files: how many, and since when.",
        "超时、管道断开、连接被拒、地址或文件描述符耗尽：有多少、从何时开始。",
    ),
    tier=Tier.LIGHT,
    on_demand=True,
    methods=(
        Script(
            "awk",
            Needs(
                tools=("awk", "sed", "tail", "timeout"),
                remedy="a readable log file; python3 for one in a container",
            ),
            sh=_SH,
            command_line="tail -c 20000000 PATH | awk (counts of patterns), after {seconds} s; in a container as its user",
        ),
    ),
    parse=parse_app_log,
    cost=Cost(
        1.0,
        200,
        Text("One pass over at most 20 MB of the log, at the end.", "结束时最多读取日志末尾 20 MB 一次。"),
    ),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    options=(PATH,),
    touches=frozenset({TargetAccess.FILES}),
)
