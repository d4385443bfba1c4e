"""Load, render, search and export profiles. Totals are computed over the full trie, before it is pruned for display."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.profiles.column_file import DamagedFileError
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.domain.profile_exports.chrome_trace import write_chrome_trace
from culprit.domain.profile_exports.firefox import write_firefox
from culprit.domain.profile_exports.folded import write_folded
from culprit.domain.profile_exports.perf_script import write_perf_script
from culprit.domain.profile_exports.pprof import write_pprof
from culprit.domain.profile_exports.rows import ExportError
from culprit.domain.profile_exports.speedscope import write_speedscope
from culprit.domain.profile_exports.svg import write_svg
from culprit.domain.profiles.exploration.node_paths import find_inverted_node, find_node
from culprit.domain.profiles.exploration.sandwich import build_sandwich
from culprit.domain.profiles.exploration.time_order import OrderKey, order_by_time
from culprit.domain.profiles.exploration.transforms import FrameTransform, transform_profile
from culprit.domain.profiles.exploration.unnamed import list_unnamed_modules
from culprit.domain.profiles.facets import (
    TrackKey,
    compute_facets,
    compute_heat_matrix,
    compute_sample_tracks,
)
from culprit.domain.profiles.inverted import find_inverted_path, render_inverted_tree
from culprit.domain.profiles.patterns import SearchPatternError
from culprit.domain.profiles.search import list_top_functions, search_frames
from culprit.domain.profiles.stacks import ProfileView, SampleFilter
from culprit.domain.profiles.stacks import StackProfile as Samples
from culprit.domain.profiles.tree_response import render_tree_json
from culprit.evidence.profiles import queries
from culprit.evidence.profiles.file_cache import PROFILES, TRANSFORMED
from culprit.evidence.profiles.schemas import ProfileResponse
from culprit.infra.artifacts.blob_files import ArtifactAlteredError, ArtifactMissingError
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.models.evidence.profile import Profile
from culprit.json_types import Json
from culprit.web.errors import ConflictError, GoneError, InvalidRequestError, NotFoundError
from culprit.web.schemas import HostRef

FIRST_WIDTH = 1200
NO_TRANSFORM = FrameTransform()
# Estimated size of a transformed profile: it copies columns and nodes, and shares the names.
ROW_BYTES, NODE_BYTES = 8, 64


def build_profile_responses(session: Session, rows: Sequence[Profile]) -> list[ProfileResponse]:
    """Return the responses of profiles, with their hosts and labels."""
    hosts = queries.load_hosts(session, {row.host_id for row in rows if row.host_id is not None})
    captures = queries.load_capture_names(session, {row.run_id for row in rows})
    return [
        _build_profile_response(row, hosts.get(row.host_id) if row.host_id else None, captures[row.run_id])
        for row in rows
    ]


def _build_profile_response(row: Profile, host: Any, capture: Any) -> ProfileResponse:
    names = ProfileResponse.model_fields.keys() - {"host", "label"}
    name = host.name if host is not None else capture.reason if capture.source == "import" else ""
    label = f"{name} #{capture.number}".strip()
    return ProfileResponse(
        **{name: getattr(row, name) for name in names},
        host=HostRef(id=host.id, name=host.name) if host is not None else None,
        label=f"{label} {row.event}".strip(),
    )


def get_profile(session: Session, actor: Actor, profile_id: UUID) -> Profile:
    """Return a profile that the actor can see, or raise NotFoundError."""
    authorize(actor, "profile.read")
    profile = queries.find_profile(session, actor, profile_id)
    if profile is None:
        raise NotFoundError("profile.not_found")
    return profile


def require_ready(profile: Profile) -> str:
    """Return the key of the samples.

    Raises ConflictError while the profile is built or if that failed, GoneError if it was deleted.
    """
    if profile.removed_at is not None:
        raise GoneError("profile.removed", at=profile.removed_at.date().isoformat())
    if profile.state != "ready" or profile.store_key is None:
        raise ConflictError(
            f"profile.{'failed' if profile.state == 'failed' else 'not_ready'}", state=profile.state
        )
    return profile.store_key


def load_stacks(store: ArtifactStore, profile: Profile) -> Samples:
    """Return the samples of a profile.

    Raises ConflictError if the profile has no stacks, is not ready or its file is lost, GoneError if it was deleted.
    """
    if profile.kind == "sched":
        raise ConflictError("profile.no_stacks")
    key = require_ready(profile)
    try:
        return PROFILES.get(key, store.path)
    except (ArtifactMissingError, ArtifactAlteredError, DamagedFileError, FileNotFoundError) as error:
        raise ConflictError("profile.lost", why=str(error)[:200]) from error


def load_view(
    store: ArtifactStore,
    profile: Profile,
    chosen: SampleFilter,
    transform: FrameTransform = NO_TRANSFORM,
) -> ProfileView:
    """Return the filtered samples of a profile with transformed stacks.

    Raises InvalidRequestError for an invalid search pattern.
    """
    stacks = load_stacks(store, profile)
    if transform != NO_TRANSFORM:
        stacks = _transform_cached(stacks, f"{profile.store_key}\0{transform!r}", transform)
    try:
        return stacks.view(chosen)
    except SearchPatternError as error:
        raise _refuse_pattern(error) from None


def _transform_cached(stacks: Samples, key: str, transform: FrameTransform) -> Samples:
    def make() -> tuple[Samples, int]:
        changed = transform_profile(stacks, transform)
        size = len(changed.table) * ROW_BYTES + len(changed.table.trie) * NODE_BYTES
        return changed, size

    return TRANSFORMED.get_or_load(key, make)


def _refuse_pattern(error: SearchPatternError) -> InvalidRequestError:
    limit_or_why = {name: value for name, value in error.sentence.params.items() if name != "errors"}
    return InvalidRequestError(error.sentence.key, errors=(), **limit_or_why)


def render_tree(
    store: ArtifactStore,
    profile: Profile,
    chosen: SampleFilter,
    transform: FrameTransform = NO_TRANSFORM,
    *,
    width: int,
    root: int = 0,
    path: Sequence[str] = (),
    from_inside: bool = False,
) -> bytes:
    """Return the JSON of the tree below the node `root`, or below the node at the end of `path` (frame names).

    The default tree (whole profile, width FIRST_WIDTH) is stored when the profile is built and is returned unchanged.
    Raises NotFoundError if the node does not exist.
    """
    is_first = (width, root, from_inside) == (FIRST_WIDTH, 0, False) and not path
    if is_first and chosen == SampleFilter() and transform == NO_TRANSFORM and profile.tree_key:
        require_ready(profile)
        try:
            return store.path(profile.tree_key).read_bytes()
        except ArtifactMissingError:
            pass
    view = load_view(store, profile, chosen, transform)
    if path:
        root = find_inverted_node(view, path) if from_inside else find_node(view, path)
    try:
        tree = render_inverted_tree(view, width, root) if from_inside else view.render_tree(width, root)
        steps = find_inverted_path(view, root) if from_inside else view.list_path(root)
    except IndexError:
        raise NotFoundError("profile.no_such_node", node=root) from None
    totals = {"total": view.weight, "samples": view.samples, "node_count": view.nodes}
    return render_tree_json(tree, totals, steps).encode("utf-8", "replace")


def render_sandwich(
    store: ArtifactStore,
    profile: Profile,
    chosen: SampleFilter,
    transform: FrameTransform,
    *,
    function: str,
    width: int,
) -> bytes:
    """Return the JSON of a function with its callers and callees, or raise NotFoundError."""
    view = load_view(store, profile, chosen, transform)
    try:
        sandwich = build_sandwich(view, chosen, function, width)
    except LookupError:
        raise NotFoundError("profile.no_such_function", function=function[:200]) from None
    figures = {
        "function": sandwich.function,
        "module": sandwich.module,
        "kind": sandwich.kind,
        "self": sandwich.own,
        "total": sandwich.total,
        "view_total": view.weight,
    }
    trees = f'"callers": {sandwich.callers.json()}, "callees": {sandwich.callees.json()}'
    return f"{json.dumps(figures)[:-1]}, {trees}}}".encode("utf-8", "replace")


def render_time_order(
    store: ArtifactStore,
    profile: Profile,
    chosen: SampleFilter,
    transform: FrameTransform,
    *,
    by: OrderKey,
    width: int,
) -> bytes:
    """Return the JSON of the heaviest thread or CPU in the order of time."""
    order = order_by_time(load_view(store, profile, chosen, transform), by, width)
    figures = {
        "by": by,
        "cpu": order.cpu if order else -1,
        "pid": order.pid if order else -1,
        "tid": order.tid if order else -1,
        "comm": order.comm if order else "",
        "tracks_total": order.tracks_total if order else 0,
        "total": order.tree.value[0] if order else 0,
        "samples": order.samples if order else 0,
        "pruned_weight": order.tree.pruned if order else 0,
    }
    tree = order.tree.json() if order else "null"
    return f'{json.dumps(figures)[:-1]}, "tree": {tree}}}'.encode("utf-8", "replace")


def list_functions(
    store: ArtifactStore, profile: Profile, chosen: SampleFilter, transform: FrameTransform, limit: int
) -> Json:
    """Return the `limit` heaviest functions, and the total weight of the view."""
    view = load_view(store, profile, chosen, transform)
    rows = [
        {"frame": row.frame, "module": row.module, "kind": row.kind, "self": row.own, "total": row.total}
        for row in list_top_functions(view, limit)
    ]
    return {"rows": rows, "total": view.weight}


def search_profile(
    store: ArtifactStore,
    profile: Profile,
    chosen: SampleFilter,
    transform: FrameTransform,
    *,
    query: str,
    regex: bool,
) -> Json:
    """Return the frames that match, and the weight of the samples that contain them."""
    try:
        frames = search_frames(load_view(store, profile, chosen, transform), query, regex=regex)
    except SearchPatternError as error:
        raise _refuse_pattern(error) from None
    return {"weight": frames.weight, "share": frames.share, "nodes": frames.nodes, "frames": frames.frames}


def list_unnamed(store: ArtifactStore, profile: Profile, chosen: SampleFilter) -> Json:
    """Return the modules without symbols, and the reasons."""
    view = load_view(store, profile, chosen)
    explained = {item["module"]: item["reason"] for item in (profile.naming or {}).get("unnamed", ())}
    kernel = explained.get("[kernel]")
    rows = [
        {
            "module": row.module,
            "reason": row.reason,
            "weight": row.weight,
            "frames": row.frames,
            "explanation": explained.get(row.module, kernel if row.reason == "kernel" else None),
        }
        for row in list_unnamed_modules(view)
    ]
    return {"total": view.weight, "modules": rows}


def build_sample_tracks(
    store: ArtifactStore, profile: Profile, chosen: SampleFilter, *, by: TrackKey, bins: int, limit: int
) -> Json:
    """Return the samples over time by thread, process or CPU."""
    result = compute_sample_tracks(load_view(store, profile, chosen), by, bins, limit)
    return {
        "t0_ns": result.t0_ns,
        "bin_ns": result.bin_ns,
        "tracks": [asdict(track) for track in result.tracks],
        "tracks_total": result.total,
        "weight_total": result.weight,
    }


def build_heat_matrix(
    store: ArtifactStore, profile: Profile, chosen: SampleFilter, bins: int, rows: int
) -> Json:
    """Return the weights of samples by time bin and offset in the bin.

    Raises InvalidRequestError if the matrix is too large.
    """
    try:
        cells = compute_heat_matrix(load_view(store, profile, chosen), bins, rows)
    except ValueError:
        raise InvalidRequestError("profile.heat_size", bins=bins, rows=rows) from None
    return {"t0_ns": cells.t0_ns, "bin_ns": cells.bin_ns, "rows": cells.rows}


def list_facets(store: ArtifactStore, profile: Profile, chosen: SampleFilter) -> Json:
    """Return the available filter values with their weights."""
    facets = compute_facets(load_view(store, profile, chosen))
    return {
        "cpus": [{"cpu": cpu, "weight": weight} for cpu, weight in facets.cpus],
        "processes": [{"pid": pid, "comm": comm, "weight": w} for pid, comm, w in facets.processes],
        "threads": [{"tid": tid, "pid": pid, "comm": c, "weight": w} for tid, pid, c, w in facets.threads],
        "modules": [{"module": module, "weight": w} for module, w in facets.modules],
        "cgroups": [{"cgroup": path, "weight": w} for path, w in facets.cgroups],
        "softirq": facets.softirq,
    }


ExportFormat = Literal["folded", "svg", "speedscope", "pprof", "firefox", "chrome_trace", "perf_script"]


@dataclass(frozen=True, slots=True)
class ExportWriter:
    """An export format: file name suffix, media type, and the function that writes a view with a title."""

    suffix: str
    media_type: str
    write: Callable[[ProfileView, str], Iterator[str] | Iterator[bytes]]


EXPORTS: Mapping[ExportFormat, ExportWriter] = {
    "folded": ExportWriter("folded.txt", "text/plain; charset=utf-8", lambda view, _: write_folded(view)),
    "svg": ExportWriter(
        "svg", "image/svg+xml", lambda view, title: write_svg(view.render_tree(FIRST_WIDTH), title)
    ),
    "speedscope": ExportWriter("speedscope.json", "application/json", write_speedscope),
    "pprof": ExportWriter("pb.gz", "application/octet-stream", lambda view, _: write_pprof(view)),
    "firefox": ExportWriter("firefox.json", "application/json", write_firefox),
    "perf_script": ExportWriter(
        "perf.txt", "text/plain; charset=utf-8", lambda view, _: write_perf_script(view)
    ),
    "chrome_trace": ExportWriter("trace.json", "application/json", lambda view, _: write_chrome_trace(view)),
}


def export_profile(
    store: ArtifactStore, profile: Profile, chosen: SampleFilter, form: ExportFormat, title: str
) -> Iterator[bytes]:
    """Return the exported file in pieces. Raises InvalidRequestError if the format cannot represent the profile."""
    view = load_view(store, profile, chosen)
    try:
        pieces = EXPORTS[form].write(view, title)
    except ExportError as error:
        raise InvalidRequestError(error.sentence.key, errors=()) from None
    return (piece if isinstance(piece, bytes) else piece.encode("utf-8", "replace") for piece in pieces)
