"""Count the successful requests of an application during each side of a comparison, from the series of its runs."""

from __future__ import annotations

import math
from dataclasses import replace
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.domain.rules.view import ViewRequest
from culprit.domain.verification.primary_number import measure_load
from culprit.evidence.profiles import queries
from culprit.evidence.profiles.comparison_schemas import (
    ComparisonWorkResponse,
)
from culprit.evidence.view_loader import load_view
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.evidence.profile_comparison import ProfileComparison
from culprit.json_types import Json

METRICS = frozenset({"app.requests_per_s", "app.errors_pct"})


def measure_work(
    session: Session, store: ArtifactStore, actor: Actor, row: ProfileComparison
) -> ComparisonWorkResponse:
    """Return the number of successful requests during each side; both are None if one side has no data."""
    sides = [_measure_side(session, store, actor, side) for side in (row.a, row.b)]
    if any(side is None for side in sides):
        return ComparisonWorkResponse(a=None, b=None)
    return ComparisonWorkResponse(a=sides[0], b=sides[1])


def _measure_side(session: Session, store: ArtifactStore, actor: Actor, side: Json) -> float | None:
    profiles = queries.find_side_profiles(session, actor, side)
    counted = [_measure_profile(session, store, profile, side["filter"]) for profile in profiles or ()]
    return math.fsum(counted) if counted and all(count > 0 for count in counted) else None


def _measure_profile(session: Session, store: ArtifactStore, profile: Profile, chosen: Json) -> float:
    """Return the number of successful requests in the time range of a side; 0 if not measured."""
    if profile.t0_ns is None or profile.t1_ns is None:
        return 0.0
    first = max(profile.t0_ns, chosen.get("from_ns") or profile.t0_ns)
    last = min(profile.t1_ns, chosen.get("to_ns") or profile.t1_ns)
    if last <= first:
        return 0.0
    view = load_view(session, store, [UUID(str(profile.run_id))], only=ViewRequest(metrics=METRICS))
    rate, kind = measure_load(replace(view, span_ns=(first, last)))
    return rate * (last - first) / 1e9 if kind == "goodput" and math.isfinite(rate) else 0.0
