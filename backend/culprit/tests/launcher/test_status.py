"""What `./culprit status` reports about stored files, from the metrics of a platform."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from culprit.launcher.status import explain_altered_files


@contextmanager
def serve_metrics(text: str) -> Iterator[str]:
    class Metrics(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/metrics" else 404)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Metrics) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(("value", "lines"), [("3.0", 2), ("0.0", 0)])
def test_status_reports_altered_files_and_what_to_do(value: str, lines: int) -> None:
    with serve_metrics(f"culprit_database_up 1.0\nculprit_stored_files_altered {value}\n") as url:
        message = list(explain_altered_files(url))
    assert len(message) == lines
    if lines:
        assert "3." in message[0] and "./culprit storage check" in message[0] and "backup" in message[1]


def test_status_is_silent_about_files_while_the_api_does_not_answer() -> None:
    with serve_metrics("nothing of ours\n") as url:
        assert list(explain_altered_files(url)) == []
    assert list(explain_altered_files(url)) == []
