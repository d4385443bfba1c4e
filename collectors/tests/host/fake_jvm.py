"""Pretends to be a JVM inside a container, and misbehaves in the way that its argument names."""

import contextlib
import ctypes
import mmap
import os
import signal
import socket
import stat
import sys
import time
from pathlib import Path

mode = sys.argv[1]
library = Path("/app/libjvm.so")
library.write_bytes(b"x" * 4096)
with library.open("r+b") as opened:
    mapped = mmap.mmap(opened.fileno(), 4096)
NAME = "/tmp/.java_pid1"
SO_PEERPIDFD = 77  # Linux 6.5
SYS_PIDFD_GETFD = 438


def quit_received(number: int, frame: object) -> None:
    with Path("/evidence/quit").open("a") as file:
        attach = Path("/tmp/.attach_pid1")
        file.write(f"quit {attach.exists() and oct(attach.lstat().st_mode)}\n")


def listen(name: str = NAME, permissions: int = 0o600, backlog: int = 5) -> socket.socket:
    result = socket.socket(socket.AF_UNIX)
    result.bind(name)
    Path(name).chmod(permissions)
    result.listen(backlog)
    return result


def take_descriptors(peer: socket.socket) -> None:
    """Copy the descriptors of the other side, which is outside of the container, and climb from them to its root."""
    libc = ctypes.CDLL(None, use_errno=True)
    other = int.from_bytes(peer.getsockopt(socket.SOL_SOCKET, SO_PEERPIDFD, 4), sys.byteorder)
    for number in range(64):
        taken = libc.syscall(SYS_PIDFD_GETFD, other, number, 0)
        with contextlib.suppress(OSError):
            outside = os.open("../../../.." + sys.argv[2], os.O_RDWR, dir_fd=taken) if taken >= 0 else -1
            if outside >= 0:
                os.write(outside, b"changed by the container")
        if taken >= 0:
            os.close(taken)
        with Path("/evidence/taken").open("a") as file:
            file.write(f"{number} " if taken >= 0 else "")


def serve(server: socket.socket) -> None:
    while True:
        peer, _ = server.accept()
        try:
            if mode == "takes_descriptors":
                take_descriptors(peer)
                Path("/evidence/tried").touch()
            if mode == "endless":
                while True:
                    peer.sendall(b"0\n" + b"java.lang.Thread.State -XX:MaxHeapSize=1\n" * 1000)
            while mode == "drip":
                peer.sendall(b"0\n")
                time.sleep(0.2)
            time.sleep(3600)
        except OSError:
            peer.close()


if mode != "dies_by_quit":
    signal.signal(signal.SIGQUIT, quit_received)
if mode == "symlink":
    listen("/tmp/elsewhere")
    Path(NAME).symlink_to("/tmp/elsewhere")
elif mode == "fifo":
    os.mkfifo(NAME, 0o600)
elif mode == "open_to_all":
    listen(permissions=0o666)
elif mode == "foreign":
    if os.fork() == 0:
        serve(listen())
    while not (os.path.lexists(NAME) and stat.S_ISSOCK(os.lstat(NAME).st_mode)):
        time.sleep(0.01)
elif mode == "never_accepts":
    full = listen(backlog=0)
    clients = [socket.socket(socket.AF_UNIX) for _ in range(2)]
    for client in clients:
        client.setblocking(False)
        try:
            client.connect(NAME)
        except BlockingIOError:
            pass
elif mode == "attach_link":
    Path("/tmp/.attach_pid1").symlink_to("/evidence/victim")
server = listen() if mode in ("endless", "drip", "silent", "takes_descriptors") else None
Path("/evidence/ready").touch()
if server is not None:
    serve(server)
while True:
    time.sleep(3600)
