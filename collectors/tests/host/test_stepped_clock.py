"""Somebody sets the wall clock of a host under what waits on it: what it keeps, says, and when it ends stay right.

libfaketime moves CLOCK_REALTIME for the programs of a run, the boottime clock goes on: as `date -s` and ntpd do.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from collectors import look_back
from collectors.clock import ClockMap
from collectors.contract import Context
from collectors.standby import Condition
from collectors.tests.host import harness
from collectors.tests.host.harness import Live, Room
from collectors.tests.host.test_standby import Standing
from collectors.tests.support import BytesPart, here

LIBRARY = next(iter(sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))), None)
pytestmark = pytest.mark.skipif(LIBRARY is None, reason="no faketime")
HOUR_S = 3600
#: Not bash: it asks for the time within its handlers of signals, where libfaketime, which locks, may wait for itself.
SHELLS = {name: shell for name, shell in harness.SHELLS.items() if name != "bash"}


class WallClock:
    """That of the programs of one room."""

    def __init__(self, room: Room) -> None:
        self._file = room.top / "clock"
        self.set(0)
        said = {
            "LD_PRELOAD": str(LIBRARY),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        self.login = [
            str(shutil.which("env")), *(f"{name}={value}" for name, value in said.items()), "/bin/sh", "-c",
        ]  # fmt: skip

    def set(self, ahead_s: int) -> None:
        """So much ahead of what it really is, at once for everybody."""
        new = self._file.with_suffix(".new")
        new.write_text(f"{ahead_s:+d}\n")
        new.replace(self._file)


def clocks_of(live: Live) -> ClockMap:
    return ClockMap.from_records(frame.header.fields for frame in live.of("clock"))


@pytest.mark.parametrize("ahead_s", [HOUR_S, -HOUR_S], ids=["forward", "back"])
@pytest.mark.parametrize("shell", SHELLS.values(), ids=SHELLS.keys())
def test_a_ring_keeps_its_minutes_whatever_the_clock_says(room: Room, shell: str, ahead_s: int) -> None:
    clock = WallClock(room)
    ring = Standing(room, Condition("load1", "", "over", 0, 1, 1), shell=shell, login=clock.login)
    ring.watching(2)
    clock.set(ahead_s)
    last = ring.watching(4)
    capture = Live([look_back.JOB], room.limits(), login=clock.login)
    assert capture.end() == 0, capture.lines
    mapping = clocks_of(capture)
    data = BytesPart(capture.parts()["look_back", "samples"])
    found = {one.metric: one for one in look_back.parse({"samples": data}, Context(mapping, "ring")).series}
    times = np.asarray(found["sched.runq"].t_ns)
    steps_s = np.diff(times) / 1e9
    assert len(times) >= 12 and steps_s.min() > 0 and steps_s.max() < 60, (
        "no hour is in between, and none twice"
    )
    real = here().to_utc("boottime", np.array([last.boot_ns]))
    shown = mapping.to_utc("boottime", np.array([last.boot_ns]))
    assert abs((shown - real)[0] / 1e9 - ahead_s) < 1, "the host's own clock, as it is now"
    assert times[0] <= shown[0] <= times[-1]
    ring.say("cancel")
    assert ring.end() == 3 and ring.lines_of("end")["why"] == "cancel"
    ring.gone(room, 10)


@pytest.mark.parametrize("ahead_s", [HOUR_S, -HOUR_S], ids=["forward", "back"])
@pytest.mark.parametrize("shell", SHELLS.values(), ids=SHELLS.keys())
def test_its_deadline_is_neither_sooner_nor_later(room: Room, shell: str, ahead_s: int) -> None:
    clock = WallClock(room)
    ring = Standing(room, shell=shell, login=clock.login, deadline_s=15)
    ring.watching()
    clock.set(ahead_s)
    ring.watching(2)
    assert ring.end(60) == 3
    assert ring.lines_of("end")["why"] == "deadline"
    ring.gone(room, 10)


def test_a_clock_that_is_set_is_no_silence_and_fires_nothing(room: Room) -> None:
    clock = WallClock(room)
    armed = Standing(room, Condition("process_start", "culprit-none"), login=clock.login, silence_s=8)
    armed.watching()
    for ahead_s in (HOUR_S, -HOUR_S, 0):
        clock.set(ahead_s)
        armed.watching(len(armed.words()) + 1)
    assert armed.process.poll() is None and not [one for one in armed.words() if not hasattr(one, "cpu_ms")]
    armed.hang_up()
    armed.gone(room, 10)
