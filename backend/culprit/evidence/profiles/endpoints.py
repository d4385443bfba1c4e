"""Profiles over HTTP."""

from __future__ import annotations

import re
from typing import Annotated, Literal
from urllib.parse import quote
from uuid import UUID

from fastapi import APIRouter, Query, Response
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse

from culprit.auth.dependencies import CurrentActor
from culprit.auth.idempotency import Once
from culprit.auth.policy import policy
from culprit.core.timeline import MAX_WIDTH
from culprit.infra.artifacts import ArtifactMissing, artifact_store
from culprit.infra.db import Db
from culprit.kit.answers import fast_json
from culprit.kit.cursor import Cursor, Limit, Page, page
from culprit.kit.errors import Gone, NotFound
from culprit.kit.unit_of_work import release_connection
from culprit.models import Profile
from culprit.profiles import diffs, queries, sched, service
from culprit.profiles.schemas import (
    DiffCreate,
    DiffRead,
    DiffTreeRead,
    FacetsRead,
    FilterParams,
    HeatRead,
    ProfileRead,
    SchedLanesRead,
    SchedRead,
    SearchRead,
    TableRead,
    TreeRead,
)

router = APIRouter(tags=["profiles"])

ATTACHMENT = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox; default-src 'none'"}
SUFFIX = {"folded": "folded.txt", "svg": "svg", "speedscope": "speedscope.json"}
MEDIA = {"folded": "text/plain; charset=utf-8", "svg": "image/svg+xml", "speedscope": "application/json"}


class TreeParams(FilterParams):
    """How to draw, and of which samples."""

    width: Annotated[int, Query(ge=1, le=MAX_WIDTH)] = 1200
    root: Annotated[int, Query(ge=0, lt=1 << 53, description="A node's id: draw what is below it")] = 0
    inverted: bool = False


class TableParams(FilterParams):
    """How many rows, and of which samples."""

    limit: Annotated[int, Query(ge=1, le=2000)] = 500


class SearchParams(FilterParams):
    """What to look for, and in which samples."""

    q: Annotated[str, Query(min_length=1, max_length=200)]
    regex: bool = False


class HeatParams(FilterParams):
    """The size of the matrix, and of which samples. `bins` 0: one per second."""

    bins: Annotated[int, Query(ge=0, le=MAX_WIDTH)] = 0
    rows: Annotated[int, Query(ge=1, le=200)] = 50


class ExportParams(FilterParams):
    """The format, and of which samples; `raw` is the recording as it came home."""

    format: Literal["folded", "svg", "speedscope", "raw"]


