"""The table of hosts that something was told of."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base


class AnnotationHost(Base):
    """One host that an annotation named, or that had its labels or ran its service when it was told."""

    __tablename__ = "annotation_host"

    annotation_id: Mapped[UUID] = mapped_column(
        ForeignKey("annotation.id", ondelete="CASCADE"), primary_key=True
    )
    host_id: Mapped[UUID] = mapped_column(
        ForeignKey("host.id", ondelete="CASCADE"), primary_key=True, index=True
    )
