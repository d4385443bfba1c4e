"""Ports and a volume of a host that its services need: a seventh set."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.application import DATA, LabApplication
from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.nginx import ACCESS_LOG, Nginx, NginxSettings, build_fastcgi
from lab.real.services.php import Php, PhpSettings
from lab.real.services.redis import Redis
from lab.real.services.web_neighbours import (
    ApiServer,
    choose_scope,
    draw_ports,
    start_neighbours,
    start_requests,
)
from lab.scenario import Live, Scenario


@contextmanager
def _ports_for_others(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: which ports the host may use for connections, after room was made for those of other programs."""
    port, php_port, pricing_port = draw_ports(rng, 3)
    neighbours = start_neighbours(environment, rng)
    pricing = ApiServer(
        environment, environment.client_address, pricing_port, client_side=True,
        delay_ms=rng.uniform(4, 15), work_us=150, answer_bytes=rng.choice((700, 1800)),
    )  # fmt: skip
    address, cache_port = environment.client_address, rng.choice((11211, 11212, 11311))
    environment.on_client(["memcached", "-u", "nobody", "-l", address, "-p", str(cache_port), "-m", "64"])
    wait_for(lambda: bool(environment.client_net.sh(f"ss -Hltn sport = :{cache_port}")), "the cache")
    visitors = rng.randrange(300, 900)
    variables = {
        "CACHE": f"{address}:{cache_port}", "PRICING_URL": f"http://{pricing.address}", "VISITORS": str(visitors),
        "OFFERS": str(rng.randrange(100, 400)),
    }  # fmt: skip
    pool = PhpSettings(
        pool="travel", max_children=rng.choice((12, 16, 24)),
        variables={name: f'"{value}"' for name, value in variables.items()},
    )  # fmt: skip
    php = Php(environment, php_port, ("offers.php",), pool)
    location = build_fastcgi("/", php.address, str(php.directory / "offers.php"))
    nginx = Nginx(environment, port, NginxSettings(server_lines=location))
    account, offers = rng.randrange(1, 4), rng.randrange(2, 4)
    rate = rng.uniform(60, 85)
    load = start_requests(
        environment, rng, nginx.address, rate, *["/account/{n}"] * account, *["/offers/{n}"] * offers,
        options=("--timeout-s", 4),
    )  # fmt: skip
    wait_for(lambda: load.stats()["ok"] > 50, "answers to clients")
    time.sleep(3.0)
    healthy = load.baseline(4.0)
    free, way = int(rate * rng.uniform(15, 25)), rng.choice(("reserved", "range"))
    if way == "reserved":
        change = f"ip_local_reserved_ports=32768-{60999 - free}"
    else:
        low = rng.randrange(30_000, 50_000, 1000)
        change = f"ip_local_port_range='{low} {low + free}'"
    environment.host_sh(f"sysctl -qw net.ipv4.{change}")
    time.sleep(free / rate + 4.0)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, php.pid),
        {
            "port": port, "healthy": healthy, "rate": rate, "account": account, "offers": offers, "free": free,
            "way": way, "neighbours": neighbours,
        },
        load.stats,
        ACCESS_LOG,
        mark=load.mark,
    )  # fmt: skip


@contextmanager
def _kept_wishes(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: an error of the volume on which the Redis of the wish lists saves them from time to time."""
    port, php_port = draw_ports(rng, 2)
    neighbours = start_neighbours(environment, rng)
    application = LabApplication(environment, rng)
    application.disk(rng.randrange(150, 400), options="noatime,errors=remount-ro")
    seconds, changes = rng.randrange(8, 16), rng.randrange(20, 60)
    redis = Redis(
        environment, rng.choice((6379, 6390, 7100)), "--dir", DATA, "--save", f"{seconds} {changes}"
    )
    lists = rng.randrange(2_000, 9_000)
    redis.populate(lists, "list", rng.randrange(320, 2_000))
    variables = {"STORE": f'"{redis.address}"', "LISTS": str(lists)}
    pool = PhpSettings(pool="wishes", max_children=rng.choice((8, 12, 16)), variables=variables)
    php = Php(environment, php_port, ("wishes.php",), pool)
    location = build_fastcgi("/", php.address, str(php.directory / "wishes.php"))
    nginx = Nginx(environment, port, NginxSettings(server_lines=location))
    rate = rng.uniform(50, 85)
    paths = (
        ["/wish/{n}"] * rng.randrange(2, 4)
        + ["/lists/{n}"] * rng.randrange(2, 4)
        + ["/ideas/{n}"] * rng.randrange(1, 3)
    )
    load = start_requests(environment, rng, nginx.address, rate, *paths, options=("--timeout-s", 4))
    wait_for(lambda: load.stats()["ok"] > 50, "answers to clients")
    wait_for(environment.host.path(f"{DATA}/dump.rdb").exists, "the first save", 30.0)
    healthy = load.baseline(5.0)
    device = Path(environment.host_sh(f"findmnt -no SOURCE {DATA}").strip()).name
    Path("/sys/fs/ext4", device, "trigger_fs_error").write_text("checksum of an inode table")
    time.sleep(seconds + 8.0)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, rng.choice((redis.pid, php.pid))),
        {
            "port": port, "healthy": healthy, "rate": rate, "paths": paths, "save": [seconds, changes], "lists": lists,
            "neighbours": neighbours,
        },
        load.stats,
        ACCESS_LOG,
        mark=load.mark,
    )  # fmt: skip


SCENARIOS = (
    Scenario(
        "travel-offers", "development", "ports-for-others", ("ephemeral-port-exhaustion",),
        "PHP opens a connection to a memcached of another host for each request; the host has few ports left for it.",
        _ports_for_others, needs=("nginx", "php-fpm8.2", "memcached"), seconds=10.0,
        software=("php-fpm", "memcached", "nginx"),
    ),
    Scenario(
        "wish-lists", "development", "kept-wishes", ("filesystem-read-only",),
        "The volume of a Redis takes no writes after an error; the Redis cannot save and refuses to change anything.",
        _kept_wishes, needs=("redis-server", "nginx", "php-fpm8.2", "mkfs.ext4"), seconds=10.0,
        software=("redis", "php-fpm", "nginx"),
    ),
)  # fmt: skip
