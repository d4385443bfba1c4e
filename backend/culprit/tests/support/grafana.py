"""The annotation API of Grafana as documented, in memory and strict.

https://grafana.com/docs/grafana/latest/developers/http_api/annotations/. It is not Grafana.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "glsa_0123456789abcdef"
FIELDS = {"dashboardUID", "panelId", "time", "timeEnd", "tags", "text"}


@dataclass
class Grafana:
    """Annotations by ID; `deaf` does not answer after a change, `away` answers 503."""

    port: int = 0
    kept: dict[int, dict[str, Any]] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    deaf: bool = False
    away: bool = False
    last: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def do(self, method: str, path: str, query: dict[str, list[str]], body: Any) -> tuple[int, Any]:
        """Return the answer of Grafana."""
        if method == "GET" and path == "/api/annotations":
            requested = set(query.get("tags", []))
            results = [{"id": n, **item} for n, item in self.kept.items() if requested <= set(item["tags"])]
            return 200, results[: int(query.get("limit", ["100"])[0])]
        if method == "POST" and path == "/api/annotations":
            if (wrong := self.wrong(body)) or not body.get("text"):
                return 400, {"message": wrong or "text field should not be empty"}
            self.last += 1
            self.kept[self.last] = {"timeEnd": body["time"], **body}
            return 200, {"message": "Annotation added", "id": self.last}
        number = int(path.removeprefix("/api/annotations/"))
        if number not in self.kept:
            return 404, {"message": "Could not find annotation to update"}
        if method == "PATCH":
            if wrong := self.wrong(body):
                return 400, {"message": wrong}
            self.kept[number] |= body
            return 200, {"message": "Annotation patched"}
        assert method == "DELETE" and body is None
        del self.kept[number]
        return 200, {"message": "Annotation deleted"}

    def wrong(self, body: Any) -> str:
        if not isinstance(body, dict) or set(body) - FIELDS:
            return "bad request data"
        times = [body.get("time"), body.get("timeEnd", body.get("time"))]
        if any(not isinstance(time, int) or time < 10**12 for time in times) or times[1] < times[0]:
            return "times are milliseconds"
        tags = body.get("tags", [])
        return "" if all(isinstance(tag, str) and tag and "," not in tag for tag in tags) else "bad tags"


@contextmanager
def grafana() -> Iterator[Grafana]:
    """Serve until the end of the block."""
    grafana = Grafana()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def handle_request(self) -> None:
            parts = urlsplit(self.path)
            size = int(self.headers.get("Content-Length", 0))
            sent = self.rfile.read(size)
            grafana.requests.append(f"{self.command} {parts.path}")
            if self.headers.get("Authorization") != f"Bearer {TOKEN}":
                return self.send_answer(401, {"message": "Invalid API key"})
            if grafana.away:
                return self.send_answer(503, {})
            if sent and self.headers.get("Content-Type") != "application/json":
                return self.send_answer(400, {"message": "bad request data"})
            status, result = grafana.do(
                self.command, parts.path, parse_qs(parts.query), json.loads(sent) if sent else None
            )
            if grafana.deaf and self.command == "POST":
                self.close_connection = True
                return None
            return self.send_answer(status, result)

        do_GET = do_POST = do_PATCH = do_DELETE = handle_request

        def send_answer(self, status: int, result: Any) -> None:
            body = json.dumps(result).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    grafana.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=[0.05], daemon=True)
    thread.start()
    try:
        yield grafana
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
