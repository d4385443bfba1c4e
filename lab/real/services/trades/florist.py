"""The orders of a florist: php-fpm and MariaDB, and a tax office that signs receipts."""

from __future__ import annotations

from lab.real.services.companies.leisure_host import PartnerCompany
from lab.real.services.mariadb import MariaDb
from lab.real.services.nginx import build_fastcgi
from lab.real.services.php import Php, PhpSettings
from lab.real.services.towns.town import Town

SHOPS = """
CREATE TABLE shops (id INT PRIMARY KEY, city VARCHAR(40) NOT NULL, receipt BIGINT NOT NULL);
INSERT INTO shops SELECT seq, concat('city ', seq), {first} FROM seq_0_to_{last};
"""


class Florist:
    """The services that run. `location` is what nginx needs for them."""

    def __init__(self, town: Town, signature_ms: float, release: int) -> None:
        """Start them. signature_ms: how long the tax office takes for a signature."""
        rng, environment = town.rng, town.environment
        partner_port, php_port = town.take_ports(2)
        wait_s, shops = rng.choice((1, 2)), 2
        partner = PartnerCompany(environment, partner_port, signatures=(signature_ms, rng.uniform(0.05, 0.1)))
        self.mariadb = MariaDb(
            environment, rng,
            settings={
                "max_connections": 250, "innodb_lock_wait_timeout": wait_s, "innodb_flush_log_at_trx_commit": 2,
            },
        )  # fmt: skip
        self.mariadb.run(SHOPS.format(first=rng.randrange(1_000, 90_000), last=shops - 1))
        variables = {
            "DATABASE_DSN": f'"{self.mariadb.dsn}"', "TAX_OFFICE": partner.address, "RELEASE": str(release),
            "PRODUCTS": str(self.mariadb.sizes["products"]), "CUSTOMERS": str(self.mariadb.sizes["customers"]),
            "SHOPS": str(shops),
        }  # fmt: skip
        self.variables = variables
        children = 30 + 30 * wait_s
        settings = PhpSettings(pool="bouquets", max_children=children, variables=variables)
        self.php = Php(environment, php_port, ("bouquets.php",), settings)
        self.location = build_fastcgi("/", self.php.address, str(self.php.directory / "bouquets.php"))
        town.parameters |= {"signature_ms": round(signature_ms), "wait_s": wait_s, "children": children}

    def replace(self, release: int) -> None:
        """Start another release in place of the one that runs."""
        self.php.restart(variables=self.variables | {"RELEASE": str(release)})
