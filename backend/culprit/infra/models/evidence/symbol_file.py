"""Table of symbol files, which map addresses to function names."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, Id, JsonList


class SymbolFile(Base):
    """The artifact with the symbols of a file of a host, or of its kernel.

    `key` identifies the file in recordings of the host: a build ID, an inode, or a boot of the kernel with its modules.
    `blocks` are the ranges of blocks of an ELF file, [first, count], that the artifact contains; empty for a text.
    Hosts do not share files: a program can claim any build ID, and a host must not name the functions of another.
    """

    __tablename__ = "symbol_file"
    __table_args__ = (UniqueConstraint("host_id", "key"),)

    id: Mapped[Id]
    host_id: Mapped[UUID] = mapped_column(ForeignKey("host.id", ondelete="CASCADE"))
    key: Mapped[str]
    artifact_id: Mapped[UUID] = mapped_column(ForeignKey("artifact.id", ondelete="CASCADE"), index=True)
    blocks: Mapped[JsonList] = mapped_column(default=list)
