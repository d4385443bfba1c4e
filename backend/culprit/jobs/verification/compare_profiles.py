"""What changed in the code: the CPU profiles of both sides of a verification, laid over each other as one drawing.

The profiles of a side are added up, those of all hosts together; idle CPUs are left out, and functions have their names
without the marks of a build, for a fix is often a new one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from culprit.infra.broker import announce
from culprit.models import Profile, ProfileDiff, Run
from culprit.workflows.verify_sides import Asked

Json = dict[str, Any]
KIND = "on_cpu"
MOST = 64
"""Profiles of a side that are drawn together; where there are more, the latest of each host."""


def compare(session: Session, what: Asked, before: Sequence[Run], after: Sequence[Run]) -> Json | None:
    """Has the profiles of these runs compared, those of hosts that have both sides. None where there are none."""
    was, now = (_profiles(session, runs) for runs in (before, after))
    hosts = [one for one in what.hosts if was[one] and now[one]]
    if not hosts:
        return None
    unit = was[hosts[0]][0].unit
    sides = [_latest({host: side[host] for host in hosts}, unit) for side in (was, now)]
    if not all(sides):
        return None
    row = ProfileDiff(
        a={**_side(sides[0]), "by_base": True},
        b=_side(sides[1]),
        normalise=True,
        requested_by=what.verification.requested_by,
    )
    session.add(row)
    session.flush()
    announce(session, "culprit.build_diff", row.id)
    return {"diff_id": str(row.id), "profiles": {"before": len(sides[0]), "after": len(sides[1])}}


def _profiles(session: Session, runs: Sequence[Run]) -> dict[UUID, list[Profile]]:
    """By host the heaviest profile of each run, the earliest run first."""
    rows = session.scalars(
        select(Profile)
        .where(Profile.run_id.in_([run.id for run in runs]), Profile.kind == KIND, Profile.state == "ready")
        .order_by(Profile.weight)
    )
    heaviest = {one.run_id: one for one in rows}
    found: dict[UUID, list[Profile]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: run.t0_ns or 0):
        if run.host_id is not None and run.id in heaviest:
            found[run.host_id].append(heaviest[run.id])
    return found


def _latest(by_host: dict[UUID, list[Profile]], unit: str) -> list[Profile]:
    each = max(1, MOST // len(by_host))
    alike = [[one for one in profiles if one.unit == unit][-each:] for profiles in by_host.values()]
    return [one for profiles in alike for one in profiles][:MOST]


def _side(profiles: Sequence[Profile]) -> Json:
    first, *others = (str(one.id) for one in profiles)
    return {"profile_id": first, "also": others, "filter": {"hide_idle": True}}
