"""Request bodies and responses of debuginfod servers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, Field

from culprit.web.schemas import RequestModel


class DebuginfodServerCreate(RequestModel):
    """The base URL of a server: `https://name`, with a port and a path if it needs them."""

    url: Annotated[str, Field(min_length=1, max_length=300)]


class DebuginfodServerResponse(BaseModel):
    """A server that is requested for the symbols of stripped programs."""

    id: UUID
    url: str
    created_at: datetime
