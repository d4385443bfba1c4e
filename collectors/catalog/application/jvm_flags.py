"""How a Java process was started: its heap against its limit, its collector, its final flags."""

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
from collectors.shell.jvm import ATTACH
from collectors.shell.target import PYTHON_REMEDY

_MAX_BYTES = 1 << 20
_FLAGS = (FieldColumn("flag", number=False), FieldColumn("value", number=False))
_HEAP = (
    FieldColumn("pid"),
    FieldColumn("max_heap", "bytes"),
    FieldColumn("initial_heap", "bytes"),
    FieldColumn("memory_limit", "bytes"),
    FieldColumn("rss", "kb", source="rss_kb"),
    FieldColumn("max_heap_of_limit", "pct", source="of_limit_pct"),
    FieldColumn("heap_used", "kb", source="heap_used_kb"),
    FieldColumn("heap_committed", "kb", source="heap_total_kb"),
)

#: Only -XX flags are printed: what follows -D on a command line may be a password. Flags with a path lose it.
_SH = f"""
LC_ALL=C
export LC_ALL
{ATTACH}
c=$(jvm_command VM.flags 262144) || {{ echo "the Java process does not answer" >&2; exit 69; }}
h=$(jvm_command GC.heap_info 262144)
[ "$SECS" -lt 1 ] || sleep 1
printf '%s\\n' "$c" | tr ' ' '\\n' | awk -F= '/^-XX:/ {{ n = substr($1, 5); v = $2
  if (n ~ /^[+-]/) {{ v = substr(n, 1, 1) == "+" ? "true" : "false"; n = substr(n, 2) }}
  if (v !~ /^[A-Za-z0-9.]*$/) v = "*"
  print "flag\\tflag=" n "\\tvalue=" v }}'
l=
for f in "/sys/fs/cgroup${{TARGET_CGROUP-}}/memory.max" "/sys/fs/cgroup/memory${{TARGET_CGROUP-}}/memory.limit_in_bytes"; do
  [ -r "$f" ] && read -r l < "$f" && break
done
{{ printf '%s\\n' "$c" | tr ' ' '\\n'; printf '%s\\n' "$h"; grep VmRSS "/proc/$j/status"; grep MemTotal /proc/meminfo; }} |
awk -v pid="$j" -v limit="$l" '
  /^-XX:MaxHeapSize=/ {{ sub(/.*=/, ""); max = $0 }} /^-XX:InitialHeapSize=/ {{ sub(/.*=/, ""); init = $0 }}
  / total +[0-9]+K, +used +[0-9]+K/ {{ for (i = 1; i < NF; i++) {{ if ($i == "total") tot += $(i + 1); if ($i == "used") used += $(i + 1) }} }}
  /^VmRSS/ {{ rss = $2 }} /^MemTotal/ {{ mem = $2 * 1024 }}
  END {{ if (limit !~ /^[0-9]+$/ || limit + 0 > mem) limit = mem
    printf "heap\\tpid=%d\\tmax_heap=%s\\tinitial_heap=%s\\tmemory_limit=%.0f\\trss_kb=%d\\tof_limit_pct=%.2f\\theap_used_kb=%d\\theap_total_kb=%d\\n", pid, max, init, limit, rss, limit ? 100 * max / limit : 0, used, tot }}'
"""


def parse_jvm_flags(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Tables `jvm_flags` and `jvm_heap`; the limit is the control group's, or the host's memory without one."""
    del context
    matching_field_lines = field_lines.read_field_lines(parts, ("flag", "heap"), max_lines=5_000)
    if matching_field_lines is None:
        return field_lines.report_missing_part()
    return field_lines.build_parsed(
        matching_field_lines,
        tables=(
            *field_lines.build_table("jvm_heap", matching_field_lines["heap"], _HEAP),
            *field_lines.build_table("jvm_flags", matching_field_lines["flag"], _FLAGS),
        ),
    )


COLLECTOR = Collector(
    id="jvm_flags",
    title=Text("JVM flags", "JVM 参数"),
    why=Text(
        "The greatest heap against the memory limit, and which garbage collector runs with how many threads.",
        "最大堆与内存限制的关系，以及使用的垃圾回收器和线程数。",
    ),
    tier=Tier.STANDARD,
    exclusive=True,
    on_demand=True,
    methods=(
        Script(
            "attach",
            Needs(tools=("awk", "env", "grep"), target=True, remedy=PYTHON_REMEDY),
            sh=_SH,
            command_line="VM.flags and GC.heap_info over the attach socket of the JVM, as its user ({seconds} s at most)",
        ),
    ),
    parse=parse_jvm_flags,
    cost=Cost(
        1.0,
        500,
        Text(
            "Two commands that the JVM answers, a few milliseconds each. The first starts a thread in the JVM.",
            "两条由 JVM 自身应答的命令，各数毫秒；首次会在 JVM 中启动一个线程。",
        ),
    ),
    seconds_max=10,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS, TargetAccess.FILES, TargetAccess.SOCKETS}),
)
