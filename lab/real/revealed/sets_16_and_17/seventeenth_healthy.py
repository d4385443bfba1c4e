"""A host that is busy and healthy: weights, a limit, copies, a line and lookups that only look suspicious."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.districts.building_sites import BuildingSites
from lab.real.services.districts.college import College
from lab.real.services.districts.proxy_host import OfficeProxy
from lab.real.services.districts.trail_maps import TrailMaps
from lab.real.services.districts.zoo import Zoo
from lab.real.services.golang import GO
from lab.real.services.towns.town import Town
from lab.real.services.towns.volumes import mount_small_disk
from lab.real.services.web_neighbours import start_requests
from lab.scenario import Live, Scenario


@contextmanager
def _zoo_and_more(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Films are packed with a small weight, archives copied at a pace, few names looked up at a time."""
    router = environment.insert_router()
    town = Town(environment, rng)
    college = College(town, rng.randrange(2_000, 4_000), rng.randrange(120, 170))
    college.keep_sessions(rng.uniform(4, 12))
    college.limit_memory(rng.randrange(30, 50))
    maps = TrailMaps(town, router, rng.randrange(60, 100))
    maps.move_line(16_000, rng.randrange(1_500_000, 3_000_000))
    proxy = OfficeProxy(town)
    proxy.report_visits(rng.randrange(6, 14))
    zoo = Zoo(town, rng.randrange(10, 16) * 100)
    zoo.pack_films(1, rng.randrange(20, 60))
    volume = f"/srv/{rng.choice(('files', 'volume2', 'shared'))}"
    with mount_small_disk(
        environment, volume, rng.randrange(300, 500), rng.uniform(10, 14), (environment.app,)
    ):
        sites = BuildingSites(town, volume)
        sites.copy_archives(2, rng.randrange(30, 60), paced_s=rng.uniform(0.2, 0.5))
        others = (
            (college.address, rng.uniform(4, 7), college.draw_paths(), 100_000),
            (maps.address, rng.uniform(3, 6), maps.draw_paths(), maps.maps),
            (proxy.address, rng.uniform(3, 6), proxy.draw_paths(), 40_000),
            (sites.nginx.address, rng.uniform(3, 6), ["/plans/{n}.pdf"], sites.plans),
        )
        for address, rate, paths, range_ in others:
            start_requests(environment, rng, address, rate, *paths, options=("--range", range_))
        town.start_clients(zoo.address, rng.uniform(9, 14), zoo.draw_paths(), warm_s=6.0)
        pid = rng.choice((zoo.pid, college.pid, proxy.squid.pid))
        yield town.build_group_live(pid, zoo.pod, zoo.access_log)


SCENARIOS = (
    Scenario(
        "busy-zoo", "healthy", "healthy", (),
        "Go, OpenLDAP, Varnish, Squid and nginx next to a job of small weight, paced copies and few lookups.",
        _zoo_and_more,
        needs=(
            GO, "gzip", "slapd", "slapadd", "redis-server", "gunicorn", "varnishd", "lighttpd", "squid", "dnsmasq",
            "nginx", "mkfs.ext4", "tc",
        ),
        software=("go", "openldap", "varnish", "squid", "nginx"),
    ),
)  # fmt: skip
