"""Who calls whom: the connections of each process by address and port, with round trips, queues and loss."""

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
from collectors.parse.network import addresses, call_edges, namespaces
from collectors.parse.proc import sampled
from collectors.shell import sockets

_MAX_BYTES = sockets.MAX_BYTES
#: As many sockets are looked at as `head` below lets through, two lines each.
_MAX_SOCKETS = 10_000


def parse_calls(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Tables `calls` and `unix_calls`; the addresses of the host, or of the target's network namespace, as a fact."""
    samples = sampled.read_samples(parts, _MAX_BYTES)
    facts, warnings = namespaces.read_namespace(samples)
    reported_samples = samples.of("addresses")
    facts = {
        **facts,
        "addresses": addresses.is_reachable(reported_samples[-1].lines() if reported_samples else ()),
    }
    checks = [
        check for snapshot in samples.of("calls") if (check := call_edges.parse_call_edges(snapshot)).line
    ]
    if not checks:
        return Parsed(facts=facts, warnings=(*warnings, Sentence("warning.too_few_samples")), readable=False)
    most = max(checks, key=lambda sample: sample.seen)
    if most.seen >= _MAX_SOCKETS or most.rest:
        warnings = (*warnings, Sentence("warning.calls_cut", {"seen": most.seen, "rest": most.rest}))
    tables = (call_edges.build_calls_table(checks), call_edges.build_unix_table(samples.of("unix")))
    return Parsed(
        tables=tuple(table for table in tables if table is not None), facts=facts, warnings=warnings
    )


COLLECTOR = Collector(
    id="calls",
    title=Text("Calls", "调用关系"),
    why=Text(
        "Connections between processes: how many, with what round-trip time, queues and loss.",
        "进程之间的连接：数量、往返时间、队列与丢包。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Script(
            "ss",
            Needs(tools=("ss", "awk"), remedy="iproute2"),
            sh=sockets.SH,
            command_line="ss -Htinp, counted by process and address on the host, now and after "
            "{seconds} s; ss -Hxnp once",
            version="ss -V",
            stop="TERM",
            share=sockets.SHARE,
        ),
    ),
    parse=parse_calls,
    cost=Cost(
        0.3,
        2_000,
        Text(
            "Two samples of up to 10,000 sockets. Each sample walks the open files of all processes once.",
            "读取两次，至多 1 万个套接字；每次遍历所有进程打开的文件以找到属主。",
        ),
    ),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    messages={
        "warning.calls_cut": Text(
            "Only some sockets were read in detail: {seen} were observed, and {rest} of them "
            "belong to groups that are not listed.",
            "只详细读取了部分套接字：共观察到 {seen} 个，其中 {rest} 个属于未列出的分组。",
        ),
    },
    touches=frozenset({TargetAccess.COUNTERS}),
)
