"""Frozen reports as files and pages, with the headers that they are sent under."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from typing import Any

from fastapi import Response

from culprit.core.reports.html import STYLE, html_page
from culprit.core.reports.markdown import markdown_text
from culprit.models import ReportVersion
from culprit.reports.freeze import opened
from culprit.reports.given import Form

Json = dict[str, Any]
PREFIX = "/r"
"""Where links to reports live."""

_STYLE_HASH = b64encode(sha256(STYLE.encode()).digest()).decode()
CSP = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; sandbox allow-downloads allow-modals"
)
HEADERS = {
    "Content-Security-Policy": CSP,
    "Cache-Control": "no-store",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
TYPES = {
    "html": ("text/html; charset=utf-8", "html"),
    "markdown": ("text/markdown; charset=utf-8", "md"),
    "json": ("application/json", "json"),
}


def page(content: Json, digest: str, number: int | None, status: int = 200) -> Response:
    """The page in a browser."""
    return Response(
        html_page(content, digest, number), status, media_type="text/html; charset=utf-8", headers=HEADERS
    )


def shown(version: ReportVersion) -> Response:
    """A frozen version in a browser."""
    return page(opened(version), version.sha256, version.number)


def file(version: ReportVersion, form: Form) -> Response:
    """A frozen version to keep."""
    content = opened(version)
    media, suffix = TYPES[form]
    if form == "html":
        text = html_page(content, version.sha256, version.number)
    elif form == "markdown":
        text = markdown_text(content, version.sha256, version.number)
    else:
        text = version.content
    name = f"incident-{content['incident']['number']}-report-{version.number}.{suffix}"
    return Response(
        text,
        media_type=media,
        headers={**HEADERS, "Content-Disposition": f"attachment; filename={name}"},
    )
