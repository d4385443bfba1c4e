"""The most reliable way to verify a fix is offered first."""

from __future__ import annotations

import pytest
from culprit.domain.verification.offers import list_offers


@pytest.mark.parametrize(
    ("situation", "possible"),
    [
        ((False, 1, 1), ["alternating", "control", "plain"]),
        ((True, 1, 1), ["control", "plain"]),
        ((True, 3, 0), ["cohort", "plain"]),
        ((False, 5, 2), ["alternating", "control", "cohort", "plain"]),
        ((True, 1, 0), ["plain"]),
    ],
)
def test_most_reliable_way_is_first(situation: tuple[bool, int, int], possible: list[str]) -> None:
    is_applied, changed, others = situation
    offers = list_offers(is_applied=is_applied, changed_hosts=changed, other_hosts=others)
    assert [offer.kind for offer in offers if offer.refusal is None] == possible
    assert [offer.kind for offer in offers][: len(possible)] == possible and len(offers) == 4
    assert {offer.reason.key for offer in offers} == {f"verify.offer_{offer.kind}" for offer in offers}
