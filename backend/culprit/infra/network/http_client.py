"""HTTP to servers that somebody has named: only where the allow-list permits, and never more than was asked for.

A name is resolved once, the answer is checked, and the connection goes to that very address, as with hosts. Redirects
are refused, because they would lead past the check; proxies of the environment are not used; time and bytes are
bounded whatever the server does. What it sent is never repeated in an error.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from culprit.infra.addresses import Rule, resolve
from culprit.infra.ssh_errors import SshError

CONNECT_S = 5.0
TOTAL_S = 20.0
MAX_BYTES = 8 << 20
PIECE = 64 << 10
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
    """Nothing usable came back; `sentence` says why."""

    def __init__(self, kind: Kind, **params: str | int) -> None:
        super().__init__(kind)
        self.kind = kind
        self.sentence: dict[str, object] = {"key": f"outgoing.{kind}", "params": params}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a URL leads. `path` has no slash at its end."""

    scheme: Literal["http", "https"]
    host: str
    port: int
    path: str

    @property
    def shown(self) -> str:
        """Scheme, host and port, for people."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server answered, whole."""

    status: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Request:
    """One GET, or with a `body` one POST, unless another `method` is named. `target` and `secret` headers may be
    secrets: they are only on the wire."""

    place: Place
    target: str = field(repr=False)
    secret: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes | None = field(default=None, repr=False)
    method: Literal["", "GET", "POST", "PATCH", "DELETE"] = ""


def place_of(url: str) -> Place:
    """A base URL taken apart. Raises OutgoingError `url` for anything but http(s)://name[:port][/path]."""
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
    return Place("https" if secure else "http", host, port or (443 if secure else 80), parts.path.rstrip("/"))


@dataclass(frozen=True, slots=True)
class Address:
    """The server that may be shown, and the rest, path and query, which is a secret where it lets somebody in."""

    place: Place
    target: str = field(repr=False)


def address_of(url: str) -> Address:
    """A whole address taken apart, its query included. Raises OutgoingError `url`."""
    base, question, query = url.partition("?")
    place = place_of(base)
    if "#" in query or not query.isascii() or not query.isprintable() or set(query) & set(" \\<>\"'`"):
        raise OutgoingError("url")
    return Address(place, (urlsplit(base).path or "/") + question + query)


def check(place: Place, rules: Iterable[Rule]) -> str:
    """The one address to dial for a place. Raises OutgoingError `dns` or `not_allowed`."""
    try:
        return resolve(place.host, place.port, rules)
    except SshError as error:
        kind: Kind = "not_allowed" if error.kind == "not_allowed" else "dns"
        raise OutgoingError(kind, host=place.host, port=place.port) from None


def fetch(
    request: Request, rules: Iterable[Rule], *, total_s: float = TOTAL_S, limit: int = MAX_BYTES
) -> Reply:
    """Asks once. Raises OutgoingError."""
    place = request.place
    address = check(place, rules)
    ends = time.monotonic() + total_s
    try:
        with _connected(place, address, min(CONNECT_S, total_s)) as wire:
            # A server that sends a byte now and then keeps every single wait short: the whole is cut from outside.
            watch = threading.Timer(max(ends - time.monotonic(), 0.01), _cut, [wire])
            watch.daemon = True
            watch.start()
            try:
                wire.settimeout(total_s)
                reply = _ask(request, wire, limit)
            finally:
                watch.cancel()
            if time.monotonic() >= ends:
                raise TimeoutError  # a body without a length ends where it was cut
            return reply
    except OutgoingError:
        raise
    except ssl.SSLError as error:
        raise OutgoingError("tls", host=place.host, said=(error.reason or "TLS")[:100]) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        if isinstance(error, TimeoutError) or time.monotonic() >= ends:
            raise OutgoingError("timeout", host=place.host, limit_s=int(total_s)) from None
        kind: Kind = "unreachable" if isinstance(error, OSError) else "garbled"
        raise OutgoingError(kind, host=place.host, port=place.port) from None


def _connected(place: Place, address: str, patience_s: float) -> socket.socket:
    wire = socket.create_connection((address, place.port), timeout=patience_s)
    if place.scheme == "http":
        return wire
    try:
        return ssl.create_default_context().wrap_socket(wire, server_hostname=place.host)
    except BaseException:
        wire.close()
        raise


def _cut(wire: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it has ended by itself
        wire.shutdown(socket.SHUT_RDWR)


def _ask(request: Request, wire: socket.socket, limit: int) -> Reply:
    place = request.place
    connection = http.client.HTTPConnection(place.host, place.port)
    connection.default_port = (
        443 if place.scheme == "https" else 80
    )  # so that Host carries a port only where needed
    connection.sock = wire
    headers = {"Accept": "application/json", "Accept-Encoding": "identity", "Connection": "close"}
    method = request.method or ("GET" if request.body is None else "POST")
    connection.request(method, request.target, request.body, headers=headers | dict(request.secret))
    with contextlib.closing(connection), connection.getresponse() as answer:
        if 300 <= answer.status < 400:
            raise OutgoingError("redirect", host=place.host, status=answer.status)
        pieces, size = [], 0
        while piece := answer.read(PIECE):
            size += len(piece)
            if size > limit:
                raise OutgoingError("too_large", host=place.host, limit_mb=limit >> 20)
            pieces.append(piece)
        return Reply(answer.status, b"".join(pieces))
