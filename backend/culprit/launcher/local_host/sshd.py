"""Private sshd for this machine as the first host: on loopback, with its own port and keys.

The sshd of the system is used if there is one, else the unpacked one. An sshd of root requires a user `sshd`
and a directory /run/sshd, and rejects accounts with a locked password. If the machine differs, sshd runs in a
mount namespace with its own passwd, shadow and /run.
"""

from __future__ import annotations

import os
import pwd
import re
import subprocess
from pathlib import Path

from culprit.launcher.install import requirements
from culprit.launcher.install.apt_packages import SYSTEM_PATH, Packages, find_program
from culprit.launcher.progress import LauncherError
from culprit.launcher.services import ServiceProcess

MOUNTS = Path(__file__).with_name("private_mounts.sh")
IN_PRIVATE_MOUNTS = ("unshare", "--mount", "--propagation", "slave", "sh", str(MOUNTS))
LOOPBACK = "127.0.0.1"
FIRST_PORT = 8122
SSHD_UID = 74  # any free id; only the passwd of the namespace contains it
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


class SshdProcess(ServiceProcess):
    """The sshd process, with its keys below `directory`, and how to log in."""

    def __init__(
        self, command: list[str], env: dict[str, str], port: int, user: str, directory: Path
    ) -> None:
        super().__init__("sshd", tuple(command), port=port)
        self.env = env
        self.user = user
        self.client_key = directory / "client_key"
        self.host_public_key = directory / "host_key.pub"


def prepare_sshd(directory: Path, packages: Packages) -> SshdProcess | None:
    """Write keys and configuration below `directory`. Return None without an sshd. Raises LauncherError."""
    unpacked = packages.program("sshd")
    installed = find_program("sshd")
    sshd = installed or unpacked
    if sshd is None:
        return None
    environment = {"PATH": SYSTEM_PATH, "LC_ALL": "C.UTF-8"}
    if not installed:
        environment["LD_LIBRARY_PATH"] = packages.libraries()
    user = requirements.current_user()
    create_keys(directory, find_program("ssh-keygen") or packages.program("ssh-keygen"), environment)
    port = choose_port(directory)
    config = directory / "sshd_config"
    text = CONFIG.format(
        port=port, address=LOOPBACK, keys=directory, user=user, path=f"{SYSTEM_PATH}:{packages.bin}"
    )
    if not installed:
        text += find_session_options(packages)
    config.write_text(text, "utf-8")
    command = [str(sshd), "-D", "-e", "-f", str(config)]
    mounts = list_mount_options(directory) if os.geteuid() == 0 else []
    if mounts:
        command = [*IN_PRIVATE_MOUNTS, *mounts, "--", *command]
    return SshdProcess(command, environment, port, user, directory)


def create_keys(directory: Path, keygen: Path | None, environment: dict[str, str]) -> None:
    """Create Ed25519 keys for the host and its client, once per data directory. Raises LauncherError."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in ("host_key", "client_key"):
        key = directory / name
        if key.exists() and key.with_suffix(".pub").exists():
            continue
        if keygen is None:
            raise LauncherError("ssh-keygen is missing: apt-get install openssh-client")
        for left in (key, key.with_suffix(".pub")):
            left.unlink(missing_ok=True)
        result = subprocess.run(
            [keygen, "-q", "-t", "ed25519", "-N", "", "-C", f"culprit {name}", "-f", key],
            env=environment, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        if result.returncode != 0:
            raise LauncherError(f"ssh-keygen failed: {result.stderr.strip()[-200:]}")
    public = (directory / "client_key.pub").read_text("ascii").strip()
    authorized = directory / "authorized_keys"
    authorized.write_text(f'restrict,from="{LOOPBACK}" {public}\n', "ascii")
    authorized.chmod(0o600)


def choose_port(directory: Path) -> int:
    """Return the previous port if it is free, so that the added host stays the same. Raises LauncherError."""
    file = directory / "port"
    try:
        first_port = int(file.read_text("ascii"))
    except (OSError, ValueError):
        first_port = FIRST_PORT
    port = (
        requirements.find_free_port(LOOPBACK, first_port)
        or requirements.find_free_port(LOOPBACK, FIRST_PORT, tries=200)
        or requirements.find_free_port(LOOPBACK, 0)
    )
    if port is None:
        raise LauncherError(f"no free port on {LOOPBACK}")
    file.write_text(f"{port}\n", "ascii")
    return port


def find_session_options(packages: Packages) -> str:
    """Return options with the program paths of an unpacked sshd, which since OpenSSH 9.8 uses fixed paths."""
    programs = {"SshdSessionPath": "sshd-session", "SshdAuthPath": "sshd-auth"}
    folders = ("usr/lib/openssh", "usr/libexec/openssh", "usr/libexec")
    places = (
        (option, packages.tree / folder / name) for option, name in programs.items() for folder in folders
    )
    return "".join(f"{option} {place}\n" for option, place in places if place.exists())


def list_mount_options(directory: Path) -> list[str]:
    """Return options of private_mounts for what this machine lacks; empty if sshd can run without them."""
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
    text = shadow.read_text("utf-8", "surrogateescape") if shadow.exists() else ""
    unlocked = re.sub(rf"^{re.escape(account)}:![^:]*", f"{account}:*", text, flags=re.M)
    if unlocked != text:
        own = directory / "shadow"
        own.touch(mode=0o600)
        own.chmod(0o600)
        own.write_text(unlocked, "utf-8", "surrogateescape")
        options += ["--file", str(own), "/etc/shadow"]
    if not Path("/run/sshd").is_dir():
        own = directory / "run"
        own.mkdir(mode=0o755, exist_ok=True)
        options += ["--run", str(own), "sshd"]
    return options
