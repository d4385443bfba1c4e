"""HTTP endpoints of the host context, fact changes and the call graph."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Response

from culprit.accounts.dependencies import CurrentActor
from culprit.evidence.context import calls, fact_changes, service
from culprit.evidence.context.schemas import CallGraphResponse, HostChangesResponse, HostContextResponse
from culprit.infra.request_dependencies import DbDep
from culprit.web.http.json_response import fast_json

router = APIRouter(tags=["context"])
Ns = Annotated[int | None, Query(ge=0, le=1 << 62, description="UTC nanoseconds")]
Pid = Annotated[
    int | None, Query(ge=1, le=1 << 22, description="Process ID; default: the scope of the capture")
]


@router.get("/hosts/{host_id}/context", response_model=HostContextResponse)
def get_host_context(host_id: UUID, db: DbDep, actor: CurrentActor, run_id: UUID | None = None) -> Response:
    """Return the host context: machine, kernel, limits, neighbors, changes, and the comparison with peers."""
    return fast_json(service.build_host_context(db, actor, host_id, run_id))


@router.get("/hosts/{host_id}/changes", response_model=HostChangesResponse)
def get_host_changes(
    host_id: UUID, db: DbDep, actor: CurrentActor, since_ns: Ns = None, until_ns: Ns = None
) -> Response:
    """Return what changed on a host since a time, 30 days by default: kernel, settings, mounts, limits, devices.

    Each change has the last reading before it and the first reading after it, with their lines.
    """
    return fast_json(fact_changes.list_changes(db, actor, host_id, since_ns=since_ns, until_ns=until_ns))


@router.get("/runs/{run_id}/calls", response_model=CallGraphResponse)
def get_call_graph(  # noqa: PLR0917
    run_id: UUID, db: DbDep, actor: CurrentActor, pid: Pid = None, from_ns: Ns = None, to_ns: Ns = None
) -> Response:
    """Return the call graph of a process: its calls in both directions, with the host and process at the other end.

    `from_ns` and `to_ns` are passed on in the URLs of the other ends.
    """
    span_ns = (from_ns, to_ns) if from_ns is not None and to_ns is not None and from_ns < to_ns else None
    return fast_json(calls.build_call_graph_response(db, actor, run_id, pid, span_ns))
