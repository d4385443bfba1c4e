"""What a host recorded about itself before anybody asked: numbers over hours, as sar and atop kept them."""

from __future__ import annotations

from collections.abc import Mapping

from collectors.contract import Parsed, Part
from collectors.parse import fielded
from collectors.parse.fielded import Field

_MAX_ROWS = 6_000
_COLUMNS = (
    Field("when", "epoch_s", source="t"),
    Field("metric", number=False),
    Field("device", number=False),
    Field("value"),
)


def parse(parts: Mapping[str, Part], tool: str) -> Parsed:
    """Table `history` out of the lines that the scripts of both collectors print; names are the tool's own."""
    found = fielded.read(parts, ("history", "file"), max_lines=20_000)
    if found is None:
        return fielded.missing()
    facts = {f"{tool}_interval_s": line.whole("interval_s") for line in found["file"][:1]}
    table = fielded.table("history", found["history"], _COLUMNS, _MAX_ROWS)
    return fielded.ended(found, tables=table, facts=facts)
