"""Making, listing, re-wrapping and removing what opens hosts."""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import Any
from uuid import UUID

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    SSHCertificate,
    load_pem_private_key,
    load_ssh_private_key,
    load_ssh_public_identity,
)
from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from culprit.auth import audit, sealed
from culprit.auth.actor import Actor
from culprit.auth.policy import policy
from culprit.hosts.schemas import CredentialIn
from culprit.infra.secrets import Vault, vault
from culprit.infra.ssh_keys import fingerprint
from culprit.kit.errors import Conflict, Invalid, NotFound
from culprit.kit.uuid7 import uuid7
from culprit.models import Credential, Host

PrivateKey = ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
MIN_RSA_BITS = 2048
FIELDS = {
    "key": {"private_key"},
    "certificate": {"private_key", "certificate"},
    "password": {"password"},
    "generated_key": set[str](),
    "agent": set[str](),
}
OPTIONAL = {"key": {"passphrase"}, "certificate": {"passphrase"}, "agent": {"fingerprint"}}


def create(
    session: Session, actor: Actor, name: str, given: CredentialIn, box: Vault | None = None
) -> Credential:
    """A new credential under a name that is free. Raises Invalid for a key that cannot be read."""
    policy(actor, "credential.manage")
    if session.scalars(select(Credential).where(Credential.name == name)).first():
        raise Conflict("credential.name_taken", name=name)
    secret, public = _material(given, name)
    row = Credential(id=uuid7(), name=name, kind=given.kind, username=given.username, public=public)
    if secret:
        seal(row, secret, box or vault())
    session.add(row)
    audit.record(session, actor, "credential.created", "credential", row.id, name=name, kind=given.kind)
    return row


def replace(row: Credential, given: CredentialIn, box: Vault) -> None:
    """Another secret in the same row. Raises Invalid."""
    secret, public = _material(given, row.name)
    row.kind, row.username, row.public = given.kind, given.username, public
    seal(row, secret, box)


def free_name(session: Session, wanted: str) -> str:
    """`wanted`, or with a number behind where it is taken."""
    taken = set(session.scalars(select(Credential.name).where(Credential.name.startswith(wanted))))
    if wanted not in taken:
        return wanted
    return next(name for n in range(2, len(taken) + 3) if (name := f"{wanted} {n}") not in taken)


def seal(row: Credential, secret: dict[str, str], box: Vault) -> None:
    """Put the secret into the row, sealed."""
    sealed.seal(row, json.dumps(secret), box)


def remove(session: Session, actor: Actor, credential_id: UUID) -> None:
    """Remove a credential that no active host uses; retired hosts forget it."""
    policy(actor, "credential.manage")
    row = session.get(Credential, credential_id, with_for_update=True)
    if row is None:
        raise NotFound("credential.not_found")
    uses = or_(Host.credential_id == row.id, Host.sudo_credential_id == row.id)
    hosts = session.scalars(select(Host).where(uses)).all()
    active = [host.name for host in hosts if host.state == "active"]
    if active:
        raise Conflict("credential.in_use", name=row.name, hosts=len(active), first=active[0])
    for host in hosts:
        host.credential_id = None if host.credential_id == row.id else host.credential_id
        host.sudo_credential_id = None if host.sudo_credential_id == row.id else host.sudo_credential_id
    session.flush()
    session.delete(row)
    audit.record(session, actor, "credential.removed", "credential", row.id, name=row.name)


def uses(session: Session, ids: list[UUID]) -> dict[UUID, int]:
    """How many active hosts each credential opens."""
    query = select(Host.credential_id, func.count()).where(
        Host.credential_id.in_(ids), Host.state == "active"
    )
    return {row[0]: row[1] for row in session.execute(query.group_by(Host.credential_id)) if row[0]}


