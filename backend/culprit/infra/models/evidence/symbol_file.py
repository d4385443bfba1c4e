"""Table of the files that name functions."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, Id, JsonList


class SymbolFile(Base):
    """Symbols of a file of a host, or of its kernel: the artifact that holds them.

    `key` is how recordings of the host name the file: a build ID, an inode, or a boot of the kernel with its modules.
    `blocks` are the runs of blocks of an ELF file (first, count) that the artifact holds; empty where it is text. Hosts
    do not share files: a build ID is what a program claims, and one host must not name the functions of another.
    """

    __tablename__ = "symbol_file"
    __table_args__ = (UniqueConstraint("host_id", "key"),)

    id: Mapped[Id]
    host_id: Mapped[UUID] = mapped_column(ForeignKey("host.id", ondelete="CASCADE"))
    key: Mapped[str]
    artifact_id: Mapped[UUID] = mapped_column(ForeignKey("artifact.id", ondelete="CASCADE"), index=True)
    blocks: Mapped[JsonList] = mapped_column(default=list)
