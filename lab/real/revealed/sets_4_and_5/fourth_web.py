"""Web servers with one thing wrong: the storage of a cache, the heap of a JVM, and a setting of the firewall."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.cgroups import Group
from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.daemons.lighttpd import Lighttpd
from lab.real.services.daemons.tomcat import HOME, Tomcat
from lab.real.services.daemons.varnish import Varnish
from lab.real.services.nginx import ACCESS_LOG, Nginx, NginxSettings, build_proxy, build_upstream
from lab.real.services.web_neighbours import (
    ApiServer,
    choose_scope,
    draw_ports,
    start_neighbours,
    start_requests,
    start_visitors,
)
from lab.scenario import Live, Scenario

MIB = 1 << 20
TABLE = "/proc/sys/net/netfilter/nf_conntrack_max"
SEEN = "net.netfilter.nf_conntrack_tcp_timeout_time_wait"


@contextmanager
def _small_storage(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the size of Varnish's storage. After each start a job requests all pages once."""
    port, origin_port = draw_ports(rng, 2)
    neighbours = start_neighbours(environment, rng)
    page_bytes, pages = rng.randrange(30_000, 80_000), rng.randrange(220, 380)
    origin = ApiServer(
        environment, "127.0.0.1", origin_port, delay_ms=rng.uniform(40, 120), work_us=rng.uniform(300, 800),
        answer_bytes=page_bytes,
    )  # fmt: skip
    kinds = tuple(rng.sample(("articles", "recipes", "guides", "letters"), 2))
    total_mb = len(kinds) * pages * page_bytes / MIB
    plenty, little = int(total_mb * rng.uniform(2, 3)), max(4, int(total_mb * rng.uniform(0.25, 0.5)))
    varnish = Varnish(
        environment, port, origin.address, storage_mb=plenty, ttl_s=rng.choice((1800, 3600, 7200))
    )
    varnish.fetch_pages(kinds, pages)
    rate = rng.uniform(70, 120)
    paths = [f"/{kind}/{{n}}" for kind in kinds]
    load = start_requests(environment, rng, varnish.address, rate, *paths, options=("--range", pages))
    start_requests(environment, rng, varnish.address, rng.uniform(3, 9), "/account/{n}")
    wait_for(lambda: load.stats()["ok"] > 50, "answers to clients")
    time.sleep(2.0)
    healthy = load.baseline(4.0)
    varnish.restart(little)
    varnish.fetch_pages(kinds, pages)
    time.sleep(3.0)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, varnish.pid),
        {
            "port": port, "healthy": healthy, "rate": rate, "paths": paths, "pages": pages, "total_mb": total_mb,
            "storage_mb": [plenty, little], "neighbours": neighbours,
        },
        load.stats,
    )  # fmt: skip


