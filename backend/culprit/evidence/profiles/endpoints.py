"""HTTP endpoints of profiles and comparisons."""

from __future__ import annotations

import re
from typing import Annotated, Literal
from urllib.parse import quote
from uuid import UUID

from fastapi import APIRouter, Query, Response
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse

from culprit.accounts.authorization import authorize
from culprit.accounts.dependencies import CurrentActor
from culprit.accounts.idempotency import Once
from culprit.domain.profiles.exploration.time_order import OrderKey
from culprit.domain.profiles.facets import TrackKey
from culprit.domain.profiles.tree import MAX_DEPTH
from culprit.domain.series.tracks import MAX_WIDTH
from culprit.evidence.profiles import comparison_work, comparisons, queries, service
from culprit.evidence.profiles.comparison_schemas import (
    ComparedFunctionsResponse,
    ComparisonCreate,
    ComparisonParams,
    ComparisonResponse,
    ComparisonTreeResponse,
    ComparisonWorkResponse,
)
from culprit.evidence.profiles.schemas import (
    FrameName,
    FunctionTableResponse,
    HeatMatrixResponse,
    ProfileFacetsResponse,
    ProfileFilterParams,
    ProfileResponse,
    ProfileSearchResponse,
    ProfileTreeResponse,
    ProfileViewParams,
    SampleTracksResponse,
    SandwichResponse,
    TimeOrderResponse,
    UnnamedModulesResponse,
)
from culprit.infra.artifacts.blob_files import ArtifactMissingError
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.unit_of_work import release_connection
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.request_dependencies import DbDep
from culprit.web.errors import GoneError, NotFoundError
from culprit.web.http.json_response import fast_json
from culprit.web.http.pagination import Cursor, Limit, Page, build_page

router = APIRouter(tags=["profiles"])

ATTACHMENT = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox; default-src 'none'"}


class ProfileTreeParams(ProfileViewParams):
    """Parameters of a flame graph. `path` are the frame names from below the root to the node to display."""

    width: Annotated[int, Query(ge=1, le=MAX_WIDTH)] = 1200
    root: Annotated[int, Query(ge=0, lt=1 << 53, description="A node's id: draw what is below it")] = 0
    path: Annotated[list[FrameName], Query(default_factory=list, max_length=MAX_DEPTH)]
    inverted: bool = False


class SandwichParams(ProfileViewParams):
    """The function of a sandwich view, and the samples."""

    function: Annotated[str, Query(min_length=1, max_length=4096)]
    width: Annotated[int, Query(ge=1, le=MAX_WIDTH)] = 1200


class TimeOrderParams(ProfileViewParams):
    """Whether to order the samples of a thread or of a CPU, and the samples."""

    by: OrderKey = "thread"
    width: Annotated[int, Query(ge=1, le=MAX_WIDTH)] = 1200


class SampleTracksParams(ProfileFilterParams):
    """Grouping and time bins of sample tracks, and the samples."""

    by: TrackKey = "thread"
    bins: Annotated[int, Query(ge=1, le=2000)] = 240
    limit: Annotated[int, Query(ge=1, le=100)] = 50


class FunctionTableParams(ProfileViewParams):
    """Maximum number of functions, and the samples."""

    limit: Annotated[int, Query(ge=1, le=2000)] = 500


class ProfileSearchParams(ProfileViewParams):
    """Search text or pattern, and the samples."""

    q: Annotated[str, Query(min_length=1, max_length=200)]
    regex: bool = False


class HeatMatrixParams(ProfileFilterParams):
    """Size of the heat matrix, and the samples. `bins` 0: bins of one second."""

    bins: Annotated[int, Query(ge=0, le=MAX_WIDTH)] = 0
    rows: Annotated[int, Query(ge=1, le=200)] = 50


class ComparisonTreeParams(ComparisonParams):
    """Parameters of a comparison tree. `width_of`: the side that sets widths; paths only in the other have none."""

    width: Annotated[int, Query(ge=1, le=MAX_WIDTH)] = 1200
    root: Annotated[int, Query(ge=0, lt=1 << 53, description="A node's id: draw what is below it")] = 0
    width_of: Literal["a", "b"] = "b"


class ComparisonFunctionsParams(ComparisonParams):
    """Maximum number of functions, and their normalization."""

    limit: Annotated[int, Query(ge=1, le=2000)] = 200


class ProfileExportParams(ProfileFilterParams):
    """Export format and samples; `raw` is the stored recording."""

    format: service.ExportFormat | Literal["raw"]


