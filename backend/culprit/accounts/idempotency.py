"""POSTs that may be sent twice: the same `Idempotency-Key` gives the first answer again.

The key is written in the transaction of the work itself. Two requests at once: the second waits for the first
at the unique index. Work that failed leaves no key, so that it can be tried again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, TypeVar

from fastapi import Depends, Header, Request
from fastapi.encoders import jsonable_encoder
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from sqlalchemy import Select, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from culprit.auth.actor import Actor
from culprit.auth.dependencies import CurrentActor
from culprit.infra.db import Db
from culprit.kit.clock import now
from culprit.kit.errors import Conflict
from culprit.kit.uuid7 import uuid7
from culprit.models import IdempotencyKey

Made = TypeVar("Made", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class OnceOnly:
    """Does the work of one POST at most once; see `Once`."""

    session: Session
    actor: Actor
    method: str
    path: str
    key: str | None

    def seen(self) -> bool:
        """Whether the work was done before, so that nothing has to be prepared for it."""
        if self.key is None:
            return False
        return self.session.scalars(self._stored()).first() is not None

    def __call__(
        self, body: object, make: Callable[[], Made], *, status: int = 201, secret: bool = False
    ) -> Made | JSONResponse:
        """`make()`, or the answer of the first time. `body` is what the client sent (models or plain data).

        With `secret` the answer is not kept, and a repetition is refused instead of answered.
        """
        if self.key is None:
            return make()
        digest = hashlib.sha256(
            json.dumps([self.method, self.path, jsonable_encoder(body)], sort_keys=True).encode()
        ).digest()
        claimed = self.session.execute(
            insert(IdempotencyKey)
            .values(
                id=uuid7(),
                user_id=self.actor.id,
                key=self.key,
                method=self.method,
                path=self.path,
                request_hash=digest,
                created_at=now(),
            )
            .on_conflict_do_nothing(index_elements=["user_id", "key"])
            .returning(IdempotencyKey.id)
        ).scalar()
        if claimed is None:
            return self._again(digest)
        made = make()
        stored = self.session.get_one(IdempotencyKey, claimed)
        stored.status = status
        stored.body = None if secret else jsonable_encoder(made)
        return made

    def _stored(self) -> Select[IdempotencyKey]:
        return select(IdempotencyKey).where(
            IdempotencyKey.user_id == self.actor.id, IdempotencyKey.key == self.key
        )

    def _again(self, digest: bytes) -> JSONResponse:
        first = self.session.scalars(self._stored()).one()
        if first.request_hash != digest:
            raise Conflict("request.key_reused")
        if first.body is None:
            raise Conflict("request.answered_once")
        return JSONResponse(first.body, first.status or 200, {"Idempotent-Replayed": "true"})


def once(
    request: Request,
    session: Db,
    actor: CurrentActor,
    idempotency_key: Annotated[str | None, Header(max_length=200)] = None,
) -> OnceOnly:
    """The guard of this request."""
    return OnceOnly(session, actor, request.method, request.url.path, idempotency_key)


Once = Annotated[OnceOnly, Depends(once, scope="function")]
