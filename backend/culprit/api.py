"""The HTTP API: every noun's routes under /api/v1, and nothing else."""

from __future__ import annotations

from fastapi import APIRouter

from culprit.annotations import endpoints as events
from culprit.auth import endpoints as auth
from culprit.captures import endpoints as captures
from culprit.carried import endpoints as carried
from culprit.catalogue import endpoints as catalogue
from culprit.catalogue import script
from culprit.context import endpoints as context
from culprit.diagnoses import endpoints as diagnoses
from culprit.evidence import endpoints as evidence
from culprit.exports import endpoints as exports
from culprit.findings import endpoints as findings
from culprit.fleet import endpoints as fleet
from culprit.hosts import demo
from culprit.hosts import endpoints as hosts
from culprit.imports import endpoints as imports
from culprit.imports import upload_endpoints as uploads
from culprit.incidents import comment_endpoints, mute_endpoints
from culprit.incidents import endpoints as incidents
from culprit.killswitch import endpoints as killswitch
from culprit.kit.problem import RESPONSES
from culprit.notices import endpoints as notices
from culprit.oncall import endpoints as oncall
from culprit.playbooks import endpoints as playbooks
from culprit.profiles import endpoints as profiles
from culprit.reports import endpoints as reports
from culprit.schedules import endpoints as schedules
from culprit.services import endpoints as services
from culprit.signon import endpoints as signon
from culprit.standbys import endpoints as standbys
from culprit.storage import endpoints as storage
from culprit.timeline import endpoints as timeline
from culprit.triggers import endpoints as triggers
from culprit.visuals import endpoints as visuals

ROUTERS: tuple[APIRouter, ...] = (
    auth.router,
    signon.router,
    hosts.router,
    services.router,
    demo.router,
    captures.router,
    catalogue.router,
    script.router,
    evidence.router,
    timeline.router,
    events.router,
    profiles.router,
    imports.router,
    uploads.router,
    findings.router,
    diagnoses.router,
    playbooks.router,
    carried.router,
    incidents.router,
    comment_endpoints.router,
    mute_endpoints.router,
    schedules.router,
    oncall.router,
    reports.router,
    visuals.router,
    fleet.router,
    context.router,
    killswitch.router,
    triggers.router,
    standbys.router,
    notices.router,
    exports.router,
    storage.router,
)


def api_router() -> APIRouter:
    """All routes of version 1."""
    router = APIRouter(prefix="/api/v1", responses=RESPONSES)
    for one in ROUTERS:
        router.include_router(one)
    return router
