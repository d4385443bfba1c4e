"""Another local user of the host puts something in the way, in every place that both can reach.

A run may pass such a place over. It may not write through a link, wait for a pipe, believe a foreign file or end a
foreign process.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from collectors.runner import lookback, program
from collectors.tests.host.harness import PRIVATE_DIRECTORIES, SHELLS, Live, Room, processes, script, wait_for

pytestmark = [
    pytest.mark.long(60),
    pytest.mark.skipif(os.geteuid() != 0, reason="acts as root and as another user"),
]

OTHER = 65534
AS_OTHER = ["setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups"]
QUICK = [script("quick", "echo quick")]
SLEEP = [script("sleeps", "sleep 60", seconds=60)]
WITHOUT_FLOCK = ("flock", "busybox")


def key() -> str:
    """What a lease is keyed by in this mount namespace."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().split("-")[0]
    namespace = str(Path("/proc/self/ns/mnt").readlink())[5:-1]
    with contextlib.suppress(FileNotFoundError):
        machine = Path("/etc/machine-id").read_text().strip()
        return f"{machine}-{boot}-{namespace}"
    return f"--{boot}-{namespace}"


@pytest.fixture
def open_room(room: Room) -> Room:
    """A room that the other user can reach."""
    for directory in (room.top, *room.top.parents[:3]):
        directory.chmod(directory.stat().st_mode | 0o055)
    return room


def act_as_other(room: Room, sh: str) -> None:
    """Run `sh` in the room as the other user."""
    subprocess.run([*AS_OTHER, "sh", "-c", sh], cwd=room.top, check=True, timeout=20)


@contextlib.contextmanager
def innocent_process() -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A process of root that no run started, and the tick at which it began."""
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as process:
        start = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[19]
        try:
            yield process, start
        finally:
            process.kill()


def predictable_paths(run: str) -> list[str]:
    """Every name that another user can know before a run starts, this version's and the previous one's."""
    return [
        f"locks/culprit-capture-{key()}",
        f"locks/culprit-capture-{key()}.d",
        f"locks/culprit-capture-{key()}.break",
        "locks/culprit",
        "locks/culprit.0",
        f"work/culprit-{run}",
        "work/culprit-11111111-1111-7111-8111-111111111111",
        "work/culprit-11111111-squatted",
    ]


def assert_complete(live: Live, room: Room) -> None:
    """The run did its work, within seconds, and left nothing of its own."""
    assert live.end(30) == 0, live.lines
    assert live.outcomes()["quick"].state == "done"
    assert not live.of("busy")
    assert not processes(live.limits.run)
    # What is left belongs to the other user.
    mine = [p for top in (room.work, room.locks) for p in top.iterdir() if p.lstat().st_uid == 0]
    assert not mine


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("without", [(), WITHOUT_FLOCK], ids=["flock", "mkdir"])
def test_symlink_at_predictable_path_is_not_written_through(
    open_room: Room, shell: str, without: tuple[str, ...]
) -> None:
    victim, folder = open_room.top / "victim", open_room.top / "folder"
    victim.write_text("precious\n")
    folder.mkdir(mode=0o700)
    (folder / "kept").write_text("precious\n")
    for target in (victim, folder):
        limits = open_room.limits(path=open_room.tools(*without))
        for path in predictable_paths(limits.run):
            act_as_other(open_room, f"ln -sfn {target} {path}")
        live = Live(QUICK, limits, shell=SHELLS[shell])
        assert_complete(live, open_room)
        assert victim.read_text() == "precious\n"
        assert [path.name for path in folder.iterdir()] == ["kept"]
        hello = live.lines_of("hello")
        assert hello["mode"] == "disk" and hello["lease"] == "none"
        assert f"{open_room.locks}/culprit:taken" in hello["skipped_directories"].split()
        assert f"{open_room.work}/culprit-{limits.run}:taken" in hello["skipped_directories"].split()


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("without", [(), WITHOUT_FLOCK], ids=["flock", "mkdir"])
def test_fifo_at_predictable_path_holds_nothing_up(
    open_room: Room, shell: str, without: tuple[str, ...]
) -> None:
    limits = open_room.limits(path=open_room.tools(*without))
    for path in predictable_paths(limits.run):
        act_as_other(open_room, f"mkfifo -m 666 {path}")
    assert_complete(Live(QUICK, limits, shell=SHELLS[shell]), open_room)


def test_fifo_in_foreign_directories_holds_nothing_up(open_room: Room) -> None:
    """Where the lease and a leftover would be, directories of the other user are full of pipes."""
    limits = open_room.limits()
    for path in predictable_paths(limits.run):
        names = f"capture-{key()} capture-{key()}.d capture-{key()}.break manifest go l lookback holder"
        act_as_other(open_room, f"mkdir -m 777 {path} && cd {path} && mkfifo -m 666 {names}")
    assert_complete(Live(QUICK, limits), open_room)


@pytest.mark.parametrize("without", [(), WITHOUT_FLOCK], ids=["flock", "mkdir"])
def test_foreign_lock_blocks_nothing_and_forges_nothing(open_room: Room, without: tuple[str, ...]) -> None:
    forged = f"run {uuid.uuid4()} pid 1 start 0 since 1"
    start = Path("/proc/1/stat").read_text().rpartition(")")[2].split()[19]
    sh = f"""
        umask 0
        mkdir locks/culprit locks/culprit-capture-{key()}.d
        for f in locks/culprit/capture-{key()} locks/culprit-capture-{key()} \\
          locks/culprit-capture-{key()}.d/holder; do echo '{forged.replace("start 0", f"start {start}")}' >$f; done
        exec 8<locks/culprit/capture-{key()} 9<locks/culprit-capture-{key()}
        flock -x 8; flock -x 9
        touch locks/held
        exec sleep 60
    """
    with subprocess.Popen([*AS_OTHER, "sh", "-c", sh], cwd=open_room.top) as holder:
        try:
            assert wait_for((open_room.locks / "held").exists, 10)
            live = Live(QUICK, open_room.limits(path=open_room.tools(*without)))
            assert_complete(live, open_room)
            assert f"{open_room.locks}/culprit:taken" in live.lines_of("hello")["skipped_directories"].split()
        finally:
            holder.kill()


@pytest.mark.parametrize("how", ["world-writable", "other's", "group-writable"])
def test_hostile_manifest_ends_no_process(open_room: Room, how: str) -> None:
    """A directory of root that the other user could write to and move here, or one of the other user's own."""
    run = str(uuid.uuid4())
    planted = open_room.work / f"culprit-{run}"
    (planted / "l").mkdir(parents=True)
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    with innocent_process() as (process, start):
        manifest = {"run": run, "boot": boot, "end": "1", "main": "999999 1", "cgroups": ""}
        (planted / "manifest").write_text("".join(f"{key} {value}\n" for key, value in manifest.items()))
        (planted / "l" / "1").write_text(f"{process.pid} {start} 0 0 INT x\n")
        if how == "other's":
            os.chown(planted, OTHER, OTHER)
        elif how == "group-writable":
            os.chown(planted, 0, OTHER)
        planted.chmod(0o777 if how == "world-writable" else 0o770)
        live = Live(QUICK, open_room.limits())
        assert live.end() == 0, live.lines
        assert process.poll() is None
        assert planted.exists() and live.lines_of("hello")["stale_removed"] == "0"


