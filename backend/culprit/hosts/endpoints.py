"""Hosts, their keys, credentials, the allow-list and preflights over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse
from sqlalchemy import select

from culprit.auth.dependencies import CurrentActor
from culprit.auth.idempotency import Once
from culprit.auth.policy import policy
from culprit.hosts import bulk, credentials, networks, queries, read, service
from culprit.hosts.schemas import (
    CredentialCreate,
    CredentialRead,
    HostCreate,
    HostImport,
    HostRead,
    HostUpdate,
    ImportAnswer,
    NetworkRuleCreate,
    NetworkRuleRead,
    Pin,
    PreflightRead,
    ScanKey,
    ScannedKey,
)
from culprit.infra.db import Db
from culprit.kit.cursor import Cursor, Limit, Page, page
from culprit.kit.errors import Conflict, Invalid, NotFound
from culprit.models import Credential, Host, NetworkRule

router = APIRouter()
LabelFilter = Annotated[list[str], Query(max_length=20, description="`name:value`; all of them must hold")]
Search = Annotated[str, Query(max_length=200, description="Part of a name or an address")]


@router.get("/hosts", tags=["hosts"], summary="Hosts")
def list_hosts(  # noqa: PLR0917
    db: Db,
    actor: CurrentActor,
    q: Search = "",
    label: LabelFilter = [],  # noqa: B006
    state: Literal["active", "imported", "retired"] | None = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Page[HostRead]:
    """The visible ones, newest first; retired ones only when asked for."""
    policy(actor, "host.read")
    labels = [_label(text) for text in label]

    def shown(rows: Sequence[Host]) -> list[HostRead]:
        return read.hosts(db, rows)

    query = queries.host_list(actor, q=q, labels=labels, state=state)
    return page(db, query, Host.id, limit=limit, cursor=cursor, read=shown)


def _label(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name:
        raise Invalid("host.label_filter", label=text[:100])
    return name, value


@router.post("/hosts", status_code=201, response_model=HostRead, tags=["hosts"], summary="Enrol a host")
def enrol(body: HostCreate, db: Db, actor: CurrentActor, once: Once) -> HostRead | JSONResponse:
    """Its address must be on the allow-list; its key must be the one that somebody confirmed."""
    # Before the key of the request is written: others who send the same would wait for the host with us.
    met = None if once.seen() else service.meet(db, actor, body)

    def make() -> HostRead:
        if met is None:
            raise Conflict("request.collision", constraint="Idempotency-Key")
        host = service.enrol(db, actor, body, met)
        db.flush()
        return read.host(db, host)

    return once(body.model_dump(mode="json", exclude=service.SECRETS), make)


@router.post("/hosts/scan-key", tags=["hosts"], summary="Ask a server for its host key")
def scan_key(body: ScanKey, db: Db, actor: CurrentActor) -> ScannedKey:
    """Nobody trusts it until its fingerprint was compared with what the host itself says."""
    key = service.scan_key(db, actor, body)
    return ScannedKey(type=key.type, fingerprint=key.fingerprint, public_key=key.line)


@router.post("/hosts/import", tags=["hosts"], summary="Enrol many hosts")
def import_hosts(body: HostImport, db: Db, actor: CurrentActor) -> ImportAnswer:
    """From ssh_config, an Ansible inventory, CSV or known_hosts, with a verdict for each host."""
    return bulk.read(db, actor, body)


@router.get("/hosts/{host_id}", tags=["hosts"], summary="One host")
def get_host(host_id: UUID, db: Db, actor: CurrentActor) -> HostRead:
    """With its facts, its pinned key and its newest run."""
    policy(actor, "host.read")
    return read.host(db, queries.host(db, actor, host_id))


@router.patch("/hosts/{host_id}", tags=["hosts"], summary="Change a host")
def update_host(host_id: UUID, body: HostUpdate, db: Db, actor: CurrentActor) -> HostRead:
    """What is not mentioned stays."""
    return read.host(db, service.update(db, actor, host_id, body))


@router.delete("/hosts/{host_id}", status_code=204, tags=["hosts"], summary="Retire a host")
def retire(host_id: UUID, db: Db, actor: CurrentActor) -> None:
    """Its captures stay."""
    service.retire(db, actor, host_id)


@router.post("/hosts/{host_id}/pin", tags=["hosts"], summary="Trust a host key from now on")
def pin(host_id: UUID, body: Pin, db: Db, actor: CurrentActor) -> HostRead:
    """The first key or a changed one. A changed key stops everything until this was done."""
    return read.host(db, service.pin(db, actor, host_id, body))


@router.post("/hosts/{host_id}/check", status_code=202, tags=["hosts"], summary="Look at a host")
def check(host_id: UUID, db: Db, actor: CurrentActor) -> PreflightRead:
    """What it is, and which collectors will work there."""
    return read.preflight(service.request_check(db, actor, host_id))


@router.get("/hosts/{host_id}/preflight", tags=["hosts"], summary="The newest look at a host")
def get_preflight(host_id: UUID, db: Db, actor: CurrentActor) -> PreflightRead:
    """404 before the first."""
    policy(actor, "host.read")
    host = queries.host(db, actor, host_id)
    latest = queries.latest_preflight(db, host.id)
    if latest is None:
        raise NotFound("host.no_preflight", host=host.name)
    return read.preflight(latest)


@router.get("/credentials", tags=["credentials"], summary="Credentials")
def list_credentials(
    db: Db, actor: CurrentActor, limit: Limit = 100, cursor: Cursor = None
) -> Page[CredentialRead]:
    """What may be shown of them."""
    policy(actor, "credential.manage")

    def shown(rows: Sequence[Credential]) -> list[CredentialRead]:
        return read.credential_list(db, rows)

    return page(db, select(Credential), Credential.id, limit=limit, cursor=cursor, read=shown)


@router.post(
    "/credentials",
    status_code=201,
    response_model=CredentialRead,
    tags=["credentials"],
    summary="Make a credential",
)
def create_credential(
    body: CredentialCreate, db: Db, actor: CurrentActor, once: Once
) -> CredentialRead | JSONResponse:
    """For a generated key the answer's `public.authorized_keys_line` is what to paste on the host."""

    def make() -> CredentialRead:
        row = credentials.create(db, actor, body.name, body)
        return read.credential_list(db, [row])[0]

    return once(body.model_dump(mode="json", exclude=service.SECRETS), make)


