"""Logs that grow during the capture: how fast, which requests failed, and which limits they report.

No line leaves the host.
"""

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
    PlanEntry,
    Script,
    TargetAccess,
    Text,
    Tier,
)
from collectors.parse.tables import field_lines
from collectors.parse.tables.field_lines import FieldColumn
from collectors.shell.dedent import strip_indent
from collectors.shell.log_files import READ_END

_MAX_BYTES = 1 << 18
_LOGS = (
    *(FieldColumn("pid"), FieldColumn("comm", number=False), FieldColumn("path", number=False)),
    *(FieldColumn("rate", "bytes_per_s", source="per_s"), FieldColumn("free", "bytes"), FieldColumn("lines")),
    *(FieldColumn("read", "bytes"), FieldColumn("same"), FieldColumn("seconds", "s")),
)
_ANSWERS = (
    *(FieldColumn("pid"), FieldColumn("comm", number=False), FieldColumn("path", number=False)),
    *(FieldColumn("requests"), FieldColumn("failed"), FieldColumn("limited"), FieldColumn("given_up")),
    *(FieldColumn("worst"), FieldColumn("worst_count")),
    *(FieldColumn("clients"), FieldColumn("client_failed"), FieldColumn("client_requests")),
    FieldColumn("failing_clients", source="few"),
)
_MESSAGES = (
    *(
        FieldColumn("pid"),
        FieldColumn("comm", number=False),
        FieldColumn("kind", number=False),
        FieldColumn("count"),
    ),
)

