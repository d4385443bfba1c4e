"""Statistics of a Redis server: INFO, slow commands, latency events. Never an argument of a command."""

# ruff: noqa: E501 - a statement of the program for the host stays on one line

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from collectors.contract import (
    Collector,
    Column,
    Context,
    Cost,
    Needs,
    Option,
    Parsed,
    Part,
    Script,
    Table,
    TargetAccess,
    Text,
    Tier,
    Tool,
)
from collectors.parse.tables import field_lines
from collectors.parse.tables.field_lines import FieldColumn, FieldLine
from collectors.shell.target import LOW

_MAX_BYTES = 1 << 20
#: Without a server of the target, of so many servers the one that executes most commands is read. A server that does not
#: answer in time goes before all: something blocks it.
_MAX_SERVERS = 6
_BLOCKED = 10**9
_NUMBER = re.compile(r"-?\d{1,15}(\.\d{1,6})?\Z")
_SLOW = (
    FieldColumn("command", number=False),
    FieldColumn("arguments"),
    FieldColumn("duration", "ms", source="ms"),
    FieldColumn("age", "s", source="age_s"),
)
_INFO = (Column("name"), Column("value"), Column("number"), Column("change", "per_s"))
_LATENCY = (
    FieldColumn("event", number=False),
    FieldColumn("age", "s", source="age_s"),
    FieldColumn("latest", "ms", source="latest_ms"),
    FieldColumn("max", "ms", source="max_ms"),
)

#: redis-cli --no-raw prints one value to a line, quoted and escaped, nested ones further in: arguments are counted
#: by their indentation and never looked at.
_SLOW_AWK = r"""
function put() { if (cmd != "") printf "slow\tcommand=%s\targuments=%d\tms=%.3f\tage_s=%d\n", substr(cmd, 1, 30), argc, us / 1000, now - at; cmd = "" }
{ match($0, /^ */); deep = RLENGTH }
/^ *[0-9]+\) 1\) \(integer\)/ { put(); next }
/^ *2\) \(integer\)/ && cmd == "" { at = $3; field = deep; next }
/^ *3\) \(integer\)/ && cmd == "" { us = $3; next }
/^ *4\) 1\) "/ && cmd == "" { cmd = $3; gsub(/"/, "", cmd); cmd = toupper(cmd); gsub(/[^A-Z._|]/, "?", cmd); argc = 0; next }
deep > field && /^ *[0-9]+\) "/ { argc++ }
END { put() }
"""

_SH = f"""
LC_ALL=C
export LC_ALL
{LOW}
p=${{OPT_PORT:+127.0.0.1:$OPT_PORT}}
if [ -z "$p" ]; then
  p=$(ss -Hltnp 2>/dev/null | awk -v want=" ${{TARGET_PIDS:-${{TARGET_PID-}}}} " '/"(redis-server|valkey-server|redis|keydb-server)"/ && match($0, /pid=[0-9]+/) {{
    q = substr($0, RSTART + 4, RLENGTH - 4); n = split($4, a, ":"); h = substr($4, 1, length($4) - length(a[n]) - 1)
    gsub(/[][*]/, "", h); if (h == "" || h == "0.0.0.0" || h == "::") h = "127.0.0.1"
    h = h ":" a[n]
    if (index(want, " " q " ")) {{ ours = h; exit }}
    if (!(q in seen) && m++ < {_MAX_SERVERS}) {{ seen[q]; every = every " " h }} }}
    END {{ print ours != "" ? ours : every }}')
fi
p=${{p# }}
[ -n "$p" ] || {{ echo "no redis is listening here" >&2; exit 69; }}
c=$(command -v redis-cli || command -v valkey-cli) || {{ echo "no redis-cli" >&2; exit 69; }}
c="timeout 5 $low $c"
if [ -n "${{TARGET_PID-}}" ] && nsenter -t "$TARGET_PID" -n true 2>/dev/null; then
  unset REDISCLI_AUTH
  c="nsenter -t $TARGET_PID -n $c"
fi
case $p in
*" "*)
  p=$(for q in $p; do
    timeout 2 $c -h "${{q%:*}}" -p "${{q##*:}}" INFO stats > .stats 2>/dev/null
    awk -F: -v port="$q" -v status=$? '$1 == "instantaneous_ops_per_sec" {{ o = $2 }} /^ERR max/ {{ status = 124 }}
      END {{ print status == 124 ? {_BLOCKED} : o + 0, port }}' .stats
  done | sort -k1,1nr | {{ read -r o q; echo "$q"; }})
  rm -f .stats
esac
h=${{p%:*}} p=${{p##*:}}
c="$c -h $h -p $p"
echo "redis-cli -p $p INFO, SLOWLOG GET 128, LATENCY LATEST, CONFIG GET hz" > "${{ARGV:-/dev/null}}"
info() {{ $c INFO 2>/dev/null | tr -d '\\r' | awk -F: -v when="$1" '
  /^(redis_version|redis_mode|uptime_in_seconds|hz|configured_hz|io_threads_active|connected_clients|blocked_clients|maxclients|used_memory|used_memory_rss|maxmemory|maxmemory_policy|mem_fragmentation_ratio|loading|rdb_bgsave_in_progress|aof_enabled|aof_delayed_fsync|aof_last_write_status|latest_fork_usec|instantaneous_ops_per_sec|total_connections_received|total_commands_processed|rejected_connections|expired_keys|evicted_keys|keyspace_hits|keyspace_misses|errorstat_OOM|role|connected_slaves|master_link_status|used_cpu_sys|used_cpu_user|used_cpu_sys_main_thread|used_cpu_user_main_thread):/ {{
    print "info\\twhen=" when "\\tname=" $1 "\\tvalue=" $2 }}'; }}
info start > .a
grep -q redis_version .a || {{
  case $($c PING 2>&1) in *"ERR max"*) printf 'redis\\tport=%s\\ninfo\\twhen=end\\tname=refused_clients\\tvalue=1\\n' $p; exit;; esac
  echo "redis on port $p does not answer INFO (a password?)" >&2
  exit 69
}}
trap : TERM
sleep "$SECS" & wait $!
printf 'redis\\tport=%s\\tseconds=%s\\n' "$p" "$SECS"
cat .a
info end
$c --no-raw CONFIG GET hz 2>/dev/null | awk -F'"' '/^2\\)/ {{ print "info\\twhen=end\\tname=config_hz\\tvalue=" $2 }}'
$c SLOWLOG LEN 2>/dev/null | awk '/^[0-9]+$/ {{ print "info\\twhen=end\\tname=slowlog_len\\tvalue=" $1 }}'
$c --no-raw SLOWLOG GET 128 2>/dev/null | awk -v now="$(date +%s)" '{_SLOW_AWK}'
$c --csv LATENCY LATEST 2>/dev/null | tr -d '"\\n' | awk -F, -v now="$(date +%s)" '{{ for (i = 1; i + 3 <= NF; i += 4)
  printf "latency\\tevent=%s\\tage_s=%d\\tlatest_ms=%d\\tmax_ms=%d\\n", $i, now - $(i + 1), $(i + 2), $(i + 3) }}'
"""


