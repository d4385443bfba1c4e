"""The table of bytes that nothing should need any more, until they are deleted."""

from __future__ import annotations

from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt


class DoomedBlob(Base):
    """Bytes of the artifact store whose rows say they are deleted. They stay a day, are looked at again, and go."""

    __tablename__ = "doomed_blob"

    sha256: Mapped[str] = mapped_column(primary_key=True)
    at: Mapped[CreatedAt] = mapped_column(index=True)
