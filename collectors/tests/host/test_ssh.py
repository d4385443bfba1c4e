"""Over a real sshd: what its death, its silence and its client's death do to a run."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
import time
from collections.abc import Callable
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
            for manifest in (
                *host.path("/dev/shm").glob("culprit-*/manifest"),
                *host.path("/var/tmp").glob("culprit-*/manifest"),
            ):
                roles = dict(
                    line.split(maxsplit=1) for line in manifest.read_text().splitlines() if " " in line
                )
                if "guard" in roles:
                    os.kill(int(roles[role].split()[0]), signal.SIGKILL)
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
@pytest.mark.parametrize("seed", range(5))
def test_storm_of_100(lab: Lab, seed: int) -> None:
    """A hundred, twenty at a time."""
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
