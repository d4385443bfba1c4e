"""The type of a background job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from sqlalchemy import Select


@dataclass(frozen=True, slots=True)
class Job:
    """A background job; each job module defines one as `JOB`.

    A message carries the name and one ID; PostgreSQL holds all state. `pending` selects the IDs that wait for the job,
    so that the sweep can send a lost message again.
    """

    name: str
    queue: Literal["ssh", "parse"]
    run: Callable[[UUID], object]
    pending: Callable[[], Select[UUID]]