#: A log is a regular file that a process holds open for writing only and whose path names it. Only what was appended
#: during the capture is read, 500 kB of each of ten files at most. `same` counts the lines of the most frequent kind,
#: where digits and what is quoted do not count. The messages are those of the programs' own sources. EAGAIN counts for
#: processes only within three lines of a fork, as in the traceback of an exception. The free space is that of the
#: descriptor: df searches the path in its own mounts and answers 0 for a container's. A tmpfs without a size has none.
#: The name of a file may hold a line end, and then what is like a line of ls: the link itself is compared.
#: Lines with an HTTP status are answers: the common log format (nginx, Apache, gunicorn, Varnish, Jetty, uvicorn),
#: HAProxy, uWSGI, JSON with `status`, and method, path and status of Node's loggers. Those of requests that did not
#: fail are not searched for messages. Addresses of clients are counted on the host and stay there; a log that begins with
#: a time has none.
AWK = r"""
function hit(k) { c[k]++ }
function address(t) { return t ~ /^[0-9]+[.][0-9]+[.][0-9]+[.][0-9]+$/ || t ~ /^[0-9a-fA-F:.]+$/ && (t ~ /::/ || split(t, parts, ":") == 8) }
function status(l) {
  if (match(l, /HTTP\/[0-9.]+" [1-5][0-9][0-9] /)) return substr(l, RSTART + RLENGTH - 4, 3)
  if (match(l, /( -?[0-9]+)(\/[+]?-?[0-9]+)(\/[+]?-?[0-9]+)(\/[+]?-?[0-9]+)(\/[+]?-?[0-9]+) [1-5][0-9][0-9] /)) return substr(l, RSTART + RLENGTH - 4, 3)
  if (match(l, /\(HTTP\/[0-9.]+ [1-5][0-9][0-9]\)/)) return substr(l, RSTART + RLENGTH - 4, 3)
  if (match(l, /[".]status(_?[Cc]ode)?": ?"?[1-5][0-9][0-9][",} ]/)) return substr(l, RSTART + RLENGTH - 4, 3)
  if (match(l, /(GET|POST|PUT|DELETE|PATCH|HEAD) \/[^ ]* [1-5][0-9][0-9] /)) return substr(l, RSTART + RLENGTH - 4, 3)
  return 0 }
{ n++; l = $0
  if (v = status(l)) {
    requests++
    if (v >= 500) { failed++; if (++of[v] > worst_count) { worst = v; worst_count = of[v] } }
    else if (v == 429) limited++
    else if (v == 499) given_up++
    if (address($1) && ($1 in of_client || clients < 5000)) {
      if (!($1 in of_client)) clients++
      of_client[$1]++
      if (v >= 500) bad[$1]++ } }
  if (!v || v >= 500) {
  if (l ~ /worker_connections are not enough|[Mm]aximum number of connections|reached process FD limit|max number of clients reached|max_client_conn|MaxStartups|client connections are being dropped/) hit("connections_full")
  if (l ~ /limiting connections by zone/) hit("clients_limited")
  if (l ~ /limiting requests, excess|[Rr]ate limit exceeded|Too Many Requests/) hit("requests_limited")
  if (l ~ /reached (pm\.)?max_children setting|server reached MaxRequestWorkers|scoreboard is full|seems busy \(you may need to increase|uWSGI listen queue of socket .* full|RejectedExecution|rejected_execution|reached its process limit|deferring operation: too many/) hit("workers_full")
  if (l ~ /too many clients already|remaining connection slots are reserved|Too many connections|too many connections for (role|database)|max_user_connections/) hit("database_full")
  if (l ~ /QueuePool limit of size|Connection is not available, request timed out after|pool error Timeout waiting for idle object|Unable to fetch a connection in|couldn\047t get a connection after|connection pool timeout|checking out a connection from connection pool|timeout exceeded when trying to connect|query_wait_timeout/) hit("pool_full")
  if (l ~ /Lock wait timeout exceeded|lock timeout|deadlock detected|Deadlock found when trying|still waiting for .*Lock on|database is locked/) hit("locks_wait")
  if (l ~ /OOM command not allowed when used memory/) hit("cache_full")
  if (l ~ /OutOfMemoryError: (Java heap space|GC overhead limit exceeded)/) hit("heap_full")
  if (l ~ /Read-only file system|EROFS/) hit("read_only")
  if (l ~ /certificate has expired|CERT_HAS_EXPIRED|certificate is not yet valid|sslv3 alert certificate expired/) hit("certificate_expired")
  if (l ~ /[Cc]onnection refused|ECONNREFUSED|E(HOST|NET)UNREACH|[Nn]o route to host|[Nn]etwork is unreachable/) hit("peer_refuses")
  if (l ~ /Too many open files|EMFILE|ENFILE/) hit("files_full")
  if (l ~ /No space left on device|ENOSPC|[Dd]isk quota exceeded|EDQUOT|[Ff]ile too large|EFBIG/) hit("space_full")
  if (l ~ /ENOTFOUND|Name or service not known|[Nn]o such host|NXDOMAIN|Host not found[)]/) hit("names_unknown")
  else if (l ~ /[Nn]ame resolution|getaddrinfo|EAI_AGAIN|UnknownHost|server misbehaving|be resolved [(]|resolve host|DNS (lookup|timeout)|[Nn]ame service error|translate host|lookup [^ ]+ on /) hit("names_fail")
  if (l ~ /([Ww]orker|[Cc]hild|[Pp]rocess|pid|exited:).*(exit.*((code|status)[ =][1-9]|signal [A-Z])|(exit|kill|terminat).* signal [1-9]|(sent|by) SIG[A-Z])/ && l !~ /signal (15|2|1)($|[^0-9])|SIG(INT|TERM|HUP)|=15|code 143/) hit("programs_die")
  near = (l ~ /[Ff]ork|[Ss]pawn|[Cc]lone/) ? 4 : near - 1
  if (near > 0 && l ~ /Resource temporarily unavailable|EAGAIN/ || l ~ /[Cc]annot fork|unable to create (new )?native thread|can\047t start new thread|pthread_create failed|newosproc/) hit("processes_full")
  }
  m = substr(l, 1, 300); gsub(/"[^"]*"|\047[^\047]*\047/, "_", m); gsub(/[0-9a-f]*[0-9]+[0-9a-f]*/, "0", m)
  if (m in k || kinds < 2000) { if (!(m in k)) kinds++; if (++k[m] > best) best = k[m] } }
END {
  for (; few < 5; few++) {
    client = ""
    for (i in bad) if (client == "" || bad[i] > bad[client]) client = i
    if (client == "") break
    most_bad += bad[client]; of_bad += of_client[client]; delete bad[client] }
  printf "%s\tlines=%d\tsame=%d\n", head, n, best
  if (requests) printf "answers\t%s\trequests=%d\tfailed=%d\tlimited=%d\tgiven_up=%d\tworst=%d\tworst_count=%d\tclients=%d\tclient_failed=%d\tclient_requests=%d\tfew=%d\n", whose, requests, failed, limited, given_up, worst, worst_count, clients, most_bad, of_bad, few
  for (i in c) printf "message\t%s\tkind=%s\tcount=%d\n", who, i, c[i] }
"""
#: Of the journal, lines of the capture are read without those of the kernel, 20 000 at most, and divided by program.
_SH = (
    READ_END
    + r"""
LC_ALL=C
export LC_ALL
trap : TERM
t='	'
b=$(date +%s)
report() {
  awk -v who="pid=$p${t}comm=$c" -v whose="pid=$p${t}comm=$c${t}path=$x" -v head="log${t}pid=$p${t}comm=$c${t}path=$x${t}per_s=$((g / SECS))${t}free=$a${t}read=$n${t}seconds=$SECS" '"""
    + AWK.replace("'", "'\\''")
    + r"""'
}
ls -l /proc/[0-9]*/fd 2> .err | awk '/^\/proc\/[0-9]+\/fd:$/ { split($1, p, "/"); pid = p[3]; next }
  /^l-wx/ { i = index($0, " -> "); if (!i) next; path = substr($0, i + 4); n = split(substr($0, 1, i - 1), w, " ")
    if (path !~ /^\/(proc|sys|dev|etc)\// && path ~ /log|\.err|\.out/ && w[n] ~ /^[0-9]+$/ && path !~ /\(deleted\)|pg_wal|ib_logfile|\/journal\/|[\t=]/ && !(path in seen)) { seen[path]; print pid, w[n], path; if (++m >= 200) exit } }' > .files
journalctl -q -n 1 > .entry 2> .err || : > .entry
[ -s .files ] || [ -s .entry ] || { echo "no process has a log open, and there is no journal" >&2; exit 69; }
sizes() { while read -r p f x; do s=$(stat -Lc %s "/proc/$p/fd/$f" 2> .err) && echo "$p $f $s $x"; done < .files; }
sizes > .before
sleep "$SECS" & wait $!
sizes > .after
awk -v secs="$SECS" 'NR == FNR { b[$1 " " $2] = $3; next } { g = $3 - b[$1 " " $2]; if (($1 " " $2) in b && g > 0) { x = $0; sub(/^[^ ]* [^ ]* [^ ]* /, "", x); print g, $1, $2, x } }' .before .after | sort -nr | head -n 10 > .grown
while read -r g p f x; do
  [ "$(readlink "/proc/$p/fd/$f" 2> .err)" = "$x" ] || continue
  c=$(tr '\t=' '__' < "/proc/$p/comm" 2> .err)
  n=$g
  [ "$n" -le 500000 ] || n=500000
  a=$(stat -f -L -c '%a %S %b' "/proc/$p/fd/$f" 2> .err | awk '$3 > 0 { printf "%.0f", $1 * $2 }')
  read_end "/proc/$p/fd/$f" "$n" | report
done < .grown
if [ -s .entry ]; then
  timeout 10 journalctl -q --no-pager --since="@$b" -n 20000 -o short 2> .err | head -c 5000000 | awk '
    /^[A-Z][a-z][a-z] / && match($0, / [^ ]+(\[[0-9]+\])?: /) { w = substr($0, RSTART + 1, RLENGTH - 3); sub(/^.* /, "", w); l = substr($0, RSTART + RLENGTH)
      i = w; sub(/\[.*/, "", i); sub(/^[^[]*\[?/, "", w); sub(/\]/, "", w); gsub(/[\t=]/, "_", i)
      if (i == "kernel") next
      if (!(i in at)) { if (++m > 50) next; at[i] = m; pid[m] = w + 0; name[m] = substr(i, 1, 60) }
      n = at[i]; if (!n || (bytes[n] += length(l) + 1) > 500000) next
      print l > (".j" n) }
    END { for (n in name) print bytes[n], pid[n], n, name[n] }' | sort -nr | head -n 10 > .idents
  x=journal a=
  while read -r g p f c; do
    n=$g
    [ "$n" -le 500000 ] || n=500000
    report < ".j$f"
  done < .idents
fi
awk 'END { printf "open\tfiles=%d\n", NR }' .files
rm -f .err .files .before .after .grown .entry .idents .j*
"""
)


