"""A dental practice and a school, each with its application in a container of its own."""

from __future__ import annotations

import time

from lab.cgroups import Group
from lab.real.services.apache import Apache, ApacheSettings, build_php
from lab.real.services.gunicorn import Gunicorn
from lab.real.services.nginx import Nginx, NginxSettings, build_proxy, build_upstream
from lab.real.services.php import Php, PhpSettings
from lab.real.services.towns.town import Town

PATH = "/practice.php?n={n}"


class Practice:
    """The bills of a practice: Apache, and php-fpm in the container `pod`."""

    def __init__(self, town: Town, cpus: float) -> None:
        """Start the services. cpus: what the container may use."""
        rng, environment = town.rng, town.environment
        port, php_port = town.take_ports(2)
        self.pod = town.create_group(rng.choice(("practice", "bills", "php")))
        self.pod.limit_cpu(cpus)
        variables = {"ROUNDS": str(rng.randrange(5_000, 8_000)), "TREATMENTS": str(rng.randrange(10, 40))}
        settings = PhpSettings(pool="practice", max_children=rng.choice((8, 10, 12)), variables=variables)
        self.php = Php(environment, php_port, ("practice.php",), settings, group=self.pod)
        self.apache = Apache(
            environment, port, ApacheSettings(directory_lines=build_php(self.php.address)), self.php.directory
        )
        town.parameters |= {"practice": port, "children": settings.max_children, **variables}

    def measure_cpus(self, seconds: float) -> float:
        """Return how many CPUs the container uses."""
        before = read_cpu_s(self.pod)
        time.sleep(seconds)
        return (read_cpu_s(self.pod) - before) / seconds


def read_cpu_s(group: Group) -> float:
    """Return the CPU time that a group has used."""
    text = group.file("cpuacct", "cpuacct.usage", "cpu.stat").read_text().split()
    return int(text[0]) / 1e9 if len(text) == 1 else int(text[text.index("usage_usec") + 1]) / 1e6


class School:
    """The reports of a school: nginx, and gunicorn in the container `pod`."""

    def __init__(self, town: Town) -> None:
        """Start the services."""
        rng, environment = town.rng, town.environment
        port, app_port = town.take_ports(2)
        self.pod = town.create_group(rng.choice(("school", "reports", "pupils")))
        self.report_mb, self.printer_s = rng.randrange(50, 80), rng.uniform(0.4, 0.6)
        variables = {"REPORT_MB": str(self.report_mb), "PRINTER_S": f"{self.printer_s:.2f}"}
        self.app = Gunicorn(
            environment, app_port, "towns/class_reports_app.py", address="127.0.0.1", workers=2,
            threads=rng.choice((6, 8)), variables=variables, group=self.pod,
        )  # fmt: skip
        lines = NginxSettings(
            http_lines=build_upstream("school", (f"127.0.0.1:{app_port}",)),
            server_lines=build_proxy("/", "school"),
        )
        self.nginx = Nginx(environment, port, lines)
        time.sleep(2.0)
        self.idle_mb = count_kept_bytes(self.pod) >> 20
        town.parameters |= {"school": port, "report_mb": self.report_mb, "idle_mb": self.idle_mb}

    def limit_reports(self, count: float) -> int:
        """Give the container as much memory as so many prints at a time take. Returns the megabytes."""
        megabytes = self.idle_mb + 16 + round(self.report_mb * count)
        self.pod.limit_memory(megabytes << 20)
        return megabytes


def count_kept_bytes(group: Group) -> int:
    """Return the memory of a group that the kernel cannot take back without swap."""
    lines = group.file("memory", "memory.stat", "memory.stat").read_text().splitlines()
    figures = {name: int(value) for name, value in (line.split() for line in lines)}
    return sum(figures.get(name, 0) for name in ("rss", "shmem", "anon"))
