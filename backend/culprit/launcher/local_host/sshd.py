"""The private sshd by which this machine is its own first host: loopback, own port, own keys, ends with us.

An sshd of the system is used where there is one, else the unpacked one. Root's sshd insists on a user `sshd`
and a directory /run/sshd, and refuses accounts whose password field is locked; where the machine has it
otherwise, sshd runs in a mount namespace with its own passwd, shadow and /run.
"""

from __future__ import annotations

import os
import pwd
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from culprit.launch import machine
from culprit.launch.apt_packages import SYSTEM_PATH, Packages, find
from culprit.launch.progress import Refusal

MOUNTS = Path(__file__).with_name("private_mounts.py")
LOOPBACK = "127.0.0.1"
FIRST_PORT = 8122
SSHD_UID = 74  # any that is free; only passwd of the namespace knows it
CONFIG = """\
Port {port}
ListenAddress {address}
AddressFamily inet
HostKey {keys}/host_key
AuthorizedKeysFile {keys}/authorized_keys
PidFile none
StrictModes no
UsePAM no
UseDNS no
PasswordAuthentication no
KbdInteractiveAuthentication no
PubkeyAuthentication yes
PermitRootLogin prohibit-password
AllowUsers {user}
AllowTcpForwarding no
AllowStreamLocalForwarding no
AllowAgentForwarding no
X11Forwarding no
PermitTunnel no
PermitUserRC no
PermitTTY no
PrintMotd no
PrintLastLog no
MaxStartups 60
MaxSessions 20
LogLevel INFO
SetEnv PATH={path}
"""


@dataclass(frozen=True, slots=True)
class Prepared:
    """How the sshd is started, and what the platform must know to log in."""

    command: list[str]
    environment: dict[str, str]
    address: str
    port: int
    user: str
    client_key: Path
    host_public_key: Path


def prepare(directory: Path, packages: Packages) -> Prepared | None:
    """Write keys and configuration below `directory`; None where this machine has no sshd. Raises Refusal."""
    unpacked = packages.program("sshd")
    installed = find("sshd")
    sshd = installed or unpacked
    if sshd is None:
        return None
    libraries = "" if installed else packages.libraries()
    environment = {"PATH": SYSTEM_PATH, "LC_ALL": "C.UTF-8"}
    if libraries:
        environment["LD_LIBRARY_PATH"] = libraries
    user = machine.who()
    make_keys(directory, find("ssh-keygen") or packages.program("ssh-keygen"), environment)
    port = choose_port(directory)
    config = directory / "sshd_config"
    text = CONFIG.format(
        port=port, address=LOOPBACK, keys=directory, user=user, path=f"{SYSTEM_PATH}:{packages.bin}"
    )
    if not installed:
        text += split_programs(packages)
    config.write_text(text, "utf-8")
    command = [str(sshd), "-D", "-e", "-f", str(config)]
    mounts = private_files(directory) if os.geteuid() == 0 else []
    if mounts:
        command = [sys.executable, "-IS", str(MOUNTS), *mounts, "--", *command]
    return Prepared(
        command, environment, LOOPBACK, port, user, directory / "client_key", directory / "host_key.pub"
    )


def make_keys(directory: Path, keygen: Path | None, environment: dict[str, str]) -> None:
    """Ed25519 keys for the host and its one client, made once per data directory. Raises Refusal."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in ("host_key", "client_key"):
        key = directory / name
        if key.exists() and key.with_suffix(".pub").exists():
            continue
        if keygen is None:
            raise Refusal("ssh-keygen is missing: apt-get install openssh-client")
        for left in (key, key.with_suffix(".pub")):
            left.unlink(missing_ok=True)
        made = subprocess.run(
            [keygen, "-q", "-t", "ed25519", "-N", "", "-C", f"culprit {name}", "-f", key],
            env=environment, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        if made.returncode != 0:
            raise Refusal(f"ssh-keygen failed: {made.stderr.strip()[-200:]}")
    public = (directory / "client_key.pub").read_text("ascii").strip()
    authorized = directory / "authorized_keys"
    authorized.write_text(f'restrict,from="{LOOPBACK}" {public}\n', "ascii")
    authorized.chmod(0o600)


def choose_port(directory: Path) -> int:
    """The port of last time where it is free, so that the enrolled host stays the same. Raises Refusal."""
    file = directory / "port"
    try:
        wanted = int(file.read_text("ascii"))
    except (OSError, ValueError):
        wanted = FIRST_PORT
    port = (
        machine.free_port(LOOPBACK, wanted)
        or machine.free_port(LOOPBACK, FIRST_PORT, tries=200)
        or machine.free_port(LOOPBACK, 0)
    )
    if port is None:
        raise Refusal(f"no port on {LOOPBACK} can be listened on")
    file.write_text(f"{port}\n", "ascii")
    return port


def split_programs(packages: Packages) -> str:
    """Since OpenSSH 9.8 sshd starts other programs by fixed paths; an unpacked one is told where they are."""
    lines = []
    for option, name in (("SshdSessionPath", "sshd-session"), ("SshdAuthPath", "sshd-auth")):
        for folder in ("usr/lib/openssh", "usr/libexec/openssh", "usr/libexec"):
            program = packages.tree / folder / name
            if program.exists():
                lines.append(f"{option} {program}\n")
                break
    return "".join(lines)


def private_files(directory: Path) -> list[str]:
    """Options of private_mounts for what this machine lacks; empty where sshd can run as everything is."""
    options: list[str] = []
    account = pwd.getpwuid(os.geteuid()).pw_name
    passwd = Path("/etc/passwd").read_text("utf-8", "surrogateescape")
    if not any(line.startswith("sshd:") for line in passwd.splitlines()):
        own = directory / "passwd"
        own.write_text(
            f"{passwd.rstrip()}\nsshd:x:{SSHD_UID}:65534::/run/sshd:/usr/sbin/nologin\n",
            "utf-8", "surrogateescape",
        )  # fmt: skip
        own.chmod(0o644)
        options += ["--file", str(own), "/etc/passwd"]
    shadow = Path("/etc/shadow")
    if shadow.exists():
        lines = shadow.read_text("utf-8", "surrogateescape").splitlines()
        fields = [line.split(":") for line in lines]
        if any(one[0] == account and len(one) > 1 and one[1].startswith("!") for one in fields):
            own = directory / "shadow"
            own.touch(mode=0o600)
            own.chmod(0o600)
            unlocked = [
                ":".join([one[0], "*", *one[2:]]) if one[0] == account else ":".join(one) for one in fields
            ]
            own.write_text("\n".join(unlocked) + "\n", "utf-8", "surrogateescape")
            options += ["--file", str(own), "/etc/shadow"]
    if not Path("/run/sshd").is_dir():
        own = directory / "run"
        own.mkdir(mode=0o755, exist_ok=True)
        options += ["--run", str(own), "sshd"]
    return options


def answers(address: str, port: int) -> bool:
    """Whether an SSH server greets there."""
    try:
        with socket.create_connection((address, port), timeout=2.0) as connection:
            connection.settimeout(5.0)
            return connection.recv(64).startswith(b"SSH-2.0-")
    except OSError:
        return False


def wait_for(prepared: Prepared, child: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether it greets within `seconds`; False at once where it ended."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and child.poll() is None:
        if answers(prepared.address, prepared.port):
            return True
        time.sleep(0.05)
    return False
