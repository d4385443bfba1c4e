"""Sessions with misbehaving servers, and what they leave in the process."""

import ctypes
import gc
import logging
import os
import random
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from culprit.infra.ssh.connection import SshTimeouts, connect_host
from culprit.infra.ssh.errors import SshError
from culprit.infra.ssh.execute import Bounds, run_command, start_command
from culprit.tests.support.protocol_violations import VIOLATIONS
from culprit.tests.support.sshd import LOOPBACK

LIMIT_S, TOTAL_S = 2.0, 4.0
#: A session ends at most so many seconds after the deadline of its last step.
LATE_S = 2.0
TIMEOUTS = SshTimeouts(connect_s=LIMIT_S, step_s=LIMIT_S)
BOUNDS = Bounds(silence_s=LIMIT_S, total_s=TOTAL_S, stdout_bytes=1 << 20, stderr_bytes=1 << 20)
AT_ONCE = 8


@dataclass
class Ending:
    """How a session ended, and the seconds since its last step began."""

    case: str
    kind: str
    stage: str
    took_s: float
    params: dict

    @property
    def problem(self) -> str:
        """Return what is wrong, or an empty text."""
        deadline_s = TOTAL_S if self.kind == "deadline" else LIMIT_S
        is_right = self.kind == VIOLATIONS[self.case].kind and self.took_s <= deadline_s + LATE_S
        is_printable = all(value.isprintable() for value in self.params.values() if isinstance(value, str))
        return "" if is_right and is_printable else f"{self}, expected {VIOLATIONS[self.case].kind}"


class Quiet:
    """A session handler that writes nothing and keeps nothing."""

    def stdout(self, data):
        pass

    stderr = stdout

    def take_input(self, now):
        return b""

    def should_close_input(self):
        return False


def run_session(case, hops):
    """Run a session to its end. An error of another type is not caught."""
    stage, began = "", time.monotonic()

    def report(name):
        nonlocal stage, began
        stage, began = name, time.monotonic()

    kind, params = "ended", {}
    try:
        connection = connect_host(hops, [LOOPBACK], TIMEOUTS, report)
        try:
            channel = start_command(connection, hops[-1], "true", TIMEOUTS, report)
            report("stream")
            assert run_command(connection, channel, Quiet(), BOUNDS) == 0
        finally:
            connection.close()
    except SshError as error:
        kind, params = error.kind, error.params
    return Ending(case, kind, stage, time.monotonic() - began, params)


def count_descriptors():
    return len([*Path("/proc/self/fd").iterdir()])


def measure_memory():
    """Return the resident memory of this process in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def run_sessions(servers, names):
    """Run one session for each name, some at once; check that no thread and no descriptor is left."""
    gc.collect()
    descriptors, threads = count_descriptors(), set(threading.enumerate())
    with ThreadPoolExecutor(AT_ONCE) as pool:
        endings = list(pool.map(lambda name: run_session(name, servers[name]), names))
    gc.collect()
    left = [thread for thread in threading.enumerate() if thread not in threads]
    for thread in left:
        thread.join(5)  # on a loaded machine a thread that was ended may still have to return
    assert [thread for thread in left if thread.is_alive()] == []
    assert count_descriptors() <= descriptors
    return endings


@dataclass
class Series:
    """The result of many sessions: problems, growth of memory, and a line that describes it."""

    problems: list[str]
    grown_bytes: int
    summary: str


def run_series(servers, count):
    """Run `count` sessions over all cases in random order, in a process of its own.

    With several arenas of malloc, which threads share at random, free memory of floods stays in the process. So the
    process should have `MALLOC_ARENA_MAX=1`.
    """
    logging.getLogger("paramiko").setLevel(logging.CRITICAL)
    names = list(VIOLATIONS)
    names = names * (count // len(names)) + random.Random(count).sample(names, count % len(names))
    random.Random(count).shuffle(names)
    before, began = measure_memory(), time.monotonic()
    endings = run_sessions(servers, names)
    ctypes.CDLL(None).malloc_trim(0)
    grown, took_s = measure_memory() - before, time.monotonic() - began
    late = max(ending.took_s - (TOTAL_S if ending.kind == "deadline" else LIMIT_S) for ending in endings)
    kinds = Counter(ending.kind for ending in endings)
    summary = (
        f"{count} sessions, {len(set(names))} cases, {took_s:.0f} s: latest end {late:+.2f} s from its deadline, "
        f"memory {grown / 1e6:+.1f} MB, no thread and no descriptor left; {dict(kinds)}"
    )
    return Series([ending.problem for ending in endings if ending.problem], grown, summary)
