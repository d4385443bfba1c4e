"""A host with a kernel of its own: two memory nodes, cgroup v2 alone, swap. For faults that a namespace cannot have.

It is a virtual machine under qemu's emulation (TCG), with a CPU and half of the memory in each node, and without a
service manager: its first process mounts what is needed and becomes sshd, which is up in seconds. It writes to
snapshots, and reaches nothing; reached it is on two ports of 127.0.0.1, ssh and the application's. The
emulation knows no slower memory: remote nodes show in placement and counters, not in latency.

    with Guest() as guest:
        guest.limit("api", {"cpu.max": "20000 100000"})
        guest.serve(["python3", guest.program("shop.py"), ...], "api")

Everything goes when it is closed; the cleanup sees to it when that never happens. `python -m lab.guest` boots
one to look at.
"""

from __future__ import annotations

import contextlib
import random
import shlex
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from lab.cgroups import Group
from lab.cleanup import CleanupProcess
from lab.environment import LAB_SHARES, PROGRAMS, build_python_command
from lab.guest_hardware import (
    BLOCK,
    DISKS,
    Kind,
    Monitor,
    build_blkdebug_config,
    card_options,
    disk_options,
    make_disk,
)
from lab.guest_image import build_archive, get_image
from lab.hosts import CONFIG, LabHost, fingerprint_of, free_port, generate_key
from lab.load import Load

NODE_MB = 512
BOOT_S = 150.0
MAX_S = 420.0
COMMAND_S = 60.0
APP_PORT = 8080
HANDOVER = "/run/lab"
DATA = "/srv/data"
LOG = "/run/access.log"
CARD_ADDRESS = "10.0.3.15"
E1000 = "e1000"
GROUPS = "/sys/fs/cgroup/services"
# sshd gets a group of its own: no limit of the services starves it.
INIT = """#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t tracefs tracefs /sys/kernel/tracing
for driver in {modules}; do modprobe $driver; done
mkdir -p /dev/pts /dev/shm /run/sshd /run/lock {data}
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
hostname {name}
ip link set lo up
ip addr add 10.0.2.15/24 dev eth0
ip link set eth0 up
ip route add default via 10.0.2.2
{card_up}
cd /sys/fs/cgroup
echo "+cpu +cpuset +io +memory +pids" >cgroup.subtree_control
mkdir system services
echo "+cpu +cpuset +io +memory +pids" >services/cgroup.subtree_control
echo $$ >system/cgroup.procs
swapon /dev/vdb
{mount_data}
cd /
exec /usr/sbin/sshd -D -e -f {handover}/sshd_config
"""
MOUNT = "until [ -b {device} ]; do sleep 0.1; done; mount -t ext4 -o {options} {device} {data}"
CARD_UP = "ip addr add {address}/24 dev eth1; ip link set eth1 up"
# Joins a group, becomes the command in a session of its own, and prints its pid.
START = """
echo $$ >/sys/fs/cgroup/services/{group}/cgroup.procs
{command} </dev/null >>/run/programs.log 2>&1 &
echo $!
"""
AWAIT = """
for turn in $(seq 300); do
    ss -Hltn sport = :{port} | grep -q . && exit
    sleep 0.1
done
tail -c 600 /run/programs.log >&2
exit 1
"""


