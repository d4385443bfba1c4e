"""Numbers that a host recorded before the capture: hours of sar or atop data."""

from __future__ import annotations

from collections.abc import Mapping

from collectors.contract import Parsed, Part
from collectors.parse.tables import field_lines
from collectors.parse.tables.field_lines import FieldColumn

_MAX_ROWS = 6_000
_COLUMNS = (
    FieldColumn("when", "epoch_s", source="t"),
    FieldColumn("metric", number=False),
    FieldColumn("device", number=False),
    FieldColumn("value"),
)


def parse_history(parts: Mapping[str, Part], tool: str) -> Parsed:
    """Table `history` out of the lines that the scripts of both collectors print; names are the tool's own."""
    matching_field_lines = field_lines.read_field_lines(parts, ("history", "file"), max_lines=20_000)
    if matching_field_lines is None:
        return field_lines.report_missing_part()
    facts = {f"{tool}_interval_s": line.whole("interval_s") for line in matching_field_lines["file"][:1]}
    table = field_lines.build_table("history", matching_field_lines["history"], _COLUMNS, _MAX_ROWS)
    return field_lines.build_parsed(matching_field_lines, tables=table, facts=facts)
