"""A saved comparison: the task `culprit.build_diff`. It waits for its profiles, which must be visible by then."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from collectors.columns import DamagedFile
from collectors.samples import SampleTable
from culprit.auth.actor import actor_by_id
from culprit.auth.policy import policy
from culprit.config import settings
from culprit.core.diff import pooled
from culprit.core.stacks import Filter, View
from culprit.core.stacks import Profile as Samples
from culprit.infra.artifacts import ArtifactAltered, ArtifactMissing, ArtifactStore, artifact_store
from culprit.infra.bounded import workspace
from culprit.infra.db import database
from culprit.kit.errors import CulpritError
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Profile, ProfileDiff, Run
from culprit.profiles import queries
from culprit.profiles.schemas import FilterParams
from culprit.workflows import builds
from culprit.workflows.build_profile import Failed

Json = dict[str, Any]


def build_diff(diff_id: UUID) -> str | None:
    """Build one comparison. Returns its state, None where there was nothing to do."""
    db, store = database(), artifact_store()
    with unit_of_work(db.sessions) as session:
        if _to_come(session, diff_id):
            return None  # the scheduler rings again
        attempt = builds.claim(session, ProfileDiff, diff_id)
    if attempt is None:
        return None
    values: Json
    try:
        with unit_of_work(db.sessions) as session:
            sides = _sides(session, diff_id)
            by_base = bool(session.get_one(ProfileDiff, diff_id).a.get("by_base"))
        # What is read here was made by us out of what a child has checked; nothing hostile is parsed.
        a, b = ([_view(store, key, chosen) for key, chosen in side] for side in sides)
        with workspace(settings().home / "work") as directory:
            place = directory / "diff"
            pooled(a, b, by_base=by_base).save(place)
            size = place.stat().st_size
            values = {
                "state": "ready",
                "result_key": _adopt(store, place),
                "stored_size": size,
                "failure": None,
            }
    except Failed as failed:
        values = {"state": "failed", "failure": failed.sentence}
    with unit_of_work(db.sessions) as session:
        return values["state"] if builds.finish(session, ProfileDiff, diff_id, attempt, **values) else None


def _to_come(session: Session, diff_id: UUID) -> bool:
    """Whether a profile of either side is still to be built, or its run still to be read."""
    row = session.get(ProfileDiff, diff_id)
    if row is None:
        return False
    ids = [UUID(one) for side in (row.a, row.b) for one in (side["profile_id"], *side.get("also", ()))]
    query = (
        select(Profile.id)
        .join(Run, Run.id == Profile.run_id)
        .where(Profile.id.in_(ids), or_(Profile.state.in_(("queued", "running")), Run.state == "ingesting"))
    )
    return session.scalar(query.limit(1)) is not None


def _sides(session: Session, diff_id: UUID) -> list[list[tuple[str, Filter]]]:
    """The samples of either side and their filter, as whoever asked for it may see them now."""
    row = session.get_one(ProfileDiff, diff_id)
    actor = actor_by_id(session, row.requested_by)
    if actor is None:
        raise Failed("auth.account_gone")
    try:
        policy(actor, "profile.diff")
    except CulpritError as refused:
        raise Failed(refused.key) from refused
    sides: list[list[tuple[str, Filter]]] = []
    for side in (row.a, row.b):
        chosen = FilterParams.model_validate(side["filter"]).chosen()
        found = queries.of_side(session, actor, side)
        if found is None:
            raise Failed("profile.not_found")
        sides.append([(_ready(one), chosen) for one in found])
    return sides


def _ready(profile: Profile) -> str:
    if profile.state != "ready" or profile.store_key is None:
        raise Failed("profile.not_ready", state=profile.state)
    return profile.store_key


def _view(store: ArtifactStore, key: str, chosen: Filter) -> View:
    try:
        return Samples(SampleTable.load(store.path(key))).view(chosen)
    except (ArtifactMissing, ArtifactAltered, DamagedFile, FileNotFoundError) as error:
        raise Failed("profile.lost", why=str(error)[:200]) from error


def _adopt(store: ArtifactStore, place: Path) -> str:
    with place.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return store.adopt(place, digest).sha256
