"""Stacks of major page faults: which code and which files have to be fetched from the disk again."""

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
    Sentence,
    TargetAccess,
    Text,
    Tier,
)
from collectors.parse.perf import perf_report
from collectors.parse.perf.recording import find_stacks
from collectors.shell.perf import POSTLUDE, PRELUDE

_MAX_BYTES = 96 << 20
_FIELDS = "comm,pid,tid,cpu,time,period,event,ip,sym,dso"

_SH = (
    PRELUDE
    + POSTLUDE
    + r"""
cap=
has record --max-size && cap="--max-size=$((BYTES / 6 / 1024))K"
scope=-a
[ -z "${TARGET_PIDS-}" ] || scope="-p $(echo $TARGET_PIDS | tr ' ' , | cut -d , -f 1-64)"
"$perf" record -e major-faults -c 1 $scope -g $clock $extra $cap -o perf.data -- sleep "$SECS" > record.log 2>&1
report "record_exit $?"
echo "$perf record -e major-faults -c 1 $scope -g $clock $extra $cap -- sleep $SECS" > "${ARGV:-/dev/null}"
cat record.log >&2
report "clock ${clock:-none}"
usable perf.data || { rm -f perf.data header.txt; exit 69; }
stats perf.data
if named_by_server; then
    kernel_symbols
else
    text perf.data $((BYTES * 3 / 4)) """
    + _FIELDS
    + """ cat
fi
"""
)


def parse_pagefault_stacks(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Where the stacks are. A window without a single major fault is an answer, not a failure."""
    reported_perf_report = perf_report.parse_perf_report(parts)
    profile = find_stacks("page_faults", parts, reported_perf_report.clock)
    has_samples = bool(reported_perf_report.facts.get("perf_report_samples"))
    if profile is None or (profile.reader == "perf_data" and not has_samples):
        if "header.txt" in parts and not has_samples:
            return Parsed(
                facts=reported_perf_report.facts,
                warnings=(*reported_perf_report.warnings, Sentence("warning.no_major_faults")),
            )
        missing = Sentence("warning.part_missing", {"part": "script.txt"})
        return Parsed(
            facts=reported_perf_report.facts,
            warnings=(*reported_perf_report.warnings, missing),
            readable=False,
        )
    return Parsed(
        profiles=(profile,), facts=reported_perf_report.facts, warnings=reported_perf_report.warnings
    )


COLLECTOR = Collector(
    id="pagefault_stacks",
    title=Text("Major page faults", "主缺页"),
    why=Text(
        "Which code waits for pages that have to come from the disk: every major fault with its stack.",
        "哪些代码在等待从磁盘取回的页：记录每次主缺页及其调用栈。",
    ),
    tier=Tier.STANDARD,
    exclusive=True,
    on_demand=True,
    methods=(
        Script(
            "perf",
            Needs(tools=("perf",), perf=True, remedy="linux-perf"),
            sh=_SH,
            command_line="perf record -e major-faults -c 1 -g -a (or -p of the target) -k CLOCK_MONOTONIC"
            " -- sleep {seconds}; then nice perf script --no-inline, unless the server names functions",
            version="perf version",
        ),
    ),
    parse=parse_pagefault_stacks,
    cost=Cost(
        1.0,
        100_000,
        Text(
            "One stack for each fault, all of which wait for the disk.",
            "每次等待磁盘的缺页记录一个调用栈。",
        ),
    ),
    seconds_max=30,
    max_bytes=_MAX_BYTES,
    messages={
        "warning.no_major_faults": Text(
            "No major page fault occurred during the capture.",
            "采集期间没有发生主缺页。",
        ),
    },
    touches=frozenset({TargetAccess.COUNTERS, TargetAccess.FILES, TargetAccess.MEMORY}),
)
