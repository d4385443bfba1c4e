"""More hosts that are busy and healthy: what is striking about them does not hurt any client."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from lab.cgroups import Group
from lab.environment import LabEnvironment
from lab.real.services.hosts.helpdesk_host import Helpdesk
from lab.real.services.hosts.runtime_host import RuntimeHost
from lab.real.services.node import NodeService
from lab.scenario import Live, Scenario

MIB = 1 << 20
IMPORT = """
while :; do seq -f "$(date -Is) INFO import: row %.0f accepted, price unchanged" 1 $1 >"$0.new"; mv "$0.new" "$0"; done
"""
SCAN = """
while :; do for n in $(seq 1 $2); do cksum "$1/scan-$n" >"$0"; sleep $3; done; done
"""


@contextmanager
def _busy_helpdesk(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """A connection to php-fpm and to MariaDB for each request, and an import at its CPU limit that logs each row."""
    helpdesk = Helpdesk(environment, rng, children=rng.choice((16, 24)))
    imports = Group(f"{environment.app.path.rpartition('/')[0]}/imports").create()
    limit = rng.choice((0.1, 0.15, 0.2))
    imports.limit_cpu(limit)
    log = environment.directory / "import.log"
    environment.on_host(["sh", "-c", IMPORT, str(log), str(rng.randrange(100_000, 250_000))], imports)
    paths = ["/callers/{n}", "/days/{n}", "/reply/{n}", "/reply/{n}", *["/tickets/{n}"] * rng.randrange(4, 8)]
    helpdesk.start_clients(rng.randrange(150, 200), paths, warm_s=8.0)
    yield helpdesk.build_live(helpdesk.apache.pid, import_cpus=limit)


@contextmanager
def _busy_gateway(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """A scan of old pictures is at the memory limit of its group and reads its files again and again."""
    host = RuntimeHost(environment, rng)
    service = NodeService(environment, "gateway.js", host.port)
    service.write_settings(
        work=rng.randrange(900, 1800), separator=20, mark="-", iterations=400, rules=["free money", "casino [0-9]+"],
        feed=str(service.write_articles(rng.randrange(200, 500))),
    )  # fmt: skip
    service.start()
    files, kilobytes = rng.randrange(30, 45), rng.randrange(6_000, 9_000)
    pictures = environment.directory / "pictures"
    pictures.mkdir()
    for number in range(1, files + 1):
        (pictures / f"scan-{number}").write_bytes(rng.randbytes(1024) * kilobytes)
    environment.host_sh(
        f"sync -f {pictures}; for f in {pictures}/*; do dd if=$f iflag=nocache count=0 status=none; done"
    )
    limit_mb = rng.randrange(70, 130)
    pictures_group = Group(f"{environment.app.path.rpartition('/')[0]}/pictures").create()
    pictures_group.limit_memory(limit_mb * MIB)
    words = [str(pictures), str(files), str(rng.choice((0.3, 0.4, 0.6)))]
    environment.on_host(["sh", "-c", SCAN, str(environment.directory / "scan.state"), *words], pictures_group)
    mix = {"pages": rng.choice((4, 5)), "reviews": 2, "feeds": 1}
    host.start_clients(rng.randrange(90, 150), mix, warm_s=12.0, seconds=4.0)
    yield host.build_live(
        service.pid, service.access_log, limit_mb=limit_mb, pictures_mb=files * kilobytes // 1024
    )


SCENARIOS = (
    Scenario(
        "busy-helpdesk", "healthy", "healthy", (), "Apache, PHP and MariaDB with thousands of ended connections.",
        _busy_helpdesk, needs=("mariadbd", "mariadb-install-db", "php-fpm8.2", "apache2"),
        software=("apache2", "php-fpm", "mariadb"),
    ),
    Scenario(
        "busy-gateway", "healthy", "healthy", (), "A Node gateway next to a job at its memory limit.",
        _busy_gateway, needs=("node",), software=("node",), global_effect=("disk",),
    ),
)  # fmt: skip
