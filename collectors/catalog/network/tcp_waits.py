"""Who waits for an answer on the host's TCP connections: this host for a peer, or a client for this host."""

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
from collectors.shell import sockets

_MAX_BYTES = sockets.MAX_BYTES
#: The program calls samples `looks`, as recordings and exported incidents hold them.
_WAITS = (
    *(
        FieldColumn("pid"),
        FieldColumn("comm", number=False),
        FieldColumn("direction", number=False),
        FieldColumn("peer", number=False),
    ),
    *(
        FieldColumn("samples", source="looks"),
        FieldColumn("connections"),
        FieldColumn("waiting"),
        FieldColumn("waiting_samples", source="waiting_looks"),
        FieldColumn("oldest", "ms"),
    ),
    *(FieldColumn("unread"), FieldColumn("unsent"), FieldColumn("retransmitting"), FieldColumn("uid")),
    FieldColumn("connections_most", source="most"),
    *(FieldColumn("full_unsent", source="full"), FieldColumn("full_repeated", source="deep")),
    FieldColumn("full_acknowledged", source="full_done"),
    *(FieldColumn("short_segments", source="short"), FieldColumn("short_repeated", source="short_again")),
)


def parse_tcp_waits(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Table `tcp_waits`: by process, direction and the other side, means over all samples.

    `direction` is `out` where this host is the client (then `peer` is the address and port of the server), `in` where
    it is the server (then `peer` is the port that it listens on). `waiting` are connections on which the server has
    received the whole request and has sent nothing for 20 ms or more. `oldest` is the longest such wait, also of
    a request that the program has not read. `connections_most` is the most in one sample.

    `full_unsent` are connections with unacknowledged data that fills a segment, `full_repeated` those of them whose first
    segment was sent three times or more (of `in`, if no full one was ever acknowledged), `full_acknowledged` connections with acknowledged data of that size
    within the last second. `short_segments` is how many shorter ones were sent, `short_repeated` how many of them again.
    """
    del context
    matching_field_lines = field_lines.read_field_lines(parts, ("looks", "wait"))
    if matching_field_lines is None:
        return field_lines.report_missing_part()
    samples = next((line.whole("looks") for line in matching_field_lines["looks"]), None)
    return field_lines.build_parsed(
        matching_field_lines,
        tables=field_lines.build_table("tcp_waits", matching_field_lines["wait"], _WAITS, 300),
        facts={"tcp_samples": samples},
    )


COLLECTOR = Collector(
    id="tcp_waits",
    title=Text("Unanswered requests", "未获应答的请求"),
    why=Text(
        "Which peer keeps this host waiting, and which requests wait inside this host: the last word on each connection.",
        "哪个对端让本机等待、哪些请求在本机内等待：依据每条连接上最后说话的一方。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Script(
            "ss",
            Needs(tools=("ss", "awk"), root=True, remedy="iproute2, and root for the owners of sockets"),
            sh=sockets.SH,
            command_line="ss -Htine state established state close-wait, once a second for {seconds} s, and -p where one is new, counted on the host",
            version="ss -V",
            stop="TERM",
            share=sockets.SHARE,
        ),
    ),
    parse=parse_tcp_waits,
    cost=Cost(
        0.6,
        2_000,
        Text(
            "A walk over all sockets once a second, a twentieth of the time at most; over descriptors a hundredth.",
            "每秒遍历一次套接字，至多占用二十分之一的时间；遍历描述符至多百分之一。",
        ),
    ),
    seconds_max=60,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
