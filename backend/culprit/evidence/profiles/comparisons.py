"""Create, load and render profile comparisons."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.profiles.column_file import DamagedFileError
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.domain.profiles.comparison import PathDifference
from culprit.domain.profiles.tree_response import render_tree_json
from culprit.evidence.profiles import queries, service
from culprit.evidence.profiles.file_cache import COMPARISONS
from culprit.evidence.profiles.schemas import (
    ComparisonCreate,
    ComparisonResponse,
    ComparisonSide,
    ComparisonSideResponse,
)
from culprit.infra.artifacts.blob_files import ArtifactAlteredError, ArtifactMissingError
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.models.evidence.profile_comparison import ProfileComparison
from culprit.infra.task_queue import enqueue_after_commit
from culprit.json_types import Json
from culprit.web.errors import ConflictError, GoneError, InvalidRequestError, NotFoundError

Normalize = Literal["share", "absolute"]
MAX_PATH = 400


def create_comparison(
    session: Session, actor: Actor, comparison_create: ComparisonCreate
) -> ProfileComparison:
    """Saves a comparison and has it built. Both profiles must exist for this actor and have one unit."""
    authorize(actor, "profile.compare")
    a, b = (
        service.get_profile(session, actor, side.profile_id)
        for side in (comparison_create.a, comparison_create.b)
    )
    if a.unit != b.unit:
        raise InvalidRequestError("comparison.units_differ", a=a.unit, b=b.unit)
    for profile in (a, b):
        if profile.state == "failed":
            service.require_ready(profile)
    row = ProfileComparison(
        a=_side_to_json(comparison_create.a),
        b=_side_to_json(comparison_create.b),
        normalize=comparison_create.normalize in (True, "share"),
        requested_by=actor.id,
    )
    session.add(row)
    session.flush()
    enqueue_after_commit(session, "culprit.build_comparison", row.id)
    return row


def _side_to_json(side: ComparisonSide) -> Json:
    chosen = side.filter.model_dump(mode="json", exclude_defaults=True)
    return {"profile_id": str(side.profile_id), "filter": chosen}


def get_comparison(session: Session, actor: Actor, comparison_id: UUID) -> ProfileComparison:
    """A comparison of which all profiles exist for this actor; raises NotFoundError."""
    authorize(actor, "profile.read")
    row = queries.find_comparison(session, comparison_id)
    if row is None:
        raise NotFoundError("comparison.not_found")
    for side in (row.a, row.b):
        if queries.find_side_profiles(session, actor, side) is None:
            raise NotFoundError("comparison.not_found")
    return row


def build_comparison_response(session: Session, actor: Actor, row: ProfileComparison) -> ComparisonResponse:
    """A comparison as it is sent."""
    sides = []
    for side in (row.a, row.b):
        profile = queries.find_profile(session, actor, UUID(side["profile_id"]))
        known = service.build_profile_responses(session, [profile])[0] if profile is not None else None
        sides.append(
            ComparisonSideResponse(
                profile_id=side["profile_id"],
                filter=side["filter"],
                label=known.label if known else None,
                run_id=known.run_id if known else None,
                profiles=1 + len(side.get("also", ())),
            )
        )
    return ComparisonResponse(
        id=row.id,
        state=row.state,
        a=sides[0],
        b=sides[1],
        normalize="share" if row.normalize else "absolute",
        by_base=bool(row.a.get("by_base")),
        failure=row.failure,
        created_at=row.created_at,
        ended_at=row.ended_at,
    )


def render_comparison_tree(
    store: ArtifactStore, row: ProfileComparison, *, width: int, root: int, normalize: Normalize | None
) -> bytes:
    """The JSON of its tree, as wide as B; with paths that only one side has."""
    if row.removed_at is not None:
        raise GoneError("comparison.removed", at=row.removed_at.date().isoformat())
    if row.state != "ready" or row.result_key is None:
        raise ConflictError(
            f"comparison.{'failed' if row.state == 'failed' else 'not_ready'}", state=row.state
        )
    try:
        comparison = COMPARISONS.get(row.result_key, store.path)
    except (ArtifactMissingError, ArtifactAlteredError, DamagedFileError, FileNotFoundError) as error:
        raise ConflictError("profile.lost", why=str(error)[:200]) from error
    how: Normalize = normalize or ("share" if row.normalize else "absolute")
    try:
        tree = comparison.render_tree(width, root, how)
    except IndexError:
        raise NotFoundError("profile.no_such_node", node=root) from None
    more = {
        "total_a": comparison.total_a,
        "total_b": comparison.total_b,
        "samples_a": comparison.samples_a,
        "samples_b": comparison.samples_b,
        "normalize": how,
        "vanished": [_path_to_json(vanished_path, "a") for vanished_path in comparison.list_vanished_paths()],
        "new": [_path_to_json(item, "b") for item in comparison.new()],
        "merged": {base: list(names) for base, names in comparison.merged.items()},
    }
    return render_tree_json(tree, more, comparison.list_path(root)).encode("utf-8", "replace")


def _path_to_json(path_difference: PathDifference, side: str) -> Json:
    path = path_difference.path
    if len(path) > MAX_PATH:
        path = [*path[: MAX_PATH // 2], "…", *path[-MAX_PATH // 2 :]]
    return {"path": path, side: path_difference.weight}
