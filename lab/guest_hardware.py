"""Hardware of a guest that can fail: disks with bad sectors, a second network card, and the monitor that injects.

A disk of the kind "virtio" never fails. On "scsi" and "nvme" ones, sectors go bad at the first write to the disk
(qemu's blkdebug): the file system on it is mounted read-only, so that no process writes before `Guest.spoil()` does.
"""

from __future__ import annotations

import json
import random
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

BLOCK = 4096
SECTOR = 512
SPARE_MB = 40
# ENODATA is how a block device reports an unreadable sector; EIO reports a failed transfer.
UNREADABLE = 61
SPOILING = """
[set-state]
event = "write_aio"
state = "1"
new_state = "2"
"""
UNREADABLE_SECTOR = """
[inject-error]
event = "read_aio"
state = "2"
iotype = "read"
errno = "{errno}"
sector = "{sector}"
"""
ANSWER_S = 10.0
UNCORRECTED = 1 << 61


@dataclass(frozen=True, slots=True)
class DiskKind:
    """How a data disk is attached. `modules` are loaded by the guest before it looks for `device`."""

    device: str
    modules: tuple[str, ...]
    qemu: tuple[str, ...]
    mount: str


DISKS = {
    "virtio": DiskKind("/dev/vdc", (), (), "noatime"),
    "scsi": DiskKind(
        "/dev/sda", ("virtio_scsi", "sd_mod"),
        ("virtio-scsi-pci", "scsi-hd,id=data,drive=data,rerror=report,werror=report"), "ro,noload",
    ),
    "nvme": DiskKind("/dev/nvme0n1", ("nvme",), ("nvme,id=data,drive=data,serial=S5GX41K7",), "ro,noload"),
}  # fmt: skip
Kind = Literal["virtio", "scsi", "nvme"]


def make_disk(directory: Path, files: Mapping[str, int]) -> Path:
    """An ext4 image with random files of so many MiB, and a MiB behind the file system that is not used."""
    folder, image = directory / "files", directory / "disk"
    folder.mkdir()
    for name, size_mb in files.items():
        (folder / name).write_bytes(random.randbytes(1 << 20) * size_mb)
    size_mb = sum(files.values()) + SPARE_MB
    subprocess.run(
        ["mkfs.ext4", "-q", "-b", str(BLOCK), "-d", str(folder), str(image), f"{size_mb}M"],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    with image.open("r+b") as file:
        file.truncate((size_mb + 1) << 20)
    return image


def build_blkdebug_config(image: Path, bad_pages: Mapping[str, Sequence[int]]) -> str:
    """blkdebug's configuration that makes these pages of these files unreadable, by the sectors they lie on."""
    text = SPOILING
    for name, pages in bad_pages.items():
        listed = subprocess.run(
            ["debugfs", "-R", f"blocks {name}", image], check=True, capture_output=True, text=True, timeout=60
        )
        blocks = [int(block) for block in listed.stdout.split()]
        for page in pages:
            sector = blocks[page] * (BLOCK // SECTOR)
            text += UNREADABLE_SECTOR.format(errno=UNREADABLE, sector=sector)
    return text


def disk_options(image: Path, kind: DiskKind, config: Path | None, limit: str) -> list[str]:
    """qemu's words for a data disk. Only those of the kind "virtio" come after the root and the swap, in this order."""
    file = f"file={image}"
    if config is not None:
        file = f"file.driver=blkdebug,file.config={config},file.image.driver=file,file.image.filename={image}"
    attached = "if=none,id=data" if kind.qemu else "if=virtio"
    words = ["-drive", f"{file},{attached},format=raw,cache=unsafe{limit}"]
    return words + [word for device in kind.qemu for word in ("-device", device)]


def card_options(model: str, address: str, port: int = 0, app_port: int = 0) -> list[str]:
    """qemu's words for a second network card, by which clients reach the application where `port` is given."""
    net = f"user,id=line,restrict=on,net={address.rpartition('.')[0]}.0/24"
    to = f",hostfwd=tcp:127.0.0.1:{port}-{address}:{app_port}" if port else ""
    return ["-netdev", net + to, "-device", f"{model},id=card,netdev=line"]


class Monitor:
    """qemu's own control channel (QMP, one JSON object a line)."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(ANSWER_S)
        self._socket.connect(str(path))
        self._lines = self._socket.makefile("rb")
        self._lines.readline()  # its greeting
        self.ask("qmp_capabilities")

    def ask(self, command: str, **arguments: object) -> Any:
        """What it returned. Raises RuntimeError where it refuses; events in between are passed over."""
        self._socket.sendall(json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")
        end = time.monotonic() + ANSWER_S
        while time.monotonic() < end:
            message = json.loads(self._lines.readline() or b'{"error": "closed"}')
            if "error" in message:
                raise RuntimeError(f"{command}: {message['error']}")
            if "return" in message:
                return message["return"]
        raise RuntimeError(f"{command}: no answer")

    def set_link(self, up: bool) -> None:
        """Plugs the second network card in, or out."""
        self.ask("set_link", name="card", up=up)

    def machine_check(self, cpu: int, bank: int, status: int, general: int, address: int) -> None:
        """The CPU finds this in a bank of its machine-check registers (IA32_MCi_STATUS, IA32_MCG_STATUS).

        Every CPU is notified of an uncorrected error, as on Intel.
        """
        to = "-b " if status & UNCORRECTED else ""
        message = self.ask(
            "human-monitor-command",
            **{"command-line": f"mce {to}{cpu} {bank} {status:#x} {general:#x} {address:#x} 0x8c"},
        )
        if message:
            raise RuntimeError(f"mce: {message}")

    def close(self) -> None:
        self._lines.close()
        self._socket.close()
