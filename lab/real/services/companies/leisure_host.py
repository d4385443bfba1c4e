"""Services of leisure companies: tickets on one event loop, courses in a partitioned table, offers of workshops."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from lab.cgroups import Group
from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.companies.street_host import Street, create_pod
from lab.real.services.haproxy import Haproxy, HaproxySettings
from lab.real.services.java import build_classes
from lab.real.services.nginx import Nginx, NginxSettings, build_fastcgi
from lab.real.services.php import Php, PhpSettings
from lab.real.services.postgres import PostgresServer
from lab.real.services.web_neighbours import PROGRAMS

AS_WEB = ("setpriv", "--reuid=33", "--regid=33", "--clear-groups", "--")
TASKS = Path("/sys/fs/cgroup/pids")
# Bookings are kept by month, as far back as the law demands.
BOOKINGS = """
CREATE TABLE courses (id int PRIMARY KEY, trainer int NOT NULL, title text NOT NULL);
INSERT INTO courses SELECT i, i % {trainers}, initcap(md5(i::text)) FROM generate_series(0, {courses} - 1) i;
CREATE INDEX courses_trainer_idx ON courses (trainer);
CREATE TABLE bookings (id bigint NOT NULL, course_id int NOT NULL, booked_on date NOT NULL, places int NOT NULL,
    price numeric(8,2) NOT NULL, state text NOT NULL) PARTITION BY RANGE (booked_on);
DO $$ BEGIN FOR month IN 0..{months} - 1 LOOP EXECUTE format(
    'CREATE TABLE bookings_%s PARTITION OF bookings FOR VALUES FROM (%L) TO (%L)', month,
    date '2021-01-01' + month * interval '1 month', date '2021-01-01' + (month + 1) * interval '1 month');
END LOOP; END $$;
INSERT INTO bookings SELECT i, i % {courses}, date '2021-01-01' + (i % ({months} * 28)), 1 + i % 4, (i % 90) + 0.5,
    (ARRAY['paid', 'open', 'canceled', 'paid'])[1 + i % 4] FROM generate_series(1, {bookings}) i;
CREATE INDEX bookings_course_id_idx ON bookings (course_id);
CREATE FUNCTION courses_of_trainer(number int) RETURNS TABLE (course_id int, title text) LANGUAGE plpgsql STABLE AS
    $$ BEGIN RETURN QUERY SELECT c.id, c.title FROM courses c WHERE c.trainer = number; END $$;
