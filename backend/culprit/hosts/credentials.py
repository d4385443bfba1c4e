"""Create, list, re-encrypt and delete credentials of hosts."""

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
from sqlalchemy.orm import Session

from culprit.accounts import audit, sealed_columns
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.hosts import queries
from culprit.hosts.schemas import CredentialSpec
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.hosts.credential import Credential
from culprit.infra.ssh.keys import format_fingerprint
from culprit.infra.vault import Vault, get_vault
from culprit.web.errors import ConflictError, InvalidRequestError, NotFoundError

PrivateKey = ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
MIN_RSA_BITS = 2048
REQUIRED_FIELDS = {
    "key": {"private_key"},
    "certificate": {"private_key", "certificate"},
    "password": {"password"},
    "generated_key": set[str](),
    "agent": set[str](),
}
OPTIONAL_FIELDS = {"key": {"passphrase"}, "certificate": {"passphrase"}, "agent": {"fingerprint"}}


def create_credential(
    session: Session, actor: Actor, name: str, credential_spec: CredentialSpec, box: Vault | None = None
) -> Credential:
    """Create a credential under a free name. Raises InvalidRequestError if a key cannot be parsed."""
    authorize(actor, "credential.manage")
    if queries.has_credential(session, name):
        raise ConflictError("credential.name_taken", name=name)
    secret, public = _build_secret(credential_spec, name)
    row = Credential(
        id=new_uuid7(), name=name, kind=credential_spec.kind, username=credential_spec.username, public=public
    )
    if secret:
        seal_credential(row, secret, box or get_vault())
    session.add(row)
    audit.record_action(
        session, actor, "credential.created", "credential", row.id, name=name, kind=credential_spec.kind
    )
    return row


def replace_secret(row: Credential, credential_spec: CredentialSpec, box: Vault) -> None:
    """Replace the secret in the same row. Raises InvalidRequestError."""
    secret, public = _build_secret(credential_spec, row.name)
    row.kind, row.username, row.public = credential_spec.kind, credential_spec.username, public
    seal_credential(row, secret, box)


def find_free_name(session: Session, requested: str) -> str:
    """Return `requested`, with a number appended if the name is taken."""
    taken = queries.list_credential_names(session, requested)
    if requested not in taken:
        return requested
    return next(name for n in range(2, len(taken) + 3) if (name := f"{requested} {n}") not in taken)


def seal_credential(row: Credential, secret: dict[str, str], box: Vault) -> None:
    """Encrypt the secret into the row."""
    sealed_columns.seal_secret(row, json.dumps(secret), box)


def delete_credential(session: Session, actor: Actor, credential_id: UUID) -> None:
    """Delete a credential that no active host uses; retired hosts lose it."""
    authorize(actor, "credential.manage")
    row = session.get(Credential, credential_id, with_for_update=True)
    if row is None:
        raise NotFoundError("credential.not_found")
    hosts = queries.list_credential_hosts(session, row.id)
    active = [host.name for host in hosts if host.state == "active"]
    if active:
        raise ConflictError("credential.in_use", name=row.name, hosts=len(active), first=active[0])
    for host in hosts:
        host.credential_id = None if host.credential_id == row.id else host.credential_id
        host.sudo_credential_id = None if host.sudo_credential_id == row.id else host.sudo_credential_id
    session.flush()
    session.delete(row)
    audit.record_action(session, actor, "credential.removed", "credential", row.id, name=row.name)


