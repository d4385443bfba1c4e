"""An OpenLDAP on the host: the directory of a company's people, its start, and restarts with other settings."""

from __future__ import annotations

import random
import shutil
import subprocess

from lab.environment import LabEnvironment
from lab.load import wait_for

SUFFIX = "dc=office,dc=example"
CONFIGURATION = """
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
pidfile {directory}/slapd.pid
argsfile {directory}/slapd.args
modulepath /usr/lib/ldap
moduleload back_mdb
threads {threads}
sizelimit 500
database mdb
suffix "{suffix}"
rootdn "cn=portal,{suffix}"
rootpw portal
directory {directory}/data
maxsize 268435456
{index_lines}
"""
TOP = """dn: {suffix}
objectClass: dcObject
objectClass: organization
dc: office
o: Office

dn: ou=people,{suffix}
objectClass: organizationalUnit
ou: people

"""
PERSON = """dn: uid=person{number},ou=people,{suffix}
objectClass: inetOrgPerson
uid: person{number}
cn: {name}
sn: {name}
mail: {name}.{number}@office.example
employeeNumber: {staff_number}
telephoneNumber: +43 1 {number:05}
title: {title}
userPassword: secret{number}

"""
NAMES = ("amara", "bela", "clara", "dario", "emil", "fatima", "gregor", "hana", "ivo", "jana", "karim", "lea")
TITLES = ("clerk", "buyer", "driver", "planner", "accountant", "engineer")


class Slapd:
    """A slapd that runs on 127.0.0.1. `server` is its process, `people` how many entries it has."""

    def __init__(
        self,
        environment: LabEnvironment,
        rng: random.Random,
        port: int,
        people: int,
        indexes: tuple[str, ...],
    ) -> None:
        """Create the directory and start slapd. `indexes` are attributes."""
        self.environment, self.port, self.people = environment, port, people
        self.threads, self.offset = rng.choice((8, 16)), rng.randrange(10_000, 90_000)
        self.directory = environment.directory / "ldap"
        (self.directory / "data").mkdir(parents=True)
        self.write_configuration(indexes)
        text = TOP.format(suffix=SUFFIX) + "".join(
            PERSON.format(
                suffix=SUFFIX, number=number, name=NAMES[number % len(NAMES)], staff_number=self.offset + number,
                title=rng.choice(TITLES),
            )
            for number in range(people)
        )  # fmt: skip
        (self.directory / "people.ldif").write_text(text)
        words = ("-q", "-f", str(self.directory / "slapd.conf"), "-l", str(self.directory / "people.ldif"))
        subprocess.run(["slapadd", *words], check=True, capture_output=True, timeout=60)
        for path in (self.directory, *self.directory.rglob("*")):
            shutil.chown(path, "openldap", "openldap")
        self.start()

    @property
    def url(self) -> str:
        return f"ldap://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The process."""
        return self.server.pid

    def write_configuration(self, indexes: tuple[str, ...]) -> None:
        """Write slapd.conf."""
        lines = "\n".join(f"index {name} eq" for name in ("objectClass", *indexes))
        (self.directory / "slapd.conf").write_text(
            CONFIGURATION.format(
                directory=self.directory, threads=self.threads, suffix=SUFFIX, index_lines=lines
            )
        )

    def start(self) -> None:
        """Start slapd, and wait until it listens."""
        command = ["slapd", "-d", "0", "-h", self.url, "-f", str(self.directory / "slapd.conf")]
        self.server: subprocess.Popen[bytes] = self.environment.on_host(
            [*command, "-u", "openldap", "-g", "openldap"]
        )
        wait_for(lambda: self.server.poll() is not None or self._is_listening(), "slapd")
        if self.server.poll() is not None:
            raise RuntimeError(
                f"slapd ended: {(self.environment.directory / 'programs.log').read_text()[-600:]}"
            )

    def restart(self, indexes: tuple[str, ...]) -> None:
        """Start again with these indexes."""
        self.server.terminate()
        self.server.wait()
        wait_for(lambda: not self._is_listening(), "slapd to end")
        self.write_configuration(indexes)
        self.start()

    def _is_listening(self) -> bool:
        return bool(self.environment.host_net.sh(f"ss -Hltn sport = :{self.port}").strip())
