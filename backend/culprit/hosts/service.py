"""Add, change and retire hosts, trust their keys, and request preflight checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.accounts import audit
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize, is_in_scope
from culprit.accounts.queries.restrictions import load_network_rules
from culprit.hosts import credentials, queries
from culprit.hosts.access import MAX_HOPS, build_hops
from culprit.hosts.schemas import CredentialSpec, HostCreate, HostKeyScanRequest, HostKeyUpdate, HostUpdate
from culprit.infra.db.clock import utc_now
from culprit.infra.db.unit_of_work import release_and_expire
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.hosts.credential import Credential
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.hosts.preflight import Preflight
from culprit.infra.network.addresses import AddressRule, resolve_address
from culprit.infra.ssh.connection import SshHop, SshTimeouts, read_host_key
from culprit.infra.ssh.errors import SshError
from culprit.infra.ssh.keys import Login, PublicKey
from culprit.infra.task_queue import enqueue_after_commit
from culprit.web.errors import ConflictError, InvalidRequestError, NotFoundError

SCAN_TIMEOUTS = SshTimeouts(connect_s=5.0, step_s=10.0)  # a user is waiting
NO_LOGIN = Login("password", "nobody")  # a scan ends before authentication
# Fields that are not part of a request's digest: passwords could be guessed from it.
SECRETS = {"private_key", "passphrase", "password", "sudo_password", "credential"}
PREFLIGHT_STALE = timedelta(minutes=10)


def scan_host_key(session: Session, actor: Actor, where: HostKeyScanRequest) -> PublicKey:
    """Read the key of a server; nothing is stored. Raises InvalidRequestError if it cannot be reached."""
    authorize(actor, "host.add")
    route = _load_route(session, _get_jump_host(session, actor, where.jump_host_id))
    release_and_expire(session)
    return _scan_key(route, where.address, where.port)


@dataclass(frozen=True, slots=True)
class ProbedHost:
    """Result of contacting a host before it is added: its address is allowed, and its confirmed key."""

    key: PublicKey | None


def probe_host(session: Session, actor: Actor, body: HostCreate) -> ProbedHost:
    """Contact a host before it is added, without holding a database connection.

    Raises InvalidRequestError or ConflictError with what must be changed.
    """
    jump = _require_addable(session, actor, body)
    route = _load_route(session, jump)
    release_and_expire(session)
    _require_resolvable(body.address, body.port, route)
    endpoint = (body.address, body.port)
    return ProbedHost(
        _get_confirmed_key(route, endpoint, line=body.host_key, fingerprint=body.host_key_fingerprint)
    )


def _require_addable(session: Session, actor: Actor, body: HostCreate) -> Host | None:
    """Raise if this host cannot be added for a reason in the database; return its jump host."""
    authorize(actor, "host.add")
    if not is_in_scope(actor, body.labels):
        raise InvalidRequestError("host.outside_scope")
    if queries.has_active_host(session, body.name):
        raise ConflictError("host.name_taken", name=body.name)
    return _get_jump_host(session, actor, body.jump_host_id)


def add_host(session: Session, actor: Actor, body: HostCreate, met: ProbedHost) -> Host:
    """Add a probed host. Raises InvalidRequestError or ConflictError with what must be changed."""
    jump = _require_addable(session, actor, body)
    key = met.key
    host = Host(
        id=new_uuid7(),
        name=body.name,
        address=body.address,
        port=body.port,
        username=body.username,
        credential_id=_select_credential(session, actor, body).id,
        labels=body.labels,
        jump_host_id=jump.id if jump else None,
        max_silence_s=body.max_silence_s,
        created_by=actor.id,
    )
    _set_sudo(session, actor, host, body.sudo, body.sudo_password)
    if key is not None:
        _set_host_key(host, actor, key)
    session.add(host)
    audit.record_action(
        session, actor, "host.added", "host", host.id,
        name=host.name, address=host.address, port=host.port, fingerprint=host.host_key_fingerprint,
    )  # fmt: skip
    return host


def update_host(session: Session, actor: Actor, host_id: UUID, body: HostUpdate) -> Host:
    """Change a host. The trusted key is kept: the same host at a new address has the same key."""
    host = queries.get_host(session, actor, host_id, lock=True)
    authorize(actor, "host.edit", host)
    changed: dict[str, Any] = {}
    if body.name is not None and body.name != host.name:
        if body.name in queries.list_active_names(session):
            raise ConflictError("host.name_taken", name=body.name)
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
        if not is_in_scope(actor, body.labels):
            raise InvalidRequestError("host.outside_scope")
        changed["labels"] = [host.labels, body.labels]
        host.labels = dict(body.labels)
    if body.credential_id is not None:
        _get_credential(session, body.credential_id)
        host.credential_id = body.credential_id
        changed["credential"] = str(body.credential_id)
    if body.sudo is not None or body.sudo_password is not None:
        _set_sudo(session, actor, host, body.sudo or host.sudo, body.sudo_password)
        changed["sudo"] = host.sudo
    _update_jump_host(session, actor, host, body, changed)
    if changed:
        session.flush()
        session.refresh(host)
        audit.record_action(session, actor, "host.changed", "host", host.id, **{"host": host.name} | changed)
    return host


def trust_key(session: Session, actor: Actor, host_id: UUID, body: HostKeyUpdate) -> Host:
    """Trust a key, the first or another one; both fingerprints are recorded in the audit log."""
    host = queries.get_host(session, actor, host_id)
    _require_trustable(actor, host)
    jump = session.get(Host, host.jump_host_id) if host.jump_host_id else None
    route, endpoint = _load_route(session, jump), (host.address, host.port)
    release_and_expire(session)
    key = _get_confirmed_key(route, endpoint, line=body.host_key, fingerprint=body.fingerprint)
    assert key is not None
    host = queries.get_host(session, actor, host_id, lock=True)
    _require_trustable(actor, host)
    before = host.host_key_fingerprint
    _set_host_key(host, actor, key)
    audit.record_action(
        session, actor, "host.key_trusted", "host", host.id,
        host=host.name, before=before, after=key.fingerprint, reason=body.reason,
    )  # fmt: skip
    return host


def _require_trustable(actor: Actor, host: Host) -> None:
    authorize(actor, "host.trust_key", host)
    if host.state != "active":
        raise ConflictError("host.not_active", host=host.name)


def retire_host(session: Session, actor: Actor, host_id: UUID) -> None:
    """Retire a host: it is not contacted any more; its captures and its timeline are kept."""
    host = queries.get_host(session, actor, host_id, lock=True)
    authorize(actor, "host.retire", host)
    if host.state == "retired":
        return
    if name := queries.find_jumping_host(session, host.id):
        raise ConflictError("host.is_jump_host", host=host.name, first=name)
    host.state = "retired"
    audit.record_action(session, actor, "host.retired", "host", host.id, host=host.name)


def request_check(session: Session, actor: Actor, host_id: UUID) -> Preflight:
    """Enqueue a preflight check, unless one is already queued."""
    host = queries.get_host(session, actor, host_id, lock=True)
    authorize(actor, "host.check", host)
    if host.state != "active":
        raise ConflictError("host.not_active", host=host.name)
    latest = queries.find_latest_preflight(session, host.id)
    if latest and latest.state in {"queued", "running"} and utc_now() - latest.at < PREFLIGHT_STALE:
        enqueue_after_commit(session, "culprit.check_host", latest.id)
        return latest
    preflight = Preflight(host_id=host.id, requested_by=actor.id)
    session.add(preflight)
    session.flush()
    enqueue_after_commit(session, "culprit.check_host", preflight.id)
    return preflight


def check_address(session: Session, address: str, port: int) -> None:
    """Raise InvalidRequestError if the allow-list does not include the current addresses of the name."""
    _require_resolvable(address, port, HostRoute((), load_network_rules(session)))


def _require_resolvable(address: str, port: int, way: HostRoute) -> None:
    try:
        resolve_address(address, port, way.rules)
    except SshError as error:
        raise _to_invalid(error) from None


def check_jump_chain(session: Session, host: Host | None, jump: Host) -> None:
    """Raise InvalidRequestError if a chain over `jump` returns to `host` or is too long."""
    at: Host | None = jump
    for _ in range(MAX_HOPS - 1):
        if at is None:
            return
        if host is not None and at.id == host.id:
            raise InvalidRequestError("host.jump_circle", host=host.name)
        at = session.get(Host, at.jump_host_id) if at.jump_host_id else None
    if at is not None:
        raise ConflictError("host.too_many_jumps", host=jump.name, limit=MAX_HOPS - 1)


def parse_public_key(line: str) -> PublicKey:
    """Parse a known_hosts line without names. Raises InvalidRequestError if type and bytes do not match."""
    kind, text = line.split()[:2]
    blob = credentials.decode_key(text)
    length = int.from_bytes(blob[:4], "big")
    if blob[4 : 4 + length] != kind.encode() or len(blob) <= 4 + length:
        raise InvalidRequestError("host.key_unreadable")
    return PublicKey(kind, blob)


@dataclass(frozen=True, slots=True)
class HostRoute:
    """The route to a host from the database, read before the network is used."""

    hops: tuple[SshHop, ...]
    rules: tuple[AddressRule, ...]


def _load_route(session: Session, jump: Host | None) -> HostRoute:
    return HostRoute(build_hops(session, jump) if jump else (), load_network_rules(session))


def _scan_key(way: HostRoute, address: str, port: int) -> PublicKey:
    target = SshHop(address, address, port, NO_LOGIN, None)
    try:
        return read_host_key((*way.hops, target), way.rules, SCAN_TIMEOUTS)
    except SshError as error:
        raise _to_invalid(error) from None


def _to_invalid(error: SshError) -> InvalidRequestError:
    """Convert a connection error to a response, without the untrusted banner of the server."""
    displayed: Mapping[str, Any] = {k: v for k, v in error.params.items() if k != "reason"}
    return InvalidRequestError(f"ssh.{error.kind}", **displayed)


def _get_confirmed_key(
    way: HostRoute, where: tuple[str, int], *, line: str | None, fingerprint: str | None
) -> PublicKey | None:
    """Return the confirmed key, or None if the host has none."""
    if line is not None:
        key = parse_public_key(line)
        if fingerprint is not None and key.fingerprint != fingerprint:
            raise InvalidRequestError("host.key_differs", confirmed=fingerprint, shown=key.fingerprint)
        return key
    if fingerprint is None:
        return None
    key = _scan_key(way, *where)
    if key.fingerprint != fingerprint:
        raise ConflictError("host.key_differs", confirmed=fingerprint, shown=key.fingerprint)
    return key


def _set_host_key(host: Host, actor: Actor, key: PublicKey) -> None:
    host.host_key_type, host.host_key = key.type, key.blob
    host.host_key_fingerprint = key.fingerprint
    host.host_key_trusted_at, host.host_key_trusted_by = utc_now(), actor.id


def _get_jump_host(session: Session, actor: Actor, jump_id: UUID | None) -> Host | None:
    if jump_id is None:
        return None
    try:
        jump = queries.get_host(session, actor, jump_id)
    except NotFoundError:
        raise InvalidRequestError("host.jump_unknown") from None
    if jump.state != "active" or jump.host_key is None:
        raise InvalidRequestError("host.jump_not_ready", host=jump.name)
    check_jump_chain(session, None, jump)
    return jump


def _update_jump_host(
    session: Session, actor: Actor, host: Host, body: HostUpdate, changed: dict[str, Any]
) -> None:
    if body.no_jump_host:
        host.jump_host_id = None
        changed["jump_host"] = None
    elif body.jump_host_id is not None and body.jump_host_id != host.jump_host_id:
        jump = _get_jump_host(session, actor, body.jump_host_id)
        assert jump is not None
        check_jump_chain(session, host, jump)
        host.jump_host_id = jump.id
        changed["jump_host"] = jump.name


def _select_credential(session: Session, actor: Actor, body: HostCreate) -> Credential:
    if (body.credential_id is None) == (body.credential is None):
        raise InvalidRequestError("host.one_credential")
    if body.credential_id is not None:
        return _get_credential(session, body.credential_id)
    assert body.credential is not None
    name = credentials.find_free_name(session, body.name[:60])
    return credentials.create_credential(session, actor, name, body.credential)


def _get_credential(session: Session, credential_id: UUID) -> Credential:
    credential = session.get(Credential, credential_id)
    if credential is None:
        raise InvalidRequestError("credential.not_found")
    return credential


def _set_sudo(session: Session, actor: Actor, host: Host, sudo: str, password: Any) -> None:
    """Set the sudo method; `password` needs a new or stored one, others delete it."""
    if sudo != "password":
        if password is not None:
            raise InvalidRequestError("host.sudo_password_unused", sudo=sudo)
        host.sudo, host.sudo_credential_id = sudo, None
        return
    if password is not None:
        name = credentials.find_free_name(session, f"{host.name[:50]} sudo")
        credential_spec = CredentialSpec(kind="password", password=password)
        host.sudo_credential_id = credentials.create_credential(session, actor, name, credential_spec).id
    elif host.sudo_credential_id is None:
        raise InvalidRequestError("host.sudo_password_needed")
    host.sudo = sudo
