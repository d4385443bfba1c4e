"""Answer errors as application/problem+json (RFC 9457) with the message key and parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException

from culprit.web.errors import (
    CulpritError,
    FieldError,
    OverloadedError,
    TooManyRequestsError,
    UnavailableError,
)

MEDIA_TYPE = "application/problem+json"
MAX_FIELD_ERRORS = 50
Render = Callable[[str, Mapping[str, Any] | None], str]
log = structlog.get_logger("culprit.http")
_render: Render = lambda key, _: key  # noqa: E731 - until `install` names the catalog of messages


def render_message(key: str, params: Mapping[str, Any] | None = None) -> str:
    """Return the English text of a message key, from the catalog that `install` was given."""
    return _render(key, params)


def build_problem(
    status: int,
    key: str,
    params: Mapping[str, Any] | None = None,
    *,
    errors: tuple[FieldError, ...] = (),
    headers: Mapping[str, str] | None = None,
    problem_type: str = CulpritError.problem_type,
) -> JSONResponse:
    """Return a problem as an answer; `detail` is the English text for people at a terminal."""
    body: dict[str, Any] = {
        "type": problem_type,
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": render_message(key, params),
        "key": key,
        "params": dict(params or {}),
    }
    if errors:
        body["errors"] = [error.as_dict() for error in errors]
    return JSONResponse(body, status, headers, media_type=MEDIA_TYPE)


PROBLEM_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "key", "params"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "key": {"type": "string"},
        "params": {"type": "object"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["at", "key", "detail"],
                "properties": {name: {"type": "string"} for name in ("at", "key", "detail")},
            },
        },
    },
}

# For every route in the OpenAPI document.
RESPONSES: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "Refused", "content": {MEDIA_TYPE: {"schema": PROBLEM_SCHEMA}}},
    "5XX": {
        "description": "A part of the platform does not respond",
        "content": {MEDIA_TYPE: {"schema": PROBLEM_SCHEMA}},
    },
}


def install_handlers(app: FastAPI, render: Render) -> None:
    """Install handlers that answer errors as problems.

    `render` returns the text of a message key and its parameters.
    """
    global _render  # noqa: PLW0603 - middleware answers before a request has an application
    _render = render
    app.add_exception_handler(CulpritError, _handle_culprit_error)
    app.add_exception_handler(RequestValidationError, _handle_invalid_request)
    app.add_exception_handler(HTTPException, _handle_http_error)
    app.add_exception_handler(DataError, _handle_unstorable)
    app.add_exception_handler(IntegrityError, _handle_collision)
    app.add_exception_handler(OperationalError, _handle_database_outage)
    app.add_exception_handler(PoolTimeout, _handle_database_overload)
    app.add_exception_handler(DBAPIError, _handle_database_error)


def _handle_culprit_error(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, CulpritError)
    headers = None
    if isinstance(error, TooManyRequestsError | UnavailableError):
        headers = {"Retry-After": str(error.retry_after_s)}
    if error.status == HTTPStatus.UNAUTHORIZED:
        headers = {"WWW-Authenticate": "Bearer"}
    return build_problem(
        error.status,
        error.key,
        error.params,
        errors=error.errors,
        headers=headers,
        problem_type=error.problem_type,
    )


def _handle_invalid_request(_: Request, error: Exception) -> JSONResponse:
    """Answer a validation error. The input is not repeated, because it may be a secret."""
    assert isinstance(error, RequestValidationError)
    field_errors = tuple(
        FieldError(
            ".".join(str(part) for part in item["loc"][1:]) or str(item["loc"][0]),
            f"request.{item['type']}",
            str(item["msg"]),
        )
        for item in error.errors()[:MAX_FIELD_ERRORS]
    )
    return build_problem(
        422,
        "request.invalid",
        {"fields": ", ".join(sorted({e.at for e in field_errors}))},
        errors=field_errors,
    )


def _handle_http_error(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    keys = {404: "request.no_such_path", 405: "request.method_not_allowed", 413: "request.too_large"}
    return build_problem(
        error.status_code, keys.get(error.status_code, "request.refused"), headers=error.headers
    )


def _handle_unstorable(_: Request, error: Exception) -> JSONResponse:
    """Answer a value that the database cannot store: a NUL, or a number beyond its column."""
    return build_problem(422, "request.not_storable")


def _handle_collision(_: Request, error: Exception) -> JSONResponse:
    """Answer a collision with a concurrent request. Services report a taken name themselves."""
    log.info("integrity_error", constraint=_get_constraint(error))
    return build_problem(409, "request.collision", {"constraint": _get_constraint(error)})


def _get_constraint(error: Exception) -> str:
    diagnosis = getattr(getattr(error, "orig", None), "diag", None)
    return str(getattr(diagnosis, "constraint_name", None) or "unknown")


def _handle_database_outage(_: Request, error: Exception) -> JSONResponse:
    log.warning("database_away", error=type(error).__name__)
    return build_problem(503, "platform.database_away", headers={"Retry-After": "5"})


def _handle_database_overload(request: Request, _: Exception) -> JSONResponse:
    """Answer that all database connections of this process are in use."""
    log.warning("database_pool_exhausted")
    return _handle_culprit_error(request, OverloadedError("platform.busy"))


def _handle_database_error(request: Request, error: Exception) -> JSONResponse:
    """Answer that the database does not respond. Other database errors are bugs and are raised."""
    assert isinstance(error, DBAPIError)
    if error.connection_invalidated:
        return _handle_database_outage(request, error)
    raise error
