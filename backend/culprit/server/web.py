"""The web process: `uvicorn culprit.main:app`."""

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

from culprit import health, ui
from culprit.annotations import endpoints as events
from culprit.api import api_router
from culprit.auth.live import LiveStreams
from culprit.config import Settings, settings
from culprit.hosts.demo import Busy
from culprit.imports import upload_claims
from culprit.imports import upload_public as uploads
from culprit.infra.db import Database
from culprit.kit import logs, problem
from culprit.kit.compression import Compression
from culprit.kit.http import BodyLimit, Metrics, SecurityHeaders
from culprit.kit.json_limit import JsonLimit
from culprit.kit.sentences import say
from culprit.kit.stalled import cut_stalled
from culprit.kit.text_check import TextCheck
from culprit.kit.version import VERSION
from culprit.playbooks.library import library
from culprit.reports import public as reports
from culprit.signon.provider import Memory

JSON_LIMIT = 2 << 20
UPLOAD_PATH = "/api/v1/imports"
#: Bytes that a request may send which has not said who it is.
ANONYMOUS_LIMIT = 16 << 10
#: These take a body from everyone, whatever headers come with it.
PUBLIC_PATHS = ("/api/v1/session", "/api/v1/session/link", "/api/v1/session/oidc")
#: Alerts carry a signature, uploads a token in their address; both have limits of their own.
PROVEN_PATHS = re.compile(rf"/api/v1/triggers/[^/]+/alerts$|{re.escape(uploads.PREFIX)}/[^/]+$")
#: Where answers hold what lets somebody in; a test looks for those that are missing here.
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
    """FastAPI that cuts off clients that do not take their answer."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await super().__call__(scope, receive, cut_stalled(scope, send))


def operation_id(route: APIRoute) -> str:
    """Names of generated client functions: the function and its router's first tag."""
    return f"{str(route.tags[0]).replace(' ', '_')}_{route.name}" if route.tags else route.name


def create_app(given: Settings | None = None) -> FastAPI:
    """The application over one database. Tests make several."""
    config = given or settings()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        if given is None:
            logs.configure(config.log_level)
            # What stays for good is left out of full collections, which would hold up one answer in a dozen.
            library()
            gc.collect()
            gc.freeze()
            clear_away(app.state.database, config)
        yield
        app.state.live.close()
        app.state.busy.stop()
        app.state.database.close()

    app = Application(
        title="Culprit",
        version=VERSION,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        lifespan=lifespan,
        generate_unique_id_function=operation_id,
    )
    furnish(app, config)
    problem.install(app, say)
    app.include_router(health.router)
    app.include_router(api_router())
    app.include_router(reports.router)
    app.include_router(uploads.router)
    ui.install(app, config.ui_dir)
    app.add_middleware(Compression, never=SECRETS)
    larger = {UPLOAD_PATH: config.upload_limit, f"{uploads.PREFIX}/": config.upload_limit}
    app.add_middleware(TextCheck, except_below=("/alerts",))  # alerts are cleaned: none may be lost
    app.add_middleware(JsonLimit, proven=PROVEN_PATHS)
    app.add_middleware(
        BodyLimit,
        limit=JSON_LIMIT,
        larger=larger,
        anonymous=ANONYMOUS_LIMIT,
        public=PUBLIC_PATHS,
        proven=PROVEN_PATHS,
    )
    app.add_middleware(Metrics, registry=app.state.registry)
    app.add_middleware(SecurityHeaders)
    return app


def furnish(app: FastAPI, config: Settings) -> None:
    """Give the routes of an application what they work with: settings, a database, figures."""
    app.state.settings = config
    app.state.database = Database(config.sqlalchemy_url, request_slots=config.request_connections)
    app.state.live = LiveStreams(app.state.database, config)
    app.state.busy = Busy()
    app.state.signon = Memory()
    app.state.report_gate = reports.gate()
    app.state.events_gate = events.gate()
    app.state.upload_gate = uploads.gate()
    app.state.registry = health.registry(app.state.database)


def clear_away(database: Database, config: Settings) -> None:
    """What processes that died here have left; where the database is away, a worker does it later."""
    try:
        upload_claims.sweep(database, config.home / "work")
    except DBAPIError as error:
        structlog.get_logger("culprit.http").warning("database_away", error=type(error).__name__)


app = create_app()
