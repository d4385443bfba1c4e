"""A host that is busy and healthy: a slow partner, statements that are compiled for reports, many threads, scans."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.companies.leisure_host import Courses, Tickets, Workshops
from lab.real.services.companies.street_host import Street
from lab.real.services.postgres import POSTGRES
from lab.real.services.web_neighbours import draw_ports, start_requests
from lab.scenario import Live, Scenario

# Takings of trainers, for the people of the office.
REPORT = """
SELECT t.course_id, (SELECT sum(b.places * b.price) FROM bookings b WHERE b.course_id = t.course_id) AS paid
FROM courses_of_trainer({trainer}) t ORDER BY paid DESC LIMIT 5
"""
FIREWALL = """
iptables -I INPUT -i mgmt0 -j ACCEPT; iptables -A INPUT -i lo -j ACCEPT
iptables -A INPUT -m conntrack --ctstate INVALID -j DROP; iptables -I INPUT 2 -p tcp --dport {first}:{last} -j DROP
"""
SCAN = """
while :; do for port in {ports}; do timeout 0.2 bash -c '</dev/tcp/{to}/'$port 2>/dev/null; sleep {pause_s}; done; done
"""


@contextmanager
def _busy_center(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """An event loop does not wait for the partner, few statements are compiled, threads stay below their limit."""
    street = Street(environment, rng)
    settings = {"max_connections": 100, "shared_buffers": "128MB", "jit": "on"}
    courses = Courses(street, street.ports[:2], settings, web_jit=False)
    ports = draw_ports(rng, 8)
    tickets = Tickets(street, ports[:3], rng.uniform(55, 120), rng.randrange(35, 40))
    threads = rng.randrange(120, 170)
    workshops = Workshops(
        street, ports[3:5], tasks=threads * 2 + rng.randrange(60, 120), release=rng.randrange(16, 20), threads=threads,
        address=environment.host_address,
    )  # fmt: skip
    report = " ".join(REPORT.format(trainer=rng.randrange(250)).split())
    courses.postgres.start_session(f'while :; do echo "{report};"; sleep {rng.uniform(5, 9):.1f}; done')
    environment.track_connections()
    environment.host_net.sh(FIREWALL.format(first=20, last=25))
    words = {
        "to": environment.host_address,
        "pause_s": f"{rng.uniform(0.3, 1.0):.2f}",
        "ports": "21 22 23 25",
    }
    environment.on_client(["sh", "-c", SCAN.format(**words)])
    start_requests(
        environment,
        rng,
        tickets.haproxy.address,
        rng.uniform(15, 25),
        "/tickets/{n}",
        "/rides/{n}",
        "/map/{n}",
    )
    start_requests(environment, rng, workshops.address, rng.uniform(6, 10), "/offers/{n}", "/advice/{n}")
    paths = ["/courses/{n}"] * rng.randrange(2, 4) + ["/halls/{n}"] * 2 + ["/rules/{n}"] * rng.randrange(2, 4)
    street.start_clients(courses.nginx.address, rng.uniform(25, 35), paths, warm_s=6.0)
    time.sleep(3.0)
    pid = rng.choice((courses.postgres.pid, courses.php.pid, tickets.server.pid))
    yield street.build_live(pid, threads=threads)


SCENARIOS = (
    Scenario(
        "busy-center", "healthy", "healthy", (),
        "An event loop with a slow partner, reports that PostgreSQL compiles, a pool of many threads, dropped scans.",
        _busy_center, needs=(POSTGRES, "php-fpm8.2", "nginx", "haproxy", "java", "javac", "iptables"),
        software=("postgresql", "php-fpm", "nginx", "aiohttp", "haproxy", "java"),
    ),
)  # fmt: skip
