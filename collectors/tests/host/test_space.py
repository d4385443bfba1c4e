"""A host without free space: what needs no disk runs, the rest reports the reason."""

from __future__ import annotations

import os

import pytest

from collectors.tests.host.harness import SHELLS, Live, Room, decoded, sampled, script

pytestmark = [pytest.mark.long(40), pytest.mark.skipif(os.geteuid() != 0, reason="mounts")]

JOBS = [
    script("prints", "seq 100000"),
    script("writes", "seq 10 > file"),
    script("turn", "printf 'a\\000b'", exclusive=True),
    script("mute", "true"),
    sampled("stat", "/proc/stat"),
    sampled("facts", "/proc/version", once=True),
]


def login(room: Room, how: str) -> list[str]:
    """A login into a mount namespace where the working directory is `how`."""
    return [
        "unshare", "-m", "--propagation", "private", "sh", "-c",
        f'mount -t tmpfs -o {how} tmpfs {room.work} && exec /bin/sh -c "$1"', "login",
    ]  # fmt: skip


FULL = {
    "small": "size=64k,mode=1777",
    "read-only": "ro,size=64k",
    "no inodes": "size=64m,nr_inodes=2,mode=1777",
}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("how", FULL)
def test_without_a_disk(room: Room, how: str, shell: str) -> None:
    live = Live(JOBS, room.limits(), login=login(room, FULL[how]), shell=SHELLS[shell])
    assert live.end() == 0, live.lines
    assert live.reader.close() is None and all(frame.intact for frame in live.frames)
    hello, outcomes, parts = live.lines_of("hello"), live.outcomes(), live.parts()
    assert hello["mode"] == "pipe"
    states = {name: result.state for name, result in outcomes.items()}
    assert states == dict.fromkeys((job.id for job in JOBS), "done") | {"writes": "skipped"}
    assert outcomes["writes"].reason.key == "reason.no_space"
    assert parts["prints", "stdout"].split()[-1] == b"100000"
    assert parts["turn", "stdout"] == b"a\0b"
    assert parts["stat", "samples"].count(b" /proc/stat\n") >= 3
    assert parts["facts", "samples"].count(b" /proc/version\n") == 2
    live.gone(room, 3)


@pytest.mark.parametrize(
    "without", [("base64",), ("base64", "openssl", "busybox"), ("zstd", "gzip", "busybox")]
)
def test_without_a_disk_and_packers(room: Room, without: tuple[str, ...]) -> None:
    jobs = [JOBS[0], JOBS[4]]
    live = Live(jobs, room.limits(path=room.tools(*without)), login=login(room, FULL["small"]))
    assert live.end() == 0, live.lines
    assert live.parts()["prints", "stdout"].split()[-1] == b"100000"
    assert all(decoded(frame) for frame in live.of("part"))


def test_output_in_memory_is_bounded(room: Room) -> None:
    live = Live(
        [script("endless", "yes", seconds=5)],
        room.limits(pipe_bytes=100_000),
        login=login(room, FULL["small"]),
    )
    live.end()
    assert len(live.parts()["endless", "stdout"]) <= 100_000


def test_run_is_refused_without_pipe_permission(room: Room) -> None:
    live = Live(JOBS, room.limits(pipe_ok=False), login=login(room, FULL["small"]))
    assert live.end() == 73
    message = live.lines_of("refused")
    assert message["reason"] == "reason.no_space free=65536 need=1048576"
    assert live.reader.close() is None
    assert not live.of("hello")


@pytest.mark.parametrize("how", ["hang up", "cancel", "deadline"])
def test_ends_without_a_disk(room: Room, how: str) -> None:
    jobs = [
        script("stubborn", 'trap "" INT TERM; sleep 60; sleep 60', seconds=60),
        sampled("stat", "/proc/stat", seconds=60),
    ]
    limits = room.limits(deadline_s=3 if how == "deadline" else 60)
    live = Live(jobs, limits, login=login(room, FULL["small"]))
    live.until("progress stubborn running")
    if how == "hang up":
        live.hang_up()
    elif how == "cancel":
        live.send_line("cancel")
    live.gone(room, 15)
    if how in ("cancel", "deadline"):
        assert live.end() == 3
        assert live.outcomes()["stubborn"].state == "canceled"


def test_disk_fills_up_meanwhile(room: Room) -> None:
    jobs = [
        script("fills", "dd if=/dev/zero of=big bs=64k", seconds=3),
        sampled("stat", "/proc/stat", seconds=2),
    ]
    live = Live(jobs, room.limits(), login=login(room, "size=3m,mode=1777"))
    assert live.end() == 0, live.lines
    outcomes = live.outcomes()
    assert outcomes["fills"].state == "failed"
    assert set(outcomes) == {"fills", "stat"}
    live.gone(room, 3)
