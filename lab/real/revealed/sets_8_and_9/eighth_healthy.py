"""Two hosts that are busy and healthy: tunnels and partners below their limits, and stores that keep up."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.daemons.mariadb_pair import MariaDbPair
from lab.real.services.daemons.openssh import PartnerSshd
from lab.real.services.daemons.slapd import SUFFIX, Slapd
from lab.real.services.hosts.agency_host import Agency
from lab.real.services.hosts.kitchen_host import Kitchen
from lab.real.services.web_neighbours import draw_ports
from lab.scenario import Live, Scenario

# A telephone list that is printed from time to time, from all entries.
LIST = """
while :; do ldapsearch -x -LLL -E pr=400/noprompt -H {url} -D cn=portal,{suffix} -w portal -b ou=people,{suffix} \
'(title=clerk)' telephoneNumber | sort | gzip >"$0"; sleep {pause_s}; done
"""


@contextmanager
def _agency_with_tills(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Many tills keep tunnels, but fewer than Squid has descriptors for; the inventory keeps few connections."""
    agency = Agency(environment, rng)
    share = rng.uniform(0.5, 0.68)
    agency.start_tills(int(agency.squid.descriptors / 2 * share), serves=True)
    sshd = PartnerSshd(environment, rng)
    transfers = rng.uniform(1.5, 3)
    sshd.start_partners(transfers)
    connections = rng.randrange(2, 5)
    sshd.start_inventory(connections, rng.uniform(60, 85))
    time.sleep(4.0)
    agency.start_clients(rng.uniform(60, 85))
    time.sleep(3.0)
    yield agency.build_live(share=share, transfers=transfers, connections=connections)


@contextmanager
def _kitchen_with_copies(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Copies leave enough room for RabbitMQ, a replica keeps up with a job, and a directory is listed."""
    pair = MariaDbPair(environment, rng, has_key=True)
    kitchen = Kitchen(environment, rng)
    megabytes = int(kitchen.count_free_mb() * rng.uniform(0.55, 0.75))
    kitchen.copy_archive(megabytes)
    rows = rng.randrange(200, 500)
    pair.start_billing(rows, rng.uniform(1.0, 2.0))
    slapd = Slapd(environment, rng, draw_ports(rng, 1)[0], rng.randrange(2_000, 5_000), ("uid", "mail"))
    words = LIST.format(url=slapd.url, suffix=SUFFIX, pause_s=rng.randrange(5, 15))
    environment.on_host(["sh", "-c", words, str(environment.directory / "telephones.gz")])
    kitchen.start_clients(rng.uniform(50, 75))
    time.sleep(3.0)
    yield kitchen.build_live(copy_mb=megabytes, rows=rows, people=slapd.people)


SCENARIOS = (
    Scenario(
        "busy-agency", "healthy", "healthy", (),
        "A Squid with many tunnels below its limit of descriptors, and an sshd of partners with few idle connections.",
        _agency_with_tills, needs=("squid", "sshd", "sftp", "ssh-keygen", "gunicorn", "nginx"),
        software=("squid", "openssh", "gunicorn", "nginx"),
    ),
    Scenario(
        "busy-kitchen", "healthy", "healthy", (),
        "A RabbitMQ whose volume is well filled, a replica of MariaDB that keeps up, and an OpenLDAP that is listed.",
        _kitchen_with_copies,
        needs=("rabbitmqctl", "epmd", "mariadbd", "slapd", "ldapsearch", "gunicorn", "nginx", "mkfs.ext4"),
        software=("rabbitmq", "mariadb", "openldap", "gunicorn", "nginx"),
    ),
)  # fmt: skip
