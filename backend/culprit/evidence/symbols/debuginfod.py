"""The debuginfod servers that admins allow, and requests to them.

Source of the protocol: debuginfod(8), `GET BASE/buildid/BUILDID/debuginfo`. Nothing else is sent.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.accounts import audit
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.accounts.queries.restrictions import load_network_rules
from culprit.evidence.symbols import debuginfod_queries as queries
from culprit.evidence.symbols.schemas import DebuginfodServerCreate
from culprit.infra.models.evidence.debuginfod_server import DebuginfodServer
from culprit.infra.network.addresses import AddressRule
from culprit.infra.network.http_client import (
    HttpEndpoint,
    OutgoingError,
    Request,
    check_endpoint,
    download_file,
    parse_base_url,
)
from culprit.web.errors import ConflictError, InvalidRequestError, NotFoundError

MAX_SERVERS = 8
_BUILD_ID = re.compile(r"(?:[0-9a-f]{2}){4,20}")
_DEFAULT_PORTS = {"https": 443, "http": 80}


@dataclass(frozen=True, slots=True)
class DebuginfodSource:
    """A server as a worker needs it: its row, its address, and the rules of the network allow-list."""

    server_id: UUID
    endpoint: HttpEndpoint
    url: str
    rules: tuple[AddressRule, ...]

    def download(
        self, build_id: str, write: Callable[[bytes], object], *, total_s: float, limit: int
    ) -> bool:
        """Pass the debugging file of a build ID to `write` in pieces. Return False if the server has none (404).

        Raises OutgoingError; errors of `write` are passed on. Raises ValueError if `build_id` is none.
        """
        if not is_build_id(build_id):
            raise ValueError("a build ID is 4 to 20 bytes in hexadecimal")
        target = f"{self.endpoint.path}/buildid/{build_id}/debuginfo"
        request = Request(self.endpoint, target, accept="*/*")
        status = download_file(request, self.rules, write, total_s=total_s, limit=limit)
        if status not in {HTTPStatus.OK, HTTPStatus.NOT_FOUND}:
            raise OutgoingError("status", host=self.endpoint.host, status=status)
        return status == HTTPStatus.OK


def is_build_id(text: str) -> bool:
    """Return whether a text is a build ID: 4 to 20 bytes in lower-case hexadecimal."""
    return _BUILD_ID.fullmatch(text) is not None


def load_sources(session: Session) -> list[DebuginfodSource]:
    """Return the allowed servers in the order in which they were added."""
    rules = tuple(load_network_rules(session))
    return [
        DebuginfodSource(server.id, parse_base_url(server.url), server.url, rules)
        for server in queries.list_servers(session)
    ]


def create_server(session: Session, actor: Actor, body: DebuginfodServerCreate) -> DebuginfodServer:
    """Allow a server. Raises InvalidRequestError if its address is not on the network allow-list, ConflictError."""
    authorize(actor, "debuginfod.manage")
    try:
        endpoint = parse_base_url(body.url.strip())
        check_endpoint(endpoint, load_network_rules(session))
    except OutgoingError as error:
        params: Any = error.sentence["params"]
        raise InvalidRequestError(f"outgoing.{error.kind}", **params) from None
    url = _format_url(endpoint)
    servers = queries.list_servers(session, lock=True)
    if any(server.url == url for server in servers):
        raise ConflictError("debuginfod.exists", url=url)
    if len(servers) >= MAX_SERVERS:
        raise ConflictError("debuginfod.too_many", limit=MAX_SERVERS)
    server = DebuginfodServer(url=url, created_by=actor.id)
    session.add(server)
    session.flush()
    audit.record_action(session, actor, "debuginfod.allowed", "debuginfod_server", server.id, url=url)
    return server


def delete_server(session: Session, actor: Actor, server_id: UUID) -> None:
    """Delete a server and its stored answers. Symbols that runs already have stay with them."""
    authorize(actor, "debuginfod.manage")
    server = session.get(DebuginfodServer, server_id)
    if server is None:
        raise NotFoundError("debuginfod.not_found")
    session.delete(server)
    audit.record_action(
        session, actor, "debuginfod.disallowed", "debuginfod_server", server.id, url=server.url
    )


def _format_url(endpoint: HttpEndpoint) -> str:
    is_default = endpoint.port == _DEFAULT_PORTS[endpoint.scheme]
    origin = endpoint.origin.removesuffix(f":{endpoint.port}") if is_default else endpoint.origin
    return origin + endpoint.path
