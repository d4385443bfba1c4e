"""The score as a table for people."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from culprit.json_types import Json

KINDS = ("fault", "validation", "development", "holdout", "decoy", "healthy", "stacked", "distractor")


def render_markdown(batches: Sequence[Json]) -> str:
    """What it is, the sums by kind of every batch, of all together, and one line for every scenario."""
    every = [item for batch in batches for item in batch["rounds"]]
    lines = [_ABOUT]
    for batch in batches:
        rounds = batch["rounds"]
        lines += [
            f"`./culprit bench score {batch['options']}`",
            "",
            f"{len(rounds)} rounds in random order, of {batch['planned']} that were planned.",
            "",
            *_by_kind(rounds),
            "",
        ]
    if len(batches) > 1:
        lines += ["All of them together:", "", *_by_kind(every), ""]
    lines += [*_evaluation(every), "## Every scenario", "", _HEAD, _RULE]
    for kind in KINDS:
        names = sorted({item["scenario"] for item in every if item["kind"] == kind})
        lines += [
            _row(f"{name} ({kind})", [item for item in every if item["scenario"] == name]) for name in names
        ]
    return "\n".join(lines) + "\n"


def _by_kind(rounds: Sequence[Json]) -> list[str]:
    kinds = {kind: [item for item in rounds if item["kind"] == kind] for kind in KINDS}
    rows = [_row(f"**{kind}**", of_kind) for kind, of_kind in kinds.items() if of_kind]
    return [_HEAD, _RULE, *rows, _row("**all**", rounds)]


def _evaluation(rounds: Sequence[Json]) -> list[str]:
    """How long the rules took, where it was noted."""
    took = sorted(ms for item in rounds for ms in item.get("evaluated_ms", ()))
    if not took:
        return []
    middle, late = statistics.median(took), took[min(len(took) - 1, int(0.95 * len(took)))]
    return [
        f"All rules over one capture, reading it from the database included: median {middle:.0f} ms, 95th percentile",
        f"{late:.0f} ms ({len(took)} captures, on the host with the fault).",
        "",
    ]


_ABOUT = """# The score

How often the right cause is named: real faults on hosts of the lab, diagnosed over SSH by a real platform.
Written by `./culprit bench score --save bench/results/score.json --table docs/score.md`. With `--add`, a later batch is
added to the earlier ones, and their misses stay. A seed draws the same rounds only with the scenarios of that batch.

- **fault**: what the rules were written for.
- **validation**: the same cause with another mechanism. Its author did not know the rules; its results improved the
  rules.
- **holdout**: a further mechanism that was not used to write or improve the rules.
- **decoy**: similar symptoms with another cause, or with none.
- **healthy**: busy hosts on which nothing is wrong.
- **stacked**: two faults at once.
- **distractor**: a fault on a host that also runs a busy, healthy program.
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
    whole = [item for item in rounds if not item["error"]]
    cited = sum(item["cited"] for item in whole)
    grounded = f"{100 * sum(item['grounded'] for item in whole) / cited:.0f} %" if cited else "-"
    seconds = f"{statistics.median(item['seconds'] for item in whole):.1f}" if whole else "-"
    truth = " ".join(sorted({cause for item in rounds for cause in item["truth"]})) if len(rounds) < 9 else ""
    named = (
        " ".join(sorted({item["named"][0][0] for item in rounds if item["named"]})) if len(rounds) < 9 else ""
    )
    broken = sum(bool(item["error"]) for item in rounds)
    count = f"{len(rounds)}" + (f" ({broken} broken)" if broken else "")
    cells = [
        title,
        count,
        _share(rounds, "top1"),
        _share(rounds, "top3"),
        _share(rounds, "all_named"),
        str(sum(len(item["wrong"]) for item in rounds)),
        _share(rounds, "null_right"),
        grounded,
        seconds,
        truth or "-",
        named or "-",
    ]
    return f"| {' | '.join(cells)} |"


def _share(rounds: Sequence[Json], name: str) -> str:
    return f"{100 * sum(bool(item[name]) for item in rounds) / len(rounds):.0f} %" if rounds else "-"
