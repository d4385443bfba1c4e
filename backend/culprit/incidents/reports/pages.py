"""Frozen reports as files and pages with their HTTP headers."""

from __future__ import annotations

from fastapi import Response

from culprit.domain.reports.render import STYLE_CSP, render_html_page, render_markdown_page
from culprit.incidents.reports.freeze import open_content
from culprit.incidents.reports.requests import Form
from culprit.infra.models.reports.report_version import ReportVersion
from culprit.json_types import Json

PREFIX = "/r"
"""Path prefix of share links."""

CSP = f"{STYLE_CSP}; frame-ancestors 'none'; sandbox allow-downloads allow-modals"
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


def build_page(content: Json, digest: str, number: int | None, status: int = 200) -> Response:
    """Build the page for a browser."""
    return Response(
        render_html_page(content, digest, number),
        status,
        media_type="text/html; charset=utf-8",
        headers=HEADERS,
    )


def build_public_page(version: ReportVersion) -> Response:
    """Build the public page of a frozen version."""
    return build_page(open_content(version), version.sha256, version.number)


def build_file(version: ReportVersion, form: Form) -> Response:
    """Build a frozen version for download."""
    content = open_content(version)
    media, suffix = TYPES[form]
    if form == "html":
        text = render_html_page(content, version.sha256, version.number)
    elif form == "markdown":
        text = render_markdown_page(content, version.sha256, version.number)
    else:
        text = version.content
    name = f"incident-{content['incident']['number']}-report-{version.number}.{suffix}"
    return Response(
        text,
        media_type=media,
        headers={**HEADERS, "Content-Disposition": f"attachment; filename={name}"},
    )