GRANT ALL ON courses, bookings TO web, jobs;
"""


class PartnerCompany:
    """A company on the side of the clients, whose answers take a stated time."""

    def __init__(self, environment: LabEnvironment, port: int, **times: tuple[float, float]) -> None:
        """Start it. times: by the first word of a path, the middle in milliseconds and the spread."""
        self.address = f"{environment.client_address}:{port}"
        settings = environment.directory / f"partner-{port}.json"
        settings.write_text(json.dumps({f"/{word}/": list(values) for word, values in times.items()}))
        environment.on_client(
            [sys.executable, "-B", str(PROGRAMS / "partner_api.py"), "--listen", self.address,
             "--settings", str(settings)]
        )  # fmt: skip
        wait_for(lambda: bool(environment.client_net.sh(f"ss -Hltn sport = :{port}")), "the partner")


class Tickets:
    """The tickets of a park: HAProxy in front of one aiohttp, whose partner has the prices."""

    def __init__(self, street: Street, ports: Sequence[int], price_ms: float, release: int) -> None:
        """Start the services on three ports. price_ms: how long the partner takes for a price."""
        rng, environment = street.rng, street.environment
        self.environment = environment
        port, app_port, partner_port = ports
        self.partner = PartnerCompany(environment, partner_port, prices=(price_ms, rng.uniform(0.1, 0.2)))
        self.directory = environment.directory / "srv" / "tickets"
        self.directory.mkdir(parents=True)
        shutil.copyfile(PROGRAMS / "daemons" / "tickets_app.py", self.directory / "tickets_app.py")
        self.variables = {
            "LISTEN": f"127.0.0.1:{app_port}", "PARTNER": self.partner.address, "WORK": str(rng.randrange(600, 1200)),
        }  # fmt: skip
        self.app_port = app_port
        self.start(release)
        settings = HaproxySettings(
            frontend=rng.choice(("www", "park")), backend="tickets", servers=(self.variables["LISTEN"],),
            server_words="check inter 5s",
        )  # fmt: skip
        self.haproxy = Haproxy(environment, port, settings)
        street.parameters |= {"tickets": port, "price_ms": round(price_ms)}

    def start(self, release: int) -> None:
        """Start a release of the application."""
        variables = {**self.variables, "RELEASE": str(release)}
        command = [*AS_WEB, "env", "-u", "PYTHONPATH", *(f"{key}={value}" for key, value in variables.items()),
                   "/usr/bin/python3", "-B", str(self.directory / "tickets_app.py")]  # fmt: skip
        self.server: subprocess.Popen[bytes] = self.environment.on_host(command)
        wait_for(
            lambda: bool(self.environment.host_net.sh(f"ss -Hltn sport = :{self.app_port}")), "tickets", 30.0
        )

    def replace(self, release: int) -> None:
        """Start another release in place of the one that runs."""
        self.environment.stop(self.server)
        self.start(release)


class Courses:
    """The courses of a leisure center: nginx, php-fpm and PostgreSQL with a table in many parts."""

    def __init__(
        self, street: Street, ports: Sequence[int], settings: dict[str, object], *, web_jit: bool = True
    ) -> None:
        """Start the services on two ports.

        Args:
            settings: lines of postgresql.conf.
            web_jit: whether the account of the pages may compile statements, if the server may.
        """
        rng, environment = street.rng, street.environment
        port, php_port = ports
        months, trainers = rng.randrange(26, 32), rng.randrange(250, 400)
        courses, bookings = trainers * rng.randrange(3, 6), rng.randrange(60_000, 90_000)
        self.postgres = PostgresServer(
            environment, rng, settings=settings, orders=rng.randrange(5_000, 20_000)
        )
        self.postgres.run(
            BOOKINGS.format(months=months, trainers=trainers, courses=courses, bookings=bookings)
        )
        self.postgres.run("VACUUM ANALYZE")
        if not web_jit:
            self.postgres.run("ALTER ROLE web SET jit = off")
        dsn = f"pgsql:host=127.0.0.1;port={self.postgres.port};dbname=postgres"
        variables = {
            "DATABASE_DSN": f'"{dsn}"', "TRAINERS": str(trainers), "CUSTOMERS": str(self.postgres.sizes["customers"]),
        }  # fmt: skip
        children = rng.choice((8, 10, 12))
        pool = PhpSettings(pool="courses", max_children=children, variables=variables)
        self.php = Php(environment, php_port, ("courses.php",), pool)
        location = build_fastcgi("/", self.php.address, str(self.php.directory / "courses.php"))
        self.nginx = Nginx(environment, port, NginxSettings(server_lines=location))
        street.parameters |= {"courses": port, "months": months, "trainers": trainers, "children": children}


class Workshops:
    """Offers of workshops: a Java service in a container, which may have so many tasks."""

    def __init__(
        self, street: Street, ports: Sequence[int], *, tasks: int, release: int, threads: int,
        address: str = "127.0.0.1",
    ) -> None:  # fmt: skip
        """Start the service and its partner on two ports.

        Args:
            tasks: how many processes and threads the container may have.
            threads: how many the service may have for requests, and how many for questions to workshops.
            address: what the service listens on.
        """
        rng, environment = street.rng, street.environment
        self.environment, self.tasks = environment, tasks
        self.port, self.listen = ports[0], address
        workshops = rng.randrange(3, 5)
        self.partner = PartnerCompany(environment, ports[1], workshops=(rng.uniform(15, 35), 0.3))
        self.group = create_pod(environment, rng.choice(("offers", "workshops", "repairs")))
        self.directory = _create_tasks_group(environment, self.group)
        (self.directory / "pids.max").write_text(str(tasks))
        self.words = [
            f"-Dthreads={threads}", f"-Dpartner={self.partner.address}", f"-Dworkshops={workshops}",
            f"-Dwork={rng.randrange(300, 900)}",
        ]  # fmt: skip
        self.classes = build_classes(environment, "Workshops.java")
        self.start(release)
        street.parameters |= {"offers": self.port, "workshops": workshops, "tasks": tasks}

    @property
    def address(self) -> str:
        return f"{self.listen}:{self.port}"

    def start(self, release: int) -> None:
        """Start a release of the service."""
        command = [
            "java", "-Xmx160m", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Dsun.net.httpserver.nodelay=true",
            *self.words, f"-Drelease={release}",
            "-cp", str(self.classes), "Workshops", self.listen, str(self.port),
        ]  # fmt: skip
        self.server: subprocess.Popen[bytes] = self.environment.on_host(command, self.group)
        (self.directory / "cgroup.procs").write_text(str(self.server.pid))
        wait_for(lambda: bool(self.environment.host_net.sh(f"ss -Hltn sport = :{self.port}")), "offers", 40.0)

    def replace(self, release: int) -> None:
        """Start another release in place of the one that runs."""
        self.environment.stop(self.server)
        self.start(release)

    def count_tasks(self) -> int:
        """Return how many processes and threads the container has."""
        return int((self.directory / "pids.current").read_text())


def _create_tasks_group(environment: LabEnvironment, group: Group) -> Path:
    """Return the directory in which the tasks of the group are counted."""
    directory = TASKS / group.path.strip("/")
    environment.cleanup.remove([directory.parent, directory])
    directory.mkdir(parents=True, exist_ok=True)
    return directory
