"""Memory fetched from another NUMA node, where the processor can count it."""

from __future__ import annotations

from collections.abc import Mapping

from collectors.contract import Collector, Context, Cost, Needs, Parsed, Part, Script, Sentence, Text, Tier
from collectors.parse.perf import perf_stat
from collectors.parse.tables.tokens import to_text
from collectors.shell.perf import PRELUDE

_MAX_BYTES = 4 << 20
_PART = "stat.txt"
_EVENTS = "events.txt"
_MAX_EVENTS = 8

# No two processors name these alike, so perf's own list is asked.
_SH = (
    PRELUDE
    + rf"""
$nice "$perf" list --no-desc 2> .list | grep -v -e 'Tracepoint event' -e 'Metric' \
    | awk '/^  [^ ]/ {{ print $1 }}' \
    | grep -i -E 'remote|node-(load|store)-misses|l3_miss_retired|amd_(umc|df)/' | sort -u | head -n 200 > {_EVENTS}
report "remote_events $(wc -l < {_EVENTS})"
[ "$(wc -l < {_EVENTS})" -gt 0 ] || exit 0
set --
while read -r event; do
    [ $# -ge $(({_MAX_EVENTS} * 2)) ] && break
    "$perf" stat -x ';' -a -e "$event" -- true 2>&1 | grep -q '^[0-9]' && set -- "$@" -e "$event"
done < {_EVENTS}
[ $# -gt 0 ] || exit 0
"$perf" stat -x ';' -a "$@" -o {_PART} -- sleep "$SECS" > record.log 2>&1
report "stat_exit $?"
cat record.log >&2
"""
)


def parse_perf_stat_remote(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Totals of the events that the processor offers; none on most virtual machines, which is no failure."""
    listed = parts.get(_EVENTS)
    if listed is None:
        return Parsed(warnings=(Sentence("warning.part_missing", {"part": _EVENTS}),), readable=False)
    names = [
        to_text(line.strip(), 120) for line in listed.read(_MAX_BYTES).split(b"\n")[:200] if line.strip()
    ]
    facts = {"remote_memory_events": names}
    part = parts.get(_PART)
    counts = list(perf_stat.parse_event_counts(part.read(_MAX_BYTES), names)) if part is not None else []
    table = perf_stat.sum_counts(counts, context.seconds, "perf_stat_remote", _PART)
    if table is None:
        return Parsed(facts=facts, warnings=(Sentence("warning.no_remote_events"),))
    return Parsed(tables=(table,), facts=facts)


COLLECTOR = Collector(
    id="perf_stat_remote",
    title=Text("Remote memory", "远端内存访问"),
    why=Text(
        "How much memory is fetched from another NUMA node, on processors that count it.",
        "从其他 NUMA 节点取内存的次数（需处理器支持该计数）。",
    ),
    tier=Tier.STANDARD,
    exclusive=True,
    on_demand=True,
    methods=(
        Script(
            "perf",
            Needs(tools=("perf", "awk"), perf=True, remedy="linux-perf"),
            sh=_SH,
            command_line="perf list; perf stat -a -e <what counts remote memory> -- sleep {seconds}",
            version="perf version",
        ),
    ),
    parse=parse_perf_stat_remote,
    cost=Cost(0.5, 100, Text("Counters of the processor only.", "只用处理器计数器。")),
    seconds_max=30,
    max_bytes=_MAX_BYTES,
    messages={
        "warning.no_remote_events": Text(
            "This processor or virtual machine has no event that counts remote memory accesses. Nothing was measured.",
            "此处理器或虚拟机没有统计远端内存访问的事件，未进行测量。",
        ),
    },
    touches=frozenset(),
)
