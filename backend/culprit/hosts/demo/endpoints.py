"""Start demo load on the platform's own host, if `up` added it: once at a time, for at most 30 s."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from sqlalchemy.orm import Session

from culprit.accounts import audit
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.accounts.dependencies import CurrentActor
from culprit.accounts.endpoints import get_local_host_id
from culprit.hosts import queries
from culprit.hosts.demo_load import MAX_SECONDS
from culprit.infra.request_dependencies import DbDep
from culprit.infra.settings import REPOSITORY
from culprit.web.errors import ConflictError, NotFoundError
from culprit.web.schemas import RequestModel

router = APIRouter(tags=["demo"])


class DemoLoadRequest(RequestModel):
    """Duration of the demo load."""

    seconds: Annotated[int, Field(ge=1, le=MAX_SECONDS)] = 20


class DemoLoadResponse(BaseModel):
    """What was started, and on which host."""

    host_id: UUID
    seconds: int


class DemoLoad:
    """The only workload of this process. Its standard input is a pipe, so that it ends with this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, seconds: int) -> None:
        """Start it. Raises ConflictError while the previous one runs."""
        with self._lock:
            if self._process is not None:
                if self._process.poll() is None:
                    raise ConflictError("demo.already_running")
                self._close()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "culprit.hosts.demo_load", str(seconds)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=REPOSITORY / "backend",
                start_new_session=True,
            )

    def stop(self) -> None:
        """End it and wait."""
        with self._lock:
            if self._process is not None:
                self._close()
                self._process.wait(5)
                self._process = None

    def _close(self) -> None:
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.close()


def require_demo_host(session: Session, actor: Actor, host_id: UUID | None) -> UUID:
    """Return the ID of the local host if the actor may start demo load there."""
    if host_id is None:
        raise NotFoundError("demo.no_such_host")
    host = queries.get_host(session, actor, host_id)
    authorize(actor, "demo.load", host)
    if host.state != "active":
        raise NotFoundError("demo.no_such_host")
    return host.id


@router.post("/demo/load", status_code=202, summary="Make this machine busy")
def start_demo_load(
    body: DemoLoadRequest, request: Request, db: DbDep, actor: CurrentActor
) -> DemoLoadResponse:
    """Start four kinds of work with low priority, in a separate process group."""
    authorize(actor, "demo.load")
    host_id = require_demo_host(db, actor, get_local_host_id(request.app.state.settings))
    demo_load: DemoLoad = request.app.state.demo_load
    demo_load.start(body.seconds)
    audit.record_action(db, actor, "demo.load", "host", host_id, seconds=body.seconds)
    return DemoLoadResponse(host_id=host_id, seconds=body.seconds)
