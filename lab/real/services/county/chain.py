"""Certificates of a company: a root, an authority below it that signs for services, and a service."""

from __future__ import annotations

import datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PEM = serialization.Encoding.PEM


class CertificateChain:
    """The certificates. `root` is the file that clients trust, `file` what a server presents, `key` its key."""

    def __init__(self, directory: Path, company: str, service: str, days: float) -> None:
        """Create the keys, the root and the certificate of a service, which is valid for so many days from now on."""
        self.now = datetime.datetime.now(datetime.UTC)
        self.root, self.file, self.key = (
            directory / name for name in ("root.pem", "service.pem", "service.key")
        )
        self._names = [
            _build_name(f"{company} root"),
            _build_name(f"{company} services"),
            _build_name(service),
        ]
        self._keys = [ec.generate_private_key(ec.SECP256R1()) for _ in self._names]
        root = self._sign(0, 0, -900, 3_650, x509.BasicConstraints(ca=True, path_length=1))
        self.root.write_bytes(root)
        self._service = self._sign(
            2, 1, days - 180, days, x509.SubjectAlternativeName([x509.DNSName(service)])
        )
        self.key.write_bytes(
            self._keys[2].private_bytes(PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        )

    def write_file(self, *days: float) -> None:
        """Let a server present its certificate and those of the authority that end so many days from now."""
        authorities = [
            self._sign(1, 0, end - 1_000, end, x509.BasicConstraints(ca=True, path_length=0)) for end in days
        ]
        self.file.write_bytes(b"".join((self._service, *authorities)))

    def _sign(
        self, subject: int, issuer: int, first_day: float, last_day: float, extension: x509.ExtensionType
    ) -> bytes:
        first, last = (self.now + datetime.timedelta(days=day) for day in (first_day, last_day))
        builder = (
            x509.CertificateBuilder().subject_name(self._names[subject]).issuer_name(self._names[issuer])
        )
        builder = builder.public_key(self._keys[subject].public_key()).serial_number(
            x509.random_serial_number()
        )
        builder = builder.not_valid_before(first).not_valid_after(last)
        builder = builder.add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
        return builder.sign(self._keys[issuer], hashes.SHA256()).public_bytes(PEM)


def _build_name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])
