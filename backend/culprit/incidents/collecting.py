"""What a step collects, and for how long."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from collectors.contract import Tier
from collectors.registry import COLLECTORS
from culprit.core.playbooks.engine import PRICE
from culprit.core.rules.contract import Read, Rule, each_of
from culprit.core.rules.read import needs_of

#: As long as the first look of a diagnosis, and long enough for a profile of a thousand samples.
SECONDS = 10


def collectors_of(
    rule: Rule, tried: Collection[str] = (), tiers: Collection[Tier] = tuple(Tier)
) -> list[str]:
    """What one capture has to bring home for a rule to say anything: its measure, and the light ones beside it.

    Of several that would do, the cheapest within `tiers`; one that was tried before only where there is no other. A
    rule reads a single run, so what came home before is collected again with the rest.
    """
    found = [_cheapest(any_of, tried, tiers) for any_of in needs_of(rule.measure)]
    beside = [_cheapest(any_of, tried, tiers) for read in _conditions(rule) for any_of in needs_of(read)]
    light = [one for one in beside if one and COLLECTORS[one].tier is Tier.LIGHT]
    return list(dict.fromkeys(one for one in (*found, *light) if one))


def _cheapest(any_of: Collection[str], tried: Collection[str], tiers: Collection[Tier]) -> str | None:
    every = [one for one in any_of if one in COLLECTORS]
    # Where all are above what is allowed, whoever starts the capture is told so.
    known = [one for one in every if COLLECTORS[one].tier in tiers] or every
    fresh = [one for one in known if one not in tried] or known
    return min(fresh, key=lambda one: PRICE[COLLECTORS[one].tier], default=None)


def _conditions(rule: Rule) -> Iterator[Read]:
    """What a rule reads beside its measure. Guards that pass where nobody measured are left out."""
    guards = [one.condition for one in rule.guards if not one.where_known]
    for one in (*rule.also, *guards):
        for each in each_of(one):
            yield each.read


def seconds_of(collector: str) -> int:
    """How long a step lets a collector run."""
    return min(SECONDS, COLLECTORS[collector].seconds_max)
