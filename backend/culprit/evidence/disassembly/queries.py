"""SELECTs and changes of disassembled functions and of the fetches of their code."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from culprit.infra.db.clock import utc_now
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.evidence.function_disassembly import FunctionDisassembly

#: Longer than any fetch may take.
LOST_AFTER = timedelta(seconds=300)
_now = func.clock_timestamp


def add_function(
    session: Session, profile_id: UUID, function: str, module: str, user_id: UUID
) -> UUID | None:
    """Add the row of a function. Return its ID, or None if there is one."""
    values = {
        "id": new_uuid7(), "profile_id": profile_id, "function": function, "module": module, "state": "queued",
        "requested_by": user_id, "attempts": 0, "created_at": utc_now(),
    }  # fmt: skip
    query = insert(FunctionDisassembly).values(values).on_conflict_do_nothing()
    return session.scalar(query.returning(FunctionDisassembly.id))


def get_function(session: Session, profile_id: UUID, function: str, module: str) -> FunctionDisassembly:
    """Return the row of a function of a profile; it exists."""
    return session.scalars(
        select(FunctionDisassembly).where(
            FunctionDisassembly.profile_id == profile_id,
            FunctionDisassembly.function == function,
            FunctionDisassembly.module == module,
        )
    ).one()


def find_disassembly(session: Session, disassembly_id: UUID) -> FunctionDisassembly | None:
    """Return a row without a permission check; access depends on its profile."""
    return session.get(FunctionDisassembly, disassembly_id)


def request_fetch(session: Session, disassembly_id: UUID, user_id: UUID) -> bool:
    """Queue the fetch of the code of a function. Return False if one is queued or running."""
    query = (
        update(FunctionDisassembly)
        .where(
            FunctionDisassembly.id == disassembly_id,
            or_(
                FunctionDisassembly.fetch_state.is_(None),
                FunctionDisassembly.fetch_state.in_(("done", "failed")),
            ),
        )
        .values(fetch_state="queued", fetched_by=user_id, fetch_failure=None)
        .returning(FunctionDisassembly.id)
        .execution_options(synchronize_session="fetch")
    )
    return session.scalar(query) is not None


def claim_fetch(session: Session, disassembly_id: UUID) -> bool:
    """Claim the fetch of the code of a function. Return False if there is none or another worker has it."""
    query = (
        update(FunctionDisassembly)
        .where(FunctionDisassembly.id == disassembly_id, _is_waiting())
        .values(fetch_state="running", fetch_started_at=_now())
        .returning(FunctionDisassembly.id)
        .execution_options(synchronize_session=False)
    )
    return session.scalar(query) is not None


def finish_fetch(session: Session, disassembly_id: UUID, state: str, failure: Any = None) -> None:
    """Store how a fetch ended; `done` builds the function again."""
    values: dict[str, Any] = {"fetch_state": state, "fetch_failure": failure}
    if state == "done":
        values |= {"state": "queued", "attempts": 0}
    session.execute(
        update(FunctionDisassembly)
        .where(FunctionDisassembly.id == disassembly_id, FunctionDisassembly.fetch_state == "running")
        .values(**values)
        .execution_options(synchronize_session=False)
    )


def pending_code_fetches() -> Select[UUID]:
    """Select the functions whose code is to be fetched, and those whose worker was lost."""
    return select(FunctionDisassembly.id).where(_is_waiting())


def _is_waiting() -> ColumnElement[bool]:
    is_lost = and_(
        FunctionDisassembly.fetch_state == "running",
        FunctionDisassembly.fetch_started_at < _now() - LOST_AFTER,
    )
    return or_(FunctionDisassembly.fetch_state == "queued", is_lost)
