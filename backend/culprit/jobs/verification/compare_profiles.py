"""Compare the CPU profiles of both sides of a verification.

The profiles of a side are added up over all hosts. Idle CPUs are left out. Functions are matched without the marks of a
build, because a fix is often a new build.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.infra.models.captures.run import Run
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.evidence.profile_comparison import ProfileComparison
from culprit.infra.task_queue import enqueue_after_commit
from culprit.jobs.verification.measurements import VerificationSpec
from culprit.jobs.verification.queries import list_ready_profiles
from culprit.json_types import Json

KIND = "on_cpu"
MAX_PROFILES = 64
"""Maximum number of profiles of a side; the latest of each host are used."""


def compare_profiles(
    session: Session, spec: VerificationSpec, before: Sequence[Run], after: Sequence[Run]
) -> Json | None:
    """Enqueue the comparison of the profiles of hosts that have both sides; None without any."""
    before_by_host, after_by_host = (_list_heaviest_profiles(session, runs) for runs in (before, after))
    hosts = [host for host in spec.hosts if before_by_host[host] and after_by_host[host]]
    if not hosts:
        return None
    unit = before_by_host[hosts[0]][0].unit
    sides = [
        _select_latest({host: side[host] for host in hosts}, unit) for side in (before_by_host, after_by_host)
    ]
    if not all(sides):
        return None
    row = ProfileComparison(
        a={**_side_to_json(sides[0]), "by_base": True},
        b=_side_to_json(sides[1]),
        normalize=True,
        requested_by=spec.verification.requested_by,
    )
    session.add(row)
    session.flush()
    enqueue_after_commit(session, "culprit.build_comparison", row.id)
    return {"comparison_id": str(row.id), "profiles": {"before": len(sides[0]), "after": len(sides[1])}}


def _list_heaviest_profiles(session: Session, runs: Sequence[Run]) -> dict[UUID, list[Profile]]:
    """Return the heaviest profile of each run by host, the earliest run first."""
    rows = list_ready_profiles(session, (run.id for run in runs), KIND)
    heaviest = {row.run_id: row for row in rows}
    profiles: dict[UUID, list[Profile]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: run.t0_ns or 0):
        if run.host_id is not None and run.id in heaviest:
            profiles[run.host_id].append(heaviest[run.id])
    return profiles


def _select_latest(by_host: dict[UUID, list[Profile]], unit: str) -> list[Profile]:
    each = max(1, MAX_PROFILES // len(by_host))
    alike = [
        [profile for profile in profiles if profile.unit == unit][-each:] for profiles in by_host.values()
    ]
    return [profile for profiles in alike for profile in profiles][:MAX_PROFILES]


def _side_to_json(profiles: Sequence[Profile]) -> Json:
    first, *others = (str(profile.id) for profile in profiles)
    return {"profile_id": first, "also": others, "filter": {"hide_idle": True}}
