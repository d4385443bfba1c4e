"""The HTTP API: the `router` of each `endpoints.py` and that of the catalog, below /api/v1."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

from fastapi import APIRouter

import culprit
from culprit.server import catalog
from culprit.web.http.problem_details import RESPONSES

#: Packages whose folders may contain an `endpoints.py`.
FEATURES = (
    "accounts", "analysis", "automation", "captures", "evidence", "hosts", "incidents", "integrations", "notifications",
)  # fmt: skip


def find_routers() -> Iterator[APIRouter]:
    """Yield the router of each `endpoints.py` of a feature.

    A folder comes before its parent, so that a fixed path such as /incidents/import precedes /incidents/{incident_id}.
    """
    for feature in FEATURES:
        package = importlib.import_module(f"{culprit.__name__}.{feature}")
        names = [module.name for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
        endpoints = [name for name in names if name.rpartition(".")[2] == "endpoints"]
        for name in sorted(endpoints, key=lambda name: (-name.count("."), name)):
            router: APIRouter = importlib.import_module(name).router
            yield router


def build_api_router() -> APIRouter:
    """Return all routes of version 1."""
    api = APIRouter(prefix="/api/v1", responses=RESPONSES)
    for router in (*find_routers(), catalog.router):
        api.include_router(router)
    return api
