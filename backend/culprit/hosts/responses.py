"""Rows about hosts as they are sent."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from culprit.hosts import credentials, queries
from culprit.hosts.schemas import (
    CredentialRead,
    HostCredential,
    HostKey,
    HostRead,
    LastRun,
    Named,
    NetworkRuleRead,
    PreflightRead,
)
from culprit.models import Credential, Host, NetworkRule, Preflight


def hosts(session: Session, rows: Sequence[Host]) -> list[HostRead]:
    """Hosts with their newest run, in two queries however many they are."""
    ids = [row.id for row in rows]
    runs, counts = queries.last_runs(session, ids), queries.capture_counts(session, ids)
    answer = []
    for row in rows:
        run = runs.get(row.id)
        last = LastRun(id=run.id, state=run.state, at=run.started_at or run.queued_at) if run else None
        answer.append(_host(row, last, counts.get(row.id, 0)))
    return answer


def host(session: Session, row: Host) -> HostRead:
    """One host."""
    return hosts(session, [row])[0]


def _host(row: Host, last: LastRun | None, captures: int) -> HostRead:
    key = None
    if row.host_key_type and row.host_key_fingerprint:
        key = HostKey(type=row.host_key_type, fingerprint=row.host_key_fingerprint, pinned_at=row.pinned_at)
    opens = row.credential
    return HostRead(
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


def credential_list(session: Session, rows: Sequence[Credential]) -> list[CredentialRead]:
    """Credentials without what opens."""
    counts = credentials.uses(session, [row.id for row in rows])
    return [
        CredentialRead(
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


def rule(row: NetworkRule) -> NetworkRuleRead:
    """One line of the allow-list."""
    return NetworkRuleRead(
        id=row.id,
        cidr=str(row.cidr),
        port_from=row.port_from,
        port_to=row.port_to,
        note=row.note,
        created_at=row.created_at,
    )


def preflight(row: Preflight) -> PreflightRead:
    """One look at a host."""
    return PreflightRead.model_validate(row, from_attributes=True)