def _build_secret(credential_spec: CredentialSpec, name: str) -> tuple[dict[str, str], dict[str, Any]]:
    """Return (secret part, public part). Raises InvalidRequestError."""
    present = {
        name
        for name in ("private_key", "passphrase", "certificate", "password", "fingerprint")
        if getattr(credential_spec, name) is not None
    }
    needs, may = REQUIRED_FIELDS[credential_spec.kind], OPTIONAL_FIELDS.get(credential_spec.kind, set())
    if not needs <= present or not present <= needs | may:
        raise InvalidRequestError(
            "credential.wrong_fields", kind=credential_spec.kind, needs=", ".join(sorted(needs)) or "nothing"
        )
    if credential_spec.kind == "agent":
        return {}, {"fingerprint": credential_spec.fingerprint} if credential_spec.fingerprint else {}
    if credential_spec.kind == "password":
        assert credential_spec.password is not None
        return {"secret": credential_spec.password.get_secret_value()}, {}
    if credential_spec.kind == "generated_key":
        key: PrivateKey = ed25519.Ed25519PrivateKey.generate()
    else:
        assert credential_spec.private_key is not None
        passphrase = credential_spec.passphrase.get_secret_value() if credential_spec.passphrase else None
        key = read_private_key(credential_spec.private_key.get_secret_value(), passphrase)
    secret = {"secret": _to_openssh(key)}
    public = describe_key(key, "culprit-" + re.sub(r"[^A-Za-z0-9.-]+", "-", name))
    if credential_spec.kind == "certificate":
        assert credential_spec.certificate is not None
        secret["certificate"] = credential_spec.certificate.strip()
        public |= _describe_certificate(credential_spec.certificate, key)
    return secret, public


def read_private_key(text: str, passphrase: str | None) -> PrivateKey:
    """Parse a private key in OpenSSH or PEM form. Raises InvalidRequestError, without any part of the key."""
    data = (text.strip() + "\n").encode("utf-8", "replace")
    password = passphrase.encode() if passphrase else None
    load = load_ssh_private_key if b"OPENSSH PRIVATE KEY" in data else load_pem_private_key
    try:
        key = load(data, password)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        encrypted = "password" in str(error).lower() or "encrypted" in str(error).lower()
        raise InvalidRequestError(
            "credential.passphrase" if encrypted else "credential.key_unreadable"
        ) from None
    if isinstance(key, rsa.RSAPrivateKey) and key.key_size < MIN_RSA_BITS:
        raise InvalidRequestError("credential.key_weak", bits=key.key_size, needs=MIN_RSA_BITS)
    if not isinstance(key, PrivateKey):
        raise InvalidRequestError("credential.key_kind")
    return key


def describe_key(key: PrivateKey, comment: str) -> dict[str, Any]:
    """Return the public part of a key: type, fingerprint, and the line for authorized_keys.

    `restrict` disables forwarding, terminals and user rc on the host; commands still run. A jump host needs
    forwarding.
    """
    line = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    kind, blob = line.split()[:2]
    return {
        "type": kind,
        "fingerprint": compute_fingerprint(blob),
        "authorized_keys_line": f"restrict {kind} {blob} {comment}",
        "authorized_keys_line_jump": f"restrict,port-forwarding {kind} {blob} {comment}",
    }


def compute_fingerprint(base64_blob: str) -> str:
    """Return the fingerprint of a public key line. Raises InvalidRequestError."""
    return format_fingerprint(decode_key(base64_blob))


def decode_key(text: str) -> bytes:
    """Return the wire bytes of a public key. Raises InvalidRequestError."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidRequestError("host.key_unreadable") from None


def _to_openssh(key: PrivateKey) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()


def _describe_certificate(text: str, key: PrivateKey) -> dict[str, Any]:
    """Return the public part of a user certificate; raises InvalidRequestError if it does not match the key."""
    try:
        loaded = load_ssh_public_identity(text.strip().encode("utf-8", "replace"))
    except (ValueError, UnsupportedAlgorithm):
        raise InvalidRequestError("credential.certificate_unreadable") from None
    if not isinstance(loaded, SSHCertificate):
        raise InvalidRequestError("credential.certificate_unreadable")
    own = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    if loaded.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH) != own:
        raise InvalidRequestError("credential.certificate_of_another_key")
    return {
        "principals": [name.decode("utf-8", "replace") for name in loaded.valid_principals][:20],
        "valid_after": loaded.valid_after,
        "valid_before": min(loaded.valid_before, 1 << 53),
        "serial": str(loaded.serial),
    }
