"""Table of bytes that are to be deleted."""

from __future__ import annotations

from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt


class BlobDeletion(Base):
    """Bytes of the artifact store whose rows are deleted.

    They are checked again after a day, then deleted.
    """

    __tablename__ = "blob_deletion"

    sha256: Mapped[str] = mapped_column(primary_key=True)
    at: Mapped[CreatedAt] = mapped_column(index=True)
