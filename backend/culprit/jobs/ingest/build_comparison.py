"""The job that builds a saved comparison, after its profiles."""

from __future__ import annotations

import hashlib
from pathlib import Path
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.profiles.column_file import DamagedFileError
from collectors.profiles.samples import SampleTable
from culprit.accounts.actor import find_actor
from culprit.accounts.authorization import authorize
from culprit.domain.profiles.comparison import compare_pooled_views
from culprit.domain.profiles.stacks import ProfileView, SampleFilter
from culprit.domain.profiles.stacks import StackProfile as Samples
from culprit.evidence.profiles import queries
from culprit.evidence.profiles.schemas import ProfileFilterParams
from culprit.infra.artifacts.blob_files import ArtifactAlteredError, ArtifactMissingError
from culprit.infra.artifacts.store import ArtifactStore, artifact_store
from culprit.infra.db.session import get_database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.evidence.profile_comparison import ProfileComparison
from culprit.infra.sandbox.process import create_workspace
from culprit.infra.settings import get_settings
from culprit.jobs.ingest import locks as build_claims
from culprit.jobs.ingest.build_profile import ProfileBuildError
from culprit.jobs.ingest.queries import has_unbuilt_profile, pending_builds
from culprit.jobs.job import Job
from culprit.json_types import Json
from culprit.web.errors import CulpritError


def build_comparison(comparison_id: UUID) -> str | None:
    """Build one comparison. Return its state, or None if there was nothing to do."""
    db, store = get_database(), artifact_store()
    with unit_of_work(db.sessions) as session:
        if _is_side_pending(session, comparison_id):
            return None  # the sweep enqueues it again
        attempt = build_claims.claim_build(session, ProfileComparison, comparison_id)
    if attempt is None:
        return None
    values: Json
    try:
        with unit_of_work(db.sessions) as session:
            sides = _load_sides(session, comparison_id)
            by_base = bool(session.get_one(ProfileComparison, comparison_id).a.get("by_base"))
        # This reads results of a checked parser; no untrusted bytes are parsed.
        a, b = ([_load_view(store, key, chosen) for key, chosen in side] for side in sides)
        with create_workspace(get_settings().home / "work") as directory:
            place = directory / "diff"
            compare_pooled_views(a, b, by_base=by_base).save(place)
            size = place.stat().st_size
            values = {
                "state": "ready",
                "result_key": _store_file(store, place),
                "stored_size": size,
                "failure": None,
            }
    except ProfileBuildError as failed:
        values = {"state": "failed", "failure": failed.sentence}
    with unit_of_work(db.sessions) as session:
        return (
            values["state"]
            if build_claims.finish_build(session, ProfileComparison, comparison_id, attempt, **values)
            else None
        )


def _is_side_pending(session: Session, comparison_id: UUID) -> bool:
    """Return whether a profile of either side is not built yet, or its run not parsed yet."""
    row = session.get(ProfileComparison, comparison_id)
    if row is None:
        return False
    ids = [
        UUID(profile_id)
        for side in (row.a, row.b)
        for profile_id in (side["profile_id"], *side.get("also", ()))
    ]
    return has_unbuilt_profile(session, ids)


def _load_sides(session: Session, comparison_id: UUID) -> list[list[tuple[str, SampleFilter]]]:
    """Return the samples and filter of each side, with the current permissions of the requester."""
    row = session.get_one(ProfileComparison, comparison_id)
    actor = find_actor(session, row.requested_by)
    if actor is None:
        raise ProfileBuildError("auth.account_gone")
    try:
        authorize(actor, "profile.compare")
    except CulpritError as refused:
        raise ProfileBuildError(refused.key) from refused
    sides: list[list[tuple[str, SampleFilter]]] = []
    for side in (row.a, row.b):
        chosen = ProfileFilterParams.model_validate(side["filter"]).to_filter()
        side_profiles = queries.find_side_profiles(session, actor, side)
        if side_profiles is None:
            raise ProfileBuildError("profile.not_found")
        sides.append([(_require_ready(side_profile), chosen) for side_profile in side_profiles])
    return sides


def _require_ready(profile: Profile) -> str:
    if profile.state != "ready" or profile.store_key is None:
        raise ProfileBuildError("profile.not_ready", state=profile.state)
    return profile.store_key


def _load_view(store: ArtifactStore, key: str, chosen: SampleFilter) -> ProfileView:
    try:
        return Samples(SampleTable.load(store.path(key))).view(chosen)
    except (ArtifactMissingError, ArtifactAlteredError, DamagedFileError, FileNotFoundError) as error:
        raise ProfileBuildError("profile.lost", why=str(error)[:200]) from error


def _store_file(store: ArtifactStore, place: Path) -> str:
    with place.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return store.adopt(place, digest).sha256


JOB = Job("culprit.build_comparison", "parse", build_comparison, lambda: pending_builds(ProfileComparison))
