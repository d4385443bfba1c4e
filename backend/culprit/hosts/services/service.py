"""Decisions about services: what is declared, changed and forgotten, and whether a source answers."""

from __future__ import annotations

import math
import time
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.parse import prometheus_range
from culprit.auth import audit, sealed
from culprit.auth.actor import Actor
from culprit.auth.policy import policy
from culprit.infra.outgoing import OutgoingError, check, place_of
from culprit.infra.secrets import SecretUnreadable, vault
from culprit.kit.errors import Conflict, Invalid
from culprit.kit.unit_of_work import let_go
from culprit.kit.uuid7 import uuid7
from culprit.models import Service
from culprit.services import prometheus, queries
from culprit.services.prometheus import Asked, Window
from culprit.services.schemas import (
    PrometheusSource,
    QueryResult,
    ServiceCreate,
    ServiceUpdate,
    Source,
    SourceCheck,
    Token,
)

# Fields that a request's digest is made without: a digest of a token is a way to guess it.
SECRETS = {"token"}
CHECK_SPAN_S = 300.0
CHECK_QUERY_S = 5.0  # six of them at most; a person is waiting


def create(session: Session, actor: Actor, body: ServiceCreate) -> Service:
    """A new service. Raises Invalid where its Prometheus may not be dialled."""
    policy(actor, "service.manage")
    if queries.named(session, body.name) is not None:
        raise Conflict("service.name_taken", name=body.name)
    _may_dial(session, body.source)
    row = Service(
        id=uuid7(),
        name=body.name,
        selector=dict(body.selector),
        locate=body.locate.model_dump() if body.locate else None,
        created_by=actor.id,
    )
    _set_source(row, body.source)
    _set_token(row, body.token)
    session.add(row)
    audit.record(
        session,
        actor,
        "service.declared",
        "service",
        row.id,
        name=row.name,
        selector=row.selector,
        source=_told(row),
    )
    return row


def update(session: Session, actor: Actor, service_id: UUID, body: ServiceUpdate) -> Service:
    """Change a service. Raises Invalid, Conflict or NotFound."""
    policy(actor, "service.manage")
    row = queries.service(session, actor, service_id, lock=True)
    changed: dict[str, Any] = {}
    if body.name is not None and body.name != row.name:
        if queries.named(session, body.name) is not None:
            raise Conflict("service.name_taken", name=body.name)
        changed["name"], row.name = [row.name, body.name], body.name
    if body.selector is not None and body.selector != row.selector:
        changed["selector"], row.selector = [row.selector, body.selector], dict(body.selector)
    locate = None if body.no_locate or body.locate is None else body.locate.model_dump()
    if (body.no_locate or body.locate is not None) and locate != row.locate:
        changed["locate"], row.locate = locate, locate
    if body.source is not None:
        _change_source(session, row, body.source, changed)
    if body.no_token and row.ciphertext is not None:
        sealed.forget(row)
        changed["has_token"] = False
    if body.token is not None:
        _set_token(row, body.token)
        changed["has_token"] = True
    if changed:
        audit.record(session, actor, "service.changed", "service", row.id, **{"service": row.name} | changed)
    return row


def remove(session: Session, actor: Actor, service_id: UUID) -> None:
    """Forget a service and its token; what was captured stays."""
    policy(actor, "service.manage")
    row = queries.service(session, actor, service_id, lock=True)
    session.delete(row)
    audit.record(session, actor, "service.removed", "service", row.id, name=row.name)


def check_source(session: Session, actor: Actor, service_id: UUID) -> SourceCheck:
    """Ask its Prometheus every query over the last five minutes; nothing is stored."""
    policy(actor, "service.manage")
    row = queries.service(session, actor, service_id)
    if row.source_kind != "prometheus":
        raise Conflict("service.nothing_to_check", name=row.name)
    try:
        asked = prometheus.asked_of(row, queries.rules(session), vault())
    except SecretUnreadable:
        raise Conflict("service.token_unreadable", name=row.name) from None
    let_go(session)
    end = time.time()
    window = Window(end - CHECK_SPAN_S, end)
    results = []
    for name in asked.queries:
        results.append(_try(asked, name, window))
        if results[-1].failure is not None and str(results[-1].failure["key"]).startswith("outgoing."):
            break  # the server cannot be reached, or is none: the other five would wait as long
    return SourceCheck(results=results)


def _try(asked: Asked, name: str, window: Window) -> QueryResult:
    result = QueryResult(name=name, query=asked.queries[name], series=0, points=0, last=None, failure=None)
    try:
        reply = prometheus.ask(asked, name, window, total_s=CHECK_QUERY_S)
    except OutgoingError as error:
        result.failure = error.sentence
        return result
    answer = prometheus_range.read(reply.body.decode("utf-8", "replace"))
    if answer.refusal is not None:
        result.failure = {"key": answer.refusal.key, "params": dict(answer.refusal.params)}
        return result
    result.series = len(answer.lanes)
    numbers = [value for lane in answer.lanes for value in lane.values.tolist() if math.isfinite(value)]
    result.points = len(numbers)
    result.last = numbers[-1] if numbers else None
    if not numbers:
        result.failure = {"key": "reports.prometheus_empty", "params": {}}
    return result


def _may_dial(session: Session, source: Source) -> None:
    if isinstance(source, PrometheusSource):
        try:
            check(place_of(source.url), queries.rules(session))
        except OutgoingError as error:
            params: Any = error.sentence["params"]
            raise Invalid(f"outgoing.{error.kind}", **params) from None


def _change_source(session: Session, row: Service, source: Source, changed: dict[str, Any]) -> None:
    before = {"kind": row.source_kind, **row.source}
    if source.model_dump() == before:
        return
    _may_dial(session, source)
    # A token is for the server that it was given for: it is never sent to another one.
    if not isinstance(source, PrometheusSource) or not _same_server(before.get("url"), source.url):
        sealed.forget(row)
    _set_source(row, source)
    changed["source"] = _told(row)


def _same_server(before: object, after: str) -> bool:
    if not isinstance(before, str):
        return False
    old, new = place_of(before), place_of(after)
    return (old.scheme, old.host, old.port) == (new.scheme, new.host, new.port)


def _set_source(row: Service, source: Source) -> None:
    row.source_kind = source.kind
    row.source = source.model_dump(exclude={"kind"})


def _set_token(row: Service, token: Token | None) -> None:
    if token is None:
        return
    if row.source_kind != "prometheus":
        raise Invalid("service.token_unused")
    sealed.seal(row, token.get_secret_value(), vault())


def _told(row: Service) -> dict[str, Any]:
    """The source as the audit log keeps it."""
    return {"kind": row.source_kind, **row.source, "token": row.ciphertext is not None}
