"""The annotation part of Grafana's HTTP API as its documentation describes it, in memory and strict.

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
    """`kept` by id; `deaf` forgets to answer what it has done, `away` answers 503."""

    port: int = 0
    kept: dict[int, dict[str, Any]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    deaf: bool = False
    away: bool = False
    last: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def do(self, method: str, path: str, query: dict[str, list[str]], body: Any) -> tuple[int, Any]:
        """What Grafana answers."""
        if method == "GET" and path == "/api/annotations":
            wanted = set(query.get("tags", []))
            found = [{"id": n, **one} for n, one in self.kept.items() if wanted <= set(one["tags"])]
            return 200, found[: int(query.get("limit", ["100"])[0])]
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
        if any(not isinstance(one, int) or one < 10**12 for one in times) or times[1] < times[0]:
            return "times are milliseconds"
        tags = body.get("tags", [])
        return "" if all(isinstance(one, str) and one and "," not in one for one in tags) else "bad tags"


@contextmanager
def grafana() -> Iterator[Grafana]:
    """Serves until the block is left."""
    made = Grafana()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def handle_one(self) -> None:
            parts = urlsplit(self.path)
            size = int(self.headers.get("Content-Length", 0))
            sent = self.rfile.read(size)
            made.asked.append(f"{self.command} {parts.path}")
            if self.headers.get("Authorization") != f"Bearer {TOKEN}":
                return self.tell(401, {"message": "Invalid API key"})
            if made.away:
                return self.tell(503, {})
            if sent and self.headers.get("Content-Type") != "application/json":
                return self.tell(400, {"message": "bad request data"})
            status, found = made.do(
                self.command, parts.path, parse_qs(parts.query), json.loads(sent) if sent else None
            )
            if made.deaf and self.command == "POST":
                self.close_connection = True
                return None
            return self.tell(status, found)

        do_GET = do_POST = do_PATCH = do_DELETE = handle_one

        def tell(self, status: int, found: Any) -> None:
            body = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    made.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=[0.05], daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
