"""Public pages of share links: no account, no cookies, no caching, no indexing."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from culprit.accounts.dependencies import get_client_address
from culprit.incidents.reports import pages, shares
from culprit.incidents.reports.requests import Form
from culprit.infra.request_dependencies import DbDep
from culprit.web.errors import TooManyRequestsError
from culprit.web.http.rate_limit import RateLimiter

router = APIRouter(prefix=pages.PREFIX, include_in_schema=False)
PER_MINUTE = 120
"""Maximum number of requests of an address per minute, valid or not. A page is one request."""

NOT_FOUND_TEXT = "There is no such report, or no longer.\n没有这份报告，或链接已失效。\n"


def build_rate_limiter(redis_url: str | None) -> RateLimiter:
    """Return the rate limit of these endpoints."""
    return RateLimiter(PER_MINUTE, "report.too_often", redis_url)


def _open_report(request: Request, db: DbDep, token: str, form: Form | None) -> Response:
    address = get_client_address(request) or ""
    limiter: RateLimiter = request.app.state.report_rate_limiter
    try:
        limiter.check(address)
    except TooManyRequestsError as error:
        wait = {**pages.HEADERS, "Retry-After": str(error.retry_after_s)}
        return Response(str(error.retry_after_s), 429, media_type="text/plain", headers=wait)
    result = shares.record_visit(db, token, address, request.headers.get("user-agent", ""), form or "page")
    if result is None:
        return _build_not_found()
    return pages.build_file(result[1], form) if form else pages.build_public_page(result[1])


def _build_not_found() -> Response:
    return Response(NOT_FOUND_TEXT, 404, media_type="text/plain; charset=utf-8", headers=pages.HEADERS)


@router.get("/{token}")
def read_report(token: str, request: Request, db: DbDep) -> Response:
    """Return the report as a page."""
    return _open_report(request, db, token, None)


@router.get("/{token}/{form}")
def download_report_file(token: str, form: str, request: Request, db: DbDep) -> Response:
    """Return the report as a download."""
    for known in ("html", "markdown", "json"):
        if form == known:
            return _open_report(request, db, token, known)
    return _build_not_found()


@router.get("")
@router.get("/{anything:path}")
def respond_not_found(anything: str = "") -> Response:
    """Return 404 for every other path below."""
    return _build_not_found()
