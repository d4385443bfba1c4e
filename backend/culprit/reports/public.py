"""The pages behind links: no account, no cookie, nothing cached, nothing indexed."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict

from fastapi import APIRouter, Request, Response

from culprit.auth.dependencies import client_address
from culprit.infra.db import Db
from culprit.kit.errors import TooMany
from culprit.reports import pages, shares
from culprit.reports.given import Form

router = APIRouter(prefix=pages.PREFIX, include_in_schema=False)
PER_MINUTE = 120
"""Requests of one address in a minute, whether they open something or not; a page is one request."""

MOST_ADDRESSES = 10_000
NOTHING = "There is no such report, or no longer.\n没有这份报告，或链接已失效。\n"


class Gate:
    """Counts requests by address over a minute that begins with the first; knows the newest addresses only."""

    def __init__(self, per_minute: int = PER_MINUTE) -> None:
        self.per_minute = per_minute
        self._lock = threading.Lock()
        self._seen: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def enter(self, address: str, at: float) -> None:
        """Raises TooMany."""
        with self._lock:
            begun, count = self._seen.get(address, (at, 0))
            if at - begun >= 60:
                begun, count = at, 0
            self._seen[address] = (begun, count + 1)
            self._seen.move_to_end(address)
            while len(self._seen) > MOST_ADDRESSES:
                self._seen.popitem(last=False)
        if count >= self.per_minute:
            raise TooMany("report.too_often", retry_after_s=max(1, int(60 - (at - begun))))


def _open(request: Request, db: Db, token: str, form: Form | None) -> Response:
    address = client_address(request) or ""
    gate: Gate = request.app.state.report_gate
    try:
        gate.enter(address, time.monotonic())
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
