"""What threads wait for, from rows as hosts report them."""

from __future__ import annotations

import pytest

from collectors.parse.proc.system_calls import name_call
from collectors.parse.proc.thread_activity import ACTIVITIES, Activity, Wait, classify_wait

LOCK = "0x5617eb7d31e0"
DISK = "file 254:0 ext4 / /srv/data 1"


def classify(
    text: str, target: str = "", wchan: str = "", machine: str = "x86_64", *, hotspot: bool = False
) -> Activity:
    """Classify `STATE NUMBER A0 A1 A2`, where a missing argument is empty."""
    state, number, *args = text.split()
    args += [""] * (3 - len(args))
    call = name_call(machine, int(number) if number.isdecimal() else None)
    activity = classify_wait(Wait(state, call, (args[0], args[1], args[2]), wchan, target), hotspot=hotspot)
    assert activity.kind in ACTIVITIES
    return activity


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (f"S 202 {LOCK} 0x80 0x2", "lock"),  # glibc mutex
        (f"S 202 {LOCK} 0x0 0x2", "lock"),  # glibc mutex that processes share
        (f"S 202 {LOCK} 0x189 0x2", "lock"),  # pthread_mutex_timedlock, and a glibc rwlock
        (f"S 202 {LOCK} 0x189 0x3", "lock"),  # glibc rwlock, a writer
        (f"S 202 {LOCK} 0x86 0x0", "lock"),  # mutex with priority inheritance
        (f"S 202 {LOCK} 0x80 o", "lock"),  # musl mutex: 0x80000010
        (f"S 202 {LOCK} 0x189 0x0", "condition"),
        (f"S 202 {LOCK} 0x89 0x0", "condition"),
        ("S 202 stack 0x80 0x2", "condition"),  # musl condition variable
        (f"S 202 {LOCK} 0x109 0x0", "semaphore"),  # glibc semaphore that processes share: PostgreSQL
        (f"S 202 {LOCK} 0x80 n", "semaphore"),  # musl semaphore
        (f"S 202 {LOCK} 0x109 0x39aa", "park"),  # pthread_join
        (f"S 202 {LOCK} 0x80 0x0", "park"),  # Go
    ],
)
def test_futexes_of_libraries(text: str, kind: str) -> None:
    """As six threads each of glibc 2.36 and musl 1.2.3 were read."""
    assert classify(text).kind == kind
    assert classify(text.replace(" 202 ", " 98 "), machine="aarch64").kind == kind


def test_waiters_of_a_condition_variable_share_an_address() -> None:
    assert classify("S 202 0x558085b611cc 0x189 0x0").target == "0x558085b611c8"
    assert classify("S 202 0x558085b611c8 0x189 0x0").target == "0x558085b611c8"


