"""A college: pictures of its people in an OpenLDAP, with a Redis of sessions in the same container."""

from __future__ import annotations

import base64
import random
import subprocess
import time
from pathlib import Path

from lab.application import DATA, LabApplication, slow_disk
from lab.load import wait_for
from lab.real.services.gunicorn import Gunicorn
from lab.real.services.quarter.practice_host import count_kept_bytes
from lab.real.services.towns.town import Town

SUFFIX = "dc=college,dc=example"
CONFIGURATION = """
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
pidfile {directory}/slapd.pid
argsfile {directory}/slapd.args
modulepath /usr/lib/ldap
moduleload back_mdb
threads {threads}
database mdb
suffix "{suffix}"
directory {data}
maxsize 1073741824
index objectClass,uid eq
"""
TOP = """dn: {suffix}
objectClass: dcObject
objectClass: organization
dc: college
o: College

dn: ou=people,{suffix}
objectClass: organizationalUnit
ou: people

"""
PERSON = """dn: uid=person{number},ou=people,{suffix}
objectClass: inetOrgPerson
uid: person{number}
cn: person {number}
sn: {number}
telephoneNumber: +43 1 {number:05}
jpegPhoto:: {picture}

"""
LOAD = """
install -d -o openldap -g openldap {data}
slapadd -q -f {directory}/slapd.conf -l {directory}/people.ldif
chown -R openldap:openldap {data}
sync -f {data}; dd of={data}/data.mdb oflag=nocache conv=notrunc count=0 2>/dev/null
"""
SESSION_BYTES = 1000


class College:
    """The directory and the application that shows it. `server` is slapd, `pod` the group of slapd and Redis."""

    def __init__(self, town: Town, people: int, iops: int) -> None:
        """Start the services. people: how many have an entry. iops: what the volume of the directory does."""
        self.rng, self.environment, self.people = town.rng, town.environment, people
        self.pod = town.create_group(self.rng.choice(("college", "people", "directory")))
        self.directory, self.data = self.environment.directory / "ldap", f"{DATA}/people"
        self.port, self.redis_port, app_port = town.take_ports(3)
        self._load_people(iops)
        command = [
            "slapd",
            "-d",
            "0",
            "-h",
            f"ldap://127.0.0.1:{self.port}",
            "-f",
            f"{self.directory}/slapd.conf",
        ]
        self.server = self._start([*command, "-u", "openldap", "-g", "openldap"], self.port)
        redis = ["redis-server", "--port", str(self.redis_port), "--bind", "127.0.0.1", "--save", "", "--dir",
                 str(self.environment.directory), "--enable-debug-command", "yes"]  # fmt: skip
        self._start(redis, self.redis_port)
        rounds = self.rng.randrange(600, 2_500)
        variables = {
            "DIRECTORY_URL": f"ldap://127.0.0.1:{self.port}", "SUFFIX": SUFFIX, "PEOPLE": str(people),
            "ROUNDS": str(rounds),
        }  # fmt: skip
        threads = self.rng.choice((12, 16, 20))
        self.app = Gunicorn(
            self.environment, app_port, "districts/faces_app.py", workers=2, threads=threads, variables=variables,
            access_log=False,
        )  # fmt: skip
        self.address = f"{self.environment.host_address}:{app_port}"
        town.parameters |= {
            "college": app_port, "people": people, "volume_iops": iops, "threads": threads, "rounds": rounds,
        }  # fmt: skip

    @property
    def pid(self) -> int:
        """The process of slapd."""
        return self.server.pid

    @property
    def size_mb(self) -> int:
        """The size of the database; its file is larger and has no blocks behind it."""
        return int(self.environment.host_sh(f"stat -c %b {self.data}/data.mdb")) * 512 >> 20

    def keep_sessions(self, megabytes: float) -> None:
        """Let Redis keep so much."""
        count = int(megabytes * (1 << 20) / (SESSION_BYTES + 100))
        prefix = f"s{self.rng.randrange(1_000, 9_000)}"
        self.environment.host_sh(
            f"redis-cli -p {self.redis_port} debug populate {count} {prefix} {SESSION_BYTES}"
        )

    def limit_memory(self, spare_mb: int) -> int:
        """Give the container room for the whole database and so much more, and read the database once.

        Returns the megabytes of the limit.
        """
        time.sleep(1.0)
        megabytes = (count_kept_bytes(self.pod) >> 20) + self.size_mb + spare_mb
        self.pod.limit_memory(megabytes << 20)
        words = [f"if={self.data}/data.mdb", "of=/dev/null", "bs=1M", f"count={self.size_mb + 1}"]
        self.environment.on_host(["dd", *words], self.pod).wait()
        return megabytes

    def draw_paths(self) -> list[str]:
        """Return what members request: mostly pictures."""
        rng = self.rng
        return ["/faces/{n}"] * rng.randrange(3, 6) + ["/phones/{n}"] * rng.randrange(1, 3) + ["/hours/{n}"]

    def _load_people(self, iops: int) -> None:
        image = LabApplication(self.environment, self.rng).disk(self.rng.randrange(500, 700))
        self.directory.mkdir()
        text = CONFIGURATION.format(
            directory=self.directory, data=self.data, suffix=SUFFIX, threads=self.rng.choice((12, 16))
        )
        (self.directory / "slapd.conf").write_text(text)
        write_people(self.directory / "people.ldif", self.rng, self.people)
        self.environment.host_sh(LOAD.format(data=self.data, directory=self.directory))
        self.environment.host_sh(f"chown openldap:openldap {self.directory}")
        slow_disk(self.pod, image, iops=iops)

    def _start(self, command: list[str], port: int) -> subprocess.Popen[bytes]:
        server = self.environment.on_host(command, self.pod)
        listing = f"ss -Hltn sport = :{port}"
        wait_for(
            lambda: server.poll() is not None or bool(self.environment.host_net.sh(listing)), command[0], 30.0
        )
        if server.poll() is not None:
            text = (self.environment.directory / "programs.log").read_text()[-600:]
            raise RuntimeError(f"{command[0]} ended: {text}")
        return server


def write_people(file: Path, rng: random.Random, people: int) -> None:
    """Write an entry with a picture for each person."""
    with file.open("w") as lines:
        lines.write(TOP.format(suffix=SUFFIX))
        for number in range(people):
            picture = base64.b64encode(rng.randbytes(rng.randrange(3_000, 9_500))).decode()
            lines.write(PERSON.format(suffix=SUFFIX, number=number, picture=picture))