@router.get("/profiles")
def list_profiles(
    db: DbDep,
    actor: CurrentActor,
    *,
    host: UUID | None = None,
    run: UUID | None = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[ProfileResponse]:
    """Return profiles, newest first."""
    authorize(actor, "profile.read")
    return build_page(
        db,
        queries.profiles_query(actor, host, run),
        Profile.id,
        limit=limit,
        cursor=cursor,
        read=lambda rows: service.build_profile_responses(db, rows),
    )


@router.get("/profiles/{profile_id}")
def get_profile(profile_id: UUID, db: DbDep, actor: CurrentActor) -> ProfileResponse:
    """Return a profile; it can be displayed when its `state` is `ready`."""
    return service.build_profile_responses(db, [service.get_profile(db, actor, profile_id)])[0]


@router.get("/profiles/{profile_id}/tree", response_model=ProfileTreeResponse)
def get_tree(
    profile_id: UUID, db: DbDep, actor: CurrentActor, params: Annotated[ProfileTreeParams, Query()]
) -> Response:
    """Return the tree of a flame graph, without frames narrower than half a pixel of `width`."""
    profile = service.get_profile(db, actor, profile_id)
    release_connection(db)
    body = service.render_tree(
        artifact_store(),
        profile,
        params.to_filter(),
        params.to_transform(),
        width=params.width,
        root=params.root,
        path=params.path,
        from_inside=params.inverted,
    )
    return Response(body, media_type="application/json")


@router.get("/profiles/{profile_id}/table", response_model=FunctionTableResponse)
def get_table(
    profile_id: UUID, db: DbDep, actor: CurrentActor, params: Annotated[FunctionTableParams, Query()]
) -> Response:
    """Return the heaviest functions, by own and by total weight."""
    profile = service.get_profile(db, actor, profile_id)
    release_connection(db)
    return fast_json(
        service.list_functions(
            artifact_store(), profile, params.to_filter(), params.to_transform(), params.limit
        )
    )


@router.get("/profiles/{profile_id}/sandwich", response_model=SandwichResponse)
def get_sandwich(
    profile_id: UUID, db: DbDep, actor: CurrentActor, params: Annotated[SandwichParams, Query()]
) -> Response:
    """Return a function with the trees of its callers and callees, over all of its calls."""
    profile = service.get_profile(db, actor, profile_id)
    release_connection(db)
    body = service.render_sandwich(
        artifact_store(),
        profile,
        params.to_filter(),
        params.to_transform(),
        function=params.function,
        width=params.width,
    )
    return Response(body, media_type="application/json")


@router.get("/profiles/{profile_id}/time-order", response_model=TimeOrderResponse)
def get_time_order(
    profile_id: UUID, db: DbDep, actor: CurrentActor, params: Annotated[TimeOrderParams, Query()]
) -> Response:
    """Return the heaviest thread or CPU of the selection in the order of time.

    Equal frames are one box only while they follow each other.
    """
    profile = service.get_profile(db, actor, profile_id)
    release_connection(db)
    body = service.render_time_order(
        artifact_store(),
        profile,
        params.to_filter(),
        params.to_transform(),
        by=params.by,
        width=params.width,
    )
    return Response(body, media_type="application/json")


@router.get("/profiles/{profile_id}/tracks", response_model=SampleTracksResponse)
def get_sample_tracks(
    profile_id: UUID, db: DbDep, actor: CurrentActor, params: Annotated[SampleTracksParams, Query()]
) -> Response:
    """Return samples over time by thread, process or CPU."""
    profile = service.get_profile(db, actor, profile_id)
    release_connection(db)
    return fast_json(
        service.build_sample_tracks(
            artifact_store(),
            profile,
            params.to_filter(),
            by=params.by,
            bins=params.bins,
            limit=params.limit,
        )
    )


@router.get("/profiles/{profile_id}/unnamed", response_model=UnnamedModulesResponse)
def get_unnamed(
    profile_id: UUID, db: DbDep, actor: CurrentActor, params: Annotated[ProfileFilterParams, Query()]
) -> Response:
    """Return the modules without symbols, and the reasons."""
    profile = service.get_profile(db, actor, profile_id)
    release_connection(db)
    return fast_json(service.list_unnamed(artifact_store(), profile, params.to_filter()))


@router.get("/profiles/{profile_id}/search", response_model=ProfileSearchResponse)
def search_profile(
    profile_id: UUID, db: DbDep, actor: CurrentActor, params: Annotated[ProfileSearchParams, Query()]
) -> Response:
    """Return frames whose name contains `q`, and the share of the samples that contain them."""
    profile = service.get_profile(db, actor, profile_id)
    release_connection(db)
    return fast_json(
        service.search_profile(
            artifact_store(),
            profile,
            params.to_filter(),
            params.to_transform(),
            query=params.q,
            regex=params.regex,
        )
    )


@router.get("/profiles/{profile_id}/heat", response_model=HeatMatrixResponse)
def get_heat(
    profile_id: UUID, db: DbDep, actor: CurrentActor, params: Annotated[HeatMatrixParams, Query()]
) -> Response:
    """Return a subsecond heat map of the samples."""
    profile = service.get_profile(db, actor, profile_id)
    release_connection(db)
    return fast_json(
        service.build_heat_matrix(artifact_store(), profile, params.to_filter(), params.bins, params.rows)
    )


@router.get("/profiles/{profile_id}/facets", response_model=ProfileFacetsResponse)
def get_facets(
    profile_id: UUID, db: DbDep, actor: CurrentActor, params: Annotated[ProfileFilterParams, Query()]
) -> Response:
    """Return the CPUs, processes, threads, modules and control groups to filter by, heaviest first."""
    profile = service.get_profile(db, actor, profile_id)
    release_connection(db)
    return fast_json(service.list_facets(artifact_store(), profile, params.to_filter()))


@router.get("/profiles/{profile_id}/export", response_class=Response)
def export_profile(
    profile_id: UUID, db: DbDep, actor: CurrentActor, params: Annotated[ProfileExportParams, Query()]
) -> Response:
    """Download a profile as a file for other tools."""
    profile = service.get_profile(db, actor, profile_id)
    label = service.build_profile_responses(db, [profile])[0].label
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", label).strip("-.") or "profile"
    if params.format == "raw":
        return _download_recording(db, actor, profile, stem)
    title = f"{label} ({profile.unit})"
    release_connection(db)
    pieces = service.export_profile(artifact_store(), profile, params.to_filter(), params.format, title)
    writer = service.EXPORTS[params.format]
    return StreamingResponse(
        pieces,
        media_type=writer.media_type,
        headers={**ATTACHMENT, **_attachment_header(f"{stem}.{writer.suffix}")},
    )


def _download_recording(db: DbDep, actor: CurrentActor, profile: Profile, stem: str) -> Response:
    authorize(actor, "artifact.read")
    artifact = queries.find_raw_artifact(db, profile)
    if artifact is None:
        raise NotFoundError("artifact.not_found")
    if artifact.removed_at is not None:
        raise GoneError("artifact.removed", at=artifact.removed_at.date().isoformat())
    release_connection(db)
    try:
        path = artifact_store().path(artifact.sha256)
    except ArtifactMissingError:
        raise NotFoundError("artifact.missing", sha256=artifact.sha256) from None
    suffix = {"gzip": ".gz", "zstd": ".zst"}.get(artifact.encoding, "")
    name = f"{stem}.{re.sub(r'[^A-Za-z0-9._-]+', '-', artifact.part)}{suffix}"
    return FileResponse(
        path, media_type="application/octet-stream", headers={**ATTACHMENT, **_attachment_header(name)}
    )


def _attachment_header(name: str) -> dict[str, str]:
    return {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}"}


@router.post("/comparisons", status_code=202, response_model=ComparisonResponse)
def create_comparison(
    body: ComparisonCreate, db: DbDep, actor: CurrentActor, once: Once
) -> ComparisonResponse | JSONResponse:
    """Compare B (after) with A (before). A worker builds the comparison; it is complete when `state` is `ready`."""
    return once(
        body,
        lambda: comparisons.build_comparison_response(
            db, actor, comparisons.create_comparison(db, actor, body)
        ),
        status=202,
    )


@router.get("/comparisons/{comparison_id}")
def get_comparison(comparison_id: UUID, db: DbDep, actor: CurrentActor) -> ComparisonResponse:
    """Return a comparison without its tree."""
    return comparisons.build_comparison_response(
        db, actor, comparisons.get_comparison(db, actor, comparison_id)
    )


@router.get("/comparisons/{comparison_id}/tree", response_model=ComparisonTreeResponse)
def get_comparison_tree(
    comparison_id: UUID, db: DbDep, actor: CurrentActor, params: Annotated[ComparisonTreeParams, Query()]
) -> Response:
    """Return the tree of a comparison with the widths of one side; each node has a, b and delta = B - A."""
    row = comparisons.get_comparison(db, actor, comparison_id)
    release_connection(db)
    store = artifact_store()
    body = comparisons.render_comparison_tree(
        comparisons.load_comparison(store, row),
        params,
        width=params.width,
        root=params.root,
        width_of=params.width_of,
    )
    return Response(body, media_type="application/json")


@router.get("/comparisons/{comparison_id}/functions", response_model=ComparedFunctionsResponse)
def get_comparison_functions(
    comparison_id: UUID, db: DbDep, actor: CurrentActor, params: Annotated[ComparisonFunctionsParams, Query()]
) -> Response:
    """Return the functions of both sides, those with a statistically significant change first."""
    row = comparisons.get_comparison(db, actor, comparison_id)
    release_connection(db)
    comparison = comparisons.load_comparison(artifact_store(), row)
    return fast_json(comparisons.list_changed_functions(comparison, params, params.limit))


@router.get("/comparisons/{comparison_id}/work")
def get_comparison_work(comparison_id: UUID, db: DbDep, actor: CurrentActor) -> ComparisonWorkResponse:
    """Return the number of requests during each side, from the application series of its runs."""
    row = comparisons.get_comparison(db, actor, comparison_id)
    return comparison_work.measure_work(db, artifact_store(), actor, row)