def _material(given: CredentialIn, name: str) -> tuple[dict[str, str], dict[str, Any]]:
    """(what is sealed, what may be shown). Raises Invalid."""
    present = {
        name
        for name in ("private_key", "passphrase", "certificate", "password", "fingerprint")
        if getattr(given, name) is not None
    }
    needs, may = FIELDS[given.kind], OPTIONAL.get(given.kind, set())
    if not needs <= present or not present <= needs | may:
        raise Invalid("credential.wrong_fields", kind=given.kind, needs=", ".join(sorted(needs)) or "nothing")
    if given.kind == "agent":
        return {}, {"fingerprint": given.fingerprint} if given.fingerprint else {}
    if given.kind == "password":
        assert given.password is not None
        return {"secret": given.password.get_secret_value()}, {}
    if given.kind == "generated_key":
        key: PrivateKey = ed25519.Ed25519PrivateKey.generate()
    else:
        assert given.private_key is not None
        passphrase = given.passphrase.get_secret_value() if given.passphrase else None
        key = read_private_key(given.private_key.get_secret_value(), passphrase)
    secret = {"secret": _openssh(key)}
    public = describe(key, "culprit-" + re.sub(r"[^A-Za-z0-9.-]+", "-", name))
    if given.kind == "certificate":
        assert given.certificate is not None
        secret["certificate"] = given.certificate.strip()
        public |= _certificate(given.certificate, key)
    return secret, public


def read_private_key(text: str, passphrase: str | None) -> PrivateKey:
    """A private key in OpenSSH's or PEM form. Raises Invalid, without a word of the key in it."""
    data = (text.strip() + "\n").encode("utf-8", "replace")
    password = passphrase.encode() if passphrase else None
    load = load_ssh_private_key if b"OPENSSH PRIVATE KEY" in data else load_pem_private_key
    try:
        key = load(data, password)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        encrypted = "password" in str(error).lower() or "encrypted" in str(error).lower()
        raise Invalid("credential.passphrase" if encrypted else "credential.key_unreadable") from None
    if isinstance(key, rsa.RSAPrivateKey) and key.key_size < MIN_RSA_BITS:
        raise Invalid("credential.key_weak", bits=key.key_size, needs=MIN_RSA_BITS)
    if not isinstance(key, PrivateKey):
        raise Invalid("credential.key_kind")
    return key


def describe(key: PrivateKey, comment: str) -> dict[str, Any]:
    """What may be shown of a key: type, fingerprint, and the line for authorized_keys.

    `restrict` switches off forwarding, terminals and user rc on the host; commands still run. A jump host
    has to forward.
    """
    line = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    kind, blob = line.split()[:2]
    return {
        "type": kind,
        "fingerprint": fingerprint_of(blob),
        "authorized_keys_line": f"restrict {kind} {blob} {comment}",
        "authorized_keys_line_jump": f"restrict,port-forwarding {kind} {blob} {comment}",
    }


def fingerprint_of(base64_blob: str) -> str:
    """The fingerprint of a public key as it stands in a line. Raises Invalid."""
    return fingerprint(decode_blob(base64_blob))


def decode_blob(text: str) -> bytes:
    """The wire bytes of a public key. Raises Invalid."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Invalid("host.key_unreadable") from None


def _openssh(key: PrivateKey) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()


def _certificate(text: str, key: PrivateKey) -> dict[str, Any]:
    """What may be shown of a user certificate; raises Invalid where it is none, or of another key."""
    try:
        loaded = load_ssh_public_identity(text.strip().encode("utf-8", "replace"))
    except (ValueError, UnsupportedAlgorithm):
        raise Invalid("credential.certificate_unreadable") from None
    if not isinstance(loaded, SSHCertificate):
        raise Invalid("credential.certificate_unreadable")
    own = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    if loaded.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH) != own:
        raise Invalid("credential.certificate_of_another_key")
    return {
        "principals": [name.decode("utf-8", "replace") for name in loaded.valid_principals][:20],
        "valid_after": loaded.valid_after,
        "valid_before": min(loaded.valid_before, 1 << 53),
        "serial": str(loaded.serial),
    }
