"""Over a real sshd: what its death, its silence and its client's death do to a run."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from collectors.registry import COLLECTORS
from collectors.runner import program
from collectors.tests.host.harness import Live, Room, sampled, script, wait_for
from collectors.tests.host.test_ends import STUBBORN
from lab.hosts import Lab, LabHost

pytestmark = [
    pytest.mark.long(50),
    pytest.mark.skipif(os.geteuid() != 0, reason="hosts with private directories need root"),
]

#: How many aborts `test_storm_of_500` makes, in steps of 20.
ABORT_COUNT = "CULPRIT_TEST_ABORTS"

LONG = [
    script("stubborn", STUBBORN, seconds=60),
    script("writer", "while :; do echo line; sleep 0.1; done > log", seconds=60),
    sampled("stat", "/proc/stat", seconds=60),
]


def limits(run: str, **more: object) -> program.RunnerLimits:
    """Default limits, with a short silence."""
    supplied: dict[str, object] = {"run": run, "silence_s": 5, "deadline_s": 60, "need_bytes": 16 << 20}
    return program.RunnerLimits(**(supplied | more))  # type: ignore[arg-type]


@pytest.fixture
def long_run(host: LabHost, room: Room) -> Live:
    """A run over SSH whose collectors are at work."""
    live = Live(LONG, limits(room.limits().run), login=host.ssh())
    for name in ("stubborn", "writer", "stat"):
        live.until(f"progress {name} running")
    time.sleep(0.5)
    return live


def clean(host: LabHost, seconds: float) -> None:
    """Asserts that in time the host is as it was."""
    assert wait_for(lambda: not strangers(host), seconds), strangers(host)
    assert wait_for(lambda: not host.files(), 1), host.files()


def strangers(host: LabHost) -> list[tuple[int, str]]:
    """What runs on the host and is not sshd."""
    return [(pid, text) for pid, text in host.processes() if not text.startswith("sshd")]


def session(host: LabHost) -> int:
    """The pid of the sshd process of the only session."""
    (pid,) = [pid for pid, text in host.processes() if text.startswith("sshd: ") and "priv" not in text][:1]
    return pid


def find_roles(host: LabHost) -> dict[str, int]:
    """The pids of the shells of the only run, by what they do: main and guard, once they are written down."""
    for directory in ("/dev/shm", "/var/tmp"):
        for manifest in host.path(directory).glob("culprit-*/manifest"):
            lines = [line.split() for line in manifest.read_text().splitlines()]
            return {line[0]: int(line[1]) for line in lines if line[0:1] in (["main"], ["guard"])}
    return {}


def test_whole_run(host: LabHost, room: Room) -> None:
    jobs = [
        program.CollectorJob.of(COLLECTORS["vmstat"], 2),
        program.CollectorJob.of(COLLECTORS["cpu_stat"], 2),
        script("words", "echo words"),
    ]
    live = Live(jobs, limits(room.limits().run), login=host.ssh())
    assert live.end() == 0, live.lines
    assert {name: item.state for name, item in live.outcomes().items()} == dict.fromkeys(
        ("vmstat", "cpu_stat", "words"), "done"
    )
    hello = live.lines_of("hello")
    assert hello["dir"].startswith("/dev/shm/culprit-")  # in memory, because no job is exclusive
    assert float(hello["fork_ms"]) < 5000
    clean(host, 3)


def test_sshd_child_killed(host: LabHost, long_run: Live) -> None:
    os.kill(session(host), signal.SIGKILL)
    clean(host, 10)
    long_run.end()


def test_sshd_child_stopped(host: LabHost, long_run: Live) -> None:
    """No end of file arrives: only the silence is detected."""
    pid = session(host)
    os.kill(pid, signal.SIGSTOP)
    try:
        clean(host, 20)
    finally:
        os.kill(pid, signal.SIGKILL)
    long_run.end()


def test_client_killed(host: LabHost, long_run: Live) -> None:
    long_run.process.kill()
    clean(host, 10)
    long_run.end()


def test_client_stopped(host: LabHost, long_run: Live) -> None:
    long_run.process.send_signal(signal.SIGSTOP)
    try:
        clean(host, 20)
    finally:
        long_run.process.kill()
    long_run.end()


def test_stopped_main_shell_ends_with_its_client(host: LabHost, long_run: Live) -> None:
    os.kill(find_roles(host)["main"], signal.SIGSTOP)
    long_run.process.kill()
    clean(host, 20)
    long_run.end()


def test_stopped_guard_ends_the_run_when_it_continues(host: LabHost, long_run: Live) -> None:
    """Only the guard watches the client, so that nothing ends while it is stopped."""
    guard = find_roles(host)["guard"]
    os.kill(guard, signal.SIGSTOP)
    long_run.process.kill()
    assert not wait_for(lambda: not strangers(host), 3)
    os.kill(guard, signal.SIGCONT)
    clean(host, 20)
    long_run.end()


MEMORY = Path("/sys/fs/cgroup/memory")
#: `tail` keeps what has no end of line: it needs all memory of its group, until the kernel kills it. Only it and what
#: feeds it are members, so that the loop goes on.
HUNGRY = """
while :; do
    sh -c 'echo 900 >/proc/self/oom_score_adj; echo $$ >"$0"; head -c 400000000 /dev/zero | tail >/dev/null' "$0"
