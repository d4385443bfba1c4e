"""What one kernel function calls, and where its time goes: the kernel's own tracer of call graphs."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

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
    Sentence,
    Table,
    TargetAccess,
    Text,
    Tier,
)
from collectors.parse.tables.tokens import parse_amount, to_text
from collectors.shell.tracing import PRELUDE

_MAX_BYTES = 4 << 20
_MAX_LINES = 200_000
_MAX_DEPTH = 64
_MAX_ROWS = 200
_PART = "graph.txt"
#: ` 1)   fsync-123  | + 12.345 us    |    vfs_fsync() {`; the column of the task may be absent.
_LINE = re.compile(
    rb"^ ?(\d{1,4}\) +(?:[^|]{1,40} +\| +)?)(?:[!@*#+$] *)?(?:(\d{1,12}\.\d{1,3}) us)? *\| ( *)([^ ].{0,200})$"
)
_NAME = re.compile(rb"([A-Za-z_.][A-Za-z0-9_.]{0,127})(?: \[[^\]]{1,60}\])?\(\)? *(?:\)? *)?(\{|;)")
_COLUMNS = (
    Column("function"),
    Column("depth"),
    Column("calls"),
    Column("total_us", "us"),
    Column("self_us", "us"),
    Column("mean_us", "us"),
    Column("max_us", "us"),
    Column("share", "pct"),
)

# There is one such tracer on a host, so it is used only if no other program uses it. The instance whose name ends
# with `_g` marks it as set by this collector.
_SH = (
    r"""
[ -n "${OPT_FUNCTION-}" ] || { echo "name a function" >&2; exit 69; }
"""
    + PRELUDE
    + r"""
grep -q -w function_graph "$t/available_tracers" || { echo "this kernel has no function_graph tracer" >&2; exit 69; }
[ "$(cat "$t/current_tracer")" = nop ] || { echo "another program is tracing" >&2; exit 69; }
mkdir "$t/instances/${name}_g" || exit 69
global=1
put "$OPT_FUNCTION" "$t/set_graph_function" || { echo "$OPT_FUNCTION cannot be traced" >&2; exit 69; }
put 6 "$t/max_graph_depth"
put 1 "$t/options/funcgraph-proc"
[ -z "$tids" ] || put "$(echo $tids)" "$t/set_ftrace_pid"
put function_graph "$t/current_tracer" || { cat .why >&2; exit 69; }
report "function $OPT_FUNCTION"
echo "echo $OPT_FUNCTION > set_graph_function; echo function_graph > current_tracer; sleep $SECS" > "${ARGV:-/dev/null}"
nap "$SECS"
put 0 "$t/tracing_on"
head -c "$((BYTES / 2))" "$t/trace" > graph.txt
"""
)

Row = tuple[str | int | float | None, ...]


@dataclass(frozen=True, slots=True)
class _Call:
    line: int
    function: str
    depth: int
    us: float
    inside_us: float


def parse_ftrace_graph(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Functions by the time spent in them below the one asked for, whose own row is that of depth 0.

    A function that is called at two depths has two rows. Format: Documentation/trace/ftrace.rst of Linux.
    """
    part = parts.get(_PART)
    if part is None:
        return Parsed(warnings=(Sentence("warning.part_missing", {"part": _PART}),), readable=False)
    by_function: dict[tuple[int, str], list[_Call]] = defaultdict(list)
    for call in _parse_calls(part.read(_MAX_BYTES)):
        by_function[call.depth, call.function].append(call)
    if not by_function:
        return Parsed(warnings=(Sentence("warning.no_samples", {"part": _PART}),), readable=False)
    whole_us = sum(call.us for (depth, _), calls in by_function.items() if depth == 0 for call in calls)
    rows = []
    for (depth, function), calls in by_function.items():
        total, longest = sum(call.us for call in calls), max(calls, key=lambda call: call.us)
        own = total - sum(call.inside_us for call in calls)
        share = 100.0 * total / whole_us if whole_us > 0 else None
        row: Row = (function, depth, len(calls), total, max(0.0, own), total / len(calls), longest.us, share)
        rows.append((depth, -total, longest.line, row))
    rows.sort(key=lambda row: row[:3])
    stored_rows = rows[:_MAX_ROWS]
    table = Table(
        "graph_functions",
        _COLUMNS,
        tuple(row for *_, row in stored_rows),
        _PART,
        tuple(line for _, _, line, _ in stored_rows),
    )
    return Parsed(tables=(table,), facts={"graph_total_us": whole_us})


def _parse_calls(text: bytes) -> Iterator[_Call]:
    """Every call whose begin and end are there, with the time that its own callees took.

    Each task on each CPU has its own stack of open calls; what began before the text did is passed over.
    """
    open_calls: dict[bytes, list[tuple[int, str, float]]] = defaultdict(list)
    for number, line in enumerate(text.split(b"\n")[:_MAX_LINES], 1):
        match = _LINE.match(line)
        if match is None:
            continue
        where, took, indent, what = match.groups()
        stack, depth = open_calls[where.strip()], len(indent) // 2
        named = _NAME.match(what)
        if named and named[2] == b"{":
            del stack[depth:]
            if len(stack) == depth < _MAX_DEPTH:
                stack.append((number, to_text(named[1], 128), 0.0))
            continue
        if took is None or depth > len(stack):
            continue
        us = parse_amount(took)
        if named:
            began = (number, to_text(named[1], 128), 0.0)
        elif what.startswith(b"}") and len(stack) == depth + 1:
            began = stack.pop()
        else:
            continue
        if stack and len(stack) == depth:
            above = stack[-1]
            stack[-1] = (above[0], above[1], above[2] + us)
        yield _Call(began[0], began[1], depth, us, began[2])


COLLECTOR = Collector(
    id="ftrace_graph",
    title=Text("Inside a kernel function", "内核函数内部"),
    why=Text(
        "What one kernel function calls, and in which callee the time is spent.",
        "某个内核函数调用了哪些函数，时间花在哪个被调函数上。",
    ),
    tier=Tier.DEEP,
    exclusive=True,
    on_demand=True,
    methods=(
        Script(
            "tracefs",
            Needs(
                tools=("awk", "sed"),
                root=True,
                remedy="a kernel with CONFIG_FUNCTION_GRAPH_TRACER, and tracefs mounted",
            ),
            sh=_SH,
            command_line="the tracer function_graph on one function for {seconds} s",
            stop="TERM",
        ),
    ),
    parse=parse_ftrace_graph,
    cost=Cost(
        15.0,
        400_000,
        Text(
            "About 0.3 µs for each call inside the selected function, six levels deep.",
            "目标函数内每次函数调用约 0.3 µs，至多六层。",
        ),
    ),
    seconds_max=5,
    max_bytes=8 << 20,
    options=(
        Option(
            "function",
            r"[A-Za-z_][A-Za-z0-9_.]{0,127}",
            Text(
                "Kernel function, as in available_filter_functions",
                "内核函数（available_filter_functions 中的名称）",
            ),
            required=True,
        ),
    ),
    touches=frozenset({TargetAccess.COUNTERS}),
)
