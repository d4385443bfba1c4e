"""The score as a table for people."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from culprit.domain.statistics.intervals import wilson_interval
from culprit.json_types import Json

from bench.accuracy.null_models import MODELS

#: Batches with fewer rounds of a kind are plays of single scenarios.
_MIN_ROUNDS = 5
KINDS = ("fault", "validation", "development", "holdout", "decoy", "healthy", "stacked", "distractor")


def render_markdown(batches: Sequence[Json], rules: str) -> str:
    """Return the sums by kind and software of every batch, of all together, and one line for every scenario.

    `rules` is the digest of the rules now: a batch with another one is marked as out of date. `note` of a batch is what
    a reader must know about the machine.
    """
    every = [item for batch in batches for item in batch["rounds"]]
    lines = [_ABOUT, *_summarize(batches, rules), _TERMS, "## By kind", ""]
    for batch in batches:
        rounds = batch["rounds"]
        lines += [
            f"`./culprit bench score {batch['options']}`",
            "",
            f"{len(rounds)} rounds in random order, of {batch['planned']} that were planned."
            + ("" if batch.get("rules") == rules else " **Out of date**: rules changed after these rounds.")
            + (f" {batch['note']}" if batch.get("note") else ""),
            "",
            *render_tables(rounds),
            "",
        ]
    if len(batches) > 1:
        lines += ["All of them together:", "", *_render_kinds(every), ""]
    lines += [*_render_evaluation_time(every), "## Every scenario", "", _HEAD, _RULE]
    for kind in KINDS:
        names = sorted({item["scenario"] for item in every if item["kind"] == kind})
        lines += [
            _render_row(f"{name} ({kind})", [item for item in every if item["scenario"] == name])
            for name in names
        ]
    return "\n".join(lines) + "\n"


def _summarize(batches: Sequence[Json], rules: str) -> list[str]:
    """Return a table with the newest batch of each kind of rounds, of the lab and of real software."""
    lines = [
        "| rounds | hosts | batch | right | 95 % interval | wrong likely | 95 % interval | rules |",
        "|---|---|---|--:|--:|--:|--:|---|",
    ]
    for is_real, hosts in ((True, "real software"), (False, "lab")):
        for kind in KINDS:
            chosen = [
                (batch, of_kind)
                for batch in batches
                if (of_kind := [item for item in batch["rounds"] if _is_of_kind(item, kind, is_real=is_real)])
                and len(of_kind) >= _MIN_ROUNDS
            ]
            if chosen:
                batch, rounds = chosen[-1]
                cells = [kind, hosts, f"`{batch['options'].split(' --')[0]}`"]
                for name in ("top1", "wrong"):
                    count = sum(bool(item[name]) for item in rounds)
                    low, high = wilson_interval(count / len(rounds), len(rounds))
                    cells += [f"{count} of {len(rounds)}", f"{100 * low:.0f} to {100 * high:.0f} %"]
                cells.append("of today" if batch.get("rules") == rules else "older")
                lines.append(f"| {' | '.join(cells)} |")
    return lines


def _is_of_kind(item: Json, kind: str, *, is_real: bool) -> bool:
    return item["kind"] == kind and bool(item.get("software")) is is_real


def render_tables(rounds: Sequence[Json]) -> list[str]:
    """Return the tables by kind and, where rounds are of real software, by software."""
    software = sorted({name for item in rounds for name in item.get("software", ())})
    rows = [
        _render_row(name, [item for item in rounds if name in item.get("software", ())], with_causes=False)
        for name in software
    ]
    return [*_render_kinds(rounds), *(["", "By software:", "", _HEAD, _RULE, *rows] if rows else [])]


def _render_kinds(rounds: Sequence[Json]) -> list[str]:
    kinds = {kind: [item for item in rounds if item["kind"] == kind] for kind in KINDS}
    rows = [_render_row(f"**{kind}**", of_kind) for kind, of_kind in kinds.items() if of_kind]
    return [_HEAD, _RULE, *rows, _render_row("**all**", rounds)]


def _render_evaluation_time(rounds: Sequence[Json]) -> list[str]:
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

## Newest rounds

The newest batch with at least five rounds of each kind. Rounds of *holdout* are the first play of faults that no author
of rules had seen. Intervals are those of Wilson for independent rounds; rounds of one scenario are alike, so the true
ones are wider.
"""

_TERMS = """
## Terms

- **fault**: what the rules were written for.
- **validation**: the same cause with another mechanism. Its author did not know the rules; its results improved the
  rules.
- **holdout**: a further mechanism that was not used to write or improve the rules.
- **development**: faults of real software (`--set real`) that the rules may be improved by.
- **decoy**: similar symptoms with another cause, or with none.
- **healthy**: busy hosts on which nothing is wrong.
- **stacked**: two faults at once.
- **distractor**: a fault on a host that also runs a busy, healthy program.
- **top-1**: the first cause is a true one; on a healthy host, nothing is named likely.
- **top-3**: one of the first three is. **all found**: every true cause is named.
- **wrong likely**: rounds in which a cause is named likely that is not there. **wrong possible**: the same for possible
  causes.
- **null**: how often answers without knowledge are right: the cause of the number furthest beyond its threshold, the
  cause of the busiest resource, and no cause.
- **median s**: until the answer. **cause s**: until the end of the first stage from which on a true cause is named
  first, of right answers that recorded it; the page of a diagnosis shows it while later stages run.
- **grounded**: cited numbers that were found again in the bytes of their artifact, by the parsers alone.
"""

_HEAD = (
    "| scenario | rounds | top-1 | top-3 | all found | wrong likely | wrong possible | null: number | resource | silent"
    " | grounded | median s | cause s | true | named |"
)
_RULE = "|---|" + "--:|" * 12 + "---|---|"


def _render_row(title: str, rounds: Sequence[Json], *, with_causes: bool = True) -> str:
    whole = [item for item in rounds if not item["error"]]
    cited = sum(item["cited"] for item in whole)
    grounded = f"{100 * sum(item['grounded'] for item in whole) / cited:.0f} %" if cited else "-"
    seconds = f"{statistics.median(item['seconds'] for item in whole):.1f}" if whole else "-"
    since = [item["first_right_s"] for item in whole if item.get("first_right_s") is not None]
    is_short = with_causes and len(rounds) < 9
    truth = " ".join(sorted({cause for item in rounds for cause in item["truth"]})) if is_short else ""
    named = " ".join(sorted({item["named"][0][0] for item in rounds if item["named"]})) if is_short else ""
    broken = sum(bool(item["error"]) for item in rounds)
    count = f"{len(rounds)}" + (f" ({broken} broken)" if broken else "")
    cells = [
        title,
        count,
        _format_share(rounds, "top1"),
        _format_share(rounds, "top3"),
        _format_share(rounds, "all_named"),
        _format_share(rounds, "wrong"),
        _format_share(rounds, "wrong_possible"),
        *(_format_model_share(rounds, model) for model in MODELS),
        grounded,
        seconds,
        f"{statistics.median(since):.1f}" if since else "-",
        truth or "-",
        named or "-",
    ]
    return f"| {' | '.join(cells)} |"


def _format_share(rounds: Sequence[Json], name: str) -> str:
    return f"{100 * sum(bool(item[name]) for item in rounds) / len(rounds):.0f} %" if rounds else "-"


def _format_model_share(rounds: Sequence[Json], model: str) -> str:
    known = [model in item["nulls_right"] for item in rounds if model == "silent" or model in item["nulls"]]
    return f"{100 * sum(known) / len(known):.0f} %" if known else "-"
