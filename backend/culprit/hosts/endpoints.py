"""HTTP endpoints of hosts, their keys, credentials, the network allow-list and preflight checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse

from culprit.accounts.authorization import authorize
from culprit.accounts.dependencies import CurrentActor
from culprit.accounts.idempotency import Once
from culprit.hosts import bulk_import, credentials, network_allowlist, queries, responses, service
from culprit.hosts.schemas import (
    CredentialCreate,
    CredentialResponse,
    HostCreate,
    HostImportRequest,
    HostImportResponse,
    HostKeyScanRequest,
    HostKeyScanResponse,
    HostKeyUpdate,
    HostResponse,
    HostUpdate,
    NetworkRuleCreate,
    NetworkRuleResponse,
    PreflightResponse,
)
from culprit.infra.models.hosts.credential import Credential
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.hosts.network_rule import NetworkRule
from culprit.infra.request_dependencies import DbDep
from culprit.web.errors import ConflictError, InvalidRequestError, NotFoundError
from culprit.web.http.pagination import Cursor, Limit, Page, build_page

router = APIRouter()
LabelFilter = Annotated[list[str], Query(max_length=20, description="`name:value`; all of them must hold")]
Search = Annotated[str, Query(max_length=200, description="Part of a name or an address")]


@router.get("/hosts", tags=["hosts"], summary="Hosts")
def list_hosts(  # noqa: PLR0917
    db: DbDep,
    actor: CurrentActor,
    q: Search = "",
    label: LabelFilter = [],  # noqa: B006
    state: Literal["active", "imported", "retired"] | None = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Page[HostResponse]:
    """List visible hosts, newest first; retired ones only on request."""
    authorize(actor, "host.read")
    labels = [parse_label(text) for text in label]

    def build_rows(rows: Sequence[Host]) -> list[HostResponse]:
        return responses.build_hosts(db, rows)

    query = queries.select_hosts(actor, q=q, labels=labels, state=state)
    return build_page(db, query, Host.id, limit=limit, cursor=cursor, read=build_rows)


def parse_label(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name:
        raise InvalidRequestError("host.label_filter", label=text[:100])
    return name, value


@router.post("/hosts", status_code=201, response_model=HostResponse, tags=["hosts"], summary="Add a host")
def add_host(body: HostCreate, db: DbDep, actor: CurrentActor, once: Once) -> HostResponse | JSONResponse:
    """Add a host. Its address must be on the network allow-list, and its key must be the confirmed one."""
    # Before the idempotency key is written: equal requests would otherwise wait for the host together with
    # this one.
    met = None if once.is_done() else service.probe_host(db, actor, body)

    def make() -> HostResponse:
        if met is None:
            raise ConflictError("request.collision", constraint="Idempotency-Key")
        host = service.add_host(db, actor, body, met)
        db.flush()
        return responses.build_host(db, host)

    return once(body.model_dump(mode="json", exclude=service.SECRETS), make)


@router.post("/host-key-scans", tags=["hosts"], summary="Ask a server for its host key")
def scan_host_key(body: HostKeyScanRequest, db: DbDep, actor: CurrentActor) -> HostKeyScanResponse:
    """Read the key of a server. It is not trusted until a user compares its fingerprint with the host."""
    key = service.scan_host_key(db, actor, body)
    return HostKeyScanResponse(type=key.type, fingerprint=key.fingerprint, public_key=key.line)


@router.post("/hosts/import", tags=["hosts"], summary="Import hosts")
def import_hosts(body: HostImportRequest, db: DbDep, actor: CurrentActor) -> HostImportResponse:
    """Import hosts from ssh_config, an Ansible inventory, CSV or known_hosts, with a result for each host."""
    return bulk_import.import_hosts(db, actor, body)


@router.get("/hosts/{host_id}", tags=["hosts"], summary="One host")
def get_host(host_id: UUID, db: DbDep, actor: CurrentActor) -> HostResponse:
    """Return a host with its facts, its trusted key and its newest run."""
    authorize(actor, "host.read")
    return responses.build_host(db, queries.get_host(db, actor, host_id))


@router.patch("/hosts/{host_id}", tags=["hosts"], summary="Change a host")
def update_host(host_id: UUID, body: HostUpdate, db: DbDep, actor: CurrentActor) -> HostResponse:
    """Change the given fields."""
    return responses.build_host(db, service.update_host(db, actor, host_id, body))


@router.delete("/hosts/{host_id}", status_code=204, tags=["hosts"], summary="Retire a host")
def retire_host(host_id: UUID, db: DbDep, actor: CurrentActor) -> None:
    """Retire a host. Its captures are kept."""
    service.retire_host(db, actor, host_id)


@router.put("/hosts/{host_id}/host-key", tags=["hosts"], summary="Trust a host key from now on")
def trust_host_key(host_id: UUID, body: HostKeyUpdate, db: DbDep, actor: CurrentActor) -> HostResponse:
    """Trust the first or a changed key. Captures of a host with a changed key are refused until then."""
    return responses.build_host(db, service.trust_key(db, actor, host_id, body))


@router.post("/hosts/{host_id}/check", status_code=202, tags=["hosts"], summary="Look at a host")
def check_host(host_id: UUID, db: DbDep, actor: CurrentActor) -> PreflightResponse:
    """Start a preflight check: the host's facts, and which collectors work there."""
    return responses.build_preflight(service.request_check(db, actor, host_id))


