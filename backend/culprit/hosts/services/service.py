"""Declare, change and delete services, and test their sources."""

from __future__ import annotations

import math
import time
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.parse.reports import prometheus_range
from culprit.accounts import audit, sealed_columns
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.accounts.queries.restrictions import load_network_rules
from culprit.hosts.services import prometheus, queries
from culprit.hosts.services.prometheus import PrometheusSource, QueryRange
from culprit.hosts.services.schemas import (
    PrometheusSourceConfig,
    ServiceCreate,
    ServiceUpdate,
    Source,
    SourceCheckResponse,
    SourceQueryResult,
    Token,
)
from culprit.infra.db.unit_of_work import release_and_expire
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.hosts.service import Service
from culprit.infra.network.http_client import OutgoingError, check_endpoint, parse_base_url
from culprit.infra.vault import SecretUnreadableError, get_vault
from culprit.web.errors import ConflictError, InvalidRequestError

# Fields that are not part of a request's digest: tokens could be guessed from it.
SECRETS = {"token"}
CHECK_SPAN_S = 300.0
CHECK_QUERY_S = 5.0  # at most six; a user is waiting


def create_service(session: Session, actor: Actor, body: ServiceCreate) -> Service:
    """Create a service. Raises InvalidRequestError if the address of its Prometheus is not allowed."""
    authorize(actor, "service.manage")
    if queries.find_service_id(session, body.name) is not None:
        raise ConflictError("service.name_taken", name=body.name)
    _require_allowed(session, body.source)
    row = Service(
        id=new_uuid7(),
        name=body.name,
        selector=dict(body.selector),
        locate=body.locate.model_dump() if body.locate else None,
        created_by=actor.id,
    )
    _set_source(row, body.source)
    _set_token(row, body.token)
    session.add(row)
    audit.record_action(
        session,
        actor,
        "service.declared",
        "service",
        row.id,
        name=row.name,
        selector=row.selector,
        source=_build_audit_detail(row),
    )
    return row


def update_service(session: Session, actor: Actor, service_id: UUID, body: ServiceUpdate) -> Service:
    """Change a service. Raises InvalidRequestError, ConflictError or NotFoundError."""
    authorize(actor, "service.manage")
    row = queries.get_service(session, actor, service_id, lock=True)
    changed: dict[str, Any] = {}
    if body.name is not None and body.name != row.name:
        if queries.find_service_id(session, body.name) is not None:
            raise ConflictError("service.name_taken", name=body.name)
        changed["name"], row.name = [row.name, body.name], body.name
    if body.selector is not None and body.selector != row.selector:
        changed["selector"], row.selector = [row.selector, body.selector], dict(body.selector)
    locate = None if body.no_locate or body.locate is None else body.locate.model_dump()
    if (body.no_locate or body.locate is not None) and locate != row.locate:
        changed["locate"], row.locate = locate, locate
    if body.source is not None:
        _update_source(session, row, body.source, changed)
    if body.no_token and row.ciphertext is not None:
        sealed_columns.clear_secret(row)
        changed["has_token"] = False
    if body.token is not None:
        _set_token(row, body.token)
        changed["has_token"] = True
    if changed:
        audit.record_action(
            session, actor, "service.changed", "service", row.id, **{"service": row.name} | changed
        )
    return row


def delete_service(session: Session, actor: Actor, service_id: UUID) -> None:
    """Delete a service and its token; its captures are kept."""
    authorize(actor, "service.manage")
    row = queries.get_service(session, actor, service_id, lock=True)
    session.delete(row)
    audit.record_action(session, actor, "service.removed", "service", row.id, name=row.name)


def check_source(session: Session, actor: Actor, service_id: UUID) -> SourceCheckResponse:
    """Run every query over the last five minutes; nothing is stored."""
    authorize(actor, "service.manage")
    row = queries.get_service(session, actor, service_id)
    if row.source_kind != "prometheus":
        raise ConflictError("service.nothing_to_check", name=row.name)
    try:
        source = prometheus.load_source(row, load_network_rules(session), get_vault())
    except SecretUnreadableError:
        raise ConflictError("service.token_unreadable", name=row.name) from None
    release_and_expire(session)
    end = time.time()
    window = QueryRange(end - CHECK_SPAN_S, end)
    results = []
    for name in source.queries:
        results.append(_run_query(source, name, window))
        if results[-1].failure is not None and str(results[-1].failure["key"]).startswith("outgoing."):
            break  # the server cannot be reached: the other five queries would time out as well
    return SourceCheckResponse(results=results)


def _run_query(prometheus_source: PrometheusSource, name: str, window: QueryRange) -> SourceQueryResult:
    result = SourceQueryResult(
        name=name, query=prometheus_source.queries[name], series=0, points=0, last=None, failure=None
    )
    try:
        reply = prometheus.query_range(prometheus_source, name, window, total_s=CHECK_QUERY_S)
    except OutgoingError as error:
        result.failure = error.sentence
        return result
    answer = prometheus_range.parse_range_answer(reply.body.decode("utf-8", "replace"))
    if answer.refusal is not None:
        result.failure = {"key": answer.refusal.key, "params": dict(answer.refusal.params)}
        return result
    result.series = len(answer.series)
    numbers = [value for series in answer.series for value in series.values.tolist() if math.isfinite(value)]
    result.points = len(numbers)
    result.last = numbers[-1] if numbers else None
    if not numbers:
        result.failure = {"key": "reports.prometheus_empty", "params": {}}
    return result


def _require_allowed(session: Session, source: Source) -> None:
    if isinstance(source, PrometheusSourceConfig):
        try:
            check_endpoint(parse_base_url(source.url), load_network_rules(session))
        except OutgoingError as error:
            params: Any = error.sentence["params"]
            raise InvalidRequestError(f"outgoing.{error.kind}", **params) from None


def _update_source(session: Session, row: Service, source: Source, changed: dict[str, Any]) -> None:
    before = {"kind": row.source_kind, **row.source}
    if source.model_dump() == before:
        return
    _require_allowed(session, source)
    # A token is valid for its server only, and is never sent to another one.
    if not isinstance(source, PrometheusSourceConfig) or not _is_same_server(before.get("url"), source.url):
        sealed_columns.clear_secret(row)
    _set_source(row, source)
    changed["source"] = _build_audit_detail(row)


def _is_same_server(before: object, after: str) -> bool:
    if not isinstance(before, str):
        return False
    old, new = parse_base_url(before), parse_base_url(after)
    return (old.scheme, old.host, old.port) == (new.scheme, new.host, new.port)


def _set_source(row: Service, source: Source) -> None:
    row.source_kind = source.kind
    row.source = source.model_dump(exclude={"kind"})


def _set_token(row: Service, token: Token | None) -> None:
    if token is None:
        return
    if row.source_kind != "prometheus":
        raise InvalidRequestError("service.token_unused")
    sealed_columns.seal_secret(row, token.get_secret_value(), get_vault())


def _build_audit_detail(row: Service) -> dict[str, Any]:
    """Return the source as recorded in the audit log."""
    return {"kind": row.source_kind, **row.source, "token": row.ciphertext is not None}
