"""The pages behind links: no account, no cookie, nothing cached, nothing indexed."""

from __future__ import annotations

import time

from fastapi import APIRouter, Request, Response

from culprit.auth.dependencies import client_address
from culprit.infra.db import Db
from culprit.kit.errors import TooMany
from culprit.kit.gate import Gate
from culprit.reports import pages, shares
from culprit.reports.given import Form

router = APIRouter(prefix=pages.PREFIX, include_in_schema=False)
PER_MINUTE = 120
"""Requests of one address in a minute, whether they open something or not; a page is one request."""

NOTHING = "There is no such report, or no longer.\n没有这份报告，或链接已失效。\n"


def gate() -> Gate:
    """What holds back who asks too often."""
    return Gate(PER_MINUTE, "report.too_often")


def _open(request: Request, db: Db, token: str, form: Form | None) -> Response:
    address = client_address(request) or ""
    bounded: Gate = request.app.state.report_gate
    try:
        bounded.enter(address, time.monotonic())
    except TooMany as error:
        wait = {**pages.HEADERS, "Retry-After": str(error.retry_after_s)}
        return Response(str(error.retry_after_s), 429, media_type="text/plain", headers=wait)
    found = shares.enter(db, token, address, request.headers.get("user-agent", ""), form or "page")
    if found is None:
        return _nothing()
    return pages.file(found[1], form) if form else pages.shown(found[1])


def _nothing() -> Response:
    return Response(NOTHING, 404, media_type="text/plain; charset=utf-8", headers=pages.HEADERS)


@router.get("/{token}")
def read_report(token: str, request: Request, db: Db) -> Response:
    """A report to read."""
    return _open(request, db, token, None)


@router.get("/{token}/{form}")
def keep_report(token: str, form: str, request: Request, db: Db) -> Response:
    """A report to keep."""
    for known in ("html", "markdown", "json"):
        if form == known:
            return _open(request, db, token, known)
    return _nothing()


@router.get("")
@router.get("/{anything:path}")
def nothing(anything: str = "") -> Response:
    """Every other address below."""
    return _nothing()
