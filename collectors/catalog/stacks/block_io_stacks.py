"""Requests to block devices with the stack that submitted them, and how long the device took."""

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
from collectors.parse.perf.recording import parse_events
from collectors.shell.perf import POSTLUDE, PRELUDE
from collectors.shell.perf_events import EVENT_RATE, RECORD_EVENTS

_SH = (
    PRELUDE
    + POSTLUDE
    + "event=block:block_rq_issue"
    + EVENT_RATE
    + r"""
[ "$rate" -le 50000 ] || { echo "$rate requests a second: too many stacks to record" >&2; exit 69; }
report "requests_per_s $rate"
"""
    + RECORD_EVENTS
    + r"""
record_events -e block:block_rq_insert -e block:block_rq_issue -e block:block_rq_complete/call-graph=no/ -g
"""
)


def parse_block_io_stacks(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Where the requests are."""
    return parse_events("block_io", parts)


COLLECTOR = Collector(
    id="block_io_stacks",
    title=Text("Block I/O by stack", "块设备 I/O 调用栈"),
    why=Text(
        "Which code reads and writes disks: each request with its stack, its size, and how long the device took.",
        "哪些代码在读写磁盘：每个请求的调用栈、大小及设备耗时。",
    ),
    tier=Tier.STANDARD,
    exclusive=True,
    on_demand=True,
    methods=(
        Script(
            "perf",
            Needs(tools=("perf",), root=True, perf=True, remedy="linux-perf"),
            sh=_SH,
            command_line="perf record -e block:block_rq_insert -e block:block_rq_issue"
            " -e block:block_rq_complete/call-graph=no/ -a -g -k CLOCK_MONOTONIC -- sleep {seconds}",
            version="perf version",
        ),
    ),
    parse=parse_block_io_stacks,
    cost=Cost(
        3.0,
        250_000,
        Text(
            "A stack is walked for each request, twice if it is queued, some 3 µs each; refused on hosts with too"
            " many requests.",
            "每个请求遍历一次调用栈（排队时两次），每次约 3 µs；请求过多的主机会拒绝执行。",
        ),
    ),
    seconds_max=30,
    max_bytes=64 << 20,
    touches=frozenset({TargetAccess.COUNTERS, TargetAccess.MEMORY}),
)
