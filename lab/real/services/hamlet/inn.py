"""An inn: php-fpm behind nginx that keeps bookings as files, and a program that writes calendars next to them."""

from __future__ import annotations

import sys

from lab.load import wait_for
from lab.real.services.hosts.site_host import mount_volume
from lab.real.services.nginx import build_fastcgi
from lab.real.services.php import Php, PhpSettings
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import PROGRAMS


class Inn:
    """The services that run, without nginx. `path` is the volume."""

    def __init__(self, town: Town, share: float) -> None:
        """Start them. share: which part of the files that the volume can have are calendars at first."""
        rng, self.environment = town.rng, town.environment
        environment = self.environment
        self.path = rng.choice(("/run/inn", "/run/stays", "/run/house"))
        self.files, size_mb = rng.randrange(6_000, 9_000), rng.randrange(200, 400, 20)
        mount_volume(environment, size_mb, self.path, self.files)
        environment.host_sh(f"install -d -o www-data {self.path}/bookings {self.path}/calendars")
        self.chambers, places = rng.randrange(9, 20), rng.randrange(200, 500)
        self.days = environment.directory / "days"
        self.plan_days(round(self.files * share / self.chambers))
        program = str(PROGRAMS / "hamlet" / "calendars.py")
        words = [
            "--directory",
            f"{self.path}/calendars",
            "--chambers",
            str(self.chambers),
            "--days",
            str(self.days),
        ]
        environment.on_host([sys.executable, "-B", program, *words, "--pause-s", f"{rng.uniform(2, 4):.1f}"])
        (environment.directory / "srv" / "inn" / "hamlet").mkdir(parents=True)
        variables = {
            "KEPT": f"{self.path}/bookings",
            "PLACES": str(places),
            "ROUNDS": str(rng.randrange(300, 1_200)),
        }
        settings = PhpSettings(pool="inn", max_children=rng.choice((6, 8, 10)), variables=variables)
        port = town.take_ports(1)[0]
        self.php = Php(environment, port, ("hamlet/stays.php",), settings)
        town.parameters |= {"inn": port, "volume": self.path, "files": self.files, "chambers": self.chambers}

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_fastcgi(location, self.php.address, str(self.php.directory / "hamlet" / "stays.php"))

    def plan_days(self, days: int) -> None:
        """Let calendars reach so many days ahead."""
        self.days.with_suffix(".new").write_text(str(days))
        self.days.with_suffix(".new").replace(self.days)

    def count_free_files(self) -> int:
        """Return how many files the volume can still have."""
        return int(self.environment.host_sh(f"df --output=iavail {self.path}").split()[-1])

    def fill_calendars(self) -> int:
        """Let calendars reach three times as far as the volume has files for. Returns the days."""
        days = 3 * self.files // self.chambers
        self.plan_days(days)
        wait_for(lambda: self.count_free_files() == 0, "the calendars", 60.0)
        return days
