"""Decisions about comparisons: who may make and see one, and what its tree says."""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.columns import DamagedFile
from culprit.auth.actor import Actor
from culprit.auth.policy import policy
from culprit.core.diff import Change
from culprit.core.tree_answer import tree_answer
from culprit.infra.artifacts import ArtifactAltered, ArtifactMissing, ArtifactStore
from culprit.infra.broker import announce
from culprit.kit.errors import Conflict, Gone, Invalid, NotFound
from culprit.models import ProfileDiff
from culprit.profiles import queries, service
from culprit.profiles.loaded import DIFFS
from culprit.profiles.schemas import DiffCreate, DiffRead, DiffSide, DiffSideRead

Json = dict[str, Any]
Normalise = Literal["share", "absolute"]
MAX_PATH = 400


def create(session: Session, actor: Actor, wanted: DiffCreate) -> ProfileDiff:
    """Saves a comparison and has it built. Both profiles must exist for this actor and have one unit."""
    policy(actor, "profile.diff")
    a, b = (service.one(session, actor, side.profile_id) for side in (wanted.a, wanted.b))
    if a.unit != b.unit:
        raise Invalid("diff.units_differ", a=a.unit, b=b.unit)
    for profile in (a, b):
        if profile.state == "failed":
            service.ready(profile)
    row = ProfileDiff(
        a=_side(wanted.a),
        b=_side(wanted.b),
        normalise=wanted.normalise in (True, "share"),
        requested_by=actor.id,
    )
    session.add(row)
    session.flush()
    announce(session, "culprit.build_diff", row.id)
    return row


def _side(side: DiffSide) -> Json:
    chosen = side.filter.model_dump(mode="json", exclude_defaults=True)
    return {"profile_id": str(side.profile_id), "filter": chosen}


def one(session: Session, actor: Actor, diff_id: UUID) -> ProfileDiff:
    """A comparison of which all profiles exist for this actor; raises NotFound."""
    policy(actor, "profile.read")
    row = queries.diff(session, diff_id)
    if row is None:
        raise NotFound("diff.not_found")
    for side in (row.a, row.b):
        if queries.of_side(session, actor, side) is None:
            raise NotFound("diff.not_found")
    return row


def read(session: Session, actor: Actor, row: ProfileDiff) -> DiffRead:
    """A comparison as it is sent."""
    sides = []
    for side in (row.a, row.b):
        profile = queries.profile(session, actor, UUID(side["profile_id"]))
        known = service.read(session, [profile])[0] if profile is not None else None
        sides.append(
            DiffSideRead(
                profile_id=side["profile_id"],
                filter=side["filter"],
                label=known.label if known else None,
                run_id=known.run_id if known else None,
                profiles=1 + len(side.get("also", ())),
            )
        )
    return DiffRead(
        id=row.id,
        state=row.state,
        a=sides[0],
        b=sides[1],
        normalise="share" if row.normalise else "absolute",
        by_base=bool(row.a.get("by_base")),
        failure=row.failure,
        created_at=row.created_at,
        ended_at=row.ended_at,
    )


def tree(
    store: ArtifactStore, row: ProfileDiff, *, width: int, root: int, normalise: Normalise | None
) -> bytes:
    """The JSON of its tree, as wide as B; with paths that only one side has."""
    if row.removed_at is not None:
        raise Gone("diff.removed", at=row.removed_at.date().isoformat())
    if row.state != "ready" or row.result_key is None:
        raise Conflict(f"diff.{'failed' if row.state == 'failed' else 'not_ready'}", state=row.state)
    try:
        found = DIFFS.get(row.result_key, store.path)
    except (ArtifactMissing, ArtifactAltered, DamagedFile, FileNotFoundError) as error:
        raise Conflict("profile.lost", why=str(error)[:200]) from error
    how: Normalise = normalise or ("share" if row.normalise else "absolute")
    try:
        drawn = found.tree(width, root, how)
    except IndexError:
        raise NotFound("profile.no_such_node", node=root) from None
    more = {
        "total_a": found.total_a,
        "total_b": found.total_b,
        "samples_a": found.samples_a,
        "samples_b": found.samples_b,
        "normalise": how,
        "vanished": [_listed(one, "a") for one in found.vanished()],
        "new": [_listed(one, "b") for one in found.new()],
        "merged": {base: list(names) for base, names in found.merged.items()},
    }
    return tree_answer(drawn, more, found.path(root)).encode("utf-8", "replace")


def _listed(one: Change, side: str) -> Json:
    path = one.path
    if len(path) > MAX_PATH:
        path = [*path[: MAX_PATH // 2], "…", *path[-MAX_PATH // 2 :]]
    return {"path": path, side: one.weight}
