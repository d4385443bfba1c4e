"""Create, load and render profile comparisons."""

from __future__ import annotations

from dataclasses import asdict
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.profiles.column_file import DamagedFileError
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.domain.profiles.changes.drawing import ComparisonDrawing, PathDifference, SideName
from culprit.domain.profiles.changes.functions import list_function_changes
from culprit.domain.profiles.comparison import ComparisonTrie
from culprit.domain.profiles.tree_response import render_tree_json
from culprit.evidence.profiles import queries, service
from culprit.evidence.profiles.comparison_schemas import (
    ComparisonCreate,
    ComparisonParams,
    ComparisonResponse,
    ComparisonSide,
    ComparisonSideResponse,
)
from culprit.evidence.profiles.file_cache import COMPARISONS
from culprit.infra.artifacts.blob_files import ArtifactAlteredError, ArtifactMissingError
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.models.evidence.profile_comparison import ProfileComparison
from culprit.infra.task_queue import enqueue_after_commit
from culprit.json_types import Json
from culprit.web.errors import ConflictError, GoneError, InvalidRequestError, NotFoundError

MAX_PATH = 400


def create_comparison(
    session: Session, actor: Actor, comparison_create: ComparisonCreate
) -> ProfileComparison:
    """Store a comparison and queue its build. The actor must see both profiles, and their units must be equal."""
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
    # Two parts of one profile are of the same build: names and addresses are comparable.
    by_base = a.id != b.id if comparison_create.by_base is None else comparison_create.by_base
    row = ProfileComparison(
        a={**_side_to_json(comparison_create.a), "by_base": by_base},
        b=_side_to_json(comparison_create.b),
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
    """Return a comparison whose profiles the actor can all see, or raise NotFoundError."""
    authorize(actor, "profile.read")
    row = queries.find_comparison(session, comparison_id)
    if row is None:
        raise NotFoundError("comparison.not_found")
    for side in (row.a, row.b):
        if queries.find_side_profiles(session, actor, side) is None:
            raise NotFoundError("comparison.not_found")
    return row


def build_comparison_response(session: Session, actor: Actor, row: ProfileComparison) -> ComparisonResponse:
    """Return the response of a comparison, without its tree."""
    sides = []
    for side in (row.a, row.b):
        profile = queries.find_profile(session, actor, UUID(side["profile_id"]))
        response = service.build_profile_responses(session, [profile])[0] if profile is not None else None
        sides.append(
            ComparisonSideResponse(
                profile_id=side["profile_id"],
                filter=side["filter"],
                label=response.label if response else None,
                run_id=response.run_id if response else None,
                profiles=1 + len(side.get("also", ())),
            )
        )
    return ComparisonResponse(
        id=row.id,
        state=row.state,
        a=sides[0],
        b=sides[1],
        by_base=bool(row.a.get("by_base")),
        failure=row.failure,
        created_at=row.created_at,
        ended_at=row.ended_at,
    )


def load_comparison(store: ArtifactStore, row: ProfileComparison) -> ComparisonTrie:
    """Return the stored result of a comparison.

    Raises GoneError if it was deleted, ConflictError while it is built, if that failed, or if the result is lost.
    """
    if row.removed_at is not None:
        raise GoneError("comparison.removed", at=row.removed_at.date().isoformat())
    if row.state != "ready" or row.result_key is None:
        raise ConflictError(
            f"comparison.{'failed' if row.state == 'failed' else 'not_ready'}", state=row.state
        )
    try:
        return COMPARISONS.get(row.result_key, store.path)
    except (ArtifactMissingError, ArtifactAlteredError, DamagedFileError, FileNotFoundError) as error:
        raise ConflictError("profile.lost", why=str(error)[:200]) from error


def draw_comparison(comparison: ComparisonTrie, params: ComparisonParams) -> ComparisonDrawing:
    """Return the normalized drawing of a comparison, with swapped sides on request.

    Raises InvalidRequestError if the comparison has no data for this normalization.
    """
    work = None
    if params.normalize == "work":
        if params.work_a is None or params.work_b is None:
            raise InvalidRequestError("comparison.no_work")
        work = (params.work_a, params.work_b)
    elif params.normalize not in comparison.normalizations:
        raise InvalidRequestError(
            "comparison.no_cpu_seconds" if params.normalize == "cpu" else "comparison.no_times"
        )
    if params.swap:
        comparison, work = comparison.swap(), None if work is None else (work[1], work[0])
    return ComparisonDrawing(comparison, params.normalize, work)


def render_comparison_tree(
    comparison: ComparisonTrie, params: ComparisonParams, *, width: int, root: int, width_of: SideName
) -> bytes:
    """Return the JSON of the tree below `root`, and of the paths that only one side has.

    The weights of the side `width_of` set the frame widths. Raises NotFoundError if the node does not exist.
    """
    drawing = draw_comparison(comparison, params)
    try:
        tree = drawing.render_tree(width, root, width_of)
    except IndexError:
        raise NotFoundError("profile.no_such_node", node=root) from None
    fields = _build_head(drawing, params) | {
        "width_of": width_of,
        "vanished": [_path_to_json(item, "a") for item in drawing.list_vanished_paths()],
        "new": [_path_to_json(item, "b") for item in drawing.list_new_paths()],
        "merged": {base: list(names) for base, names in comparison.merged.items()},
        "modules": dict(comparison.modules),
    }
    return render_tree_json(tree, fields, drawing.list_path(root)).encode("utf-8", "replace")


def list_changed_functions(comparison: ComparisonTrie, params: ComparisonParams, limit: int) -> Json:
    """Return the functions of both sides, those with a statistically significant change first."""
    drawing = draw_comparison(comparison, params)
    rows = [
        {"frame": row.frame, "kind": row.kind, "self": asdict(row.own), "total": asdict(row.total)}
        for row in list_function_changes(drawing, limit)
    ]
    return _build_head(drawing, params) | {"rows": rows}


def _build_head(drawing: ComparisonDrawing, params: ComparisonParams) -> Json:
    comparison, judgement = drawing.comparison, drawing.judgement
    a, b = comparison.side_a, comparison.side_b
    return {
        "total_a": int(drawing.a[0]),
        "total_b": int(drawing.b[0]),
        "samples_a": a.samples,
        "samples_b": b.samples,
        "seconds_a": a.seconds,
        "seconds_b": b.seconds,
        "exposure_a": drawing.exposures[0],
        "exposure_b": drawing.exposures[1],
        "unit": comparison.unit,
        "normalize": params.normalize,
        "normalizations": list(comparison.normalizations),
        "swap": params.swap,
        "bursts": "measured" if a.variance is not None and b.variance is not None else "assumed",
        "tests": judgement.tests,
    }


def _path_to_json(path_difference: PathDifference, side: str) -> Json:
    path = path_difference.path
    if len(path) > MAX_PATH:
        path = [*path[: MAX_PATH // 2], "…", *path[-MAX_PATH // 2 :]]
    return {
        "path": path,
        "node": path_difference.node,
        side: path_difference.weight,
        "changed": path_difference.is_changed,
    }
