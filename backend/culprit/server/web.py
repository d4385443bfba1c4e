"""Web process: `uvicorn --factory culprit.server.web:create_app`."""

from __future__ import annotations

import gc
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog
from fastapi import FastAPI
from fastapi.routing import APIRoute
from sqlalchemy.exc import DBAPIError
from starlette.types import Receive, Scope, Send

from culprit import VERSION
from culprit.accounts.live import LiveStreams
from culprit.accounts.single_sign_on.provider import ProviderCache
from culprit.analysis.playbooks.library import load_catalog
from culprit.captures.uploads import locks as claims
from culprit.captures.uploads import public_endpoints as uploads
from culprit.domain.messages import render_message
from culprit.domain.messages.collector_messages import register_collector_messages
from culprit.evidence.events import endpoints as events
from culprit.hosts.demo.endpoints import DemoLoad
from culprit.incidents.reports import public as reports
from culprit.infra import logging
from culprit.infra.db.schema_version import refuse_newer_schema
from culprit.infra.db.session import Database
from culprit.infra.settings import Settings, get_settings
from culprit.jobs import registry
from culprit.server import health, metrics, static_files
from culprit.server.api import build_api_router
from culprit.web.http import problem_details
from culprit.web.http.compression import Compression
from culprit.web.http.json_limit import JsonLimit
from culprit.web.http.middleware import BodyLimit, Metrics, SecurityHeaders
from culprit.web.http.stalled import abort_when_stalled
from culprit.web.http.text_check import TextCheck

JSON_LIMIT = 2 << 20
#: Paths that take files.
FILE_PATHS = ("/api/v1/imports", "/api/v1/incidents/import")
#: Maximum body size of a request without authentication.
ANONYMOUS_LIMIT = 16 << 10
#: Paths that accept an unauthenticated body, with any headers.
PUBLIC_PATHS = ("/api/v1/session", "/api/v1/session/link", "/api/v1/session/oidc")
#: Alerts carry a signature, uploads a token in their address; both have separate limits.
AUTHENTICATED_PATHS = re.compile(rf"/api/v1/triggers/[^/]+/alerts$|{re.escape(uploads.PREFIX)}/[^/]+$")
#: Paths whose answers contain secrets; a test finds missing ones.
SECRETS = (
    "/api/v1/channels",
    "/api/v1/me",
    "/api/v1/session",
    "/api/v1/tokens",
    "/api/v1/triggers",
    "/api/v1/uploads",
    "/api/v1/users",
)
DESCRIPTION = (
    "Log in with a session cookie (and its CSRF token in X-CSRF-Token), or send an API token as "
    "'Authorization: Bearer culprit_…'. Errors are application/problem+json; lists are pages by cursor; "
    "POSTs that create take an Idempotency-Key."
)


class Application(FastAPI):
    """FastAPI application that disconnects clients that do not read their answer."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await super().__call__(scope, receive, abort_when_stalled(scope, send))


def build_operation_id(route: APIRoute) -> str:
    """Return the name of a generated client function: the function and its router's first tag."""
    return f"{str(route.tags[0]).replace(' ', '_')}_{route.name}" if route.tags else route.name


def create_app(input_settings: Settings | None = None) -> FastAPI:
    """Return the application over one database. Tests create several."""
    config = input_settings or get_settings()
    refuse_newer_schema(config)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        if input_settings is None:
            logging.configure_logging(config.log_level)
            # Permanent objects are excluded from full garbage collections, which would delay one answer in
            # twelve.
            load_catalog()
            gc.collect()
            gc.freeze()
            remove_abandoned_files(app.state.database, config)
        yield
        app.state.live.close()
        app.state.demo_load.stop()
        app.state.database.close()

    app = Application(
        title="Culprit",
        version=VERSION,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        lifespan=lifespan,
        generate_unique_id_function=build_operation_id,
    )
    registry.install_routes()
    install_state(app, config)
    register_collector_messages()
    problem_details.install_handlers(app, render_message)
    app.include_router(health.router)
    app.include_router(metrics.router)
    app.include_router(build_api_router())
    app.include_router(reports.router)
    app.include_router(uploads.router)
    static_files.install_static_files(app, config.ui_dir)
    app.add_middleware(Compression, never=SECRETS)
    larger = dict.fromkeys((*FILE_PATHS, f"{uploads.PREFIX}/"), config.upload_limit)
    app.add_middleware(TextCheck, except_below=("/alerts",))  # alerts are sanitized instead: none may be lost
    app.add_middleware(JsonLimit, proven=AUTHENTICATED_PATHS)
    app.add_middleware(
        BodyLimit,
        limit=JSON_LIMIT,
        larger=larger,
        anonymous=ANONYMOUS_LIMIT,
        public=PUBLIC_PATHS,
        proven=AUTHENTICATED_PATHS,
    )
    app.add_middleware(Metrics, registry=app.state.registry)
    app.add_middleware(SecurityHeaders)
    return app


def install_state(app: FastAPI, config: Settings) -> None:
    """Set the state that routes use: settings, database, metrics."""
    app.state.settings = config
    app.state.database = Database(config.sqlalchemy_url, request_slots=config.request_connections)
    app.state.live = LiveStreams(app.state.database, config)
    app.state.demo_load = DemoLoad()
    app.state.single_sign_on = ProviderCache()
    app.state.report_rate_limiter = reports.build_rate_limiter(config.redis_url)
    app.state.events_rate_limiter = events.build_rate_limiter(config.redis_url)
    app.state.upload_rate_limiter = uploads.build_rate_limiter(config.redis_url)
    app.state.registry = metrics.build_registry(app.state.database, config)


def remove_abandoned_files(database: Database, config: Settings) -> None:
    """Delete files of processes that died here; if the database is unreachable, a worker does it later."""
    try:
        claims.remove_abandoned(database, config.home / "work")
    except DBAPIError as error:
        structlog.get_logger("culprit.http").warning("database_away", error=type(error).__name__)
