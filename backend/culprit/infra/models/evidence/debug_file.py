"""Table of the answers of debuginfod servers."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, Id, JsonList, allow_values

#: `file` has symbols; the server has none for `absent`; its answer cannot be used for each other state.
DEBUG_FILE_STATES = ("file", "absent", "mismatch", "no_symbols", "too_large", "unreadable")


class DebugFile(Base):
    """What a server answered for a build ID: the artifact with the symbols, or why there is none.

    `blocks` are the ranges of blocks, [first, count], that the artifact contains. The key has no host: content comes
    from the server alone, and its build ID was compared with the requested one. A host cannot change what another gets.
    """

    __tablename__ = "debug_file"
    __table_args__ = (UniqueConstraint("server_id", "build_id"), allow_values("state", DEBUG_FILE_STATES))

    id: Mapped[Id]
    server_id: Mapped[UUID] = mapped_column(ForeignKey("debuginfod_server.id", ondelete="CASCADE"))
    build_id: Mapped[str]
    state: Mapped[str]
    artifact_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("artifact.id", ondelete="CASCADE"), index=True
    )
    blocks: Mapped[JsonList] = mapped_column(default=list)
    checked_at: Mapped[datetime]
