"""HTTP client for configured servers: restricted by the allow-list, and bounded in time and bytes.

A name is resolved once, the result is checked, and the connection goes to that address. Redirects are
refused, because they would bypass the check; proxies of the environment are not used. Errors never repeat
content of the server.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from culprit.infra.network.addresses import AddressRule, resolve_address
from culprit.infra.ssh.errors import SshError

CONNECT_S = 5.0
TOTAL_S = 20.0
MAX_BYTES = 8 << 20
CHUNK_BYTES = 64 << 10
Kind = Literal[
    "url",
    "dns",
    "not_allowed",
    "unreachable",
    "tls",
    "timeout",
    "redirect",
    "too_large",
    "garbled",
    "status",
    "mail",
]


class OutgoingError(Exception):
    """No usable answer; `sentence` is the message with the reason."""

    def __init__(self, kind: Kind, **params: str | int) -> None:
        super().__init__(kind)
        self.kind = kind
        self.sentence: dict[str, object] = {"key": f"outgoing.{kind}", "params": params}


@dataclass(frozen=True, slots=True)
class HttpEndpoint:
    """Host, port and path of a URL. `path` has no trailing slash."""

    scheme: Literal["http", "https"]
    host: str
    port: int
    path: str

    @property
    def origin(self) -> str:
        """Return scheme, host and port as text."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Reply:
    """The complete answer of a server."""

    status: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Request:
    """One GET, or a POST if there is a `body`, or another `method`. `target` and `secret` headers may be
    secrets: they are only sent, never logged.
    """

    endpoint: HttpEndpoint
    target: str = field(repr=False)
    secret: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes | None = field(default=None, repr=False)
    method: Literal["", "GET", "POST", "PATCH", "DELETE"] = ""
    accept: str = "application/json"


def parse_base_url(url: str) -> HttpEndpoint:
    """Parse a base URL. Raises OutgoingError `url` for anything but http(s)://name[:port][/path]."""
    try:
        parts = urlsplit(url)
        scheme, host, port = parts.scheme.lower(), parts.hostname or "", parts.port
    except ValueError:
        raise OutgoingError("url") from None
    strange = parts.username is not None or parts.password is not None or parts.query or parts.fragment
    printable = url.isascii() and url.isprintable() and not set(url) & set(" \\<>\"'`")
    if scheme not in {"http", "https"} or not host or strange or not printable or port == 0:
        raise OutgoingError("url")
    secure = scheme == "https"
    return HttpEndpoint(
        "https" if secure else "http", host, port or (443 if secure else 80), parts.path.rstrip("/")
    )


@dataclass(frozen=True, slots=True)
class SecretUrl:
    """A server that may be displayed, with path and query, which are secret if they grant access."""

    endpoint: HttpEndpoint
    target: str = field(repr=False)


def parse_url(url: str) -> SecretUrl:
    """Parse a complete URL including its query. Raises OutgoingError `url`."""
    base, question, query = url.partition("?")
    endpoint = parse_base_url(base)
    if "#" in query or not query.isascii() or not query.isprintable() or set(query) & set(" \\<>\"'`"):
        raise OutgoingError("url")
    return SecretUrl(endpoint, (urlsplit(base).path or "/") + question + query)


def check_endpoint(endpoint: HttpEndpoint, rules: Iterable[AddressRule]) -> str:
    """Return the address to connect to. Raises OutgoingError `dns` or `not_allowed`."""
    try:
        return resolve_address(endpoint.host, endpoint.port, rules)
    except SshError as error:
        kind: Kind = "not_allowed" if error.kind == "not_allowed" else "dns"
        raise OutgoingError(kind, host=endpoint.host, port=endpoint.port) from None


def send_request(
    request: Request, rules: Iterable[AddressRule], *, total_s: float = TOTAL_S, limit: int = MAX_BYTES
) -> Reply:
    """Send one request. Raises OutgoingError."""
    pieces: list[bytes] = []
    status = _transfer(request, rules, lambda _status: pieces.append, total_s=total_s, limit=limit)
    return Reply(status, b"".join(pieces))


