"""Whether the host's clock is kept right, by whom, and how far off it is."""

from __future__ import annotations

import math
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
from collectors.shell import processes

_COLUMNS = (
    FieldColumn("source", number=False),
    FieldColumn("synchronised", number=False),
    FieldColumn("offset", "ms", source="offset_ms"),
    FieldColumn("error", "ms", source="error_ms"),
    FieldColumn("detail", number=False),
)


def parse_clock_sync(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Table `clock_sync`, one row for each source that answers; facts of the best: chrony, ntpd, the kernel."""
    del context
    matching_field_lines = field_lines.read_field_lines(
        parts, ("clock", "source", "daemon", "end"), max_lines=500
    )
    if matching_field_lines is None:
        return field_lines.report_missing_part()
    by_source = {line.text("source"): line for line in matching_field_lines["clock"]}
    best = next((by_source[n] for n in ("chrony", "ntpd", "kernel", "timedatectl") if n in by_source), None)
    offset = best.value("offset_ms") if best else float("nan")
    facts: dict[str, object] = {
        "clock_synchronised": best.text("synchronised") == "yes" if best else None,
        "clock_offset_ms": None if math.isnan(offset) else offset,
        "clock_judge": best.text("source") if best else None,
        "clock_daemons": [line.text("name", 40) for line in matching_field_lines["daemon"][:10]],
        "clocksource": matching_field_lines["source"][0].text("name", 40)
        if matching_field_lines["source"]
        else None,
    }
    return field_lines.build_parsed(
        matching_field_lines,
        tables=field_lines.build_table("clock_sync", matching_field_lines["clock"], _COLUMNS, 20),
        facts=facts,
    )


COLLECTOR = Collector(
    id="clock_sync",
    title=Text("Clock", "时钟同步"),
    why=Text(
        "Whether times of this host can be compared with those of other hosts.",
        "本机时间能否与其他主机的时间对比。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Script(
            "tools",
            Needs(tools=("awk", "timeout"), remedy="chrony, ntp or systemd-timesyncd"),
            sh=processes.SH,
            share=processes.SHARE,
            command_line="adjtimex -p; chronyc tracking; ntpq -pn; timedatectl show, after {seconds} s",
            stop="TERM",
        ),
    ),
    parse=parse_clock_sync,
    cost=Cost(0.2, 50, Text("Four short questions, at the end.", "结束时查询四个简短状态。")),
    seconds_max=600,
    max_bytes=processes.MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