@router.delete("/credentials/{credential_id}", status_code=204, tags=["credentials"], summary="Remove one")
def remove_credential(credential_id: UUID, db: Db, actor: CurrentActor) -> None:
    """Refused while an active host uses it."""
    credentials.remove(db, actor, credential_id)


@router.get("/network-rules", tags=["network rules"], summary="The allow-list")
def list_rules(
    db: Db, actor: CurrentActor, limit: Limit = 100, cursor: Cursor = None
) -> Page[NetworkRuleRead]:
    """Networks and ports in which hosts may be enrolled."""
    policy(actor, "network.manage")

    def shown(rows: Sequence[NetworkRule]) -> list[NetworkRuleRead]:
        return [read.rule(row) for row in rows]

    return page(db, select(NetworkRule), NetworkRule.id, limit=limit, cursor=cursor, read=shown)


@router.post(
    "/network-rules",
    status_code=201,
    response_model=NetworkRuleRead,
    tags=["network rules"],
    summary="Allow a network",
)
def create_rule(
    body: NetworkRuleCreate, db: Db, actor: CurrentActor, once: Once
) -> NetworkRuleRead | JSONResponse:
    """Loopback, link-local and metadata addresses need a rule of their own; no wider one covers them."""
    return once(body, lambda: read.rule(networks.create(db, actor, body)))


@router.delete("/network-rules/{rule_id}", status_code=204, tags=["network rules"], summary="Disallow")
def remove_rule(rule_id: UUID, db: Db, actor: CurrentActor) -> None:
    """What only this rule allowed is not dialled any more."""
    networks.remove(db, actor, rule_id)
