"""Idempotent POST requests: a repeated `Idempotency-Key` returns the first response.

The key is written in the transaction of the operation. Of two simultaneous requests, the second waits at the
unique index. A failed operation leaves no key and can be repeated.
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
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.accounts.dependencies import CurrentActor
from culprit.accounts.queries.idempotency_keys import find_key
from culprit.infra.db.clock import utc_now
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.accounts.idempotency_key import IdempotencyKey
from culprit.infra.request_dependencies import DbDep
from culprit.web.errors import ConflictError

Answer = TypeVar("Answer", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class IdempotentRequest:
    """Executes the operation of one POST at most once; see `Once`."""

    session: Session
    actor: Actor
    method: str
    path: str
    key: str | None

    def is_done(self) -> bool:
        """Return whether the operation is done, so that no preparation is needed."""
        if self.key is None:
            return False
        return self._find_key() is not None

    def __call__(
        self, body: object, make: Callable[[], Answer], *, status: int = 201, secret: bool = False
    ) -> Answer | JSONResponse:
        """Return `make()`, or the stored response. `body` is what the client sent (models or plain data).

        With `secret`, the response is not stored, and a repetition is refused.
        """
        if self.key is None:
            return make()
        digest = hashlib.sha256(
            json.dumps([self.method, self.path, jsonable_encoder(body)], sort_keys=True).encode()
        ).digest()
        claimed = self.session.execute(
            insert(IdempotencyKey)
            .values(
                id=new_uuid7(),
                user_id=self.actor.id,
                key=self.key,
                method=self.method,
                path=self.path,
                request_hash=digest,
                created_at=utc_now(),
            )
            .on_conflict_do_nothing(index_elements=["user_id", "key"])
            .returning(IdempotencyKey.id)
        ).scalar()
        if claimed is None:
            return self._replay_response(digest)
        result = make()
        stored = self.session.get_one(IdempotencyKey, claimed)
        stored.status = status
        stored.body = None if secret else jsonable_encoder(result)
        return result

    def _find_key(self) -> IdempotencyKey | None:
        return find_key(self.session, self.actor.id, self.key)

    def _replay_response(self, digest: bytes) -> JSONResponse:
        first = self._find_key()
        assert first is not None
        if first.request_hash != digest:
            raise ConflictError("request.key_reused")
        if first.body is None:
            raise ConflictError("request.answered_once")
        return JSONResponse(first.body, first.status or 200, {"Idempotent-Replayed": "true"})


def get_idempotent_request(
    request: Request,
    session: DbDep,
    actor: CurrentActor,
    idempotency_key: Annotated[str | None, Header(max_length=200)] = None,
) -> IdempotentRequest:
    """Return the idempotency guard of this request."""
    return IdempotentRequest(session, actor, request.method, request.url.path, idempotency_key)


Once = Annotated[IdempotentRequest, Depends(get_idempotent_request, scope="function")]
