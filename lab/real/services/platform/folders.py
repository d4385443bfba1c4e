"""Folders of teams: php-fpm behind Apache, whose files are on a volume of their own."""

from __future__ import annotations

from lab.application import DATA
from lab.real.services.apache import ACCESS_LOG, Apache, ApacheSettings
from lab.real.services.php import Php, PhpSettings
from lab.real.services.quarter.marina_host import Volume
from lab.real.services.towns.town import Town

LINE = "{n} {v} minutes of a meeting, plans of a team and what was agreed upon"


class Folders:
    """The services that run. `access_log` is that of Apache."""

    access_log = ACCESS_LOG

    def __init__(self, town: Town, iops: int) -> None:
        """Mount the volume, and start php-fpm and Apache. iops: how many requests a second the volume does."""
        rng, self.town, self.environment = town.rng, town, town.environment
        self.volume = Volume(self.environment, rng, iops)
        self.environment.host_sh(f"install -d -o www-data {DATA}/folders")
        port, php_port = town.take_ports(2)
        children = rng.choice((24, 32))
        (self.environment.directory / "srv" / "folders" / "platform").mkdir(parents=True)
        variables = {"FOLDERS": f"{DATA}/folders", "FILES": str(rng.randrange(12, 20))}
        self.php = Php(
            self.environment, php_port, ("platform/folders.php",),
            PhpSettings(pool="folders", max_children=children, variables=variables),
        )  # fmt: skip
        script = self.php.directory / "platform" / "folders.php"
        settings = ApacheSettings(
            workers=128, server_lines=f'ProxyPassMatch "^/folders" "fcgi://{self.php.address}{script}"\n'
        )
        self.apache = Apache(self.environment, port, settings, self.environment.directory / "site")
        town.parameters |= {"folders": port, "iops": iops, "children": children}

    def draw_requests(self) -> list[str]:
        """Return what laptops send and read."""
        rng = self.town.rng
        low = rng.randrange(40_000, 90_000)
        stored = f"PUT /folders/{{n}}/{{n}} {low} {low + rng.randrange(150_000, 260_000)}"
        return [stored] * rng.randrange(2, 4) + ["GET /folders/{n}/{n} 0 0"] * 2 + ["GET /folders/{n} 0 0"]

    def mount_again(self, options: str) -> None:
        """Change the options of the mount."""
        self.environment.host_sh(f"mount -o remount,{options} {DATA}")
