"""Which answers are compressed."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import httpx2
import pytest
from culprit.infra.settings import Settings
from culprit.server.web import SECRETS
from culprit.web.http.compression import MIN_BYTES, Compression
from fastapi import FastAPI, Response
from fastapi.responses import FileResponse, StreamingResponse
from fastapi.testclient import TestClient
from sse_starlette import EventSourceResponse

API = "/api/v1"
#: Fields of answers that grant access, or that a forged request would need.
LETS_IN = re.compile(r"csrf|token$|password|private|secret|passphrase")
LARGE = b"0123456789abcdef" * 512


@pytest.fixture
def small_app(tmp_path: Path) -> TestClient:
    """Return an application with one route of each kind behind the middleware."""
    app = FastAPI()
    stored = tmp_path / "stored.gz"
    stored.write_bytes(gzip.compress(LARGE * 50))
    script = tmp_path / "app.js"
    script.write_bytes(LARGE)

    @app.get("/kind")
    def kind(of: str, size: int = len(LARGE)) -> Response:
        return Response(LARGE[:size], media_type=of, headers={"ETag": '"tag"'})

    @app.get("/stored")
    def download() -> FileResponse:
        return FileResponse(stored, media_type="application/octet-stream")

    @app.get("/script")
    def asset() -> FileResponse:
        return FileResponse(script)

    @app.get("/pieces")
    def pieces() -> StreamingResponse:
        return StreamingResponse((LARGE for _ in range(3)), media_type="text/plain")

    @app.get("/events")
    def events() -> EventSourceResponse:
        async def stream_events():
            yield {"data": "x" * 5000}

        return EventSourceResponse(stream_events())

    @app.get("/packed")
    def packed() -> Response:
        return Response(gzip.compress(LARGE * 50), headers={"Content-Encoding": "gzip"})

    @app.get("/secret/one")
    def secret() -> Response:
        return Response(LARGE, media_type="application/json")

    app.add_middleware(Compression, never=("/secret",))
    return TestClient(app)


def how(answer: httpx2.Response) -> str | None:
    return answer.headers.get("content-encoding")


def test_large_responses_are_compressed(small_app: TestClient) -> None:
    answer = small_app.get("/kind", params={"of": "application/json"})
    assert (how(answer), answer.content) == ("gzip", LARGE)
    assert int(answer.headers["content-length"]) < len(LARGE) / 10
    assert answer.headers["vary"] == "Accept-Encoding" and answer.headers["etag"] == 'W/"tag"'
    pieces = small_app.get("/pieces")
    assert (how(pieces), pieces.content) == ("gzip", LARGE * 3)


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        (f"/kind?of=application/json&size={MIN_BYTES - 1}", {}),
        ("/kind?of=application/json", {"Accept-Encoding": "identity"}),
        ("/kind?of=application/zip", {}),
        ("/kind?of=application/octet-stream", {}),
        ("/kind?of=text/event-stream", {}),
        ("/kind?of=image/png", {}),
        ("/events", {}),
        ("/stored", {}),
        ("/secret/one", {}),
    ],
)
def test_what_is_left_as_it_is(small_app: TestClient, path: str, headers: dict[str, str]) -> None:
    answer = small_app.get(path, headers=headers)
    assert answer.status_code == 200 and how(answer) is None and answer.content


def test_range_request_returns_uncompressed_bytes(small_app: TestClient) -> None:
    whole = small_app.get("/script")
    assert how(whole) == "gzip" and "accept-ranges" not in whole.headers
    part = small_app.get("/script", headers={"Range": "bytes=4-7"})
    assert (part.status_code, part.content, how(part)) == (206, LARGE[4:8], None)


def test_what_was_packed_before_is_not_packed_twice(small_app: TestClient) -> None:
    assert small_app.get("/packed").content == LARGE * 50


def test_the_platform_packs_and_keeps_its_secrets_apart(client: TestClient, as_) -> None:
    document = client.get("/openapi.json")
    assert how(document) == "gzip"
    admin = as_("admin")
    assert how(admin.get(f"{API}/rules")) == how(admin.get(f"{API}/catalog/metrics")) == "gzip"
    assert how(admin.get(f"{API}/me")) is None and "csrf" in admin.get(f"{API}/me").json()


def test_no_answer_with_a_secret_is_packed(config: Settings, client: TestClient) -> None:
    document: dict[str, Any] = client.get("/openapi.json").json()
    shapes = document["components"]["schemas"]
    reporting = set()
    for path, methods in document["paths"].items():
        for operation in methods.values():
            for answer in operation["responses"].values():
                for body in answer.get("content", {}).values():
                    if any(LETS_IN.search(name) for name in fields(body.get("schema", {}), shapes, set())):
                        reporting.add(path)
    assert reporting, "sessions and tokens are among them"
    assert not {
        path for path in reporting if not any(f"{path}/".startswith(f"{secret}/") for secret in SECRETS)
    }


def fields(schema: Any, shapes: dict[str, Any], seen: set[str]) -> set[str]:
    """Return the names of all text fields of an answer, at every depth."""
    if isinstance(schema, list):
        return {name for item in schema for name in fields(item, shapes, seen)}
    if not isinstance(schema, dict):
        return set()
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    if name:
        if name in seen:
            return set()
        seen.add(name)
        return fields(shapes[name], shapes, seen)
    own = {
        each for each, of in schema.get("properties", {}).items() if "boolean" not in str(of.get("type", ""))
    }
    return own | {each for item in schema.values() for each in fields(item, shapes, seen)}