@router.get("/profiles")
def list_profiles(
    db: Db,
    actor: CurrentActor,
    *,
    host: UUID | None = None,
    run: UUID | None = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[ProfileRead]:
    """Profiles, newest first."""
    policy(actor, "profile.read")
    return page(
        db,
        queries.profiles(actor, host, run),
        Profile.id,
        limit=limit,
        cursor=cursor,
        read=lambda rows: service.read(db, rows),
    )


@router.get("/profiles/{profile_id}")
def get_profile(profile_id: UUID, db: Db, actor: CurrentActor) -> ProfileRead:
    """One profile; `state` says whether it can be drawn yet."""
    return service.read(db, [service.one(db, actor, profile_id)])[0]


@router.get("/profiles/{profile_id}/tree", response_model=TreeRead)
def get_tree(
    profile_id: UUID, db: Db, actor: CurrentActor, params: Annotated[TreeParams, Query()]
) -> Response:
    """A flame graph, pruned below half a pixel of `width`."""
    profile = service.one(db, actor, profile_id)
    release_connection(db)
    body = service.tree(
        artifact_store(),
        profile,
        params.chosen(),
        width=params.width,
        root=params.root,
        from_inside=params.inverted,
    )
    return Response(body, media_type="application/json")


@router.get("/profiles/{profile_id}/table", response_model=TableRead)
def get_table(
    profile_id: UUID, db: Db, actor: CurrentActor, params: Annotated[TableParams, Query()]
) -> Response:
    """The heaviest functions, by own and by total weight."""
    profile = service.one(db, actor, profile_id)
    release_connection(db)
    return fast_json(service.table(artifact_store(), profile, params.chosen(), params.limit))


@router.get("/profiles/{profile_id}/search", response_model=SearchRead)
def search_profile(
    profile_id: UUID, db: Db, actor: CurrentActor, params: Annotated[SearchParams, Query()]
) -> Response:
    """Frames whose name contains `q`, and the share of the samples that run through them."""
    profile = service.one(db, actor, profile_id)
    release_connection(db)
    return fast_json(service.find(artifact_store(), profile, params.chosen(), params.q, regex=params.regex))


@router.get("/profiles/{profile_id}/heat", response_model=HeatRead)
def get_heat(
    profile_id: UUID, db: Db, actor: CurrentActor, params: Annotated[HeatParams, Query()]
) -> Response:
    """When samples fell, below the second."""
    profile = service.one(db, actor, profile_id)
    release_connection(db)
    return fast_json(service.when(artifact_store(), profile, params.chosen(), params.bins, params.rows))


@router.get("/profiles/{profile_id}/facets", response_model=FacetsRead)
def get_facets(
    profile_id: UUID, db: Db, actor: CurrentActor, params: Annotated[FilterParams, Query()]
) -> Response:
    """CPUs, processes and threads by weight."""
    profile = service.one(db, actor, profile_id)
    release_connection(db)
    return fast_json(service.choices(artifact_store(), profile, params.chosen()))


@router.get("/profiles/{profile_id}/export", response_class=Response)
def export_profile(
    profile_id: UUID, db: Db, actor: CurrentActor, params: Annotated[ExportParams, Query()]
) -> Response:
    """A file for other tools; always an attachment."""
    profile = service.one(db, actor, profile_id)
    label = service.read(db, [profile])[0].label
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", label).strip("-.") or "profile"
    if params.format == "raw":
        return _raw(db, actor, profile, stem)
    title = f"{label} ({profile.unit})"
    release_connection(db)
    pieces = service.export(artifact_store(), profile, params.chosen(), params.format, title)
    return StreamingResponse(
        (piece.encode("utf-8", "replace") for piece in pieces),
        media_type=MEDIA[params.format],
        headers={**ATTACHMENT, **_named(f"{stem}.{SUFFIX[params.format]}")},
    )


def _raw(db: Db, actor: CurrentActor, profile: Profile, stem: str) -> Response:
    policy(actor, "artifact.read")
    artifact = queries.raw_artifact(db, profile)
    if artifact is None:
        raise NotFound("artifact.not_found")
    if artifact.removed_at is not None:
        raise Gone("artifact.removed", at=artifact.removed_at.date().isoformat())
    release_connection(db)
    try:
        path = artifact_store().path(artifact.sha256)
    except ArtifactMissing:
        raise NotFound("artifact.missing", sha256=artifact.sha256) from None
    suffix = {"gzip": ".gz", "zstd": ".zst"}.get(artifact.encoding, "")
    name = f"{stem}.{re.sub(r'[^A-Za-z0-9._-]+', '-', artifact.part)}{suffix}"
    return FileResponse(path, media_type="application/octet-stream", headers={**ATTACHMENT, **_named(name)})


def _named(name: str) -> dict[str, str]:
    return {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}"}


@router.post("/diffs", status_code=202, response_model=DiffRead)
def create_diff(body: DiffCreate, db: Db, actor: CurrentActor, once: Once) -> DiffRead | JSONResponse:
    """Compare B (after) with A (before); it is built by a worker, `state` says when it can be drawn."""
    return once(body, lambda: diffs.read(db, actor, diffs.create(db, actor, body)), status=202)


@router.get("/diffs/{diff_id}")
def get_diff(diff_id: UUID, db: Db, actor: CurrentActor) -> DiffRead:
    """One comparison."""
    return diffs.read(db, actor, diffs.one(db, actor, diff_id))


@router.get("/diffs/{diff_id}/tree", response_model=DiffTreeRead)
def get_diff_tree(
    diff_id: UUID,
    db: Db,
    actor: CurrentActor,
    *,
    width: Annotated[int, Query(ge=1, le=MAX_WIDTH)] = 1200,
    root: Annotated[int, Query(ge=0, lt=1 << 53)] = 0,
    normalise: Literal["share", "absolute"] | None = None,
) -> Response:
    """Its tree, as wide as B; every node holds a, b and delta = B - A."""
    row = diffs.one(db, actor, diff_id)
    release_connection(db)
    body = diffs.tree(artifact_store(), row, width=width, root=root, normalise=normalise)
    return Response(body, media_type="application/json")


@router.get("/runs/{run_id}/sched", response_model=SchedRead)
def get_sched(run_id: UUID, db: Db, actor: CurrentActor) -> Response:
    """Every task of a run: how long it ran, and how long it waited for a CPU."""
    run, profile = sched.of_run(db, actor, run_id)
    release_connection(db)
    return fast_json(sched.summary(artifact_store(), run, profile))


@router.get("/runs/{run_id}/sched/lanes", response_model=SchedLanesRead)
def get_sched_lanes(
    run_id: UUID,
    db: Db,
    actor: CurrentActor,
    *,
    from_ns: Annotated[int | None, Query(ge=0, le=1 << 62)] = None,
    to_ns: Annotated[int | None, Query(ge=0, le=1 << 62)] = None,
    width: Annotated[int, Query(ge=1, le=MAX_WIDTH)] = 1200,
) -> Response:
    """Who ran on each CPU, at most about two segments per pixel."""
    _, profile = sched.of_run(db, actor, run_id)
    release_connection(db)
    return fast_json(sched.drawn(artifact_store(), profile, from_ns=from_ns, to_ns=to_ns, width=width))
