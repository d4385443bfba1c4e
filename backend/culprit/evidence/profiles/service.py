"""Answers about profiles. Everything is computed over the full trie; what is drawn never decides a total."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.columns import DamagedFile
from culprit.auth.actor import Actor
from culprit.auth.policy import policy
from culprit.core import export as writers
from culprit.core.facets import facets, heat
from culprit.core.inverted import inverted, inverted_path
from culprit.core.stack_search import BadPattern, search, top
from culprit.core.stacks import Filter, View
from culprit.core.stacks import Profile as Samples
from culprit.core.tree_answer import tree_answer
from culprit.infra.artifacts import ArtifactAltered, ArtifactMissing, ArtifactStore
from culprit.kit.errors import Conflict, Gone, Invalid, NotFound
from culprit.models import Profile
from culprit.profiles import queries
from culprit.profiles.loaded import PROFILES
from culprit.profiles.schemas import HostRef, ProfileRead

FIRST_WIDTH = 1200
Json = dict[str, Any]


def read(session: Session, rows: Sequence[Profile]) -> list[ProfileRead]:
    """Profiles as they are sent."""
    hosts = queries.hosts(session, {row.host_id for row in rows if row.host_id is not None})
    captures = queries.captures(session, {row.run_id for row in rows})
    return [_read(row, hosts.get(row.host_id) if row.host_id else None, captures[row.run_id]) for row in rows]


def _read(row: Profile, host: Any, capture: Any) -> ProfileRead:
    names = ProfileRead.model_fields.keys() - {"host", "label"}
    of = host.name if host is not None else capture.reason if capture.source == "import" else ""
    label = f"{of} #{capture.number}".strip()
    return ProfileRead(
        **{name: getattr(row, name) for name in names},
        host=HostRef(id=host.id, name=host.name) if host is not None else None,
        label=f"{label} {row.event}".strip(),
    )


def one(session: Session, actor: Actor, profile_id: UUID) -> Profile:
    """A profile that exists for this actor; raises NotFound."""
    policy(actor, "profile.read")
    found = queries.profile(session, actor, profile_id)
    if found is None:
        raise NotFound("profile.not_found")
    return found


def ready(profile: Profile) -> str:
    """The key of its samples; raises Conflict while it is being built or where that failed, Gone once it is deleted."""
    if profile.removed_at is not None:
        raise Gone("profile.removed", at=profile.removed_at.date().isoformat())
    if profile.state != "ready" or profile.store_key is None:
        raise Conflict(
            f"profile.{'failed' if profile.state == 'failed' else 'not_ready'}", state=profile.state
        )
    return profile.store_key


def samples(store: ArtifactStore, profile: Profile) -> Samples:
    """Its samples, opened; raises Conflict where they are not there (yet, or any more)."""
    if profile.kind == "sched":
        raise Conflict("profile.no_stacks")
    key = ready(profile)
    try:
        return PROFILES.get(key, store.path)
    except (ArtifactMissing, ArtifactAltered, DamagedFile, FileNotFoundError) as error:
        raise Conflict("profile.lost", why=str(error)[:200]) from error


def view(store: ArtifactStore, profile: Profile, chosen: Filter) -> View:
    """Its samples under a filter."""
    return samples(store, profile).view(chosen)


def tree(
    store: ArtifactStore, profile: Profile, chosen: Filter, *, width: int, root: int, from_inside: bool
) -> bytes:
    """The JSON of a tree. The one that everybody asks for first was stored when the profile was built."""
    if (width, root, from_inside) == (FIRST_WIDTH, 0, False) and chosen == Filter() and profile.tree_key:
        ready(profile)
        try:
            return store.path(profile.tree_key).read_bytes()
        except ArtifactMissing:
            pass
    seen = view(store, profile, chosen)
    try:
        drawn = inverted(seen, width, root) if from_inside else seen.tree(width, root)
        path = inverted_path(seen, root) if from_inside else seen.path(root)
    except IndexError:
        raise NotFound("profile.no_such_node", node=root) from None
    totals = {"total": seen.weight, "samples": seen.samples, "nodes_total": seen.nodes}
    return tree_answer(drawn, totals, path).encode("utf-8", "replace")


def table(store: ArtifactStore, profile: Profile, chosen: Filter, limit: int) -> Json:
    """The heaviest functions."""
    seen = view(store, profile, chosen)
    rows = [
        {"frame": row.frame, "module": row.module, "kind": row.kind, "self": row.own, "total": row.total}
        for row in top(seen, limit)
    ]
    return {"rows": rows, "total": seen.weight}


def find(store: ArtifactStore, profile: Profile, chosen: Filter, query: str, *, regex: bool) -> Json:
    """How much runs through frames that match."""
    try:
        found = search(view(store, profile, chosen), query, regex=regex)
    except BadPattern as error:
        limit_or_why = {name: value for name, value in error.sentence.params.items() if name != "errors"}
        raise Invalid(error.sentence.key, errors=(), **limit_or_why) from None
    return {"weight": found.weight, "share": found.share, "nodes": found.nodes, "frames": found.frames}


def when(store: ArtifactStore, profile: Profile, chosen: Filter, bins: int, rows: int) -> Json:
    """The heat matrix."""
    try:
        cells = heat(view(store, profile, chosen), bins, rows)
    except ValueError:
        raise Invalid("profile.heat_size", bins=bins, rows=rows) from None
    return {"t0_ns": cells.t0_ns, "bin_ns": cells.bin_ns, "rows": cells.rows}


def choices(store: ArtifactStore, profile: Profile, chosen: Filter) -> Json:
    """What there is to filter by."""
    found = facets(view(store, profile, chosen))
    return {
        "cpus": [{"cpu": cpu, "weight": weight} for cpu, weight in found.cpus],
        "processes": [{"pid": pid, "comm": comm, "weight": w} for pid, comm, w in found.processes],
        "threads": [{"tid": tid, "pid": pid, "comm": c, "weight": w} for tid, pid, c, w in found.threads],
    }


def export(
    store: ArtifactStore,
    profile: Profile,
    chosen: Filter,
    form: Literal["folded", "svg", "speedscope"],
    title: str,
) -> Iterator[str]:
    """A view as a file, piece by piece."""
    seen = view(store, profile, chosen)
    if form == "folded":
        return writers.folded(seen)
    if form == "speedscope":
        return writers.speedscope(seen, title)
    return writers.svg(seen.tree(FIRST_WIDTH), title)
