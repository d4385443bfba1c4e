"""A container made of namespaces: own mounts, processes and network, few capabilities, seccomp, a hostile JDK.

The root is a tmpfs with the /usr of this machine below it; `/evidence` is the one folder that it shares with the
test. A file that is executed by mistake writes its name and its rights there.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

DOCKER = (
    "chown dac_override fowner fsetid kill setgid setuid setpcap net_bind_service net_raw sys_chroot mknod"
    " audit_write setfcap"
)
HOSTILE = """#!/bin/sh
{ echo "$0 $*"; grep -E '^(Uid|CapEff|Seccomp):' /proc/self/status; readlink /proc/self/ns/net; } >> /evidence/executed
"""
#: Replaces the root of its mount namespace by the folder $1, then becomes what follows.
ENTER = r"""
set -e
r=$1
shift
mount --make-rprivate /
mount -t tmpfs -o mode=755 none "$r"
mkdir "$r/usr" "$r/proc" "$r/tmp" "$r/etc" "$r/dev" "$r/evidence" "$r/app" "$r/old"
mount --rbind /usr "$r/usr"
for one in bin sbin lib lib64; do ln -s "usr/$one" "$r/$one"; done
for one in /etc/java* /etc/ld.so* /etc/passwd /etc/alternatives; do [ ! -e "$one" ] || cp -a "$one" "$r/etc/"; done
mount --bind "$EVIDENCE" "$r/evidence"
chmod 1777 "$r/tmp" "$r/app"
mknod -m 666 "$r/dev/zero" c 1 5
mknod -m 666 "$r/dev/null" c 1 3
mknod -m 666 "$r/dev/urandom" c 1 9
mount -t proc none "$r/proc"
for one in $HOSTILE_PATHS; do [ ! -e "$r$one" ] || mount --bind "$EVIDENCE/hostile" "$r$one"; done
cp "$(readlink -f /usr/bin/python3)" "$r/app/java"
cd "$r"
pivot_root . old
umount -l /old
sh -c "$SETUP"
cd /app
exec "$@"
"""
#: Like a container engine: a seccomp filter (which allows all), then few capabilities and another user.
CONFINE = r"""
import ctypes, os, struct, sys
program = struct.pack("<HBBI", 6, 0, 0, 0x7FFF0000)
buffer = ctypes.create_string_buffer(program)
class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
fprog = Filter(1, ctypes.addressof(buffer))
assert ctypes.CDLL(None, use_errno=True).prctl(22, 2, ctypes.byref(fprog), 0, 0) == 0
os.execvp(sys.argv[1], sys.argv[1:])
"""


class Container:
    """One process in namespaces of its own. `pid` is its pid here; in its own namespace it is 1."""

    def __init__(self, top: Path, *command: str, uid: int = 10001, setup: str = "") -> None:
        self.evidence = top / "evidence"
        self.evidence.mkdir(parents=True)
        self.evidence.chmod(0o1777)
        hostile = self.evidence / "hostile"
        hostile.write_text(HOSTILE)
        hostile.chmod(0o755)
        root = top / "root"
        root.mkdir()
        bounding = ",".join(["-all", *(f"+{item}" for item in DOCKER.split())])
        confined = ["/usr/bin/python3", "-I", "-c", CONFINE, "setpriv", f"--bounding-set={bounding}"]
        confined += ["--inh-caps=-all"]
        if uid:
            confined += [f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
        self.output = top / "output"
        with self.output.open("wb") as output:
            self._unshare = subprocess.Popen(
                ["unshare", "-m", "-p", "-n", "-f", "--kill-child", "sh", "-c", ENTER, "enter", str(root), *confined, *command],
                env={**os.environ, "EVIDENCE": str(self.evidence), "HOSTILE_PATHS": hostile_paths(), "SETUP": setup},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )  # fmt: skip
        self.pid = self._wait_for_pid(command[0])

    def _wait_for_pid(self, command: str) -> int:
        mine = self._unshare.pid
        end = time.monotonic() + 20
        while time.monotonic() < end and self._unshare.poll() is None:
            with contextlib.suppress(OSError, ValueError):
                pid = int(Path(f"/proc/{mine}/task/{mine}/children").read_text())
                if Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0] == command.encode():
                    return pid
            time.sleep(0.02)
        raise AssertionError(self.output.read_text(errors="replace"))

    @property
    def target(self) -> dict[str, str]:
        """What the runner sets for a process."""
        return {"TARGET_KIND": "process", "TARGET_PID": str(self.pid), "TARGET_PIDS": str(self.pid)}

    def is_alive(self) -> bool:
        return self._unshare.poll() is None

    def status(self) -> dict[str, str]:
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}

    def read_output(self) -> str:
        return self.output.read_text(errors="replace")

    def wait_for_file(self, name: str) -> None:
        end = time.monotonic() + 20
        while not (self.evidence / name).exists():
            assert self.is_alive() and time.monotonic() < end, self.read_output()
            time.sleep(0.02)

    def names_in_tmp(self) -> list[str]:
        return sorted(item.name for item in Path(f"/proc/{self.pid}/root/tmp").iterdir())

    def end(self) -> None:
        """Kill process 1 of the container, and with it all others. A change of user cleared its death signal."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self._unshare.kill()
        self._unshare.wait(20)


def hostile_paths() -> str:
    """What a collector might execute: the JDK's tools and the host's tools, as seen in the container."""
    java = Path(shutil.which("java") or "/nonexistent").resolve()
    return " ".join(
        [
            str(java.with_name("jcmd")),
            "/usr/bin/nsenter",
            "/usr/bin/perl",
            "/usr/bin/jcmd",
            "/usr/bin/timeout",
        ]
    )