class Guest:
    """See the module. `host` is there once it is entered."""

    def __init__(
        self, *, swap_mb: int = 256, swap_iops: int = 0, disk_files: Mapping[str, int] | None = None,
        disk_iops: int = 0, disk_kind: Kind = "virtio", bad_pages: Mapping[str, Sequence[int]] | None = None,
        card: str = "", spare: str = "", cpu: str = "", max_s: float = MAX_S,
    ) -> None:  # fmt: skip
        """`disk_files`: sizes in MiB of the random files on a disk of its own at DATA. 0 iops is no limit.

        `bad_pages`: which pages of them cannot be read after `spoil()`. `card`: the model of a second network
        card, by which clients come; `spare`: of an unused one. `cpu`: its model.
        """
        self.name = f"{random.choice(('vm', 'db', 'batch'))}-{random.randrange(1000, 9999)}"
        self.swap_mb, self.swap_iops = swap_mb, swap_iops
        self.disk_files, self.disk_iops = dict(disk_files or {}), disk_iops
        self.disk_kind, self.bad_pages = DISKS[disk_kind], dict(bad_pages or {})
        self.card, self.spare, self.cpu = card, spare, cpu
        self.max_s = max_s
        self.pid = 0
        self._log_number = 0
        self._programs: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Guest:
        built = get_image()  # before the watchdog's time begins
        self.cleanup = CleanupProcess(self.max_s)
        try:
            self.directory = Path(tempfile.mkdtemp(prefix="culprit-guest-"))
            self.machine = Group(f"/lab/{self.name}")
            self.clients = Group(f"/lab/{self.name}-clients")
            groups = (*self.machine.directories, *self.clients.directories)
            self.cleanup.remove([*groups, self.directory])
            self.machine.create()
            self.clients.create()
            Group("/lab").weigh(LAB_SHARES)
            self.app_port = free_port("127.0.0.1")
            self.host = self._boot(built.kernel, built.initrd, built.root)
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.monitor.close()
        self.host.process.terminate()  # qemu closes its disks, which are not read again
        self._close()

    def _close(self) -> None:
        self.cleanup.close()
        for program in self._programs:
            program.wait()

    # -- the machine -------------------------------------------------------------------------------------------

    def _boot(self, kernel: Path, initrd: Path, root: Path) -> LabHost:
        port = free_port("127.0.0.1")
        key, own_key = self.directory / "client_key", self.directory / "host_key"
        generate_key(key)
        generate_key(own_key)
        public = own_key.with_suffix(".pub")
        known = public.read_text().split()
        (self.directory / "known_hosts").write_text(f"[127.0.0.1]:{port} {known[0]} {known[1]}\n")
        handed = self.directory / "initrd"
        handed.write_bytes(initrd.read_bytes() + build_archive(self._handover(key, own_key)))
        console = self.directory / "console"
        process = self._start(
            [*self.machine.join_command(), *self._qemu(kernel, handed, root, console, port)]
        )
        host = LabHost(
            self.name, "127.0.0.1", port, self.directory, key, fingerprint_of(public), "root", False, process
        )
        end = time.monotonic() + BOOT_S
        while time.monotonic() < end and process.poll() is None:
            if _answers(port):
                self.monitor = Monitor(self.directory / "monitor")
                return host
            time.sleep(0.1)
        message = "".join(
            file.read_text(errors="replace")[-3000:] for file in (console, self._log) if file.exists()
        )
        raise RuntimeError(f"the guest does not come up: {message}")

    def _handover(self, key: Path, own_key: Path) -> dict[str, bytes]:
        """What only this guest has; its programs as well."""
        config = CONFIG.format(port=22, address="0.0.0.0", directory=HANDOVER, extra="")
        kind = self.disk_kind
        mount = MOUNT.format(device=kind.device, options=kind.mount, data=DATA) if self.disk_files else ""
        modules = [
            *(kind.modules if self.disk_files else ()),
            *([E1000] if E1000 in (self.card, self.spare) else []),
        ]
        init = INIT.format(
            name=self.name, data=DATA, handover=HANDOVER, modules=" ".join(modules), mount_data=mount,
            card_up=CARD_UP.format(address=CARD_ADDRESS) if self.card or self.spare else "",
        )  # fmt: skip
        command = ["gcc", "-O1", "-g", "-fno-omit-frame-pointer", "-fno-inline", "-pthread", "-static"]
        items = self.directory / "items"
        subprocess.run(
            [*command, "-o", items, PROGRAMS / "items.c"], check=True, capture_output=True, timeout=60
        )
        files = {
            "init": init.encode(),
            "sshd_config": config.encode(),
            "host_key": own_key.read_bytes(),
            "authorized_keys": key.with_suffix(".pub").read_bytes(),
            "items": items.read_bytes(),
            **{name: (PROGRAMS / name).read_bytes() for name in ("shop.py", "true_time.py")},
        }
        return {f"handover/{name}": content for name, content in files.items()}

    def _qemu(self, kernel: Path, initrd: Path, root: Path, console: Path, port: int) -> list[str]:
        nodes = [
            word
            for node in (0, 1)
            for word in (
                "-object", f"memory-backend-ram,id=memory{node},size={NODE_MB}M",
                "-numa", f"node,nodeid={node},cpus={node},memdev=memory{node}",
            )
        ]  # fmt: skip
        drives = [f"file={root},snapshot=on", f"file={self._swap()}{_limit(self.swap_iops)}"]
        ports, more = f"hostfwd=tcp:127.0.0.1:{port}-:22", []
        if self.card:
            more += card_options(self.card, CARD_ADDRESS, self.app_port, APP_PORT)
        else:
            ports += f",hostfwd=tcp:127.0.0.1:{self.app_port}-:{APP_PORT}"
        if self.spare:
            more += card_options(self.spare, CARD_ADDRESS)
        if self.disk_files:
            more += self._disk()
        if self.cpu:
            more += ["-cpu", self.cpu]
        return [
            "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            "-accel", "tcg,thread=multi", "-machine", "pc", "-smp", "2,sockets=2", "-m", f"{2 * NODE_MB}M", *nodes,
            "-kernel", str(kernel), "-initrd", str(initrd), "-serial", f"file:{console}",
            "-append", "console=ttyS0 quiet panic=-1 psi=1 mitigations=off net.ifnames=0",
            "-nic", f"user,restrict=on,model=virtio-net-pci,{ports}",
            "-qmp", f"unix:{self.directory}/monitor,server=on,wait=off",
            *(word for drive in drives for word in ("-drive", f"{drive},if=virtio,format=raw,cache=unsafe")),
            *more,
        ]  # fmt: skip

    def _swap(self) -> Path:
        file = self.directory / "swap"
        with file.open("wb") as sparse:
            sparse.truncate(self.swap_mb << 20)
        file.chmod(0o600)
        subprocess.run(["mkswap", str(file)], check=True, capture_output=True, timeout=60)
        return file

    def _disk(self) -> list[str]:
        image = make_disk(self.directory, self.disk_files)
        config = None
        if self.bad_pages:
            config = self.directory / "spoiling"
            config.write_text(build_blkdebug_config(image, self.bad_pages))
        return disk_options(image, self.disk_kind, config, _limit(self.disk_iops))

    def spoil(self) -> None:
        """From now on the pages that were named cannot be read: something is written behind the file system."""
        last = f"$(($(blockdev --getsize64 {self.disk_kind.device}) / {BLOCK} - 1))"
        self.sh(f"dd if=/dev/zero of={self.disk_kind.device} bs={BLOCK} count=1 seek={last} oflag=direct")

    # -- what an engineer would do on it -----------------------------------------------------------------------

    def sh(self, script: str, timeout_s: float = COMMAND_S) -> str:
        """What `script` printed, over ssh. Raises RuntimeError where it fails."""
        done = subprocess.run(
            [*self.host.ssh(), f"sh -ec {shlex.quote(script)}"],
            capture_output=True, text=True, timeout=timeout_s, check=False,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{script}: {done.stderr.strip()}")
        return done.stdout

    def program(self, name: str) -> str:
        """Where a program of the lab is in the guest: items (compiled), shop.py and true_time.py."""
        return f"{HANDOVER}/{name}"

    def limit(self, group: str, files: Mapping[str, str]) -> None:
        """Creates the group of a service and writes control files of it."""
        place = f"{GROUPS}/{group}"
        writes = [f"echo {shlex.quote(value)} >{place}/{name}" for name, value in files.items()]
        self.sh("\n".join([f"mkdir -p {place}", *writes]))

    def serve(self, command: Sequence[str], group: str, *, supervised: bool = False) -> int:
        """Puts a service on APP_PORT in place of the one before; its pid, once it listens.

        A supervised one is started again when it dies; how it died is noted in /run/exits.
        """
        if self.pid:
            self.sh(f"kill -9 -{self.pid}; while kill -0 -{self.pid} 2>/dev/null; do sleep 0.1; done")
        if supervised:
            loop = f"while :; do {shlex.join(command)}; echo exit=$? >>/run/exits; sleep 0.5; done"
            command = ["sh", "-c", loop]
        self.pid = self.start(command, group)
        self.listens(APP_PORT)
        return self.pid

    def start(self, command: Sequence[str], group: str) -> int:
        """Starts a program in the group of a service; its pid, which is its session as well."""
        script = START.format(group=group, command=f"setsid {shlex.join(command)}")
        return int(self.sh(f"mkdir -p {GROUPS}/{group}\n{script}"))

    def listens(self, port: int) -> None:
        """Wait until it happens. Raises RuntimeError with the output of the programs when it cannot."""
        self.sh(AWAIT.format(port=port))

    def load(self, rate: float, *options: object, timeout_s: float = 4.0) -> Load:
        """Clients, which live outside of the guest."""
        self._log_number += 1
        log = self.directory / f"clients{self._log_number}.log"
        to = f"127.0.0.1:{self.app_port}"
        words = build_python_command(
            "clients.py", "--to", to, "--rate", rate, "--timeout-s", timeout_s, *options, "--log", log
        )
        return Load(self._start([*self.clients.join_command(), *words]), log)

    @property
    def _log(self) -> Path:
        return self.directory / "programs.log"

    def _start(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            program = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        self._programs.append(program)
        return program


def _limit(iops: int) -> str:
    return f",throttling.iops-total={iops}" if iops else ""


def _answers(port: int) -> bool:
    """Whether sshd greets: qemu accepts connections long before a server listens in the guest."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as peer:
        return peer.recv(4) == b"SSH-"
    return False


def main() -> int:
    """Boot one, print how to log in, and waits for the end of its input."""
    began = time.monotonic()
    with Guest() as guest:
        print(f"{shlex.join(guest.host.ssh())}   # up in {time.monotonic() - began:.1f} s", flush=True)
        sys.stdin.read()
    return 0


if __name__ == "__main__":
    sys.exit(main())