def test_directory_of_the_previous_version_is_swept(room: Room) -> None:
    run = str(uuid.uuid4())
    left = room.work / f"culprit-{run}"
    left.mkdir(mode=0o700)
    for name in "ctlwors":
        (left / name).mkdir(mode=0o700)
    (left / "run").write_text("RUN=x\n")
    (left / "manifest").write_text(f"run {run}\nboot {uuid.uuid4()}\nend 1\nmain 1 1\ncage \nguard 1 1\n")
    live = Live(QUICK, room.limits())
    assert live.end() == 0, live.lines
    assert live.lines_of("hello")["stale_removed"] == "1"
    live.gone(room, 2)


def test_foreign_ring_is_not_read_and_its_pid_gets_no_signal(open_room: Room) -> None:
    secret = open_room.top / "secret"
    secret.write_text("@ 0 1 /proc/stat\nsecret\n")
    foreign = open_room.work / f"culprit-{uuid.uuid4()}"
    foreign.mkdir(mode=0o777)
    (foreign / "lookback").mkdir()
    with innocent_process() as (process, start):
        (foreign / "lookback" / "r.1").symlink_to(secret)
        (foreign / "lookback" / "perf.pid").write_text(f"{process.pid} {start}\n")
        os.chown(foreign, OTHER, OTHER)
        live = Live([lookback.JOB], open_room.limits(), login=[*PRIVATE_DIRECTORIES, "/bin/sh", "-c"])
        assert live.end(60) == 0, live.lines
        assert process.poll() is None
        assert not any(b"secret" in data for data in live.parts().values())
        assert live.outcomes()["look_back"].state == "skipped"


@pytest.mark.parametrize("place", ["work", "locks"])
def test_directory_whose_entries_others_can_replace_is_passed_over(open_room: Room, place: str) -> None:
    (open_room.top / place).chmod(0o777)  # not sticky
    live = Live(QUICK, open_room.limits())
    assert_complete(live, open_room)
    hello = live.lines_of("hello")
    assert f"{open_room.top / place}:insecure" in hello["skipped_directories"].split()
    assert (hello["mode"], hello["lease"]) == {"work": ("pipe", "flock"), "locks": ("disk", "none")}[place]


def test_directory_below_that_of_another_user_is_skipped(open_room: Room) -> None:
    """Its parent belongs to the other user, who can put another directory in its place."""
    os.chown(open_room.top, OTHER, OTHER)
    live = Live(QUICK, open_room.limits())
    assert_complete(live, open_room)
    assert live.lines_of("hello")["mode"] == "pipe"
    assert live.lines_of("hello")["lease"] == "none"


