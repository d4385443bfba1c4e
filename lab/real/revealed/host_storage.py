"""Volumes that take no more data or files, and one whose server does not answer."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.hosts.site_host import (
    MAGAZINE_PAGES,
    PROGRAMS,
    choose_pages,
    mount_volume,
    start_magazine,
)
from lab.scenario import Live, Scenario

SSHD = """
Port {port}
ListenAddress {address}
HostKey {home}/host_key
PidFile none
AuthorizedKeysFile {home}/authorized_keys
StrictModes no
UsePAM no
PermitRootLogin yes
Subsystem sftp /usr/lib/openssh/sftp-server
"""


@contextmanager
def _removed_log_that_is_open(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: a log grew over the whole volume and was removed, but the exporter has it open."""
    path = rng.choice(("/run/data", "/run/srv", "/run/app"))
    size_mb = rng.randrange(160, 420, 20)
    mount_volume(environment, size_mb, path)
    environment.host_sh(
        f"install -d -o www-data {path}/journal; install -d {path}/log {path}/reports;"
        f"head -c {size_mb * rng.randrange(5, 20) // 100}M /dev/urandom >{path}/reports/2026-10.bin"
    )
    name = rng.choice(("feed-export", "price-feed", "partner-sync"))
    (environment.directory / f"{name}.py").write_text((PROGRAMS / "feed_export.py").read_text())
    log = f"{path}/log/{name}.log"
    environment.on_host([sys.executable, "-B", str(environment.directory / f"{name}.py"), log])
    host = start_magazine(environment, rng, {"JOURNAL_DIRECTORY": f"{path}/journal"})
    host.start_clients(rng.randrange(90, 160), choose_pages(rng, (*MAGAZINE_PAGES, "/subscribe/{n}"), 6))
    host.measure_baseline()
    # dd writes what days of traffic do: lines at the end of the log, which the exporter has open.
    environment.host_sh(
        f"yes 'entry skipped: no price for partner' | dd of={log} oflag=append conv=notrunc bs=64k iflag=fullblock"
        f" 2>/dev/null || :; sync -f {path}; rm {log}"
    )
    yield host.build_live(path=path, size_mb=size_mb, log=log)


@contextmanager
def _no_free_inodes(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how many sessions are kept, as a small file each, on the volume of the comments."""
    path = rng.choice(("/run/data", "/run/srv", "/run/app"))
    size_mb, inodes = rng.randrange(200, 500, 20), rng.randrange(6000, 16_000)
    mount_volume(environment, size_mb, path, inodes)
    environment.host_sh(f"install -d -o www-data {path}/comments {path}/sessions")
    rate = environment.directory / "new-sessions"
    rate.write_text("8")
    words = [str(PROGRAMS / "session_store.py"), "--directory", f"{path}/sessions", "--rate", str(rate)]
    environment.on_host([sys.executable, "-B", *words])
    host = start_magazine(environment, rng, {"COMMENT_DIRECTORY": f"{path}/comments"})
    host.start_clients(rng.randrange(90, 160), choose_pages(rng, (*MAGAZINE_PAGES, "/comment/{n}"), 6))
    host.measure_baseline()
    rate.write_text("40000")
    wait_for(
        lambda: environment.host_sh(f"df --output=iavail {path}").split()[-1] == "0", "the volume to fill", 30
    )
    rate.write_text("8")
    yield host.build_live(path=path, size_mb=size_mb, inodes=inodes)


class MediaServer:
    """A file server on the clients' side, of which the host mounts a directory with sshfs."""

    def __init__(self, environment: LabEnvironment, rng: random.Random, path: str) -> None:
        self.environment, self.port = environment, rng.choice((22, 2222, 2022))
        home = environment.directory / "media-server"
        (home / "images").mkdir(parents=True)
        for index in range(200):
            (home / f"images/image-{index:03}.jpg").write_bytes(rng.randbytes(rng.randrange(4_000, 40_000)))
        key = environment.lab.key
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(home / "host_key")], check=True
        )
        (home / "authorized_keys").write_text(key.with_suffix(".pub").read_text())
        (home / "sshd_config").write_text(
            SSHD.format(port=self.port, address=environment.client_address, home=home)
        )
        self.server = environment.on_client(["/usr/sbin/sshd", "-D", "-e", "-f", str(home / "sshd_config")])
        wait_for(lambda: bool(environment.client_net.sh(f"ss -Hltn sport = :{self.port}")), "the file server")
        options = (
            f"port={self.port},IdentityFile={key},StrictHostKeyChecking=no,UserKnownHostsFile=/dev/null,"
            "allow_other,ro,reconnect,ServerAliveInterval=0,dir_cache=no"
        )
        environment.host_sh(f"mkdir -p {path}")
        environment.on_host(
            ["sshfs", "-f", "-o", options, f"root@{environment.client_address}:{home}/images", path]
        )
        wait_for(lambda: " fuse.sshfs " in environment.host_sh("cat /proc/mounts"), "the mount of the images")

    def list_sessions(self) -> list[int]:
        """Return the pids of the server's processes that answer for the mount."""
        pids, sessions = [self.server.pid], []
        while pids:
            done = subprocess.run(
                ["pgrep", "-P", str(pids.pop())], capture_output=True, text=True, check=False
            )
            children = [int(word) for word in done.stdout.split()]
            pids += children
            sessions += children
        return sessions


@contextmanager
def _silent_file_server(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the file server of the images does not answer any more: it is stopped, or cut off."""
    path = rng.choice(("/run/media", "/run/images", "/run/assets"))
    media = MediaServer(environment, rng, path)
    host = start_magazine(
        environment,
        rng,
        {"MEDIA_DIRECTORY": path},
        workers=rng.randrange(4, 8),
        threads=rng.choice((1, 1, 3)),
    )
    host.start_clients(
        rng.randrange(80, 140), choose_pages(rng, (*MAGAZINE_PAGES, *MAGAZINE_PAGES, "/images/{n}"), 7)
    )
    host.measure_baseline()
    stopped = rng.random() < 0.5
    if stopped:
        for pid in media.list_sessions():
            subprocess.run(["kill", "-STOP", str(pid)], check=False)
    else:
        media.environment.client_net.sh(f"iptables -A INPUT -p tcp --dport {media.port} -j DROP")
    time.sleep(1.0)
    yield host.build_live(path=path, stopped=stopped)


SCENARIOS = (
    Scenario(
        "deleted-open-file", "development", "deleted-open-file", ("deleted-open-file",),
        "A volume is full of a log that was removed while its writer has it open.", _removed_log_that_is_open,
        needs=("gunicorn", "mkfs.ext4"), seconds=8.0, software=("gunicorn",),
    ),
    Scenario(
        "inodes-exhausted", "development", "inodes-exhausted", ("inodes-exhausted",),
        "A volume with free space has no free inode: new files cannot be created.", _no_free_inodes,
        needs=("gunicorn", "mkfs.ext4"), seconds=8.0, software=("gunicorn",),
    ),
    Scenario(
        "fuse-hang", "development", "fuse-hang", ("hanging-file-system",),
        "The server of an sshfs mount does not answer: workers that read an image hang.", _silent_file_server,
        needs=("sshfs", "gunicorn"), seconds=8.0, software=("sshfs", "gunicorn"),
    ),
)  # fmt: skip
