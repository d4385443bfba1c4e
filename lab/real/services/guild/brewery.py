"""A brewery: php-fpm behind nginx, and a MariaDB with its casks."""

from __future__ import annotations

from lab.real.services.mariadb import MariaDb
from lab.real.services.nginx import build_fastcgi
from lab.real.services.php import Php, PhpSettings
from lab.real.services.towns.town import Town

TABLES = """
CREATE TABLE casks (id INT PRIMARY KEY, cellar INT NOT NULL, brew INT NOT NULL, liters INT NOT NULL,
    KEY cellar (cellar, brew));
INSERT INTO casks SELECT seq, seq % {cellars}, (seq * 31) % 40, 20 + seq % 180 FROM seq_0_to_{casks};
ANALYZE TABLE casks;
"""
CELLARER = """
while :; do echo "SELECT brew, sum(liters) FROM casks WHERE cellar = {cellar} GROUP BY brew;"; sleep {pause_s:.2f}; done
"""


class Brewery:
    """The services that run. `children` are the processes of php-fpm."""

    def __init__(self, town: Town, children: int, most: int) -> None:
        """Start them. most: how many connections an account of MariaDB may have."""
        rng, self.environment = town.rng, town.environment
        port, cellars = town.take_ports(1)[0], rng.randrange(60, 140)
        self.mariadb = MariaDb(
            self.environment, rng, orders=5_000, note_words=1,
            settings={"max_user_connections": most, "max_connections": rng.choice((100, 150, 200))},
        )  # fmt: skip
        self.mariadb.run(TABLES.format(cellars=cellars, casks=cellars * rng.randrange(120, 240)))
        self.mariadb.start_session(CELLARER.format(cellar=rng.randrange(50), pause_s=rng.uniform(0.3, 0.9)))
        variables = {
            "DATABASE_DSN": f'"{self.mariadb.dsn}"', "CELLARS": str(cellars), "ROUNDS": str(rng.randrange(300, 1_500)),
        }  # fmt: skip
        (self.environment.directory / "srv" / "casks" / "guild").mkdir(parents=True)
        settings = PhpSettings(pool="casks", max_children=children, variables=variables)
        self.php = Php(self.environment, port, ("guild/casks.php",), settings)
        town.parameters |= {"casks": port, "children": children, "account_connections": most}

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_fastcgi(location, self.php.address, f"{self.php.directory}/guild/casks.php")

    @staticmethod
    def draw_paths(town: Town, others: int, location: str) -> list[str]:
        """Return the pages that visitors open: two that need rows, and so many others."""
        pages = ["casks", "cellars"] + [town.rng.choice(("recipes", "casks")) for _ in range(others)]
        return [f"{location}?page={page}&n={{n}}" for page in pages]
