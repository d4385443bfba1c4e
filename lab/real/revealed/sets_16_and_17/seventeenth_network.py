"""A line to visitors, and names that a proxy looks up: a seventeenth set."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.districts.proxy_host import OfficeProxy
from lab.real.services.districts.trail_maps import TrailMaps
from lab.real.services.towns.town import Town
from lab.scenario import Live, Scenario


@contextmanager
def _maps_of_trails(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how much the line behind the router keeps waiting when more arrives than it sends."""
    router = environment.insert_router()
    town = Town(environment, rng)
    maps = TrailMaps(town, router, rng.randrange(60, 100))
    maps.move_line(16_000, rng.randrange(1_500_000, 3_000_000))
    paths = maps.draw_paths()
    town.start_clients(maps.address, maps.draw_rate(0.2, 0.26), paths, warm_s=5.0, range_=maps.maps)
    burst, limit = rng.randrange(3_100, 6_100), rng.randrange(4_600, 12_000)
    maps.move_line(burst, limit)
    time.sleep(5.0)
    yield town.build_live(maps.pid, "", burst=burst, limit=limit)


@contextmanager
def _lots_of_auctions(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how many names a report of visitors looks up at a time."""
    town = Town(environment, rng)
    proxy = OfficeProxy(town)
    proxy.report_visits(rng.randrange(6, 14))
    town.start_clients(proxy.address, rng.uniform(20, 32), proxy.draw_paths(), warm_s=8.0, range_=40_000)
    at_a_time = rng.randrange(165, 220)
    proxy.report_visits(at_a_time)
    time.sleep(12.0)
    yield town.build_live(rng.choice((proxy.squid.pid, proxy.resolver.pid)), "", at_a_time=at_a_time)


SCENARIOS = (
    Scenario(
        "trail-maps", "development", "maps-of-trails", ("packet-loss-upstream",),
        "The line of the provider drops what arrives faster than it sends instead of keeping it; maps are sent again.",
        _maps_of_trails, needs=("varnishd", "lighttpd", "tc"), seconds=10.0, software=("varnish",),
    ),
    Scenario(
        "auction-lots", "development", "lots-of-auctions", ("failing-name-resolution",),
        "A report of visitors has as many lookups in flight as dnsmasq allows; names that Squid needs are refused.",
        _lots_of_auctions, needs=("squid", "dnsmasq"), seconds=10.0, software=("squid", "dnsmasq"),
    ),
)  # fmt: skip
