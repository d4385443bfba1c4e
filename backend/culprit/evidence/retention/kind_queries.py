"""Conditions with a SELECT that distinguish kinds of stored data."""

from __future__ import annotations

from sqlalchemy import ColumnElement, exists, select
from sqlalchemy.orm import aliased

from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.event import StoredEvent


def is_imported() -> ColumnElement[bool]:
    """Return the condition that an artifact belongs to an import."""
    return exists(
        select(Run.id)
        .join(Capture, Capture.id == Run.capture_id)
        .where(Run.id == Artifact.run_id, Capture.source == "import")
    )


def is_repeated() -> ColumnElement[bool]:
    """Return the condition that later captures read the same log line again: they show this event, so it is kept."""
    other = aliased(StoredEvent)
    return exists(select(other.id).where(other.repeats_id == StoredEvent.id))
