"""The score as a table for people."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]
KINDS = ("fault", "blind", "lookalike", "healthy", "stacked", "herring")


def markdown(plays: Sequence[Json]) -> str:
    """What it is, the sums by kind of every play, of all together, and one line for every scenario."""
    every = [one for play in plays for one in play["rounds"]]
    lines = [_ABOUT]
    for play in plays:
        rounds = play["rounds"]
        lines += [
            f"`./culprit bench score {play['asked']}`",
            "",
            f"{len(rounds)} rounds in random order, of {play['planned']} that were planned.",
            "",
            *_by_kind(rounds),
            "",
        ]
    if len(plays) > 1:
        lines += ["All of them together:", "", *_by_kind(every), ""]
    lines += [*_evaluation(every), "## Every scenario", "", _HEAD, _RULE]
    for kind in KINDS:
        names = sorted({one["scenario"] for one in every if one["kind"] == kind})
        lines += [
            _row(f"{name} ({kind})", [one for one in every if one["scenario"] == name]) for name in names
        ]
    return "\n".join(lines) + "\n"


def _by_kind(rounds: Sequence[Json]) -> list[str]:
    kinds = {kind: [one for one in rounds if one["kind"] == kind] for kind in KINDS}
    rows = [_row(f"**{kind}**", of_kind) for kind, of_kind in kinds.items() if of_kind]
    return [_HEAD, _RULE, *rows, _row("**all**", rounds)]


def _evaluation(rounds: Sequence[Json]) -> list[str]:
    """How long the rules took, where it was noted."""
    took = sorted(ms for one in rounds for ms in one.get("evaluated_ms", ()))
    if not took:
        return []
    middle, late = statistics.median(took), took[min(len(took) - 1, int(0.95 * len(took)))]
    return [
        f"All rules over one capture, reading it from the database included: median {middle:.0f} ms, 95th percentile",
        f"{late:.0f} ms ({len(took)} captures, on the machine that was sick).",
        "",
    ]


_ABOUT = """# The score

How often the right cause is named: real faults on hosts of the lab, diagnosed over SSH by a real platform.
Written by `./culprit bench score --save docs/score.json`; a later play is added to the earlier ones, whose misses stay.

- **fault**: what the rules were written for.
- **blind**: another way into the same illness, written by somebody who had not seen the rules; those named `-unseen`
  were not seen by the rules' authors either.
- **lookalike**: the same signs with another cause, or with none.
- **healthy**: busy hosts on which nothing is wrong.
- **stacked**: two faults at once.
- **herring**: a fault, and on the same host something busy and healthy that was there before.
- **top-1**: the first cause is a true one; on a healthy host, nothing is named likely.
- **top-3**: one of the first three is. **all found**: every true cause is named.
- **wrong causes**: named likely, and not there.
- **null model**: how often "name the largest number" is right: the cause of the number furthest beyond its threshold.
- **grounded**: cited numbers that were found again in the bytes of their artifact, by the parsers alone.

## By kind
"""

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