@router.get("/hosts/{host_id}/preflight", tags=["hosts"], summary="The newest look at a host")
def get_preflight(host_id: UUID, db: DbDep, actor: CurrentActor) -> PreflightResponse:
    """Return the latest preflight check; 404 if there is none."""
    authorize(actor, "host.read")
    host = queries.get_host(db, actor, host_id)
    latest = queries.find_latest_preflight(db, host.id)
    if latest is None:
        raise NotFoundError("host.no_preflight", host=host.name)
    return responses.build_preflight(latest)


@router.get("/credentials", tags=["credentials"], summary="Credentials")
def list_credentials(
    db: DbDep, actor: CurrentActor, limit: Limit = 100, cursor: Cursor = None
) -> Page[CredentialResponse]:
    """List credentials without their secrets."""
    authorize(actor, "credential.manage")

    def build_rows(rows: Sequence[Credential]) -> list[CredentialResponse]:
        return responses.build_credentials(db, rows)

    return build_page(
        db, queries.select_credentials(), Credential.id, limit=limit, cursor=cursor, read=build_rows
    )


@router.post(
    "/credentials",
    status_code=201,
    response_model=CredentialResponse,
    tags=["credentials"],
    summary="Make a credential",
)
def create_credential(
    body: CredentialCreate, db: DbDep, actor: CurrentActor, once: Once
) -> CredentialResponse | JSONResponse:
    """Create a credential. For a generated key, add `public.authorized_keys_line` to the host."""

    def make() -> CredentialResponse:
        row = credentials.create_credential(db, actor, body.name, body)
        return responses.build_credentials(db, [row])[0]

    return once(body.model_dump(mode="json", exclude=service.SECRETS), make)


@router.delete("/credentials/{credential_id}", status_code=204, tags=["credentials"], summary="Remove one")
def delete_credential(credential_id: UUID, db: DbDep, actor: CurrentActor) -> None:
    """Delete a credential; refused while an active host uses it."""
    credentials.delete_credential(db, actor, credential_id)


@router.get("/network-rules", tags=["network rules"], summary="The allow-list")
def list_network_rules(
    db: DbDep, actor: CurrentActor, limit: Limit = 100, cursor: Cursor = None
) -> Page[NetworkRuleResponse]:
    """List the networks and ports of hosts that can be added."""
    authorize(actor, "network.manage")

    def build_rows(rows: Sequence[NetworkRule]) -> list[NetworkRuleResponse]:
        return [responses.build_network_rule(row) for row in rows]

    return build_page(
        db, queries.select_network_rules(), NetworkRule.id, limit=limit, cursor=cursor, read=build_rows
    )


@router.post(
    "/network-rules",
    status_code=201,
    response_model=NetworkRuleResponse,
    tags=["network rules"],
    summary="Allow a network",
)
def create_network_rule(
    body: NetworkRuleCreate, db: DbDep, actor: CurrentActor, once: Once
) -> NetworkRuleResponse | JSONResponse:
    """Allow a network. Loopback, link-local and metadata addresses require a rule of their own."""
    return once(
        body, lambda: responses.build_network_rule(network_allowlist.create_network_rule(db, actor, body))
    )


@router.delete("/network-rules/{rule_id}", status_code=204, tags=["network rules"], summary="Disallow")
def delete_network_rule(rule_id: UUID, db: DbDep, actor: CurrentActor) -> None:
    """Delete a rule; addresses that only it allowed are not contacted any more."""
    network_allowlist.delete_network_rule(db, actor, rule_id)
