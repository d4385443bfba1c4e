"""Table of disassembled functions of profiles."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id, allow_values
from culprit.infra.models.evidence.profile import JOB_STATES
from culprit.json_types import Json

FETCH_STATES = ("queued", "running", "done", "failed")


class FunctionDisassembly(Base):
    """The instructions of one function of a profile, with the samples of each.

    `module` is the path of its module, "" for any. `result` is what `culprit.evidence.parsing.disassemble` wrote.
    `fetch_state` is that of the session that fetches the bytes of the function from the host; null if none was
    requested. `fetched_by` requested it: the session has the permissions of this user.
    """

    __tablename__ = "function_disassembly"
    __table_args__ = (
        allow_values("state", JOB_STATES),
        allow_values("fetch_state", FETCH_STATES),
        # Names can be longer than an entry of an index.
        Index(
            "uq_function_disassembly_name",
            "profile_id",
            text("md5(function)"),
            text("md5(module)"),
            unique=True,
        ),
    )

    id: Mapped[Id]
    profile_id: Mapped[UUID] = mapped_column(ForeignKey("profile.id", ondelete="CASCADE"))
    function: Mapped[str]
    module: Mapped[str] = mapped_column(default="")
    state: Mapped[str] = mapped_column(default="queued")
    failure: Mapped[Json | None]
    result: Mapped[Json | None]
    requested_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    fetch_state: Mapped[str | None]
    fetch_failure: Mapped[Json | None]
    fetch_started_at: Mapped[datetime | None]
    fetched_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    attempts: Mapped[int] = mapped_column(default=0)
    started_at: Mapped[datetime | None]
    created_at: Mapped[CreatedAt]