def test_a_jvm_parks() -> None:
    assert classify(f"S 202 {LOCK} 0x189 0x0", hotspot=True) == Activity("park", "", "futex")
    assert classify(f"S 202 {LOCK} 0x80 0x2", hotspot=True).kind == "lock"


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        ("S 45 fd", "tcp out 0100007F:1E1F", Activity("peer", "127.0.0.1:7711", "recvfrom")),
        ("S 45 fd", "tcp in 0100007F:1E1F", Activity("client", "7711", "recvfrom")),
        (
            "S 0 fd",
            "tcp6 out B80D0120000000000000000001000000:01BB",
            Activity("peer", "[2001:db8::1]:443", "read"),
        ),
        (
            "S 42 fd",
            "tcp6 out 0000000000000000FFFF00000100000A:1538",
            Activity("peer", "10.0.0.1:5432", "connect"),
        ),
        ("S 43 fd", "tcp listen 0100007F:1E1F", Activity("accept", "7711", "accept")),
        ("S 45 fd", "udp local 4D00007F:0035", Activity("accept", "53", "recvfrom")),
        ("S 45 fd", "udp out 4D00007F:0035", Activity("dns", "127.0.0.77:53", "recvfrom")),
        ("S 7 fd 0x1", "poll udp out 4D00007F:0035", Activity("dns", "127.0.0.77:53", "poll")),
        ("S 7 fd 0x1", "poll tcp out 0100007F:1E1F", Activity("peer", "127.0.0.1:7711", "poll")),
        ("S 7 fd 0x1", "poll ", Activity("events", "", "poll")),
        ("S 7 + 0x3", "", Activity("events", "", "poll")),
        ("S 7 + 0x0", "", Activity("sleep", "", "poll")),
        ("S 0 fd", "unix out /run/mysqld/mysqld.sock", Activity("peer", "/run/mysqld/mysqld.sock", "read")),
        ("S 45 fd", "unix out /run/nscd/socket", Activity("dns", "/run/nscd/socket", "recvfrom")),
        ("S 0 fd", "unix in /run/php/fpm.sock", Activity("client", "/run/php/fpm.sock", "read")),
        ("S 232 fd", "epoll 3 1 tcp in 0100007F:1538", Activity("client", "5432", "epoll_wait")),
        ("S 232 fd", "epoll 2 0", Activity("park", "", "epoll_wait")),
        ("S 232 fd", "epoll 5 3", Activity("events", "", "epoll_wait")),
        ("S 232 fd", "epoll 12 ?", Activity("events", "", "epoll_wait")),
        ("S 0 fd", "anon_inode:[eventfd]", Activity("events", "eventfd", "read")),
        ("S 0 fd", "pipe", Activity("pipe", "", "read")),
        ("D 17 fd", DISK, Activity("disk", "/srv/data 1", "pread64", "254:0")),
        ("S 74 fd", DISK, Activity("disk", "/srv/data 1", "fsync", "254:0")),
        ("S 73 fd", DISK, Activity("lock", "/srv/data 1", "flock")),
        ("D 0 fd", "file 0:53 nfs4 /mnt/nfs /mnt/nfs/a", Activity("filesystem", "/mnt/nfs", "read", "0:53")),
        ("S 0 fd", "file 0:31 fuse.sshfs /m /m/a", Activity("filesystem", "/m", "read", "0:31")),
        ("S 65 0x8001", "", Activity("semaphore", "sysv:32769", "semop")),
        ("S 61 n", "", Activity("child", "", "wait4")),
        ("S 230 0x0", "", Activity("sleep", "", "clock_nanosleep")),
        ("S 130 +", "", Activity("signal", "", "rt_sigsuspend")),
        ("S 0 fd", "", Activity("unknown", "", "read")),
    ],
)
def test_descriptors_of_calls(text: str, target: str, expected: Activity) -> None:
    assert classify(text, target) == expected


@pytest.mark.parametrize(
    ("text", "wchan", "kind"),
    [
        ("D -1", "folio_wait_bit_common", "fault"),
        ("S 262 +", "request_wait_answer", "filesystem"),
        ("D 262 +", "d_alloc_parallel", "filesystem"),
        ("D 257 +", "rpc_wait_bit_killable", "filesystem"),
        ("D 257 +", "fanotify_handle_event", "permission"),
        ("D 9 0x0", "rwsem_down_write_slowpath", "lock"),
        ("D 1 0x5", "throttle_direct_reclaim", "fault"),
        ("D 56 0x4111", "kernel_clone", "child"),
        ("T 0 0x0", "do_signal_stop", "tracer"),
        ("t -1", "ptrace_stop", "tracer"),
        ("D 83 +", "jbd2_log_wait_commit", "disk"),
        ("S 208 + 0x1 +", "read_events", "aio"),  # whether or not a request is in progress
    ],
)
def test_places_in_the_kernel(text: str, wchan: str, kind: str) -> None:
    assert classify(text, wchan=wchan).kind == kind


def test_a_write_of_a_frozen_file_system_waits_for_the_file_system() -> None:
    target = "file 7:0 ext4 /data /data/a"
    seen = Activity("filesystem", "/data/a", "pwrite64", "7:0")
    assert classify("D 18 fd", target, wchan="percpu_rwsem_wait") == seen
    assert classify("D 18 fd", target, wchan="__sb_start_write") == seen
    assert classify("D 18 fd", target, wchan="rwsem_down_write_slowpath").kind == "lock"
    assert classify("D 17 fd", target, wchan="percpu_rwsem_wait").kind == "lock"


def test_an_unknown_machine_has_no_calls() -> None:
    assert (
        name_call("s390x", 0) == "" and name_call("aarch64", 63) == "read" and name_call("x86_64", None) == ""
    )
