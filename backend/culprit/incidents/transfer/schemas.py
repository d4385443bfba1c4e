"""What goes out about imported incidents."""

from __future__ import annotations

from uuid import UUID

from pydantic import BaseModel


class CarriedRead(BaseModel):
    """The incident that a bundle is here. `new`: it became one just now; else it was here already."""

    id: UUID
    number: int
    title: str
    runs: int
    new: bool