def parse_server_logs(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Return what logs report of the capture.

    Tables: `growing_logs` (rate, free space, equal lines), `answers` (requests by the HTTP status of their answer: `failed`
    are 500 to 599, `limited` 429, `given_up` 499; `worst` is the most frequent status of those that failed; `clients` are
    addresses, and of the five with most failures, or fewer (`failing_clients`), `client_failed` and `client_requests` are counted) and `limit_messages` (which limit a log reports, how often).
    """
    del context
    matching = field_lines.read_field_lines(parts, ("log", "answers", "message", "open"))
    if matching is None:
        return field_lines.report_missing_part()
    return field_lines.build_parsed(
        matching,
        tables=(
            *field_lines.build_table("growing_logs", matching["log"], _LOGS, 20),
            *field_lines.build_table("answers", matching["answers"], _ANSWERS, 20),
            *field_lines.build_table("limit_messages", matching["message"], _MESSAGES, 100),
        ),
        facts={"open_logs": matching["open"][0].whole("files")} if matching["open"] else {},
    )


COLLECTOR = Collector(
    id="server_logs",
    title=Text("Growing logs", "增长中的日志"),
    why=Text(
        "Which logs grow, how many requests fail, and which limits they report: workers, connections, pools, files, "
        "space, names.",
        "哪些日志在增长、多少请求失败，以及其中报告的上限：工作进程、连接、连接池、文件、空间、域名。",
    ),
    tier=Tier.LIGHT,
    on_demand=True,
    methods=(
        Script(
            "awk",
            Needs(
                tools=("awk", "stat", "ls", "tail"),
                root=True,
                remedy="coreutils, awk, and root for the files of others",
            ),
            sh=strip_indent(_SH),
            command_line="ls -l /proc/PID/fd, stat before and after {seconds} s, awk over what was appended to ten logs, and "
            "over the lines of these seconds in the journal",
            stop="TERM",
        ),
    ),
    parse=parse_server_logs,
    cost=Cost(
        2.0,
        200,
        Text(
            "One walk over all descriptors; reads at most 5 MB of logs.",
            "遍历一次描述符；最多读取 5 MB 日志。",
        ),
    ),
    seconds_max=120,
    plans=(PlanEntry("baseline", 120),),
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS, TargetAccess.FILES}),
)
