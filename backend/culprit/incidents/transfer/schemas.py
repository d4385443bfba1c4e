"""Responses about imported incidents."""

from __future__ import annotations

from uuid import UUID

from pydantic import BaseModel


class IncidentImportResponse(BaseModel):
    """The incident of a bundle. `new`: this request created it; else it was imported before."""

    id: UUID
    number: int
    title: str
    runs: int
    new: bool
