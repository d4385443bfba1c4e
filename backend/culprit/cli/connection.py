"""Find the server, send requests and turn failures into exit statuses.

The first of these names the server and the token:

1. CULPRIT_URL and CULPRIT_TOKEN.
2. The file that `culprit login` wrote ($XDG_CONFIG_HOME/culprit/cli.json).
3. The file that `up` wrote for this machine ($CULPRIT_HOME/cli.json, or .culprit/cli.json in the checkout).

A stored token is sent only to the URL that it was stored for.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2

from culprit import VERSION
from culprit.domain import messages
from culprit.web.errors import OverloadedError

# Repeats a constant of culprit.infra.settings, because importing all server settings would slow down each
# command.
CHECKOUT = Path(__file__).resolve().parents[3]
API = "/api/v1"
TIMEOUT = httpx2.Timeout(30.0, connect=10.0)
#: Timeout of requests for which the server reads or creates a file first.
FILE_TIMEOUT = httpx2.Timeout(600.0, connect=10.0)

PROBLEM = "application/problem+json"
OVERLOADED = OverloadedError.problem_type
#: Base pauses between repeated GET requests. Each is multiplied by a random factor of 0.5 to 1.5.
REPEAT_AFTER_S = (1.0, 2.0, 4.0)


class ExitCode(IntEnum):
    """Exit statuses of commands. They are stable."""

    DONE = 0
    BUG = 1
    USAGE = 2
    PARTIAL = 3
    FAILED = 4
    REFUSED = 5
    UNREACHABLE = 6
    CANCELED = 7
    NOT_LOGGED_IN = 8
    TIMED_OUT = 9


class CliError(Exception):
    """End the command with an exit status and one line of text."""

    def __init__(self, status: ExitCode, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass(frozen=True, slots=True)
class ServerTarget:
    """A server and its token, if there is one. `source` is the variable or file that they were read from."""

    url: str
    token: str | None
    source: str


def get_config_file() -> Path:
    """Return the file in which `culprit login` stores URL and token."""
    base = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(base) / "culprit" / "cli.json"


def get_machine_file() -> Path:
    """Return the file in which `up` stores URL and token."""
    return Path(os.environ.get("CULPRIT_HOME") or CHECKOUT / ".culprit") / "cli.json"


def find_target() -> ServerTarget:
    """Return the server to use. Raises CliError if none is configured."""
    url, token = os.environ.get("CULPRIT_URL"), os.environ.get("CULPRIT_TOKEN")
    stored = [
        target
        for path in (get_config_file(), get_machine_file())
        if (target := _read_stored(path)) is not None
    ]
    if url:
        url = url.rstrip("/")
        known = next((item.token for item in stored if item.url == url), None)
        return ServerTarget(url, token or known, "CULPRIT_URL")
    if not stored:
        raise CliError(
            ExitCode.NOT_LOGGED_IN,
            "No server is configured. Run './culprit up' or './culprit login URL', or set CULPRIT_URL.",
        )
    first = stored[0]
    return ServerTarget(first.url, token or first.token, first.source)


def _read_stored(path: Path) -> ServerTarget | None:
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
        return ServerTarget(str(result["url"]).rstrip("/"), str(result["token"]), str(path))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def store_target(url: str, token: str) -> Path:
    """Store URL and token for later commands, readable by this user only."""
    path = get_config_file()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = path.with_name("cli.json.new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump({"url": url.rstrip("/"), "token": token}, file)
    fresh.replace(path)
    return path


class Server:
    """Send requests to one server. Every failure becomes a CliError with its exit status."""

    def __init__(self, target: ServerTarget) -> None:
        if urlsplit(target.url).scheme not in {"http", "https"}:
            raise CliError(ExitCode.USAGE, f"'{target.url}' is not an http or https address.")
        self.target = target
        headers = {"User-Agent": f"culprit-cli/{VERSION}", "Accept": "application/json"}
        if target.token:
            headers["Authorization"] = f"Bearer {target.token}"
        self.http = httpx2.Client(base_url=target.url, headers=headers, timeout=TIMEOUT)

    def get(self, path: str, **params: Any) -> Any:
        """Send a GET below /api/v1. Parameters that are None are left out."""
        requested = {name: value for name, value in params.items() if value is not None}
        return self._parse_json(self._send_request("GET", path, params=requested))

    def find(self, path: str, **params: Any) -> Any | None:
        """Send a GET and return None if the server answers 404."""
        answer = self._send_request("GET", path, missing_ok=True, params=params)
        return None if answer.status_code == 404 else self._parse_json(answer)

    def post(self, path: str, body: Any, **headers: str) -> Any:
        """Send a POST with a JSON body."""
        return self._parse_json(self._send_request("POST", path, json=body, headers=headers))

    def patch(self, path: str, body: Any) -> Any:
        """Send a PATCH with a JSON body."""
        return self._parse_json(self._send_request("PATCH", path, json=body))

    def delete(self, path: str, **headers: str) -> Any:
        """Send a DELETE; return the JSON body, or None where there is none."""
        return self._parse_json(self._send_request("DELETE", path, headers=headers))

    def upload(self, path: str, file: Path, fields: Mapping[str, str]) -> Any:
        """Send a file in a POST form, streamed."""
        with file.open("rb") as opened:
            parts = {"file": (file.name, opened, "application/octet-stream")}
            return self._parse_json(
                self._send_request("POST", path, data=fields, files=parts, timeout=FILE_TIMEOUT)
            )

    @contextmanager
    def stream(self, path: str, **params: Any) -> Iterator[Iterator[bytes]]:
        """Yield the bytes of a GET. The server may have to create the file first."""
        requested = {name: value for name, value in params.items() if value is not None}
        with self._convert_errors(), self._open_stream(path, requested) as answer:
            yield answer.iter_bytes()

    @contextmanager
    def _open_stream(self, path: str, params: Mapping[str, Any]) -> Iterator[httpx2.Response]:
        for pause_s in (*REPEAT_AFTER_S, None):
            with self.http.stream("GET", API + path, params=params, timeout=FILE_TIMEOUT) as answer:
                if answer.status_code < 400:
                    yield answer
                    return
                answer.read()
                if pause_s is None or not is_overloaded(answer):
                    self._raise_for_status(answer)
            compute_retry_delay(pause_s)

    def _send_request(
        self, method: str, path: str, *, missing_ok: bool = False, **more: Any
    ) -> httpx2.Response:
        """Send one request. Repeat a GET a few times if the server is overloaded."""
        for pause_s in (*REPEAT_AFTER_S, None):
            with self._convert_errors():
                answer = self.http.request(method, API + path, **more)
            if method != "GET" or pause_s is None or not is_overloaded(answer):
                break
            compute_retry_delay(pause_s)
        if answer.status_code >= 400 and not (missing_ok and answer.status_code == 404):
            self._raise_for_status(answer)
        return answer

    @contextmanager
    def _convert_errors(self) -> Iterator[None]:
        try:
            yield
        except httpx2.TimeoutException:
            raise CliError(ExitCode.UNREACHABLE, f"{self.target.url} did not answer in time.") from None
        except httpx2.HTTPError as error:
            raise CliError(ExitCode.UNREACHABLE, f"Cannot connect to {self.target.url}: {error}.") from None

    def _parse_json(self, answer: httpx2.Response) -> Any:
        if answer.status_code == 204:
            return None
        try:
            return answer.json()
        except ValueError:
            raise CliError(ExitCode.UNREACHABLE, f"{self.target.url} is not a Culprit server.") from None

    def _raise_for_status(self, answer: httpx2.Response) -> None:
        message = format_problem(answer)
        if answer.status_code == 401:
            raise CliError(ExitCode.NOT_LOGGED_IN, message)
        if answer.status_code >= 500:
            raise CliError(ExitCode.UNREACHABLE, message)
        raise CliError(ExitCode.REFUSED, message)


def compute_retry_delay(seconds: float | None) -> None:
    """Return a randomized pause, so that clients refused at the same time do not repeat at the same time."""
    time.sleep((seconds or 0.0) * random.uniform(0.5, 1.5))  # noqa: S311


def is_overloaded(answer: httpx2.Response) -> bool:
    """Return whether the server refused the request only because it was overloaded."""
    if answer.status_code != 503 or not answer.headers.get("content-type", "").startswith(PROBLEM):
        return False
    try:
        return bool(answer.json().get("type") == OVERLOADED)
    except (ValueError, AttributeError):
        return False


def fetch_text(url: str) -> str:
    """Fetch a text from a URL that contains its own secret, without a token.

    Raises CliError with the server's text.
    """
    if urlsplit(url).scheme not in {"http", "https"}:
        raise CliError(ExitCode.USAGE, f"'{url}' is not an http or https address.")
    try:
        answer = httpx2.get(url, headers={"User-Agent": f"culprit-cli/{VERSION}"}, timeout=TIMEOUT)
    except httpx2.HTTPError as error:
        raise CliError(ExitCode.UNREACHABLE, f"Cannot connect to {urlsplit(url).netloc}: {error}.") from None
    if answer.status_code >= 400:
        text = (
            answer.text.strip()[:400]
            if answer.headers.get("content-type", "").startswith("text/plain")
            else ""
        )
        raise CliError(ExitCode.REFUSED, text or f"The server answered with status {answer.status_code}.")
    return answer.text


def format_problem(answer: httpx2.Response) -> str:
    """Return a problem+json answer as one line."""
    try:
        problem = answer.json()
        text = str(problem["detail"])
        fields = [f"{item['at']}: {item['detail']}" for item in problem.get("errors", [])]
    except (ValueError, KeyError, TypeError):
        return f"The server answered with status {answer.status_code}."
    return "; ".join([text, *fields])


def render_message(value: Any) -> str | None:
    """Return a message of the server as English text, or None for None."""
    if not isinstance(value, Mapping) or "key" not in value:
        return None if value is None else str(value)
    params = value.get("params")
    return messages.render_message(str(value["key"]), params if isinstance(params, Mapping) else {})