HANGS = {"df": "exec sleep 300", "mkdir": "kill -STOP $PPID; exec sleep 300"}


@pytest.mark.parametrize("ended_by", ["hang up", "silence", "deadline", "cancel"])
@pytest.mark.parametrize("tool", HANGS)
def test_guard_ends_a_run_that_hangs_in_a_shared_place(room: Room, tool: str, ended_by: str) -> None:
    """A file system does not answer (df sleeps), or the main shell is stopped (by the replacement of mkdir)."""
    path = Path(room.tools())
    (path / tool).unlink()
    (path / tool).write_text(f"#!/bin/sh\necho >{room.top}/reached\n{HANGS[tool]}\n")
    (path / tool).chmod(0o755)
    limits = room.limits(
        path=str(path), silence_s=2 if ended_by == "silence" else 10, deadline_s=3 if ended_by == "deadline" else 60,
        flush_s=1,
    )  # fmt: skip
    live = Live(QUICK, limits)
    try:
        assert wait_for((room.top / "reached").exists, 15)
        if ended_by == "hang up":
            live.hang_up()
        elif ended_by == "silence":
            live.beating = False
        elif ended_by == "cancel":
            live.send_line("cancel")
        live.gone(room, 20)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(live.process.pid, signal.SIGKILL)


@pytest.mark.parametrize("without", [(), WITHOUT_FLOCK], ids=["flock", "mkdir"])
def test_guard_of_a_dead_run_keeps_the_lease_of_the_next_run(room: Room, without: tuple[str, ...]) -> None:
    """All but the guard was killed, and another run has the lease by the time that this guard cleans up."""
    path = room.tools(*without)
    first = Live(SLEEP, room.limits(path=path))
    first.until("progress sleeps running")
    guard = first.role("guard")
    os.kill(guard, signal.SIGSTOP)
    for pid in set(processes(first.limits.run)) - {guard}:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    second = Live(SLEEP, room.limits(path=path))
    second.until("progress sleeps running")
    os.kill(guard, signal.SIGCONT)
    assert wait_for(lambda: guard not in processes(first.limits.run), 15)
    third = Live(QUICK, room.limits(path=path))
    assert third.end() == 75
    assert third.lines_of("busy")["run"] == second.limits.run
    second.hang_up()
    second.gone(room, 10)
    first.end()


def test_lease_directory_is_private_and_removed(room: Room) -> None:
    live = Live(SLEEP, room.limits())
    live.until("progress sleeps running")
    [directory] = room.locks.iterdir()
    assert directory.name == "culprit" and directory.stat().st_mode & 0o777 == 0o700
    live.hang_up()
    live.gone(room, 10)


def test_script_that_sends_does_not_write_through_a_symlink(room: Room) -> None:
    """What could not be sent is kept in a new file, though a link waits for the name that could be guessed."""
    victim = room.top / "victim"
    victim.write_text("precious\n")
    sh = room.top / "send.sh"
    sh.write_text(
        program.build_upload_script(program.build_standalone(QUICK, room.limits()), "http://127.0.0.1:9/up/x")
    )
    guess = f"ln -s {victim} culprit-$$.bundle && exec sh {sh}"
    done = subprocess.run(
        ["sh", "-c", guess], cwd=room.work, capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "TMPDIR": str(room.top)},
    )  # fmt: skip
    assert done.returncode == 75, done.stderr
    assert victim.read_text() == "precious\n"
    [stored] = [path for path in room.work.glob("culprit-*.bundle") if not path.is_symlink()]
    assert b"CULPRIT1 kind=hello" in stored.read_bytes() and stored.stat().st_mode & 0o777 == 0o600


def test_standalone_does_not_write_through_a_symlink(room: Room) -> None:
    victim = room.top / "victim"
    victim.write_text("precious\n")
    (room.top / "out.bundle").symlink_to(victim)
    file = room.top / "bundle.sh"
    file.write_text(program.build_standalone(QUICK, room.limits()))
    done = subprocess.run(
        ["sh", str(file), "-o", "out.bundle"], cwd=room.top, capture_output=True, timeout=30, check=False
    )
    assert done.returncode != 0
    assert victim.read_text() == "precious\n"


def test_many_short_runs_share_the_directory_of_the_lease(room: Room) -> None:
    """Each removes it when it leaves, while others are about to enter it."""
    waves = []
    for _ in range(3):
        waves += [Live(QUICK, room.limits(lease=f"kind{n}")) for n in range(3)]
        time.sleep(0.2)
    statuses = [live.end() for live in waves]
    assert set(statuses) <= {0, 75}
    assert all(live.lines_of("hello")["lease"] == "flock" for live in waves if live.of("hello"))
    assert wait_for(lambda: not room.left(), 5), room.left()