def parse_redis_info(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Tables `redis_info` (value at the end, and what it grew by a second), `redis_slowlog`, `redis_latency`.

    `refused_clients` is 1 where the server refused the collector too, because it had as many clients as it allows.
    Names of INFO's fields: redis.io/commands/info. Facts hold the same numbers by name.
    """
    matching_field_lines = field_lines.read_field_lines(parts, ("redis", "info", "slow", "latency"))
    if matching_field_lines is None:
        return field_lines.report_missing_part()
    first = {
        line.text("name", 60): line for line in matching_field_lines["info"] if line.text("when") == "start"
    }
    last = {
        line.text("name", 60): line for line in matching_field_lines["info"] if line.text("when") == "end"
    }
    redis_item = matching_field_lines["redis"][0] if matching_field_lines["redis"] else None
    seconds = (redis_item.value("seconds") if redis_item else context.seconds) or context.seconds
    rows = [_build_row(name, first.get(name), line, seconds) for name, line in list(last.items())[:100]]
    info = Table("redis_info", _INFO, tuple(row for row, _ in rows), lines=tuple(n for _, n in rows))
    return field_lines.build_parsed(
        matching_field_lines,
        tables=(
            *((info,) if rows else ()),
            *field_lines.build_table("redis_slowlog", matching_field_lines["slow"], _SLOW, 128),
            *field_lines.build_table("redis_latency", matching_field_lines["latency"], _LATENCY, 50),
        ),
        facts={"redis_port": redis_item.whole("port") if redis_item else None}
        | {f"redis_{row[0]}": row[1] if row[2] is None else row[2] for row, _ in rows},
    )


Row = tuple[str, str, float | None, float | None]


def _build_row(name: str, before: FieldLine | None, line: FieldLine, seconds: float) -> tuple[Row, int]:
    # A counter of errors is there from the first error on, as `count=N`.
    is_error = name.startswith("errorstat_")
    text = line.text("value", 80).removeprefix("count=" if is_error else "")
    value = float(text) if _NUMBER.match(text) else None
    earlier = before.text("value", 80).removeprefix("count=") if before else "0" if is_error else ""
    was = float(earlier) if _NUMBER.match(earlier) else math.nan
    grew = (value - was) / seconds if value is not None and not math.isnan(was) and seconds > 0 else None
    return (name, text, value, grew), line.number


COLLECTOR = Collector(
    id="redis_info",
    title=Text("Redis", "Redis"),
    why=Text(
        "Whether Redis itself was blocked: slow commands, latency events, forks, clients, memory, evictions.",
        "Redis 自身是否被阻塞：慢命令、延迟事件、fork、客户端、内存与淘汰。",
    ),
    tier=Tier.LIGHT,
    on_demand=True,
    methods=(
        Script(
            "redis-cli",
            Needs(
                tools=(
                    Tool(
                        "redis-cli",
                        package="redis",
                        packages={"debian": "redis-tools", "ubuntu": "redis-tools", "pacman": "valkey"},
                    ),
                ),
                remedy="redis-cli, and a server that answers without a password",
            ),
            sh=_SH,
            command_line="redis-cli INFO (before and after {seconds} s), SLOWLOG GET 128, LATENCY LATEST, CONFIG GET hz",
            version="redis-cli --version",
        ),
    ),
    parse=parse_redis_info,
    cost=Cost(0.1, 500, Text("Six read-only commands.", "六条只读命令。")),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    options=(Option("port", r"[1-9][0-9]{0,4}", Text("Port", "端口")),),
    touches=frozenset({TargetAccess.SOCKETS}),
)
