"""Folders of teams, and mail of an office: a twenty-first set."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from lab.environment import LabEnvironment
from lab.real.services.platform.folders import LINE, Folders
from lab.real.services.platform.mail import OfficeMail
from lab.real.services.towns.town import Town
from lab.scenario import Live, Scenario


@contextmanager
def _folders_of_teams(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: an option of the mount of the volume."""
    town = Town(environment, rng)
    folders = Folders(town, rng.randrange(350, 500))
    town.start_senders(folders.apache.address, rng.uniform(8, 12), folders.draw_requests(), LINE, warm_s=5.0)
    folders.mount_again("sync")
    time.sleep(8.0)
    yield town.build_live(rng.choice((folders.apache.pid, folders.php.pid)), folders.access_log)


@contextmanager
def _mail_of_an_office(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: how many sessions a mailbox may have from the same address, which is that of a gateway."""
    town = Town(environment, rng)
    before, after = rng.randrange(40, 80), rng.choice((10, 10, 12))
    mail = OfficeMail(town, before)
    # Every mailbox has almost as many sessions that wait as it may have afterwards, some of them as many.
    waiting = mail.mailboxes * (after - 1) + mail.mailboxes // rng.randrange(2, 4)
    mail.start_people(rng.uniform(5, 9), waiting)
    mail.limit_sessions(after)
    time.sleep(8.0)
    yield town.build_live(mail.dovecot.pid, "", sessions=[before, after])


SCENARIOS = (
    Scenario(
        "team-folders", "development", "folders-of-teams", ("sync-write-amplification", "disk-saturation"),
        "The volume of php-fpm is mounted so that each small write waits for it, which requests of a program do not.",
        _folders_of_teams, needs=("php-fpm8.2", "apache2", "mkfs.ext4"), seconds=10.0,
        software=("php-fpm", "apache2"),
    ),
    Scenario(
        "office-mail", "development", "mail-of-an-office", ("connection-limit",),
        "Dovecot lets a mailbox have as many sessions from the same address as wait already, and refuses others.",
        _mail_of_an_office, needs=("dovecot", "doveadm"), seconds=10.0, software=("dovecot",),
    ),
)  # fmt: skip
