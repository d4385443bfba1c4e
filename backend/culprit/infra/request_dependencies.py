"""Dependencies of routes: the database session, the artifact store, the event publisher."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated

from fastapi import Depends, Request
from sqlalchemy.orm import Session

from culprit.infra.artifacts.store import ArtifactStore, make_store
from culprit.infra.db.session import get_session
from culprit.infra.event_stream import EventPublisher
from culprit.infra.settings import Settings


def get_store(request: Request) -> ArtifactStore:
    """Return the artifact store of this application; create it on first use."""
    settings: Settings = request.app.state.settings
    if not hasattr(request.app.state, "artifact_store"):
        request.app.state.artifact_store = make_store(settings)
    store: ArtifactStore = request.app.state.artifact_store
    return store


@lru_cache(maxsize=4)
def _create_publisher(url: str) -> EventPublisher:
    return EventPublisher(url)


def get_event_publisher(request: Request) -> EventPublisher:
    """Return the publisher of live updates."""
    settings: Settings = request.app.state.settings
    return _create_publisher(settings.redis_url)


# scope="function": with FastAPI's default, the commit happens after the response was sent, and a client that
# reads immediately does not find what it wrote.
DbDep = Annotated[Session, Depends(get_session, scope="function")]
StoreDep = Annotated[ArtifactStore, Depends(get_store)]
EventPublisherDep = Annotated[EventPublisher, Depends(get_event_publisher)]
