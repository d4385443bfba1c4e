"""Hosts that are busy and healthy: lines that wait for a log host, and an old transaction that is in no one's way."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.revealed.sets_4_and_5.fourth_databases import Tours, hold_snapshot
from lab.real.services.daemons.dovecot import Dovecot
from lab.real.services.daemons.rsyslog import SOCKET, Rsyslog
from lab.real.services.gunicorn import Gunicorn
from lab.real.services.nginx import ACCESS_LOG, Nginx, NginxSettings, build_proxy, build_upstream
from lab.real.services.postgres import POSTGRES
from lab.real.services.web_neighbours import (
    PROGRAMS,
    choose_scope,
    draw_ports,
    start_neighbours,
    start_requests,
)
from lab.scenario import Live, Scenario

SPOOL = (
    'action.resumeRetryCount="-1" queue.type="LinkedList" queue.filename="central" queue.size="{lines}"'
    ' queue.maxDiskSpace="200m" queue.saveOnShutdown="on"'
)


@contextmanager
def _spool_of_lines(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The log host is away and rsyslog keeps its lines on disk; passwords of mailboxes cost as much as they should."""
    port, app_port = draw_ports(rng, 2)
    neighbours = start_neighbours(environment, rng)
    lines = rng.randrange(300, 1200)
    rsyslog = Rsyslog(
        environment, rng.choice((514, 10514)), queue_size=10_000, action_words=SPOOL.format(lines=lines)
    )
    app = Gunicorn(
        environment, app_port, "claims_app.py", address="127.0.0.1", workers=2, threads=rng.choice((16, 24)),
        variables={
            "LOG_SOCKET": SOCKET, "STEPS": str(rng.randrange(2, 5)), "DETAIL": str(rng.randrange(200, 700))
        },
    )  # fmt: skip
    web = NginxSettings(
        http_lines=build_upstream("claims", (f"127.0.0.1:{app.port}",)),
        server_lines=build_proxy("/", "claims"),
    )
    nginx = Nginx(environment, port, web)
    rounds, people = rng.choice((8, 9)), rng.randrange(20, 40)
    dovecot = Dovecot(environment, rng, rng.choice((143, 1143, 10143)), people)
    dovecot.write_passwords(rounds)
    dovecot.start()
    logins = rng.uniform(0.15, 0.25) / dovecot.measure_check_s(rounds)
    environment.load(
        "--to", dovecot.address, "--people", people, "--rate", logins, "--waiting", rng.randrange(60, 160),
        "--seed", rng.randrange(10_000), program=str(PROGRAMS / "clients" / "mail_clients.py"),
    )  # fmt: skip
    rate = rng.uniform(60, 90)
    paths = ["/claims/{n}", "/lists/{n}", "/rates/{n}"]
    load = start_requests(environment, rng, nginx.address, rate, *paths, options=("--timeout-s", 4))
    wait_for(lambda: load.stats()["ok"] > 50, "answers to clients")
    time.sleep(4.0)
    healthy = load.baseline(5.0)
    environment.stop(rsyslog.central)
    time.sleep(5.0)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, app.pid),
        {
            "port": port, "healthy": healthy, "rate": rate, "lines": lines, "rounds": rounds, "logins": logins,
            "neighbours": neighbours,
        },
        load.stats,
        ACCESS_LOG,
    )  # fmt: skip


@contextmanager
def _busy_pool(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """More clients of PgBouncer than connections to PostgreSQL, and an old transaction where few rows change."""
    tours = Tours(environment, rng)
    tours.start_clients(rng.uniform(0.9, 1.4))
    idle = rng.randrange(10, 30)
    for _ in range(idle):
        environment.on_host(
            ["sh", "-c", f"sleep 3600 | psql -q -h 127.0.0.1 -p {tours.pool.port} -U web postgres"]
        )
    kind = hold_snapshot(tours.postgres, rng, "products")
    time.sleep(5.0)
    yield tours.build_live(kind=kind, idle=idle)


SCENARIOS = (
    Scenario(
        "claims-and-mailboxes", "healthy", "healthy", (),
        "Lines for a log host that is away wait on disk, where no service waits for them; logins take their share.",
        _spool_of_lines, needs=("rsyslogd", "dovecot", "doveadm", "nginx", "gunicorn"), seconds=10.0,
        software=("rsyslog", "dovecot", "gunicorn"),
    ),
    Scenario(
        "tours-and-export", "healthy", "healthy", (),
        "A pool has many more clients than connections, and a transaction is old, but nothing waits for either.",
        _busy_pool, needs=(POSTGRES, "pgbouncer", "nginx", "gunicorn", "setpriv"), seconds=10.0,
        software=("pgbouncer", "postgresql", "gunicorn"),
    ),
)  # fmt: skip
