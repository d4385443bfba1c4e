"""Select the collectors of a step and their duration."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from collectors.contract import Tier
from collectors.registry import COLLECTORS
from culprit.domain.playbooks.engine import TIER_COST
from culprit.domain.rules.readings import get_required_collectors
from culprit.domain.rules.rule import Rule, RuleInput, flatten_condition

#: As long as a triage, and enough for a profile of a thousand samples.
SECONDS = 10


def select_collectors(
    rule: Rule, tried: Collection[str] = (), tiers: Collection[Tier] = tuple(Tier)
) -> list[str]:
    """Select the collectors that a rule needs in one capture: those of its measure, and light ones of its conditions.

    Of alternatives the cheapest within `tiers`; a tried collector only without another choice. A rule reads a single
    run, so collectors of earlier runs are included again.
    """
    required_collectors = [
        _find_cheapest(any_of, tried, tiers) for any_of in get_required_collectors(rule.measure)
    ]
    related = [
        _find_cheapest(any_of, tried, tiers)
        for read in _list_condition_inputs(rule)
        for any_of in get_required_collectors(read)
    ]
    light = [item for item in related if item and COLLECTORS[item].tier is Tier.LIGHT]
    return list(
        dict.fromkeys(
            required_collector for required_collector in (*required_collectors, *light) if required_collector
        )
    )


def _find_cheapest(any_of: Collection[str], tried: Collection[str], tiers: Collection[Tier]) -> str | None:
    every = [item for item in any_of if item in COLLECTORS]
    # If all need a higher tier, the capture is refused with that reason.
    known = [item for item in every if COLLECTORS[item].tier in tiers] or every
    fresh = [item for item in known if item not in tried] or known
    return min(fresh, key=lambda item: TIER_COST[COLLECTORS[item].tier], default=None)


def _list_condition_inputs(rule: Rule) -> Iterator[RuleInput]:
    """Yield the inputs of a rule besides its measure, without guards that pass on missing data."""
    guards = [guard.condition for guard in rule.guards if not guard.skip_when_missing]
    for item in (*rule.also, *guards):
        for each in flatten_condition(item):
            yield each.read


def get_collector_seconds(collector: str) -> int:
    """Return how long a step runs a collector, in seconds."""
    return min(SECONDS, COLLECTORS[collector].seconds_max)
