"""Everyday incidents of stores and of a container: a database, its logs, and the logs of a service: a tenth set."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.application import DATA, LabApplication
from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.companies.street_host import Street, create_log, create_pod
from lab.real.services.daemons.log_shipper import LogShipper
from lab.real.services.gunicorn import Gunicorn
from lab.real.services.hosts.office_host import Office
from lab.real.services.mariadb import MariaDb
from lab.real.services.nginx import Nginx, NginxSettings, build_proxy, build_upstream
from lab.real.services.postgres import POSTGRES, PostgresServer
from lab.real.services.storefront import Storefront
from lab.scenario import Live, Scenario

INVOICES = """
CREATE TABLE invoices (id int PRIMARY KEY, customer int NOT NULL, amount numeric(10,2) NOT NULL,
    state text NOT NULL, issued_at timestamptz NOT NULL, note text NOT NULL);
INSERT INTO invoices SELECT i, i % ({rows} / 40), (i % 9973) * 1.19,
    (ARRAY['paid', 'sent', 'paid', 'draft'])[1 + i % 4], now() - i * interval '1 minute',
    repeat(md5(i::text), {words}) FROM generate_series(1, {rows}) i;
CREATE INDEX invoices_customer_idx ON invoices (customer, id);
GRANT ALL ON invoices TO web, jobs;
"""
# Prices of a supplier are taken over: only what differs, or all of them.
TAKE_OVER = "UPDATE products SET price = price + {step}, name = md5(rand()) WHERE id % {part} = 0;"
LOOP = """while :; do echo "{statement}"; sleep {pause_s:.2f}; done"""


@contextmanager
def _lines_about_invoices(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the release of the application, which shows a line about all invoices above a list."""
    rows = rng.randrange(280_000, 360_000)
    settings: dict[str, object] = {"max_connections": 120, "shared_buffers": "160MB"}
    postgres = PostgresServer(environment, rng, settings=settings, orders=rng.randrange(1_000, 9_000))
    postgres.run(INVOICES.format(rows=rows, words=rng.randrange(2, 5)))
    postgres.run("VACUUM ANALYZE")
    before, after = rng.randrange(27, 32), rng.randrange(32, 35)
    office = Office(
        environment, rng, "stores/invoices_app.py",
        {"DATABASE": postgres.dsn, "ROWS": str(rows), "RELEASE": str(before)}, threads=rng.choice((12, 16, 24)),
    )  # fmt: skip
    lists, others = rng.randrange(5, 8), rng.randrange(2, 4)
    paths = ["/invoices/{n}"] * lists + ["/customers/{n}"] * others + ["/forms/{n}"] * rng.randrange(1, 3)
    office.start_clients(rng.uniform(50, 70), paths)
    office.app.restart(RELEASE=str(after))
    time.sleep(6.0)
    yield office.build_live(rng.choice((postgres.pid, office.app.pid)), rows=rows, releases=[before, after])


