"""Make this machine busy for a moment: only where `up` has enrolled it, once at a time, for at most 30 s."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from sqlalchemy.orm import Session

from culprit.auth import audit
from culprit.auth.actor import Actor
from culprit.auth.dependencies import CurrentActor
from culprit.auth.endpoints import this_host
from culprit.auth.policy import policy
from culprit.auth.schemas import Strict
from culprit.config import REPOSITORY
from culprit.hosts import queries
from culprit.hosts.busy import MAX_SECONDS
from culprit.infra.db import Db
from culprit.kit.errors import Conflict, NotFound

router = APIRouter(tags=["demo"])


class BusyRequest(Strict):
    """For how long."""

    seconds: Annotated[int, Field(ge=1, le=MAX_SECONDS)] = 20


class BusyRead(BaseModel):
    """What was started, and where."""

    host_id: UUID
    seconds: int


class Busy:
    """The one workload of this process. Its standard input is our pipe: when we end, it ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, seconds: int) -> None:
        """Start it. Raises Conflict while the last one still runs."""
        with self._lock:
            if self._process is not None:
                if self._process.poll() is None:
                    raise Conflict("demo.already_busy")
                self._close()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "culprit.hosts.busy", str(seconds)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=REPOSITORY / "backend",
                start_new_session=True,
            )

    def stop(self) -> None:
        """End it, and wait for that."""
        with self._lock:
            if self._process is not None:
                self._close()
                self._process.wait(5)
                self._process = None

    def _close(self) -> None:
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.close()


def request_busy(session: Session, actor: Actor, host_id: UUID | None) -> UUID:
    """Whether this actor may make this machine busy; its host id."""
    if host_id is None:
        raise NotFound("demo.no_such_host")
    host = queries.host(session, actor, host_id)
    policy(actor, "demo.busy", host)
    if host.state != "active":
        raise NotFound("demo.no_such_host")
    return host.id


@router.post("/demo/busy", status_code=202, summary="Make this machine busy")
def make_busy(body: BusyRequest, request: Request, db: Db, actor: CurrentActor) -> BusyRead:
    """Four kinds of work under nice, in a process group of their own."""
    policy(actor, "demo.busy")
    host_id = request_busy(db, actor, this_host(request.app.state.settings))
    busy: Busy = request.app.state.busy
    busy.start(body.seconds)
    audit.record(db, actor, "demo.busy", "host", host_id, seconds=body.seconds)
    return BusyRead(host_id=host_id, seconds=body.seconds)
