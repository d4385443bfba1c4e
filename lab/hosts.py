"""Starts N hosts that can be reached over SSH, on this machine, in about a tenth of a second each.

A host is an sshd on a loopback address with its own port, host key and, where we are root, its own mount
namespace: /run, /var/tmp and /dev/shm are private, so every host has its own leases and leftovers, which can
be counted. Start-up files of the login shell are hidden. Kernel, processes and network are shared. Hosts end
with the process that started them.

    with Lab(Path(directory)) as lab:
        host = lab.start("web1")
        subprocess.run([*host.ssh(), "uname -a"])
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

START_S = 20.0
SETUP = """
set -e
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -m 755 /run/sshd
mkdir -m 1777 /run/lock
mount -t tmpfs -o mode=1777,size={tmp_size} tmpfs /var/tmp
mount -t tmpfs -o mode=1777,size=64m tmpfs /dev/shm
for file in "$HOME"/.bashrc "$HOME"/.profile; do [ ! -e "$file" ] || mount --bind /dev/null "$file"; done
rm -rf /run/mount
{extra}
exec {sshd} -D -e -f {config}
"""
CONFIG = """
Port {port}
ListenAddress {address}
HostKey {directory}/host_key
PidFile none
AuthorizedKeysFile {directory}/authorized_keys
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
MaxStartups 500
MaxSessions 100
UseDNS no
LogLevel ERROR
{extra}
"""


@dataclass
class LabHost:
    """One running sshd. `fingerprint` is that of its host key, `key` the private key that may log in."""

    name: str
    address: str
    port: int
    directory: Path
    key: Path
    fingerprint: str
    user: str
    private: bool
    process: subprocess.Popen[bytes] = field(repr=False)

    def ssh(self, *options: str) -> list[str]:
        """The command line that logs in; append the command to run."""
        return [
            "ssh", "-F", "none", "-i", str(self.key), "-p", str(self.port), "-l", self.user, "-T",
            "-o", f"UserKnownHostsFile={self.directory}/known_hosts", "-o", "StrictHostKeyChecking=yes",
            "-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes", "-o", "LogLevel=ERROR", *options, self.address,
        ]  # fmt: skip

    def path(self, inside: str) -> Path:
        """A path of this host, seen from here."""
        return Path(f"/proc/{self.process.pid}/root{inside}") if self.private else Path(inside)

    def processes(self) -> list[tuple[int, str]]:
        """Pid and command of everything that runs on this host, sshd's listener apart. Private hosts only."""
        mine = Path(f"/proc/{self.process.pid}/ns/mnt").stat().st_ino
        results = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == self.process.pid:
                continue
            with contextlib.suppress(OSError):
                if (entry / "ns/mnt").stat().st_ino == mine:
                    results.append((int(entry.name), _command(entry)))
        return results

    def files(self) -> list[str]:
        """Files that were left in the private directories of this host."""
        results = []
        for top in ("/run", "/var/tmp", "/dev/shm"):
            root = self.path(top)
            results += [f"{top}/{item.relative_to(root)}" for item in sorted(root.rglob("*"))]
        return [name for name in results if name not in ("/run/sshd", "/run/lock")]

    def stop(self) -> None:
        """End sshd, its sessions and all other processes of this host; remove control groups of captures."""
        cages: set[Path] = set()
        if self.private and self.process.poll() is None:
            for pid, _ in self.processes():
                with contextlib.suppress(OSError):
                    cages |= _cages(pid)
                    os.kill(pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()
        for cage in cages:
            _remove(cage)


def _cages(pid: int) -> set[Path]:
    """The control groups of the capture that process `pid` belongs to."""
    for word in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
        if word.startswith(b"CULPRIT_RUN="):
            return set(Path("/sys/fs/cgroup").glob(f"*/culprit-{word[12:].decode()}"))
    return set()


def _remove(cage: Path) -> None:
    for _ in range(40):
        with contextlib.suppress(OSError):
            cage.rmdir()
        if not cage.exists():
            return
        time.sleep(0.05)


def _command(entry: Path) -> str:
    text = (entry / "cmdline").read_bytes()[:300].replace(b"\0", b" ").decode("utf-8", "replace").strip()
    state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
    return f"{text or (entry / 'comm').read_text().strip()} [{state}]"


class Lab:
    """Starts hosts and ends them all on exit. `directory` keeps keys and configurations."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.hosts: list[LabHost] = []
        directory.mkdir(parents=True, exist_ok=True)
        self.key = directory / "client_key"
        if not self.key.exists():
            generate_key(self.key)

    def __enter__(self) -> Lab:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for host in self.hosts:
            host.stop()

    def start(
        self, name: str, *, address: str = "127.0.0.1", port: int = 0, tmp_size: str = "2g", setup: str = "",
        sshd_config: str = "", private: bool | None = None, inside: Sequence[str] = (),
    ) -> LabHost:  # fmt: skip
        """A host that accepts logins when this returns.

        `setup` is shell run as root inside the host before sshd; `sshd_config` is appended to its own.
        `inside` is a command prefix that enters the namespaces and control groups a private host is to live in.
        Raises RuntimeError with sshd's own words when it does not come up.
        """
        private = os.geteuid() == 0 if private is None else private
        port = port or free_port(address)
        home = self.directory / name
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not (home / "host_key").exists():
            generate_key(home / "host_key")
        shutil.copy(self.key.with_suffix(".pub"), home / "authorized_keys")
        config = home / "sshd_config"
        config.write_text(CONFIG.format(port=port, address=address, directory=home, extra=sshd_config))
        public = (home / "host_key.pub").read_text().split()
        where = address if port == 22 else f"[{address}]:{port}"
        (home / "known_hosts").write_text(f"{where} {public[0]} {public[1]}\n")
        process = _launch(home, config, tmp_size, setup, private=private, inside=inside)
        host = LabHost(
            name, address, port, home, self.key, fingerprint_of(home / "host_key.pub"),
            pwd.getpwuid(os.geteuid()).pw_name, private, process,
        )  # fmt: skip
        self.hosts.append(host)
        _await(host)
        return host


def _launch(
    home: Path, config: Path, tmp_size: str, setup: str, *, private: bool, inside: Sequence[str]
) -> subprocess.Popen[bytes]:
    sshd = shutil.which("sshd") or "/usr/sbin/sshd"
    if private:
        script = SETUP.format(sshd=sshd, config=config, tmp_size=tmp_size, extra=setup)
        command = [*inside, "unshare", "-m", "--propagation", "private", "sh", "-c", script]
    else:
        command = [sshd, "-D", "-e", "-f", str(config)]
    with (home / "log").open("wb") as log:
        return subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *command],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip


def _await(host: LabHost) -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end and host.process.poll() is None:
        with (
            contextlib.suppress(OSError),
            socket.create_connection((host.address, host.port), timeout=1) as peer,
        ):
            if peer.recv(4) == b"SSH-":
                return
        time.sleep(0.02)
    host.stop()
    raise RuntimeError(f"{host.name}: {(host.directory / 'log').read_text()[-500:]}")


def generate_key(path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "lab", "-f", str(path)], check=True)


def fingerprint_of(public: Path) -> str:
    done = subprocess.run(["ssh-keygen", "-lf", str(public)], check=True, capture_output=True, text=True)
    return done.stdout.split()[1]


def free_port(address: str) -> int:
    with socket.socket() as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])
