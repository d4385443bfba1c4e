"""List the ways to verify a fix, the most reliable first, and why a way is not possible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from collectors.contract import Sentence
from culprit.domain.verification.cohort import MIN_HOSTS

VerificationKind = Literal["alternating", "control", "cohort", "plain"]


@dataclass(frozen=True, slots=True)
class VerificationOffer:
    """One way to verify a fix: `reason` states what it excludes; `refusal` is what is missing for it, or None."""

    kind: VerificationKind
    reason: Sentence
    refusal: Sentence | None = None


def list_offers(*, is_applied: bool, changed_hosts: int, other_hosts: int) -> list[VerificationOffer]:
    """List the ways, the most reliable first; those that are not possible come last.

    A change that follows the fix and its rollback several times has no other likely explanation. An unchanged host
    shows changes that affect both hosts. Before and after alone needs a long observation and cannot exclude a
    coincidence.
    """
    refusals = {
        "alternating": Sentence("verify.offer_needs_rollback") if is_applied else None,
        "control": None if other_hosts else Sentence("verify.offer_needs_host"),
        "cohort": None
        if changed_hosts >= MIN_HOSTS
        else Sentence("verify.offer_needs_hosts", {"needed": MIN_HOSTS, "hosts": changed_hosts}),
        "plain": None,
    }
    kinds: tuple[VerificationKind, ...] = ("alternating", "control", "cohort", "plain")
    offers = [VerificationOffer(kind, Sentence(f"verify.offer_{kind}"), refusals[kind]) for kind in kinds]
    return sorted(offers, key=lambda offer: offer.refusal is not None)