done
"""


@pytest.fixture
def poor_host(lab: Lab) -> Iterator[tuple[LabHost, Path]]:
    """A host whose sessions have 32 MB of memory together with a program that needs all of it again and again.

    The kernel kills that program first, so that a login is possible at all.
    """
    group = MEMORY / f"culprit-test-{os.getpid()}-{time.monotonic_ns()}"
    group.mkdir()
    host = lab.start(group.name)
    members, limit = group / "cgroup.procs", group / "memory.limit_in_bytes"
    limit.write_text(str(32 << 20))
    members.write_text(str(host.process.pid))
    with subprocess.Popen(
        ["/bin/sh", "-c", HUNGRY, members], start_new_session=True, stderr=subprocess.DEVNULL
    ) as hungry:
        yield host, group
        os.killpg(hungry.pid, signal.SIGKILL)
    host.stop()
    lab.hosts.remove(host)
    assert wait_for(lambda: not members.read_text(), 10)
    group.rmdir()


def count_kills(group: Path) -> int:
    """How many processes the kernel killed in a memory control group."""
    lines = dict(line.split() for line in (group / "memory.oom_control").read_text().splitlines())
    return int(lines["oom_kill"])


@pytest.mark.skipif(
    not (MEMORY / "memory.limit_in_bytes").exists(), reason="no memory controller of version 1"
)
@pytest.mark.parametrize("kills", [1, 3])
@pytest.mark.parametrize("abort", ["client killed", "canceled"])
def test_abort_without_memory_leaves_nothing(
    poor_host: tuple[LabHost, Path], room: Room, kills: int, abort: str
) -> None:
    """The limit is hit while the run works, and while it is aborted."""
    host, group = poor_host
    live = Live(LONG, limits(room.limits().run), login=host.ssh())
    live.until("progress stat running")
    before = count_kills(group)
    assert wait_for(lambda: count_kills(group) >= before + kills, 60)
    with contextlib.suppress(OSError, ValueError):
        if abort == "canceled":
            live.send_line("cancel")
        else:
            live.process.kill()
    clean(host, 20)
    live.process.kill()
    live.end()


def test_exit_status_comes_after_the_cleaning(host: LabHost, room: Room) -> None:
    for _ in range(3):
        live = Live([script("words", "echo words")], limits(room.limits().run), login=host.ssh())
        assert live.end() == 0
        assert not [text for _, text in strangers(host) if "culprit" in text]
        assert not host.files()


def _kill_client(host: LabHost, live: Live) -> None:
    live.process.kill()


def _stop_client(host: LabHost, live: Live) -> None:
    live.process.send_signal(signal.SIGSTOP)


def _kill_session(host: LabHost, live: Live) -> None:
    os.kill(session(host), signal.SIGKILL)


def _stop_session(host: LabHost, live: Live) -> None:
    os.kill(session(host), signal.SIGSTOP)


def _kill_role(role: str) -> Callable[[LabHost, Live], None]:
    def act(host: LabHost, live: Live) -> None:
        """Once both have written down who they are. Earlier, the next run sweeps: see test_lease."""
        end = time.monotonic() + 15
        while time.monotonic() < end:
            if "guard" in (roles := find_roles(host)):
                os.kill(roles[role], signal.SIGKILL)
                return
            time.sleep(0.05)

    act.__qualname__ = f"kill_{role}"
    return act


def _cancel(host: LabHost, live: Live) -> None:
    live.send_line("cancel")


def _hang_up(host: LabHost, live: Live) -> None:
    live.hang_up()


ABORTS = [
    _kill_client, _stop_client, _kill_session, _stop_session, _kill_role("main"), _kill_role("guard"),
    _cancel, _hang_up,
]  # fmt: skip


FROZEN = (_stop_client, _stop_session)  # the client never learns that it is over


def storm(lab: Lab, count: int, seed: int, seconds: float) -> list[str]:
    """`count` runs on as many hosts, each aborted somehow at a random moment; what is left of them."""
    chance = random.Random(seed)
    hosts = [lab.start(f"storm{seed}-{n}", tmp_size="64m") for n in range(count)]
    plans = [(host, chance.choice(ABORTS), chance.uniform(0.0, 4.0)) for host in hosts]
    left: list[str] = []

    def abort_run(host: LabHost, act: Callable[[LabHost, Live], None], moment: float) -> None:
        run = f"{seed:08x}-0000-4000-8000-{hosts.index(host):012x}"
        live = Live(LONG, limits(run, silence_s=4, deadline_s=12), login=host.ssh())
        time.sleep(moment)
        with contextlib.suppress(OSError, ValueError):
            act(host, live)
        ended = quiet = time.monotonic()
        # A login that is still under way makes the host look clean too early: only what stays so counts.
        while (now := time.monotonic()) - ended < seconds and now - quiet < 2:
            open_ended = live.process.poll() is None and act not in FROZEN
            if open_ended or strangers(host) or host.files():
                # After looking: on a loaded machine the look alone may take two seconds.
                quiet = time.monotonic()
            time.sleep(0.2)
        name = f"{host.name} {act.__qualname__} at {moment:.2f}"
        left.extend(f"{name}: {str(result)[:200]}" for result in (*strangers(host), *host.files()))
        for pid in [pid for pid, text in host.processes() if text.startswith("sshd")]:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        live.process.kill()
        live.end()

    threads = [threading.Thread(target=abort_run, args=plan) for plan in plans]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    left += [str(path) for path in Path("/sys/fs/cgroup").glob(f"*/culprit-{seed:08x}-*")]
    for host in hosts:
        host.stop()
        lab.hosts.remove(host)
    return left


def test_storm_of_20(lab: Lab) -> None:
    left = storm(lab, 20, seed=20, seconds=20)
    assert not left, "\n".join(left)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(int(os.environ.get(ABORT_COUNT, "500")) // 20))
def test_storm_of_500(lab: Lab, seed: int) -> None:
    """Twenty at a time, together as many as `CULPRIT_TEST_ABORTS`."""
    left = storm(lab, 20, seed=100 + seed, seconds=20)
    assert not left, "\n".join(left)


def test_lab_hosts_are_apart(lab: Lab) -> None:
    """Each has leases and leftovers of its own: two runs at once on two hosts of one kernel."""
    hosts = [lab.start(f"apart{n}") for n in range(2)]
    jobs = [script("sleeps", "sleep 1")]
    lives = [
        Live(jobs, limits(f"00000000-0000-4000-8000-00000000000{n}"), login=hosts[n].ssh()) for n in range(2)
    ]
    assert [live.end() for live in lives] == [0, 0]
