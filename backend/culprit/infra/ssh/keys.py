"""Trusted host keys, fingerprints and login keys.

This module does not use the network. Secrets are never part of an exception's text.
"""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import paramiko
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    load_ssh_private_key,
)

from culprit.infra.ssh.errors import SshError

LoginKind = Literal["key", "generated_key", "certificate", "agent", "password"]


@dataclass(frozen=True, slots=True, repr=False)
class Login:
    """Login data: `secret` is a private key or a password, `certificate` is in OpenSSH format.

    For kind `agent`, `key_fingerprint` may name the only key of the agent to offer.
    """

    kind: LoginKind
    username: str
    secret: str = ""
    certificate: str = ""
    key_fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A host's public key: OpenSSH type name and the key's wire bytes."""

    type: str
    blob: bytes

    @property
    def fingerprint(self) -> str:
        """Fingerprint as ssh prints it: `SHA256:` and the unpadded base64 of the digest."""
        return format_fingerprint(self.blob)

    @property
    def line(self) -> str:
        """Line of known_hosts, without the host names."""
        return f"{self.type} {base64.b64encode(self.blob).decode()}"


def format_fingerprint(blob: bytes) -> str:
    """Return SHA256:… of a public key's wire bytes."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")


_CLASSES: Mapping[type, type[paramiko.PKey]] = {
    ed25519.Ed25519PrivateKey: paramiko.Ed25519Key,
    ec.EllipticCurvePrivateKey: paramiko.ECDSAKey,
    rsa.RSAPrivateKey: paramiko.RSAKey,
}


def load_login_key(login: Login) -> paramiko.PKey:
    """Return the key of a login of kind key, generated_key or certificate. Raises SshError `bad_key`."""
    text = login.secret.strip() + "\n"
    load = load_ssh_private_key if "OPENSSH PRIVATE KEY" in text else load_pem_private_key
    try:
        loaded = load(text.encode(), password=None)
        requested_class = next(key for base, key in _CLASSES.items() if isinstance(loaded, base))
        # paramiko does not read PKCS 8, so every key is converted to OpenSSH's own format
        openssh = loaded.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()
        key = requested_class.from_private_key(io.StringIO(openssh))
    except (ValueError, TypeError, StopIteration, paramiko.SSHException) as error:
        raise SshError("bad_key", reason=type(error).__name__) from None
    if login.kind == "certificate":
        try:
            key.load_certificate(login.certificate.strip())
        except (ValueError, TypeError, paramiko.SSHException) as error:
            raise SshError("bad_key", reason=type(error).__name__) from None
    return key
