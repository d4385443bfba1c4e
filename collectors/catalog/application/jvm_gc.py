"""How long JVMs stop for garbage collection and how full their old generation is, from their performance data."""

# ruff: noqa: E501 - a statement of the program for the host stays on one line

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping

from collectors.contract import (
    Collector,
    Column,
    Context,
    Cost,
    Needs,
    Parsed,
    Part,
    Script,
    Table,
    TargetAccess,
    Text,
    Tier,
)
from collectors.parse.tables import field_lines
from collectors.parse.tables.field_lines import FieldLine
from collectors.shell.target import ENTER, PYTHON_REMEDY

_MAX_BYTES = 1 << 18
_COLUMNS = (
    *(Column("pid"), Column("comm"), Column("collections"), Column("full_collections"), Column("gc", "ms")),
    *(
        Column("gc_pct", "pct"),
        Column("mean_pause", "ms"),
        Column("stopped_pct", "pct"),
        Column("old_used_pct", "pct"),
    ),
    *(Column("old_max", "bytes"), Column("seconds", "s")),
)

#: The file has a header of 32 bytes and entries of a 20 byte header, a name and a value (hotspot: perfMemory.hpp). Only
#: numbers of the collector, the heap and safepoints are printed: the file also holds arguments and properties, which
#: never leave the host. `t1` is a number of eight bytes.
_AWK = r"""
function word(at, n,  i, v) { v = 0; for (i = n - 1; i >= 0; i--) v = v * 256 + B[little ? at + i : at + n - 1 - i]; return v }
{ for (i = 1; i <= NF; i++) B[n++] = $i }
END {
  if (n < 32 || B[0] != 202 || B[1] != 254) exit 1
  little = B[4]; at = word(24, 4); count = word(28, 4)
  for (e = 0; e < count && e < 2000 && at + 20 <= n; e++) {
    size = word(at, 4); if (size < 20) exit
    name = ""; for (i = at + word(at + 4, 4); B[i] > 0 && i < at + size && i < n; i++) name = name sprintf("%c", B[i])
    if (B[at + 12] == 74 && name ~ /^sun\.(gc\.collector\.[0-9]\.(invocations|time)|gc\.generation\.1\.space\.0\.(used|maxCapacity|capacity)|os\.hrt\.frequency|rt\.safepointTime|rt\.safepoints)$/)
      printf "perf\twhen=%s\tpid=%s\tcomm=%s\tname=%s\tvalue=%.0f\n", when, pid, comm, name, word(at + word(at + 16, 4), 8)
    at += size } }
"""

_SH = f"""
LC_ALL=C
export LC_ALL
{ENTER}
J=
for p in ${{TARGET_PIDS-}} $(grep -lsx java /proc/[0-9]*/comm | sed 's|/proc/||; s|/.*||'); do
  case $(readlink "/proc/$p/exe" 2> /dev/null) in */java | */java' (deleted)') case " $J " in *" $p "*) ;; *) J="$J $p" ;; esac ;; esac
done
[ -n "$J" ] || {{ echo "no Java process" >&2; exit 69; }}
look() {{
  k=0
  for p in $J; do
    k=$((k + 1))
    [ $k -le 5 ] || break
    u=$(awk '/^Uid:/ {{ print $3 }}' "/proc/$p/status" 2> /dev/null) || continue
    i=$(awk '/^NSpid:/ {{ print $NF }}' "/proc/$p/status" 2> /dev/null)
    n=$(id -un "$u" 2> /dev/null || echo "$u")
    c=$(tr '\\t=' '__' < "/proc/$p/comm" 2> /dev/null)
    enter_target file "/tmp/hsperfdata_$n/${{i:-$p}}" 131072 3 "$p" 2> .err | tail -n +2 | od -An -v -tu1 | awk -v when="$1" -v pid="$p" -v comm="$c" '{_AWK}'
  done
}}
trap : TERM
look start > .start
[ -s .start ] || {{ head -n 1 .err >&2; echo "no performance data of a JVM can be read" >&2; exit 69; }}
cat .start
sleep "$SECS" & wait $!
printf 'span\\tseconds=%s\\n' "$SECS"
look end
rm -f .err .start
"""


