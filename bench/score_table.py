"""The score as a table for people."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]
KINDS = ("fault", "blind", "lookalike", "healthy", "stacked")


def markdown(rounds: Sequence[Json], seed: int) -> str:
    """Sums by kind, then one line for every scenario."""
    lines = [f"Seed {seed}, {len(rounds)} rounds.", "", _HEAD, _RULE]
    for kind in KINDS:
        of_kind = [one for one in rounds if one["kind"] == kind]
        if of_kind:
            lines.append(_row(f"**{kind}**", of_kind))
    lines.append(_row("**all**", rounds))
    for kind in KINDS:
        names = sorted({one["scenario"] for one in rounds if one["kind"] == kind})
        lines += [
            _row(f"{name} ({kind})", [one for one in rounds if one["scenario"] == name]) for name in names
        ]
    return "\n".join(lines) + "\n"


_HEAD = (
    "| scenario | rounds | top-1 | top-3 | all found | wrong causes | null model | grounded | median s"
    " | true | named |"
)
_RULE = "|---|--:|--:|--:|--:|--:|--:|--:|--:|---|---|"


def _row(title: str, rounds: Sequence[Json]) -> str:
    whole = [one for one in rounds if not one["error"]]
    cited = sum(one["cited"] for one in whole)
    grounded = f"{100 * sum(one['grounded'] for one in whole) / cited:.0f} %" if cited else "-"
    seconds = f"{statistics.median(one['seconds'] for one in whole):.1f}" if whole else "-"
    truth = " ".join(sorted({cause for one in rounds for cause in one["truth"]})) if len(rounds) < 9 else ""
    named = (
        " ".join(sorted({one["named"][0][0] for one in rounds if one["named"]})) if len(rounds) < 9 else ""
    )
    broken = sum(bool(one["error"]) for one in rounds)
    count = f"{len(rounds)}" + (f" ({broken} broken)" if broken else "")
    cells = [
        title,
        count,
        _share(rounds, "top1"),
        _share(rounds, "top3"),
        _share(rounds, "all_found"),
        str(sum(len(one["wrong"]) for one in rounds)),
        _share(rounds, "null_right"),
        grounded,
        seconds,
        truth or "-",
        named or "-",
    ]
    return f"| {' | '.join(cells)} |"


def _share(rounds: Sequence[Json], name: str) -> str:
    return f"{100 * sum(bool(one[name]) for one in rounds) / len(rounds):.0f} %" if rounds else "-"
