"""Request, load and describe the instructions of a function."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.orm import Session

from culprit.accounts import audit
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize, is_allowed, is_in_scope
from culprit.evidence.disassembly import queries
from culprit.evidence.disassembly.schemas import (
    DisassemblyCreate,
    DisassemblyListing,
    DisassemblyResponse,
    InstructionResponse,
)
from culprit.evidence.profiles.service import get_profile, require_ready
from culprit.infra.models.captures.run import Run
from culprit.infra.models.evidence.function_disassembly import FunctionDisassembly
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.hosts.host import Host
from culprit.infra.task_queue import enqueue_after_commit
from culprit.json_types import Json
from culprit.web.errors import ConflictError, NotFoundError

#: What a user must be permitted on a host to read code there: the same as a recording of its stacks.
FETCH_ACTION = "capture.standard"
#: Readers of perf.data, of captures and of uploads.
_READERS = frozenset({"perf_data", "perf_script"})
_DERIVED_KINDS = frozenset({"off_cpu", "wall_time", "block_io", "futex", "imported", "sched"})
NOT_FETCHED = "disassembly.not_fetched"


def create_disassembly(
    session: Session, actor: Actor, profile_id: UUID, body: DisassemblyCreate
) -> FunctionDisassembly:
    """Return the disassembly of a function of a profile, which a worker builds once.

    Raises ConflictError if the samples of the profile have no addresses.
    """
    profile = get_profile(session, actor, profile_id)
    authorize(actor, "profile.disassemble")
    require_ready(profile)
    source = profile.source or {}
    if source.get("reader") not in _READERS or profile.kind in _DERIVED_KINDS or profile.unit != "samples":
        raise ConflictError("disassembly.no_addresses")
    added = queries.add_function(session, profile.id, body.function, body.module, actor.id)
    if added is not None:
        enqueue_after_commit(session, "culprit.build_disassembly", added)
    return queries.get_function(session, profile.id, body.function, body.module)


def get_disassembly(session: Session, actor: Actor, disassembly_id: UUID) -> FunctionDisassembly:
    """Return a disassembly whose profile the actor can see, or raise NotFoundError."""
    authorize(actor, "profile.disassemble")
    row = queries.find_disassembly(session, disassembly_id)
    if row is None:
        raise NotFoundError("disassembly.not_found")
    get_profile(session, actor, row.profile_id)
    return row


def request_fetch(session: Session, actor: Actor, disassembly_id: UUID) -> FunctionDisassembly:
    """Request that the code of a function is fetched from its host. Repeating it while it runs changes nothing.

    Raises ForbiddenError, or ConflictError if there is nothing to fetch.
    """
    row = get_disassembly(session, actor, disassembly_id)
    host = _find_host(session, row)
    if host is not None:
        authorize(actor, FETCH_ACTION, host)
    if host is None or not _needs_code(row):
        raise ConflictError("disassembly.nothing_to_fetch")
    if queries.request_fetch(session, row.id, actor.id):
        enqueue_after_commit(session, "culprit.fetch_code", row.id)
        audit.record_action(
            session, actor, "profile.fetch_code", "profile", row.profile_id,
            host=host.name, function=row.function[:200], module=(row.result or {}).get("module", "")[:200],
        )  # fmt: skip
    return row


def build_disassembly_response(
    session: Session, actor: Actor, row: FunctionDisassembly
) -> DisassemblyResponse:
    """Return the response of a disassembly, with its listing once it is built."""
    host = _find_host(session, row) if _needs_code(row) else None
    can_fetch = (
        host is not None
        and host.state == "active"
        and is_in_scope(actor, host.labels)
        and is_allowed(actor, FETCH_ACTION)
    )
    return DisassemblyResponse(
        id=row.id,
        profile_id=row.profile_id,
        function=row.function,
        state=row.state,
        failure=row.failure,
        fetch_state=row.fetch_state,
        fetch_failure=row.fetch_failure,
        can_fetch=can_fetch,
        listing=_build_listing(row.result) if row.result is not None else None,
    )


def _needs_code(row: FunctionDisassembly) -> bool:
    """Return whether the host may have the code of a function."""
    return row.state == "ready" and bool((row.result or {}).get("plan"))


def _find_host(session: Session, row: FunctionDisassembly) -> Host | None:
    profile = session.get_one(Profile, row.profile_id)
    run = session.get_one(Run, profile.run_id)
    return run.host


def _build_listing(result: Json) -> DisassemblyListing:
    start, size = result["address"], result["size"]
    instructions = [
        InstructionResponse(
            offset=offset,
            length=length,
            text=text,
            target=target - start if target is not None and start <= target < start + size else None,
            callee=callee,
            file=file if file >= 0 else None,
            line=line if file >= 0 else None,
            samples=samples,
        )
        for offset, length, text, target, callee, file, line, samples in result["instructions"]
    ]
    names = (
        "module", "size", "samples", "function_samples", "code_reason", "lines_reason", "cut", "files", "others",
    )  # fmt: skip
    return DisassemblyListing(
        **{name: result[name] for name in names},
        address=f"{start:x}",
        counted_samples=sum(item.samples for item in instructions),
        instructions=instructions,
    )
