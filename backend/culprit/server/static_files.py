"""Web interface and the page at /docs. All content comes from this server."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from html import escape
from mimetypes import guess_type
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, HTMLResponse, Response
from starlette.exceptions import HTTPException

from culprit.web.http.middleware import CSP

IMMUTABLE = "public, max-age=31536000, immutable"
NOT_BUILT = (
    "<!doctype html><title>Culprit</title><p>The interface is not built. Run <code>./culprit up</code>."
)
STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;color:#1a1b1e}
code,pre{font:13px/1.45 ui-monospace,monospace}pre{background:#f3f4f6;padding:.6rem;overflow:auto}
summary{cursor:pointer;padding:.25rem 0}summary b{display:inline-block;width:4.5rem}
h2{margin-top:2rem;border-bottom:1px solid #d5d7db}details details{margin-left:1rem}
@media(prefers-color-scheme:dark){body{background:#141517;color:#d7d9dd}pre{background:#22242a}a{color:#7db4ff}}
"""
# The only page with an inline style: exactly this style, allowed by its hash.
DOCS_CSP = CSP.replace(
    "style-src 'self'", f"style-src 'sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}'"
)


def install_static_files(app: FastAPI, folder: Path) -> None:
    """Serve `folder`: existing files, and index.html for every other address of the interface."""
    root = folder.resolve()

    @app.get("/docs", include_in_schema=False)
    def docs() -> HTMLResponse:
        return HTMLResponse(render_api_page(app.openapi()), headers={"Content-Security-Policy": DOCS_CSP})

    @app.get("/{path:path}", include_in_schema=False)
    def interface(path: str, request: Request) -> Response:
        if path.startswith("api/") or "\0" in path:
            raise HTTPException(404)
        requested = (root / path).resolve()
        if path and requested.is_relative_to(root) and requested.is_file():
            return _serve_file(requested, request, IMMUTABLE if path.startswith("assets/") else "no-cache")
        if path.startswith("assets/") or "." in path.rsplit("/", 1)[-1]:
            raise HTTPException(404)
        index = root / "index.html"
        if not index.is_file():
            return HTMLResponse(NOT_BUILT, 503)
        return FileResponse(index, media_type="text/html", headers={"Cache-Control": "no-cache"})


def _serve_file(file: Path, request: Request, caching: str) -> Response:
    """Return a file, or what the build compressed with Brotli if the browser reads that."""
    headers = {"Cache-Control": caching}
    packed = file.with_name(f"{file.name}.br")
    if not packed.is_file() or packed.is_symlink():
        return FileResponse(file, headers=headers)
    headers["Vary"] = "Accept-Encoding"
    if not _accepts_brotli(request.headers.get("accept-encoding", "")):
        return FileResponse(file, headers=headers)
    media_type = guess_type(file.name)[0] or "application/octet-stream"
    return FileResponse(packed, headers={**headers, "Content-Encoding": "br"}, media_type=media_type)


def _accepts_brotli(accepted: str) -> bool:
    """Return whether an Accept-Encoding header names Brotli, unless with the weight 0."""
    for item in accepted.split(","):
        name, _, weight = item.partition(";")
        if name.strip().lower() == "br":
            return re.fullmatch(r"q=0(\.0*)?", weight.strip()) is None
    return False


def render_api_page(document: dict[str, Any]) -> str:
    """Return the OpenAPI document as one plain page without scripts."""
    groups: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            tag = (operation.get("tags") or ["other"])[0]
            groups.setdefault(tag, []).append(_render_operation(method, path, operation))
    schemas = document.get("components", {}).get("schemas", {})
    shapes = "".join(
        f"<details><summary><code>{escape(name)}</code></summary>{_render_json(schema)}</details>"
        for name, schema in sorted(schemas.items())
    )
    body = "".join(f"<h2>{escape(tag)}</h2>{''.join(items)}" for tag, items in groups.items())
    info = document["info"]
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(info["title"])}</title>'
        f"<style>{STYLE}</style><h1>{escape(info['title'])} {escape(info['version'])}</h1>"
        f"<p>{escape(info.get('description', ''))}</p>"
        f'<p>As a document: <a href="/openapi.json">/openapi.json</a></p>{body}<h2>Shapes</h2>{shapes}</html>'
    )


def _render_json(value: object) -> str:
    return f"<pre>{escape(json.dumps(value, indent=1, ensure_ascii=False))}</pre>"


def _render_operation(method: str, path: str, operation: dict[str, Any]) -> str:
    parts = [f"<p>{escape(operation.get('description', ''))}</p>"]
    if operation.get("parameters"):
        rows = (
            f"<li><code>{escape(parameter['name'])}</code> ({escape(parameter['in'])}"
            f"{', required' if parameter.get('required') else ''}) {escape(parameter.get('description', ''))}</li>"
            for parameter in operation["parameters"]
        )
        parts.append(f"<ul>{''.join(rows)}</ul>")
    if "requestBody" in operation:
        parts.append(f"<p>Request</p>{_render_json(operation['requestBody']['content'])}")
    for status, answer in operation.get("responses", {}).items():
        if not status.endswith("XX"):
            parts.append(f"<p>Answer {escape(status)}</p>{_render_json(answer.get('content', {}))}")
    return (
        f"<details><summary><b>{escape(method.upper())}</b> <code>{escape(path)}</code> "
        f"{escape(operation.get('summary', ''))}</summary>{''.join(parts)}</details>"
    )