def download_file(
    request: Request,
    rules: Iterable[AddressRule],
    write: Callable[[bytes], object],
    *,
    total_s: float,
    limit: int,
) -> int:
    """Send one request, pass the content of an answer 200 to `write` in pieces, and return the status.

    Errors of `write` are passed on. Raises OutgoingError; `write` may have had a part of the content then.
    """
    return _transfer(
        request,
        rules,
        lambda status: write if status == http.client.OK else None,
        total_s=total_s,
        limit=limit,
    )


#: Returns what takes the content of an answer with this status; None if the content is not needed.
_Receive = Callable[[int], Callable[[bytes], object] | None]


def _transfer(
    request: Request, rules: Iterable[AddressRule], receive: _Receive, *, total_s: float, limit: int
) -> int:
    endpoint = request.endpoint
    address = check_endpoint(endpoint, rules)
    ends = time.monotonic() + total_s
    try:
        with _open_connection(endpoint, address, min(CONNECT_S, total_s)) as connection:
            # A server that sends single bytes slowly never exceeds the read timeout, so a timer limits the
            # total time.
            timer = threading.Timer(max(ends - time.monotonic(), 0.01), _abort_connection, [connection])
            timer.daemon = True
            timer.start()
            try:
                connection.settimeout(total_s)
                status = _exchange(request, connection, receive, limit)
            finally:
                timer.cancel()
            if time.monotonic() >= ends:
                raise TimeoutError  # a body without a length ends at the cut
            return status
    except OutgoingError:
        raise
    except ssl.SSLError as error:
        raise OutgoingError("tls", host=endpoint.host, message=(error.reason or "TLS")[:100]) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        if isinstance(error, TimeoutError) or time.monotonic() >= ends:
            raise OutgoingError("timeout", host=endpoint.host, limit_s=int(total_s)) from None
        kind: Kind = "unreachable" if isinstance(error, OSError) else "garbled"
        raise OutgoingError(kind, host=endpoint.host, port=endpoint.port) from None


def _open_connection(endpoint: HttpEndpoint, address: str, timeout_s: float) -> socket.socket:
    connection = socket.create_connection((address, endpoint.port), timeout=timeout_s)
    if endpoint.scheme == "http":
        return connection
    try:
        return ssl.create_default_context().wrap_socket(connection, server_hostname=endpoint.host)
    except BaseException:
        connection.close()
        raise


def _abort_connection(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it has already ended
        connection.shutdown(socket.SHUT_RDWR)


def _exchange(request: Request, sock: socket.socket, receive: _Receive, limit: int) -> int:
    endpoint = request.endpoint
    connection = http.client.HTTPConnection(endpoint.host, endpoint.port)
    connection.default_port = (
        443 if endpoint.scheme == "https" else 80
    )  # Host contains the port only if necessary
    connection.sock = sock
    headers = {"Accept": request.accept, "Accept-Encoding": "identity", "Connection": "close"}
    method = request.method or ("GET" if request.body is None else "POST")
    connection.request(method, request.target, request.body, headers=headers | dict(request.secret))
    with contextlib.closing(connection), connection.getresponse() as answer:
        if 300 <= answer.status < 400:
            raise OutgoingError("redirect", host=endpoint.host, status=answer.status)
        write = receive(answer.status)
        if write is None:
            return answer.status
        size = answer.length or 0
        received = 0
        while received <= limit and size <= limit and (piece := answer.read(CHUNK_BYTES)):
            received += len(piece)
            write(piece)
        if max(size, received) > limit:
            raise OutgoingError("too_large", host=endpoint.host, limit_mb=limit >> 20)
        if received < size:
            raise http.client.IncompleteRead(b"", size - received)
        return answer.status