@contextmanager
def _larger_heap(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the size of the JVM's heap, which comes from a host without a limit of memory."""
    port, app_port = draw_ports(rng, 2)
    neighbours = start_neighbours(environment, rng)
    limit_mb = rng.randrange(360, 460)
    group = Group(
        f"{environment.app.path.rpartition('/')[0]}/{rng.choice(('tomcat', 'agency', 'web'))}"
    ).create()
    group.limit_memory(limit_mb * MIB)
    tomcat = Tomcat(environment, app_port, "Brochures.java", group, threads=rng.choice((40, 80)))
    pages, kilobytes = rng.randrange(6, 11), rng.randrange(30, 50)
    options = [
        rng.choice(("-XX:+UseSerialGC", "-XX:+UseParallelGC")), f"-Dpages={pages}", f"-DpageKilobytes={kilobytes}",
        f"-Dkept={rng.randrange(1000, 4000)}",
    ]  # fmt: skip
    small_mb, large_mb = int(limit_mb * rng.uniform(0.4, 0.5)), rng.choice((2048, 3072, 4096))
    tomcat.start([f"-Xms{small_mb}m", f"-Xmx{small_mb}m", *options])
    web = NginxSettings(
        http_lines=build_upstream("agency", (tomcat.address,)), server_lines=build_proxy("/", "agency")
    )
    nginx = Nginx(environment, port, web)
    # The larger heap is touched as far as the limit in a third of a minute.
    rate, brochures = rng.uniform(60, 90), rng.randrange(2, 4)
    paths = ["/brochures/{n}"] * brochures + ["/hotels/{n}"] * rng.randrange(1, 3)
    load = start_requests(environment, rng, nginx.address, rate, *paths, options=("--timeout-s", 4))
    wait_for(lambda: load.stats()["ok"] > 50, "answers to clients", 40.0)
    time.sleep(5.0)
    healthy = load.baseline(5.0)
    tomcat.stop()
    tomcat.start([f"-Xms{large_mb}m", f"-Xmx{large_mb}m", *options])
    time.sleep(20.0)
    load.mark()
    scope = {} if rng.random() < 2 / 3 else {"cgroup": group.path}
    yield Live(
        environment.host,
        scope,
        {
            "port": port, "healthy": healthy, "rate": rate, "paths": paths, "limit_mb": limit_mb,
            "heap_mb": [small_mb, large_mb], "options": options, "neighbours": neighbours,
        },
        load.stats,
        ACCESS_LOG,
    )  # fmt: skip


@contextmanager
def _default_again(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how long the firewall remembers a connection after its end; an upgrade brings the default back."""
    port = draw_ports(rng, 1)[0]
    neighbours = start_neighbours(environment, rng)
    rate = rng.uniform(110, 160)
    environment.track_connections()
    environment.host_net.sh(f"sysctl -qw {SEEN}={rng.randrange(3, 8)}")
    environment.cleanup.set_global(TABLE, str(most := int(rate * rng.uniform(14, 20))))
    files = {
        f"assets/{index}.{kind}": b"a { color: teal }\n" * rng.randrange(100, 3000)
        for index in range(10) for kind in ("css", "html")
    }  # fmt: skip
    server = Lighttpd(environment, port, files, idle_s=rng.randrange(5, 30))
    paths = [f"/assets/{index}.{kind}" for index in rng.sample(range(10), 5) for kind in ("css", "html")]
    start_visitors(environment, rng, server.address, rng.randrange(20, 60), 10, *paths)
    load = start_requests(environment, rng, server.address, rate, *paths, options=("--timeout-s", 4))
    wait_for(lambda: load.stats()["ok"] > 50, "answers to clients")
    time.sleep(10.0)
    healthy = load.baseline(4.0)
    environment.host_net.sh(f"sysctl -qw {SEEN}=120")
    time.sleep(most / rate + 4.0)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, server.pid),
        {
            "port": port, "healthy": healthy, "rate": rate, "nf_conntrack_max": most, "neighbours": neighbours,
        },
        load.stats,
    )  # fmt: skip


SCENARIOS = (
    Scenario(
        "magazine-cache", "development", "cache-storage", ("cache-memory-limit",),
        "Varnish has less storage than its pages need; most requests go on to the origin, which answers as before.",
        _small_storage, needs=("varnishd", "gcc", "curl"), seconds=10.0, software=("varnish",),
    ),
    Scenario(
        "agency-brochures", "development", "heap-of-tomcat", ("jvm-heap-over-limit", "memcg-oom-kill"),
        "The heap of Tomcat may become larger than its group's limit; it is killed again and again.", _larger_heap,
        needs=("java", "javac", "nginx", str(HOME / "bin" / "catalina.sh")), seconds=20.0, software=("tomcat",),
        global_effect=("app-memory",),
    ),
    Scenario(
        "assets-site", "development", "remembered-connections", ("conntrack-table-full",),
        "The firewall remembers each ended connection for two minutes again, until its table has no room.",
        _default_again, needs=("lighttpd", "iptables"), seconds=15.0, software=("lighttpd", "iptables"),
        global_effect=("conntrack_max",),
    ),
)  # fmt: skip
