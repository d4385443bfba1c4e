"""What a thread waits for, from its state, system call, wchan and the descriptor in the call.

A futex does not tell what it is for; operation and value do, as far as libraries use them in different ways:

| who waits | operation | value | activity |
|---|---|---|---|
| glibc mutex, Go runtime lock, InnoDB, Rust Mutex | WAIT (0x80), WAIT_BITSET | 2 | lock |
| glibc rwlock | WAIT_BITSET | 2, 3 | lock |
| musl mutex | WAIT | thread ID of the owner, and the highest bit | lock |
| mutex with priority inheritance | LOCK_PI, LOCK_PI2 | any | lock |
| glibc condition variable, private semaphore | WAIT_BITSET (0x189, 0x89) | 0 | condition |
| musl condition variable | WAIT, on the stack of the thread | 2 | condition |
| glibc semaphore that processes share | WAIT_BITSET, not private (0x109) | 0 | semaphore |
| musl semaphore | WAIT | all bits, or the highest alone | semaphore |
| Go: an idle thread of the runtime | WAIT | 0 | park |
| Rust: park, parking_lot | WAIT_BITSET, WAIT | all bits, 1 | park |
| pthread_join | WAIT_BITSET, not private (0x109) | thread ID | park |

These look the same from outside a process:

- glibc condition variables and private semaphores (`sem_wait`; locks of Python are such semaphores).
- HotSpot: every Java lock, `wait`, `park` and idle pool thread waits in a condition variable of its own thread.
  All are `park` where the process has a thread `VM Thread`, and `condition` elsewhere.
- musl: pthread_join waits like a glibc mutex and is `lock`; a rwlock waits like a semaphore.
- Go: a goroutine that waits is no thread. Locks, channels and sockets of goroutines are not visible; the threads of a
  Go program are in `park`, `sleep` and `events`.
- Event loops (Node.js, nginx, Redis): `epoll_wait` means that nothing is to be done now, but not what is outstanding.
- PostgreSQL: a lightweight lock is a semaphore that processes share. A heavyweight lock waits in an epoll that watches
  no socket, which is `park`; so do its idle background processes. Waiting for the client is an epoll with one
  accepted connection: `client`.
- Asynchronous I/O: a thread sleeps in `io_getevents` whether requests are in progress or none is (fs/aio.c,
  read_events). The threads of InnoDB that take finished requests are there all the time: `aio`.
- `poll` of one descriptor: the kernel shows a pointer only. The sockets of the process decide: one that is connected to
  a name server, then one that the process opened, then one that it accepted. With several of a kind, the choice among
  them is arbitrary; a musl program asks its name server over a socket without a peer, which is not recognized.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

#: Everything that a thread can be doing.
ACTIVITIES = (
    "running", "runnable", "disk", "fault", "filesystem", "permission", "lock", "condition", "park", "semaphore",
    "peer", "dns", "client", "accept", "events", "pipe", "child", "sleep", "signal", "tracer", "aio", "unknown",
)  # fmt: skip
_DNS_PORT = 53
_WAIT, _LOCK_PI, _WAIT_BITSET, _LOCK_PI2 = 0, 6, 9, 13
#: An argument of a system call on a machine of 64 bits.
_HEX = re.compile(r"0x[0-9a-f]{1,16}")
_PRIVATE = 0x80

_REMOTE_TYPES = re.compile(r"fuse(blk|\.|$)|nfs|cifs|smb3|ceph|9p|afs|glusterfs|lustre|virtiofs|ocfs2|gfs2")
_REMOTE_WCHAN = re.compile(
    r"_*(fuse|d_alloc_parallel|request_wait_answer|nfs|rpc_|cifs|smb2?_|ceph|p9_|v9fs|wait_for_response)"
)
_MEMORY_WCHAN = re.compile(
    r"throttle_direct_reclaim|shrink_|try_to_free|mem_cgroup|reclaim|congestion_wait|compact|_*alloc_pages|swap_"
)
_KERNEL_LOCK_WCHAN = re.compile(r"rwsem_|rwbase_|_*mutex_lock|_*down_|percpu_rwsem|do_task_dead_lock")
#: fs/super.c: writes of a frozen file system (FIFREEZE) wait for its s_writers semaphore, the only one of this kind
#: that a write of an open file takes. Kernels before 4.4 wait in the function itself.
_FROZEN_WCHAN = re.compile(r"percpu_rwsem_wait$|_*sb_start_write$")
#: fs/notify/fanotify/fanotify.c: a program that checks files has not yet permitted the access.
_PERMISSION_WCHAN = re.compile(r"fanotify_(handle_event|get_response)")
_STOPPED_WCHAN = re.compile(r"ptrace_stop|do_signal_stop|do_freezer_trap|_*refrigerator")
_VFORK_WCHAN = re.compile(r"kernel_clone|wait_for_vfork_done|_*do_fork")

_SLEEPS = frozenset(("nanosleep", "clock_nanosleep"))
_SIGNALS = frozenset(("pause", "rt_sigsuspend", "rt_sigtimedwait"))
_CHILDREN = frozenset(("wait4", "waitid", "fork", "vfork", "clone", "clone3"))
_SYNCS = frozenset(
    ("fsync", "fdatasync", "msync", "sync", "syncfs", "sync_file_range", "fallocate", "ftruncate", "truncate")
)
_WRITES = frozenset(
    (
        "write",
        "pwrite64",
        "writev",
        "pwritev",
        "pwritev2",
        "fallocate",
        "ftruncate",
        "sendfile",
        "copy_file_range",
        "splice",
    )
)
_EPOLLS = frozenset(("epoll_wait", "epoll_pwait", "epoll_pwait2"))
_POLLS = frozenset(("poll", "ppoll"))
_SELECTS = frozenset(("select", "pselect6"))
_SEMAPHORES = frozenset(("semop", "semtimedop"))
_QUEUES = frozenset(("msgsnd", "msgrcv", "mq_timedsend", "mq_timedreceive"))
_FILE_LOCKS = frozenset(("flock", "fcntl"))
_MAPPINGS = frozenset(("mmap", "munmap", "mprotect", "madvise", "brk"))
#: Sockets of services that resolve names: nscd, systemd-resolved.
_RESOLVERS = ("/nscd/socket", "/io.systemd.Resolve")


@dataclass(frozen=True, slots=True)
class Wait:
    """A state in which threads of a process were seen, as the host reports it. `target` describes the descriptor."""

    state: str
    call: str
    args: tuple[str, str, str]
    wchan: str
    target: str


@dataclass(frozen=True, slots=True)
class Activity:
    """What threads do: the kind, for what or whom they wait, the operation, and the device of a file."""

    kind: str
    target: str = ""
    detail: str = ""
    device: str = ""


def classify_wait(wait: Wait, *, hotspot: bool = False) -> Activity:
    """Return what a thread in this state waits for. `hotspot` is true for a process that is a JVM."""
    detail = wait.call or wait.wchan
    if wait.state in {"T", "t"} or _STOPPED_WCHAN.match(wait.wchan):
        return Activity("tracer", "", wait.wchan or detail)
    if wait.call in {"futex", "futex_waitv"}:
        return _classify_futex(wait, hotspot=hotspot)
    if _REMOTE_WCHAN.match(wait.wchan):
        file = _read_file(wait.target)
        if file and file.path == "/dev/fuse":
            return Activity("accept", file.path, detail)
        return Activity("filesystem", file.mount if file else "", detail, file.device if file else "")
    if _PERMISSION_WCHAN.match(wait.wchan):
        file = _read_file(wait.target)
        return Activity("permission", file.path if file else "", detail)
    if wait.state == "D":
        return _classify_uninterruptible(wait)
    if wait.call in _EPOLLS:
        return _classify_epoll(wait)
    if wait.call in _POLLS:
        return _classify_poll(wait)
    if wait.call in _SELECTS:
        return Activity("sleep" if wait.args[0] == "0x0" else "events", "", detail)
    kind = _KINDS_OF_CALLS.get(wait.call)
    if kind:
        return Activity(kind, _name_object(wait), detail)
    return _classify_descriptor(wait)


def _name_object(wait: Wait) -> str:
    if wait.call in _SEMAPHORES and (number := _read_hex(wait.args[0])) is not None:
        return f"sysv:{number}"
    if wait.call in _FILE_LOCKS:
        file = _read_file(wait.target)
        return file.path if file else wait.target
    return ""


_KINDS_OF_CALLS = {
    **dict.fromkeys(_SLEEPS, "sleep"),
    **dict.fromkeys(_SIGNALS, "signal"),
    **dict.fromkeys(_CHILDREN, "child"),
    **dict.fromkeys(_SEMAPHORES, "semaphore"),
    **dict.fromkeys(_QUEUES, "pipe"),
    **dict.fromkeys(_FILE_LOCKS, "lock"),
    "io_getevents": "aio",
    "io_pgetevents": "aio",
    "io_uring_enter": "events",
}


def _classify_futex(wait: Wait, *, hotspot: bool) -> Activity:
    address, operation, value = wait.args
    known = _read_hex(operation)
    number = _WAIT if known is None else known
    command, private = number & 0x7F, bool(number & _PRIVATE)

    def build(kind: str, detail: str = "futex") -> Activity:
        return Activity(kind, "" if kind == "park" else address, detail)

    if command in {_LOCK_PI, _LOCK_PI2} or value == "o":
        return build("lock")
    if address == "stack" and value == "0x2":
        return build("condition")
    if value == "0x2" or (command == _WAIT_BITSET and value == "0x3"):
        return build("lock")
    if command == _WAIT_BITSET and not private:
        return build("semaphore") if value == "0x0" else build("park", "join")
    if command == _WAIT_BITSET:
        if value == "n":
            return build("park")
        return build("park") if hotspot else Activity("condition", _align(address), "futex")
    return build("semaphore" if value == "n" else "park")


def _align(address: str) -> str:
    """A glibc condition variable has two words for its waiters, next to one another."""
    number = _read_hex(address)
    return address if number is None else hex(number & ~7)


def _read_hex(text: str) -> int | None:
    """Return an argument such as 0x189, or None for another text."""
    return int(text, 16) if _HEX.fullmatch(text) else None


def _classify_uninterruptible(wait: Wait) -> Activity:
    """A thread in state D: it waits for a device, for memory, or for a lock of the kernel."""
    detail = wait.call or wait.wchan
    if _VFORK_WCHAN.match(wait.wchan) and wait.call in {*_CHILDREN, ""}:
        return Activity("child", "", detail)
    file = _read_file(wait.target)
    if file and _REMOTE_TYPES.match(file.type):
        return Activity("filesystem", file.mount, detail, file.device)
    if file and wait.call in _WRITES and _FROZEN_WCHAN.match(wait.wchan):
        return Activity("filesystem", file.path, detail, file.device)
    if _MEMORY_WCHAN.match(wait.wchan):
        return Activity("fault", "", wait.wchan)
    if _KERNEL_LOCK_WCHAN.match(wait.wchan):
        return Activity(
            "lock", file.path if file else f"kernel:{wait.wchan}", detail, file.device if file else ""
        )
    if not wait.call or wait.call in _MAPPINGS:
        return Activity("fault", "", wait.wchan)
    if file:
        return Activity("disk", file.path, detail, file.device)
    return Activity("disk", "", detail)


def _classify_epoll(wait: Wait) -> Activity:
    """An event loop, unless it watches no socket, or only one accepted connection: then it waits for its client."""
    _, _, rest = wait.target.partition(" ")
    watched, _, rest = rest.partition(" ")
    sockets, _, socket = rest.partition(" ")
    if wait.target.startswith("epoll") and sockets == "0" and watched.isdigit() and 0 < int(watched) <= 8:
        return Activity("park", "", wait.call)
    if sockets == "1":
        seen = _classify_socket(socket, wait.call)
        if seen and seen.kind == "client":
            return seen
        return Activity("events", seen.target if seen else "", wait.call)
    return Activity("events", "", wait.call)


def _classify_poll(wait: Wait) -> Activity:
    if wait.args[1] == "0x0":
        return Activity("sleep", "", wait.call)
    if wait.args[1] == "0x1":
        seen = _classify_socket(wait.target.removeprefix("poll").strip(), wait.call)
        if seen and seen.kind in {"peer", "dns", "client"}:
            return seen
    return Activity("events", "", wait.call)


def _classify_descriptor(wait: Wait) -> Activity:
    """A call on one descriptor, in a sleep that signals interrupt."""
    target, detail = wait.target, wait.call or wait.wchan
    socket = _classify_socket(target, detail)
    if socket:
        return socket
    if "pipe" in wait.wchan or target == "pipe" or "fifo" in wait.wchan or "wait_for_partner" in wait.wchan:
        return Activity("pipe", "", detail)
    for name, kind in _ANONYMOUS.items():
        if name in target:
            return Activity(kind, name, detail)
    file = _read_file(target)
    if file and _REMOTE_TYPES.match(file.type):
        return Activity("filesystem", file.mount, detail, file.device)
    if wait.call in _SYNCS:
        return Activity("disk", file.path if file else "", detail, file.device if file else "")
    if file and re.match(r"/(dev|proc|sys)/", file.path):
        return Activity("events", file.path, detail)
    if file:
        return Activity("disk", file.path, detail, file.device)
    if wait.call in {"accept", "accept4"}:
        return Activity("accept", "", detail)
    if wait.call == "connect":
        return Activity("peer", "", detail)
    if target == "socket":
        return Activity("events", "socket", detail)
    return Activity("unknown", target, detail)


_ANONYMOUS = {
    "eventfd": "events",
    "timerfd": "sleep",
    "signalfd": "signal",
    "notify": "events",
    "perf_event": "events",
    "pidfd": "child",
}


def _classify_socket(text: str, detail: str) -> Activity | None:
    """`tcp in HEX`, `udp out HEX`, `unix in PATH`: the direction decides who is waited for."""
    kind, _, rest = text.partition(" ")
    direction, _, address = rest.partition(" ")
    if kind not in {"tcp", "tcp6", "udp", "udp6", "unix"}:
        return None
    if kind == "unix":
        name, port = address or "unix", None
        resolver = address.endswith(_RESOLVERS)
    else:
        host, port = _parse_address(address)
        name = f"{host}:{port}"
        resolver = port == _DNS_PORT
    if direction == "out":
        return Activity("dns" if resolver else "peer", name, detail)
    local = name if port is None else str(port)
    if direction in {"listen", "local"}:
        return Activity("accept", local, detail)
    return Activity("client", local, detail)


def _parse_address(text: str) -> tuple[str, int]:
    """`0100007F:1F90` as /proc/net/tcp has it: words of four bytes in the order of the host, little-endian."""
    address, _, port = text.partition(":")
    try:
        raw = b"".join(bytes.fromhex(address[at : at + 8])[::-1] for at in range(0, len(address), 8))
        number = int(port, 16)
        if len(raw) == 4:
            return str(IPv4Address(raw)), number
        six = IPv6Address(raw)
        return (str(six.ipv4_mapped) if six.ipv4_mapped else f"[{six}]"), number
    except ValueError:
        return "?", 0


@dataclass(frozen=True, slots=True)
class _File:
    device: str
    type: str
    mount: str
    path: str


def _read_file(text: str) -> _File | None:
    """`file 254:0 ext4 / /var/lib/a b`: the device, type and place of the mount, then the path."""
    words = text.split(" ", 4)
    return _File(*words[1:]) if len(words) == 5 and words[0] == "file" else None
