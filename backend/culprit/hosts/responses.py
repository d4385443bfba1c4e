"""Build responses of hosts."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from culprit.hosts import queries
from culprit.hosts.schemas import (
    CredentialResponse,
    HostCredential,
    HostKey,
    HostResponse,
    LastRun,
    Named,
    NetworkRuleResponse,
    PreflightResponse,
)
from culprit.infra.models.hosts.credential import Credential
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.hosts.network_rule import NetworkRule
from culprit.infra.models.hosts.preflight import Preflight


def build_hosts(session: Session, rows: Sequence[Host]) -> list[HostResponse]:
    """Build hosts with their newest run, in three queries."""
    ids = [row.id for row in rows]
    runs, counts = queries.list_last_runs(session, ids), queries.count_captures(session, ids)
    answer = []
    for row in rows:
        run = runs.get(row.id)
        last = LastRun(id=run.id, state=run.state, at=run.started_at or run.queued_at) if run else None
        answer.append(_build_host(row, last, counts.get(row.id, 0)))
    return answer


def build_host(session: Session, row: Host) -> HostResponse:
    """Build one host."""
    return build_hosts(session, [row])[0]


def _build_host(row: Host, last: LastRun | None, captures: int) -> HostResponse:
    key = None
    if row.host_key_type and row.host_key_fingerprint:
        key = HostKey(
            type=row.host_key_type, fingerprint=row.host_key_fingerprint, trusted_at=row.host_key_trusted_at
        )
    opens = row.credential
    return HostResponse(
        id=row.id,
        name=row.name,
        address=row.address,
        port=row.port,
        username=row.username,
        credential=HostCredential(
            id=opens.id,
            name=opens.name,
            kind=opens.kind,
            authorized_keys_line=opens.public.get("authorized_keys_line")
            if opens.kind == "generated_key"
            else None,
        )
        if opens
        else None,
        sudo=row.sudo,
        jump_host=Named(id=row.jump_host.id, name=row.jump_host.name) if row.jump_host else None,
        labels=row.labels,
        state=row.state,
        host_key=key,
        max_silence_s=row.max_silence_s,
        allows_ptrace=row.allows_ptrace,
        facts=row.facts,
        facts_at=row.facts_at,
        last_run=last,
        captures=captures,
        created_at=row.created_at,
    )


def build_credentials(session: Session, rows: Sequence[Credential]) -> list[CredentialResponse]:
    """Build credentials without secrets."""
    counts = queries.count_credential_hosts(session, [row.id for row in rows])
    return [
        CredentialResponse(
            id=row.id,
            name=row.name,
            kind=row.kind,
            username=row.username,
            public=row.public,
            hosts=counts.get(row.id, 0),
            created_at=row.created_at,
        )
        for row in rows
    ]


def build_network_rule(row: NetworkRule) -> NetworkRuleResponse:
    """Build a rule of the network allow-list."""
    return NetworkRuleResponse(
        id=row.id,
        cidr=str(row.cidr),
        port_from=row.port_from,
        port_to=row.port_to,
        note=row.note,
        created_at=row.created_at,
    )


def build_preflight(row: Preflight) -> PreflightResponse:
    """Build a preflight check."""
    return PreflightResponse.model_validate(row, from_attributes=True)
