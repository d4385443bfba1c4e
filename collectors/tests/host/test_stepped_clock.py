"""The wall clock of a host with a watcher is set: stored data, reports and the end of the watcher stay correct.

libfaketime moves CLOCK_REALTIME for the programs of a run, the boottime clock goes on: as `date -s` and ntpd do.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from collectors.clock.mapping import ClockMap
from collectors.contract import Context
from collectors.runner import lookback
from collectors.runner.watcher import WatcherCondition
from collectors.tests.host import harness
from collectors.tests.host.harness import Live, Room
from collectors.tests.host.test_watcher import LiveWatcher
from collectors.tests.support import BytesPart, here

LIBRARY = next(iter(sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))), None)
pytestmark = [pytest.mark.long(150), pytest.mark.skipif(LIBRARY is None, reason="no faketime")]
HOUR_S = 3600
#: Not bash: it asks for the time within its handlers of signals, where libfaketime, which locks, may wait for itself.
SHELLS = {name: shell for name, shell in harness.SHELLS.items() if name != "bash"}


class WallClock:
    """That of the programs of one room."""

    def __init__(self, room: Room) -> None:
        self._file = room.top / "clock"
        self.set(0)
        messages = {
            "LD_PRELOAD": str(LIBRARY),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        self.login = [
            str(shutil.which("env")), *(f"{name}={value}" for name, value in messages.items()), "/bin/sh", "-c",
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
def test_lookback_buffer_keeps_its_minutes_when_the_clock_is_set(
    room: Room, shell: str, ahead_s: int
) -> None:
    clock = WallClock(room)
    ring = LiveWatcher(room, WatcherCondition("load1", "", "over", 0, 1, 1), shell=shell, login=clock.login)
    ring.watching(2)
    clock.set(ahead_s)
    last = ring.watching(4)
    capture = Live([lookback.JOB], room.limits(), login=[*harness.PRIVATE_DIRECTORIES, *clock.login])
    assert capture.end() == 0, capture.lines
    mapping = clocks_of(capture)
    data = BytesPart(capture.parts()["look_back", "samples"])
    results = {
        series.metric: series
        for series in lookback.parse_lookback({"samples": data}, Context(mapping, "lookback")).series
    }
    times = np.asarray(results["sched.runq"].t_ns)
    steps_s = np.diff(times) / 1e9
    assert len(times) >= 12 and steps_s.min() > 0 and steps_s.max() < 60, (
        "no hour is in between, and none twice"
    )
    real = here().to_utc("boottime", np.array([last.boot_ns]))
    utc = mapping.to_utc("boottime", np.array([last.boot_ns]))
    assert abs((utc - real)[0] / 1e9 - ahead_s) < 1, "the host's own clock, as it is now"
    assert times[0] <= utc[0] <= times[-1]
    ring.send_line("cancel")
    assert ring.end() == 3 and ring.lines_of("end")["why"] == "cancel"
    ring.gone(room, 10)


@pytest.mark.parametrize("ahead_s", [HOUR_S, -HOUR_S], ids=["forward", "back"])
@pytest.mark.parametrize("shell", SHELLS.values(), ids=SHELLS.keys())
def test_its_deadline_is_neither_sooner_nor_later(room: Room, shell: str, ahead_s: int) -> None:
    clock = WallClock(room)
    ring = LiveWatcher(room, shell=shell, login=clock.login, deadline_s=15)
    ring.watching()
    clock.set(ahead_s)
    ring.watching(2)
    assert ring.end(60) == 3
    assert ring.lines_of("end")["why"] == "deadline"
    ring.gone(room, 10)


def test_a_clock_that_is_set_is_no_silence_and_fires_nothing(room: Room) -> None:
    clock = WallClock(room)
    armed = LiveWatcher(
        room, WatcherCondition("process_start", "culprit-none"), login=clock.login, silence_s=8
    )
    armed.watching()
    for ahead_s in (HOUR_S, -HOUR_S, 0):
        clock.set(ahead_s)
        armed.watching(len(armed.words()) + 1)
    assert armed.process.poll() is None and not [
        item for item in armed.words() if not hasattr(item, "cpu_ms")
    ]
    armed.hang_up()
    armed.gone(room, 10)
