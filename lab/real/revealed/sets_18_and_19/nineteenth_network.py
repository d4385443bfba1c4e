"""Names of stations, and sessions of buoys: a nineteenth set."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.coast.buoy_reports import BuoyReports
from lab.real.services.coast.front import start_front
from lab.real.services.coast.sea_weather import SeaWeather
from lab.real.services.golang import GO
from lab.real.services.towns.town import Town
from lab.scenario import Live, Scenario


@contextmanager
def _weather_of_a_coast(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: whether the name server of the company answers queries for IPv6 addresses."""
    town = Town(environment, rng)
    weather = SeaWeather(town)
    nginx = start_front(town, weather.build_location("/"))
    others = rng.randrange(4, 7)
    paths = ["/tides/{n}"] + [rng.choice(("/winds/{n}", "/harbors/{n}")) for _ in range(others)]
    town.start_clients(nginx.address, rng.uniform(3, 5) * (others + 1), paths)
    weather.answer_for_ipv6(answers=False)
    # The resolver of the host remembers earlier answers for some seconds.
    time.sleep(9.0)
    yield town.build_live(rng.choice((weather.php.pid, nginx.pid)))


@contextmanager
def _reports_of_buoys(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: whether HAProxy lets buoys take up their sessions again, which a guide to safer TLS forbids."""
    town = Town(environment, rng)
    reports = BuoyReports(town)
    reports.measure_buoys(rng.uniform(205, 235), rng.randrange(140, 220), 6.0)
    reports.harden()
    time.sleep(6.0)
    yield town.build_live(reports.haproxy.pid, "")


SCENARIOS = (
    Scenario(
        "coast-weather", "development", "weather-of-a-coast", ("slow-name-resolution",),
        "The name server keeps silent about IPv6 addresses; php-fpm waits for it before it asks a station.",
        _weather_of_a_coast, needs=("php-fpm8.2", "nginx", "dnsmasq"), seconds=10.0, software=("php-fpm", "nginx"),
    ),
    Scenario(
        "buoy-reports", "development", "reports-of-buoys", ("tls-handshakes",),
        "HAProxy remembers no session of TLS; each short connection of a buoy takes the whole work with its key.",
        _reports_of_buoys, needs=(GO, "haproxy", "openssl"), seconds=10.0, software=("haproxy",),
        global_effect=("cpu",),
    ),
)  # fmt: skip
