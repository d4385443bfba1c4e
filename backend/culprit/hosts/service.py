"""Decisions about hosts: who is enrolled, under which key, and who is asked for a look."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from culprit.auth import audit
from culprit.auth.actor import Actor
from culprit.auth.policy import in_scope, policy
from culprit.hosts import credentials, queries
from culprit.hosts.access import MAX_HOPS, hops_to, rules
from culprit.hosts.schemas import CredentialIn, HostCreate, HostUpdate, Pin, ScanKey
from culprit.infra.addresses import Rule, resolve
from culprit.infra.broker import announce
from culprit.infra.ssh import Hop, Patience, scan
from culprit.infra.ssh_errors import SshError
from culprit.infra.ssh_keys import Login, PublicKey
from culprit.kit.clock import now
from culprit.kit.errors import Conflict, Invalid, NotFound
from culprit.kit.unit_of_work import let_go
from culprit.kit.uuid7 import uuid7
from culprit.models import Credential, Host, Preflight

SCAN = Patience(connect_s=5.0, step_s=10.0)  # a person is waiting
NO_LOGIN = Login("password", "nobody")  # a scan ends before anything is said about a login
# Fields that a request's digest is made without: a digest of a password is a way to guess it.
SECRETS = {"private_key", "passphrase", "password", "sudo_password", "credential"}
PREFLIGHT_STALE = timedelta(minutes=10)


def scan_key(session: Session, actor: Actor, where: ScanKey) -> PublicKey:
    """The key that a server shows now; nothing is stored. Raises Invalid where it cannot be reached."""
    policy(actor, "host.enrol")
    way = _way(session, _jump_host(session, actor, where.jump_host_id))
    let_go(session)
    return _scan(way, where.address, where.port)


@dataclass(frozen=True, slots=True)
class Met:
    """What meeting a host before it is enrolled told: its address may be dialled, and its confirmed key."""

    key: PublicKey | None


def meet(session: Session, actor: Actor, body: HostCreate) -> Met:
    """The part of enrolling that waits for the network; holds no connection to the database meanwhile.

    Raises Invalid or Conflict with what has to be changed.
    """
    jump = _may_enrol(session, actor, body)
    way = _way(session, jump)
    let_go(session)
    _resolved(body.address, body.port, way)
    place = (body.address, body.port)
    return Met(_confirmed_key(way, place, line=body.host_key, fingerprint=body.host_key_fingerprint))


def _may_enrol(session: Session, actor: Actor, body: HostCreate) -> Host | None:
    """Raises where this host cannot be enrolled, whatever it says itself; its jump host."""
    policy(actor, "host.enrol")
    if not in_scope(actor, body.labels):
        raise Invalid("host.outside_scope")
    if session.scalars(select(Host.id).where(Host.name == body.name, Host.state == "active")).first():
        raise Conflict("host.name_taken", name=body.name)
    return _jump_host(session, actor, body.jump_host_id)


def enrol(session: Session, actor: Actor, body: HostCreate, met: Met) -> Host:
    """A new host that was met. Raises Invalid or Conflict with what has to be changed."""
    jump = _may_enrol(session, actor, body)
    key = met.key
    host = Host(
        id=uuid7(),
        name=body.name,
        address=body.address,
        port=body.port,
        username=body.username,
        credential_id=_credential(session, actor, body).id,
        labels=body.labels,
        jump_host_id=jump.id if jump else None,
        max_silence_s=body.max_silence_s,
        created_by=actor.id,
    )
    _set_sudo(session, actor, host, body.sudo, body.sudo_password)
    if key is not None:
        _pin(host, actor, key)
    session.add(host)
    audit.record(
        session, actor, "host.enrolled", "host", host.id,
        name=host.name, address=host.address, port=host.port, fingerprint=host.host_key_fingerprint,
    )  # fmt: skip
    return host


def update(session: Session, actor: Actor, host_id: UUID, body: HostUpdate) -> Host:
    """Change a host. The pinned key stays: the same machine at a new address still has it."""
    host = queries.host(session, actor, host_id, lock=True)
    policy(actor, "host.edit", host)
    changed: dict[str, Any] = {}
    if body.name is not None and body.name != host.name:
        if body.name in queries.active_names(session):
            raise Conflict("host.name_taken", name=body.name)
        changed["name"] = [host.name, body.name]
    for field in ("address", "port", "username", "max_silence_s", "allows_ptrace"):
        value = getattr(body, field)
        if value is not None and value != getattr(host, field):
            changed[field] = [getattr(host, field), value]
    if "address" in changed or "port" in changed:
        check_address(session, body.address or host.address, body.port or host.port)
    for field, (_, value) in changed.items():
        setattr(host, field, value)
    if body.labels is not None and body.labels != host.labels:
        if not in_scope(actor, body.labels):
            raise Invalid("host.outside_scope")
        changed["labels"] = [host.labels, body.labels]
        host.labels = dict(body.labels)
    if body.credential_id is not None:
        _existing(session, body.credential_id)
        host.credential_id = body.credential_id
        changed["credential"] = str(body.credential_id)
    if body.sudo is not None or body.sudo_password is not None:
        _set_sudo(session, actor, host, body.sudo or host.sudo, body.sudo_password)
        changed["sudo"] = host.sudo
    _change_jump(session, actor, host, body, changed)
    if changed:
        session.flush()
        session.refresh(host)
        audit.record(session, actor, "host.changed", "host", host.id, **{"host": host.name} | changed)
    return host


def pin(session: Session, actor: Actor, host_id: UUID, body: Pin) -> Host:
    """Trust a key from now on, the first or another one; both fingerprints go into the audit log."""
    host = queries.host(session, actor, host_id)
    _may_pin(actor, host)
    jump = session.get(Host, host.jump_host_id) if host.jump_host_id else None
    way, place = _way(session, jump), (host.address, host.port)
    let_go(session)
    key = _confirmed_key(way, place, line=body.host_key, fingerprint=body.fingerprint)
    assert key is not None
    host = queries.host(session, actor, host_id, lock=True)
    _may_pin(actor, host)
    before = host.host_key_fingerprint
    _pin(host, actor, key)
    audit.record(
        session, actor, "host.pinned", "host", host.id,
        host=host.name, before=before, after=key.fingerprint, reason=body.reason,
    )  # fmt: skip
    return host


def _may_pin(actor: Actor, host: Host) -> None:
    policy(actor, "host.pin", host)
    if host.state != "active":
        raise Conflict("host.not_active", host=host.name)


def retire(session: Session, actor: Actor, host_id: UUID) -> None:
    """Nothing connects to it any more; its captures and its timeline stay."""
    host = queries.host(session, actor, host_id, lock=True)
    policy(actor, "host.retire", host)
    if host.state == "retired":
        return
    behind = select(Host.name).where(Host.jump_host_id == host.id, Host.state == "active").limit(1)
    if name := session.scalars(behind).first():
        raise Conflict("host.is_jump_host", host=host.name, first=name)
    host.state = "retired"
    audit.record(session, actor, "host.retired", "host", host.id, host=host.name)


def request_check(session: Session, actor: Actor, host_id: UUID) -> Preflight:
    """Ask for a look at a host; one that is already on its way is not asked for twice."""
    host = queries.host(session, actor, host_id, lock=True)
    policy(actor, "host.check", host)
    if host.state != "active":
        raise Conflict("host.not_active", host=host.name)
    latest = queries.latest_preflight(session, host.id)
    if latest and latest.state in {"queued", "running"} and now() - latest.at < PREFLIGHT_STALE:
        announce(session, "culprit.check_host", latest.id)
        return latest
    preflight = Preflight(host_id=host.id, requested_by=actor.id)
    session.add(preflight)
    session.flush()
    announce(session, "culprit.check_host", preflight.id)
    return preflight


def check_address(session: Session, address: str, port: int) -> None:
    """Raises Invalid where the allow-list does not name what the address means now."""
    _resolved(address, port, Way((), rules(session)))


def _resolved(address: str, port: int, way: Way) -> None:
    try:
        resolve(address, port, way.rules)
    except SshError as error:
        raise _refused(error) from None


def check_jump_chain(session: Session, host: Host | None, jump: Host) -> None:
    """Raises Invalid for a chain over `jump` that comes back to `host` or is too long."""
    at: Host | None = jump
    for _ in range(MAX_HOPS - 1):
        if at is None:
            return
        if host is not None and at.id == host.id:
            raise Invalid("host.jump_circle", host=host.name)
        at = session.get(Host, at.jump_host_id) if at.jump_host_id else None
    if at is not None:
        raise Conflict("host.too_many_jumps", host=jump.name, limit=MAX_HOPS - 1)


def parse_public_key(line: str) -> PublicKey:
    """A line as in known_hosts, without names. Raises Invalid where type and bytes do not agree."""
    kind, text = line.split()[:2]
    blob = credentials.decode_blob(text)
    length = int.from_bytes(blob[:4], "big")
    if blob[4 : 4 + length] != kind.encode() or len(blob) <= 4 + length:
        raise Invalid("host.key_unreadable")
    return PublicKey(kind, blob)


@dataclass(frozen=True, slots=True)
class Way:
    """All that the database says about how to get to a host; read before the network is waited for."""

    hops: tuple[Hop, ...]
    rules: tuple[Rule, ...]


def _way(session: Session, jump: Host | None) -> Way:
    return Way(hops_to(session, jump) if jump else (), rules(session))


def _scan(way: Way, address: str, port: int) -> PublicKey:
    target = Hop(address, address, port, NO_LOGIN, None)
    try:
        return scan((*way.hops, target), way.rules, SCAN)
    except SshError as error:
        raise _refused(error) from None


def _refused(error: SshError) -> Invalid:
    """What the world did, as an answer. What a server sent as its banner is never repeated."""
    shown: Mapping[str, Any] = {k: v for k, v in error.params.items() if k != "reason"}
    return Invalid(f"ssh.{error.kind}", **shown)


def _confirmed_key(
    way: Way, where: tuple[str, int], *, line: str | None, fingerprint: str | None
) -> PublicKey | None:
    """The key that somebody confirmed; None where nobody has yet."""
    if line is not None:
        key = parse_public_key(line)
        if fingerprint is not None and key.fingerprint != fingerprint:
            raise Invalid("host.key_differs", confirmed=fingerprint, shown=key.fingerprint)
        return key
    if fingerprint is None:
        return None
    key = _scan(way, *where)
    if key.fingerprint != fingerprint:
        raise Conflict("host.key_differs", confirmed=fingerprint, shown=key.fingerprint)
    return key


def _pin(host: Host, actor: Actor, key: PublicKey) -> None:
    host.host_key_type, host.host_key = key.type, key.blob
    host.host_key_fingerprint = key.fingerprint
    host.pinned_at, host.pinned_by = now(), actor.id


def _jump_host(session: Session, actor: Actor, jump_id: UUID | None) -> Host | None:
    if jump_id is None:
        return None
    try:
        jump = queries.host(session, actor, jump_id)
    except NotFound:
        raise Invalid("host.jump_unknown") from None
    if jump.state != "active" or jump.host_key is None:
        raise Invalid("host.jump_not_ready", host=jump.name)
    check_jump_chain(session, None, jump)
    return jump


def _change_jump(
    session: Session, actor: Actor, host: Host, body: HostUpdate, changed: dict[str, Any]
) -> None:
    if body.no_jump_host:
        host.jump_host_id = None
        changed["jump_host"] = None
    elif body.jump_host_id is not None and body.jump_host_id != host.jump_host_id:
        jump = _jump_host(session, actor, body.jump_host_id)
        assert jump is not None
        check_jump_chain(session, host, jump)
        host.jump_host_id = jump.id
        changed["jump_host"] = jump.name


def _credential(session: Session, actor: Actor, body: HostCreate) -> Credential:
    if (body.credential_id is None) == (body.credential is None):
        raise Invalid("host.one_credential")
    if body.credential_id is not None:
        return _existing(session, body.credential_id)
    assert body.credential is not None
    name = credentials.free_name(session, body.name[:60])
    return credentials.create(session, actor, name, body.credential)


def _existing(session: Session, credential_id: UUID) -> Credential:
    found = session.get(Credential, credential_id)
    if found is None:
        raise Invalid("credential.not_found")
    return found


def _set_sudo(session: Session, actor: Actor, host: Host, sudo: str, password: Any) -> None:
    """sudo `password` needs one, now or from before; the others forget it."""
    if sudo != "password":
        if password is not None:
            raise Invalid("host.sudo_password_unused", sudo=sudo)
        host.sudo, host.sudo_credential_id = sudo, None
        return
    if password is not None:
        name = credentials.free_name(session, f"{host.name[:50]} sudo")
        given = CredentialIn(kind="password", password=password)
        host.sudo_credential_id = credentials.create(session, actor, name, given).id
    elif host.sudo_credential_id is None:
        raise Invalid("host.sudo_password_needed")
    host.sudo = sudo
