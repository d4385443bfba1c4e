"""The server that the command line talks to, and what it says when that goes wrong.

Where URL and token come from, the first that is there:
1. CULPRIT_URL and CULPRIT_TOKEN;
2. the file that `culprit login` wrote ($XDG_CONFIG_HOME/culprit/cli.json);
3. the file that `up` left for this machine ($CULPRIT_HOME/cli.json, or .culprit/cli.json in the checkout).
A stored token is only ever sent to the URL that it was stored for.
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

from culprit.kit.errors import Overloaded
from culprit.kit.sentences import say
from culprit.kit.version import VERSION

# culprit.config knows it too, and all settings of a server with it: a command would wait for those.
CHECKOUT = Path(__file__).resolve().parents[3]
API = "/api/v1"
TIMEOUT = httpx2.Timeout(30.0, connect=10.0)
#: For what takes a while: a file that is read there, or made there before it is sent.
LONG = httpx2.Timeout(600.0, connect=10.0)

PROBLEM = "application/problem+json"
OVERLOADED = Overloaded.problem_type
#: Pauses before a GET is repeated, each half as long to one and a half times as long.
REPEAT_AFTER_S = (1.0, 2.0, 4.0)


class Exit(IntEnum):
    """What the exit status of a command means; stable."""

    DONE = 0
    BUG = 1
    USAGE = 2
    PARTIAL = 3
    FAILED = 4
    REFUSED = 5
    UNREACHABLE = 6
    CANCELLED = 7
    NOT_LOGGED_IN = 8
    TIMED_OUT = 9


class Stop(Exception):
    """The command ends here with a status and one line for people."""

    def __init__(self, status: Exit, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass(frozen=True, slots=True)
class Target:
    """A server, and a token for it where there is one. `source` says where they were found."""

    url: str
    token: str | None
    source: str


def config_file() -> Path:
    """Where `culprit login` keeps URL and token."""
    base = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(base) / "culprit" / "cli.json"


def machine_file() -> Path:
    """Where `up` leaves them."""
    return Path(os.environ.get("CULPRIT_HOME") or CHECKOUT / ".culprit") / "cli.json"


def find_target() -> Target:
    """The server to talk to. Raises Stop where nothing names one."""
    url, token = os.environ.get("CULPRIT_URL"), os.environ.get("CULPRIT_TOKEN")
    stored = [target for path in (config_file(), machine_file()) if (target := _stored(path)) is not None]
    if url:
        url = url.rstrip("/")
        known = next((one.token for one in stored if one.url == url), None)
        return Target(url, token or known, "CULPRIT_URL")
    if not stored:
        raise Stop(
            Exit.NOT_LOGGED_IN,
            "No server is known: run './culprit up' or './culprit login URL', or set CULPRIT_URL.",
        )
    first = stored[0]
    return Target(first.url, token or first.token, first.source)


def _stored(path: Path) -> Target | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return Target(str(found["url"]).rstrip("/"), str(found["token"]), str(path))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def store(url: str, token: str) -> Path:
    """Keep URL and token for the next commands, readable by this user only."""
    path = config_file()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = path.with_name("cli.json.new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump({"url": url.rstrip("/"), "token": token}, file)
    fresh.replace(path)
    return path


class Server:
    """Requests to one server; every failure becomes a Stop with the right status."""

    def __init__(self, target: Target) -> None:
        if urlsplit(target.url).scheme not in {"http", "https"}:
            raise Stop(Exit.USAGE, f"'{target.url}' is no http or https address.")
        self.target = target
        headers = {"User-Agent": f"culprit-cli/{VERSION}", "Accept": "application/json"}
        if target.token:
            headers["Authorization"] = f"Bearer {target.token}"
        self.http = httpx2.Client(base_url=target.url, headers=headers, timeout=TIMEOUT)

    def get(self, path: str, **params: Any) -> Any:
        """GET under /api/v1; None parameters are left out."""
        wanted = {name: value for name, value in params.items() if value is not None}
        return self._json(self._send("GET", path, params=wanted))

    def find(self, path: str, **params: Any) -> Any | None:
        """Like `get`, None where there is nothing at that address."""
        answer = self._send("GET", path, missing_ok=True, params=params)
        return None if answer.status_code == 404 else self._json(answer)

    def post(self, path: str, body: Any, **headers: str) -> Any:
        """POST a JSON body."""
        return self._json(self._send("POST", path, json=body, headers=headers))

    def patch(self, path: str, body: Any) -> Any:
        """PATCH a JSON body."""
        return self._json(self._send("PATCH", path, json=body))

    def delete(self, path: str, **headers: str) -> None:
        """DELETE."""
        self._send("DELETE", path, headers=headers)

    def upload(self, path: str, file: Path, fields: Mapping[str, str]) -> Any:
        """POST a file as a form; it is streamed."""
        with file.open("rb") as opened:
            parts = {"file": (file.name, opened, "application/octet-stream")}
            return self._json(self._send("POST", path, data=fields, files=parts, timeout=LONG))

    @contextmanager
    def stream(self, path: str, **params: Any) -> Iterator[Iterator[bytes]]:
        """The bytes of a GET, piece by piece; the first may have to be made."""
        wanted = {name: value for name, value in params.items() if value is not None}
        with self._failures(), self._open(path, wanted) as answer:
            yield answer.iter_bytes()

    @contextmanager
    def _open(self, path: str, params: Mapping[str, Any]) -> Iterator[httpx2.Response]:
        for pause_s in (*REPEAT_AFTER_S, None):
            with self.http.stream("GET", API + path, params=params, timeout=LONG) as answer:
                if answer.status_code < 400:
                    yield answer
                    return
                answer.read()
                if pause_s is None or not is_overloaded(answer):
                    self._refuse(answer)
            pause(pause_s)

    def _send(self, method: str, path: str, *, missing_ok: bool = False, **more: Any) -> httpx2.Response:
        """One request; a GET that meets an overloaded server is repeated a few times."""
        for pause_s in (*REPEAT_AFTER_S, None):
            with self._failures():
                answer = self.http.request(method, API + path, **more)
            if method != "GET" or pause_s is None or not is_overloaded(answer):
                break
            pause(pause_s)
        if answer.status_code >= 400 and not (missing_ok and answer.status_code == 404):
            self._refuse(answer)
        return answer

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except httpx2.TimeoutException:
            raise Stop(Exit.UNREACHABLE, f"{self.target.url} does not answer in time.") from None
        except httpx2.HTTPError as error:
            raise Stop(Exit.UNREACHABLE, f"{self.target.url} cannot be reached: {error}.") from None

    def _json(self, answer: httpx2.Response) -> Any:
        if answer.status_code == 204:
            return None
        try:
            return answer.json()
        except ValueError:
            raise Stop(Exit.UNREACHABLE, f"{self.target.url} does not speak Culprit's API.") from None

    def _refuse(self, answer: httpx2.Response) -> None:
        message = problem_text(answer)
        if answer.status_code == 401:
            raise Stop(Exit.NOT_LOGGED_IN, message)
        if answer.status_code >= 500:
            raise Stop(Exit.UNREACHABLE, message)
        raise Stop(Exit.REFUSED, message)


def pause(seconds: float | None) -> None:
    """Wait about so long; other clients that were refused at the same time wait otherwise."""
    time.sleep((seconds or 0.0) * random.uniform(0.5, 1.5))  # noqa: S311


def is_overloaded(answer: httpx2.Response) -> bool:
    """Whether the server only had too much to do at that moment."""
    if answer.status_code != 503 or not answer.headers.get("content-type", "").startswith(PROBLEM):
        return False
    try:
        return bool(answer.json().get("type") == OVERLOADED)
    except (ValueError, AttributeError):
        return False


def fetch_text(url: str) -> str:
    """What stands at an address that is its own key: no token is sent there. Raises Stop with what it says."""
    if urlsplit(url).scheme not in {"http", "https"}:
        raise Stop(Exit.USAGE, f"'{url}' is no http or https address.")
    try:
        answer = httpx2.get(url, headers={"User-Agent": f"culprit-cli/{VERSION}"}, timeout=TIMEOUT)
    except httpx2.HTTPError as error:
        raise Stop(Exit.UNREACHABLE, f"{urlsplit(url).netloc} cannot be reached: {error}.") from None
    if answer.status_code >= 400:
        said = (
            answer.text.strip()[:400]
            if answer.headers.get("content-type", "").startswith("text/plain")
            else ""
        )
        raise Stop(Exit.REFUSED, said or f"The server answered with status {answer.status_code}.")
    return answer.text


def problem_text(answer: httpx2.Response) -> str:
    """A problem+json answer as one line."""
    try:
        problem = answer.json()
        text = str(problem["detail"])
        fields = [f"{one['at']}: {one['detail']}" for one in problem.get("errors", [])]
    except (ValueError, KeyError, TypeError):
        return f"The server answered with status {answer.status_code}."
    return "; ".join([text, *fields])


def sentence(value: Any) -> str | None:
    """A sentence of the server as English text; None stays None."""
    if not isinstance(value, Mapping) or "key" not in value:
        return None if value is None else str(value)
    params = value.get("params")
    return say(str(value["key"]), params if isinstance(params, Mapping) else {})
