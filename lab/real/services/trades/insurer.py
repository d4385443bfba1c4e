"""The tariffs of an insurer: a service behind HAProxy with TLS, and a Go service that asks for tariffs."""

from __future__ import annotations

import datetime
import subprocess
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from lab.load import wait_for
from lab.real.services.golang import build_program
from lab.real.services.haproxy import Haproxy, HaproxySettings
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import ApiServer


def _build_name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


class Authority:
    """The authority of a company. `file` has its certificate."""

    def __init__(self, directory: Path, name: str) -> None:
        """Create its key and its certificate of ten years."""
        self.key, self.name, self.file = (
            ec.generate_private_key(ec.SECP256R1()),
            _build_name(name),
            directory / "ca.pem",
        )
        now = datetime.datetime.now(datetime.UTC)
        certificate = self._start(self.key.public_key(), self.name, now - datetime.timedelta(days=900), 3_650)
        certificate = certificate.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        signed = certificate.sign(self.key, hashes.SHA256())
        self.file.write_bytes(signed.public_bytes(serialization.Encoding.PEM))

    def issue(self, name: str, begins: datetime.datetime, days: int) -> bytes:
        """Return a certificate with its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._start(key.public_key(), _build_name(name), begins, days)
        certificate = certificate.add_extension(
            x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False
        )
        signed = certificate.sign(self.key, hashes.SHA256())
        return signed.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    def _start(
        self, key: ec.EllipticCurvePublicKey, subject: x509.Name, begins: datetime.datetime, days: int
    ) -> x509.CertificateBuilder:
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(self.name).public_key(key)
        builder = builder.serial_number(x509.random_serial_number()).not_valid_before(begins)
        return builder.not_valid_after(begins + datetime.timedelta(days=days))


class Tariffs:
    """The service of tariffs. `address` is where HAProxy answers with TLS."""

    def __init__(self, town: Town, rest_days: float) -> None:
        """Start it. rest_days: for how long its certificate is valid from now on."""
        rng, environment = town.rng, town.environment
        self.environment = environment
        port, tls_port, app_port = town.take_ports(3)
        self.company = rng.choice(("northwind", "harbor-mutual", "alpina"))
        self.name = f"tariffs.{self.company}.internal"
        directory = environment.directory / "tls"
        directory.mkdir()
        self.days, self.authority = (
            rng.choice((90, 180, 365)),
            Authority(directory, f"{self.company} internal"),
        )
        self.certificate = directory / "tariffs.pem"
        self.write_certificate(rest_days)
        app = ApiServer(
            environment, "127.0.0.1", app_port,
            delay_ms=rng.uniform(2, 8), work_us=rng.uniform(200, 600), answer_bytes=rng.randrange(300, 2_000),
        )  # fmt: skip
        self.address = f"{environment.host_address}:{tls_port}"
        settings = HaproxySettings(
            frontend="tariffs", backend="tariffs", servers=(app.address,), server_words="check inter 3s",
            frontend_lines=f"bind {self.address} ssl crt {self.certificate}",
        )  # fmt: skip
        self.haproxy = Haproxy(environment, port, settings)

    def write_certificate(self, rest_days: float) -> None:
        """Put a certificate in place that is valid for so many days from now on. HAProxy reads it when it starts."""
        ends = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=rest_days)
        text = self.authority.issue(self.name, ends - datetime.timedelta(days=self.days), self.days)
        self.certificate.write_bytes(text)


class Policies:
    """The Go service, which needs tariffs."""

    def __init__(self, town: Town, tariffs: Tariffs) -> None:
        """Compile and start it."""
        rng, environment = town.rng, town.environment
        port = town.take_ports(1)[0]
        self.address = f"127.0.0.1:{port}"
        binary = build_program(environment, "trades/policies.go")
        words = [
            "-listen", self.address, "-access-log", environment.directory / "policies.log", "-tariffs", tariffs.address,
            "-name", tariffs.name, "-authority", tariffs.authority.file, "-rounds", rng.randrange(500, 2_000),
        ]  # fmt: skip
        self.server: subprocess.Popen[bytes] = environment.on_host([str(binary), *map(str, words)])
        listing = f"ss -Hltn sport = :{port}"
        wait_for(lambda: bool(environment.host_net.sh(listing)), "the policies", 40.0)