def parse_jvm_gc(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Table `jvm_gc`, one row for each JVM.

    `gc` is the time that all collectors stopped the program, `stopped_pct` the share of the time in any safepoint, and
    `full_collections` counts the second collector, which is the one for full collections in every HotSpot collector
    with two.
    """
    matching = field_lines.read_field_lines(parts, ("perf", "span"))
    if matching is None:
        return field_lines.report_missing_part()
    spans = matching["span"]
    seconds = spans[0].value("seconds") if spans else context.seconds
    values: dict[str, dict[tuple[str, str], FieldLine]] = defaultdict(dict)
    for line in matching["perf"]:
        values[line.text("pid", 20)][line.text("when", 10), line.text("name", 80)] = line
    rows, lines = [], []
    for lines_of_jvm in values.values():
        row = _build_row(lines_of_jvm, seconds)
        if row is not None:
            rows.append(row[0])
            lines.append(row[1])
    tables = (Table("jvm_gc", _COLUMNS, tuple(rows), lines=tuple(lines)),) if rows else ()
    return field_lines.build_parsed(matching, tables=tables)


Row = tuple[str | int | float | None, ...]


def _build_row(lines: Mapping[tuple[str, str], FieldLine], seconds: float) -> tuple[Row, int] | None:
    """Return the row of one JVM and its source line, or None if a reading is missing."""

    def read(when: str, name: str) -> float:
        line = lines.get((when, name))
        return line.value("value") if line is not None else math.nan

    def grown(name: str) -> float:
        return read("end", name) - read("start", name)

    first = lines.get(("end", "sun.gc.collector.0.time"))
    per_s = read("end", "sun.os.hrt.frequency")
    times = [grown(f"sun.gc.collector.{at}.time") for at in range(4)]
    counts = [grown(f"sun.gc.collector.{at}.invocations") for at in range(4)]
    if first is None or math.isnan(times[0]) or not per_s > 0 or seconds <= 0:
        return None
    gc_ms = 1000.0 * sum(value for value in times if value >= 0) / per_s
    collections = sum(value for value in counts if value >= 0)
    stopped = 100.0 * grown("sun.rt.safepointTime") / per_s / seconds
    space = "sun.gc.generation.1.space.0"
    most = read("end", f"{space}.maxCapacity")
    used = 100.0 * read("end", f"{space}.used") / most if most > 0 else math.nan
    cells = (
        *(first.whole("pid"), first.text("comm"), collections, counts[1], gc_ms),
        *(gc_ms / seconds / 10.0, gc_ms / collections if collections else 0.0, stopped, used, most, seconds),
    )
    known = tuple(None if isinstance(cell, float) and not math.isfinite(cell) else cell for cell in cells)
    return known, first.number


COLLECTOR = Collector(
    id="jvm_gc",
    title=Text("Garbage collection of JVMs", "JVM 垃圾回收"),
    why=Text(
        "How long Java programs stop for garbage collection, and how full their old generation is.",
        "Java 程序因垃圾回收停顿多久，老年代有多满。",
    ),
    tier=Tier.LIGHT,
    on_demand=True,
    methods=(
        Script(
            "hsperfdata",
            Needs(tools=("awk", "od", "tail"), remedy=PYTHON_REMEDY),
            sh=_SH,
            command_line="read /tmp/hsperfdata_USER/PID of five JVMs before and after {seconds} s, numbers of the collector only",
            stop="TERM",
        ),
    ),
    parse=parse_jvm_gc,
    cost=Cost(
        1.0,
        200,
        Text(
            "Reads a file of 32 kB of each JVM twice. The JVM does not notice.",
            "读取每个 JVM 的 32 kB 文件两次，JVM 不受影响。",
        ),
    ),
    seconds_max=120,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS, TargetAccess.FILES}),
)
