"""Web servers for tests: one with configured answers, and a real Prometheus that monitors itself."""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

Answer = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Web:
    """A server on loopback;

    `requests` has (path with query, Authorization) of each request, `posted` the bodies with headers.
    """

    port: int
    requests: list[tuple[str, str | None]] = field(default_factory=list)
    posted: list[tuple[dict[str, str], bytes]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def reply(status: int, body: bytes, **headers: str) -> Answer:
    """Return an answer with its length."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


@contextmanager
def web(answer: Answer) -> Iterator[Web]:
    """Serve `answer` until the end of the block."""
    web = Web(0)

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            web.requests.append((self.path, self.headers.get("Authorization")))
            try:
                answer(self)
            except OSError:
                pass  # the client has disconnected

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            web.posted.append(({name.lower(): value for name, value in self.headers.items()}, body))
            self.do_GET()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    web.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=[0.05], daemon=True)
    thread.start()
    try:
        yield web
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def prometheus(folder: Path, port: int) -> Iterator[str]:
    """Run a real Prometheus that scrapes itself every second; yield its URL."""
    binary = shutil.which("prometheus")
    assert binary is not None
    config = folder / "prometheus.yml"
    config.write_text(
        "global: {scrape_interval: 1s, scrape_timeout: 900ms}\n"
        f"scrape_configs: [{{job_name: own, static_configs: [{{targets: ['127.0.0.1:{port}']}}]}}]\n"
    )
    arguments = [f"--config.file={config}", f"--storage.tsdb.path={folder / 'tsdb'}"]
    with subprocess.Popen(
        [binary, *arguments, f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as child:
        try:
            for _ in range(100):
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/-/ready", timeout=1).close()
                    break
                except OSError:
                    time.sleep(0.1)
            yield f"http://127.0.0.1:{port}"
        finally:
            child.terminate()
            child.wait(10)
