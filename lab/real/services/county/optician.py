"""An optician: a Go service behind nginx, and an Apache with TLS in front of what a maker of lenses has."""

from __future__ import annotations

from lab.real.services.apache import MODULES, Apache, ApacheSettings
from lab.real.services.county.chain import CertificateChain
from lab.real.services.golang import GoService
from lab.real.services.nginx import build_proxy, build_upstream
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import ApiServer

SITE = """
LoadModule ssl_module {modules}/mod_ssl.so
Listen {address}:{port} https
<VirtualHost {address}:{port}>
    ServerName {name}
    SSLEngine on
    SSLCertificateFile {chain.file}
    SSLCertificateKeyFile {chain.key}
    ProxyPass / http://{lenses}/
</VirtualHost>
"""


class Optician:
    """The services that run. `upstream` is what nginx needs for them."""

    def __init__(self, town: Town, *authority_days: float) -> None:
        """Start them. authority_days: when the certificates end that Apache has of its authority."""
        rng, self.environment = town.rng, town.environment
        environment = self.environment
        port, http_port, tls_port, lenses_port = town.take_ports(4)
        company = rng.choice(("clearview", "brightlens", "fairsight"))
        name, address = f"lenses.{company}.internal", environment.host_address
        directory = environment.directory / "certificates"
        directory.mkdir()
        self.chain = CertificateChain(directory, company, name, rng.uniform(20, 170))
        self.chain.write_file(*authority_days)
        lenses = ApiServer(
            environment, environment.client_address, lenses_port, client_side=True,
            delay_ms=rng.uniform(5, 30), work_us=rng.uniform(100, 200), answer_bytes=rng.randrange(300, 1_500),
        )  # fmt: skip
        lines = SITE.format(
            modules=MODULES,
            address=address,
            port=tls_port,
            name=name,
            chain=self.chain,
            lenses=lenses.address,
        )
        settings = ApacheSettings(workers=64, name=name, server_lines=lines)
        self.apache = Apache(environment, http_port, settings, environment.directory / "lenses")
        self.service = GoService(
            environment, "county/optician.go", port, "-maker", f"{address}:{tls_port}", "-name", name,
            "-authority", self.chain.root, "-rounds", rng.randrange(200, 1_500),
        )  # fmt: skip
        self.service.start()
        self.upstream = build_upstream("optician", (f"{address}:{port}",))
        town.parameters |= {"optician": port, "lenses": tls_port}

    @property
    def pid(self) -> int:
        return self.service.pid

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_proxy(location, "optician")

    def renew_chain(self, *authority_days: float) -> None:
        """Let Apache present these certificates of its authority, from its next start on."""
        self.chain.write_file(*authority_days)
        self.apache.restart()