@contextmanager
def _prices_of_suppliers(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: whether a job takes over all prices of suppliers, or those that differ."""
    storefront, application = Storefront(environment, rng), LabApplication(environment, rng)
    application.disk(rng.randrange(150, 260))
    logs = f"{DATA}/{rng.choice(('mysql-log', 'binlog', 'mysql'))}"
    environment.host_sh(f"mkdir {logs}; chown 65534:65534 {logs}")
    mariadb = MariaDb(
        environment, rng, products=rng.randrange(30_000, 50_000),
        settings={
            "log_bin": f"{logs}/bin", "server_id": rng.randrange(1, 90), "binlog_format": "ROW",
            "max_binlog_size": "16M", "expire_logs_days": rng.choice((7, 14, 30)), "innodb_flush_log_at_trx_commit": 2,
        },
    )  # fmt: skip
    storefront.start_php(mariadb, children=rng.choice((12, 16, 24)), persistent=rng.random() < 0.5)
    words = {"step": f"0.{rng.randrange(1, 9)}", "part": rng.randrange(400, 900)}
    job = mariadb.start_session(
        LOOP.format(statement=TAKE_OVER.format(**words), pause_s=rng.uniform(0.4, 0.8))
    )
    writes = rng.randrange(2, 4)
    paths = ["/checkout/{n}"] * writes + ["/products/{n}"] * rng.randrange(3, 5) + ["/orders/{n}"] * 3
    storefront.start_clients(rng.uniform(45, 65), paths)
    storefront.measure_baseline(4.0, warm_s=3.0)
    environment.stop(job)
    words["part"] = 1
    mariadb.start_session(LOOP.format(statement=TAKE_OVER.format(**words), pause_s=rng.uniform(0.4, 0.8)))
    wait_for(lambda: _count_free_mb(environment) < 1, "the logs of MariaDB", 100.0)
    time.sleep(5.0)
    yield storefront.build_live(rng.choice((mariadb.pid, 0)))


def _count_free_mb(environment: LabEnvironment) -> int:
    """Return what MariaDB may still write to the volume of its logs."""
    figures = os.statvfs(f"/proc/{environment.host.process.pid}/root{DATA}")
    return figures.f_bavail * figures.f_frsize >> 20


@contextmanager
def _deliveries_in_a_container(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the level of the log of a service, whose container also runs what ships the log."""
    street = Street(environment, rng)
    port, app_port, central = street.ports[:3]
    pod = create_pod(environment, rng.choice(("deliveries", "courier", "routes")))
    cpus = rng.uniform(0.4, 0.46)
    pod.limit_cpu(cpus)
    file = create_log(environment)
    app = Gunicorn(
        environment, app_port, "stores/deliveries_app.py", workers=2, threads=rng.choice((4, 8)), address="127.0.0.1",
        group=pod, variables={"LOG": file, "LEVEL": "INFO", "STOPS": str(rng.randrange(440, 540))},
    )  # fmt: skip
    LogShipper(environment, central, file, masks=rng.randrange(3, 6), group=pod)
    lines = NginxSettings(
        http_lines=build_upstream("deliveries", (f"127.0.0.1:{app_port}",)), server_lines=build_proxy("/", "deliveries")
    )  # fmt: skip
    nginx = Nginx(environment, port, lines)
    paths = ["/routes/{n}"] * rng.randrange(3, 5) + ["/parcels/{n}"] * rng.randrange(2, 4)
    street.start_clients(nginx.address, rng.uniform(45, 60), paths, warm_s=4.0)
    app.restart(LEVEL="DEBUG")
    time.sleep(6.0)
    yield street.build_live(app.pid, cpus=round(cpus, 2))


SCENARIOS = (
    Scenario(
        "invoice-lists", "development", "lines-above-a-list", ("database-hot-sql", "cpu-exhausted"),
        "A release counts and sums up all rows of a table of PostgreSQL for each page of a list.",
        _lines_about_invoices, needs=(POSTGRES, "nginx", "gunicorn"), seconds=10.0,
        software=("postgresql", "gunicorn", "nginx"), global_effect=("cpu",),
    ),
    Scenario(
        "supplier-prices", "development", "prices-of-suppliers", ("disk-full",),
        "Binary logs of MariaDB fill their volume; transactions wait for space, and children of php-fpm for them.",
        _prices_of_suppliers, needs=("mariadbd", "mariadb-install-db", "php-fpm8.2", "nginx", "mkfs.ext4"),
        seconds=10.0, software=("mariadb", "php-fpm", "nginx"),
    ),
    Scenario(
        "courier-container", "development", "log-of-a-container", ("cpu-quota-throttling", "log-flood"),
        "A service logs at its lowest level; that and the shipper of the log use up the CPU limit of their container.",
        _deliveries_in_a_container, needs=("rsyslogd", "gunicorn", "nginx"), seconds=10.0,
        software=("gunicorn", "rsyslog", "nginx"),
    ),
)  # fmt: skip
