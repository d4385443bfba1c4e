"""What surrounds a run, over HTTP."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Response

from culprit.auth.dependencies import CurrentActor
from culprit.context import calls, fact_changes, service
from culprit.context.schemas import CallsRead, ContextRead, FactChanges
from culprit.infra.db import Db
from culprit.kit.answers import fast_json

router = APIRouter(tags=["context"])
Ns = Annotated[int | None, Query(ge=0, le=1 << 62, description="UTC nanoseconds")]
Pid = Annotated[
    int | None, Query(ge=1, le=1 << 22, description="A process; without it the scope of the capture")
]


@router.get("/hosts/{host_id}/context", response_model=ContextRead)
def read_context(host_id: UUID, db: Db, actor: CurrentActor, run_id: UUID | None = None) -> Response:
    """Where am I: the machine, its kernel, limits, neighbours, what changed, and whether a twin is healthy."""
    return fast_json(service.of_host(db, actor, host_id, run_id))


@router.get("/hosts/{host_id}/changes", response_model=FactChanges)
def read_changes(
    host_id: UUID, db: Db, actor: CurrentActor, since_ns: Ns = None, until_ns: Ns = None
) -> Response:
    """What changed on a host since a time (30 days, where none is named): kernel, settings, mounts, limits, devices.

    Each with the last reading before and the first one after, between which it changed, and their lines.
    """
    return fast_json(fact_changes.of_host(db, actor, host_id, since_ns=since_ns, until_ns=until_ns))


@router.get("/runs/{run_id}/calls", response_model=CallsRead)
def read_calls(  # noqa: PLR0917
    run_id: UUID, db: Db, actor: CurrentActor, pid: Pid = None, from_ns: Ns = None, to_ns: Ns = None
) -> Response:
    """Follow the call: whom a process calls and who calls it, each with the enrolled host and process behind it.

    `from_ns` and `to_ns` are kept in the addresses that go on from here.
    """
    span_ns = (from_ns, to_ns) if from_ns is not None and to_ns is not None and from_ns < to_ns else None
    return fast_json(calls.of_run(db, actor, run_id, pid, span_ns))
