"""A watcher on a host: stores data, matches conditions, reports its cost, ends with its lease, and leaves nothing."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from collectors.contract import Context
from collectors.runner import lookback, watcher
from collectors.runner.watcher import ConditionMatch, LookbackBuffer, WatcherCondition, WatcherStatus
from collectors.tests.host.harness import PRIVATE_DIRECTORIES, SHELLS, Live, Room, wait_for
from collectors.tests.host.test_scope import IDLE, ROOT, group, started
from collectors.tests.support import BytesPart, here

RING = LookbackBuffer(60, 4 << 20, lookback.FILES)
pytestmark = pytest.mark.long(110)


class LiveWatcher(Live):
    """A watcher that the test started."""

    def __init__(
        self,
        room: Room,
        *conditions: WatcherCondition,
        ring: LookbackBuffer = RING,
        shell: str = "/bin/sh",
        login: list[str] | None = None,
        **more: object,
    ) -> None:
        limits = room.limits(**({"lease": "lookback"} | more))
        program = watcher.build_program(ring, conditions, limits)
        super().__init__([], limits, shell=shell, login=login, program=program)

    def words(self) -> list[WatcherStatus | ConditionMatch]:
        """Messages so far."""
        return [item for item in map(watcher.parse_line, list(self.lines)) if item is not None]

    def fired(self, count: int = 1) -> list[ConditionMatch]:
        """The conditions that began to hold, once there are so many."""
        assert wait_for(lambda: len(self._of(ConditionMatch)) >= count, 30), self.lines
        return self._of(ConditionMatch)  # type: ignore[return-value]

    def watching(self, count: int = 1) -> WatcherStatus:
        """Its last report, once there are so many."""
        assert wait_for(lambda: len(self._of(WatcherStatus)) >= count, 30), self.lines
        return self._of(WatcherStatus)[-1]  # type: ignore[return-value]

    def _of(self, kind: type) -> list[WatcherStatus | ConditionMatch]:
        return [item for item in self.words() if isinstance(item, kind)]

    def awk(self) -> int:
        """The pid of the one process that watches."""
        place = Path(self.limits.directories[0]) / f"culprit-{self.limits.run}" / "l" / "s1"
        assert wait_for(lambda: place.exists() and bool(place.read_text().strip()), 20)
        return int(place.read_text().split()[0])


def taken_by_a_capture(room: Room) -> tuple[dict[tuple[str, str], bytes], Live]:
    """What a capture in the same directory collects of a look-back buffer."""
    live = Live([lookback.JOB], room.limits(), login=[*PRIVATE_DIRECTORIES, "/bin/sh", "-c"])
    assert live.end() == 0, live.lines
    return live.parts(), live


@pytest.mark.parametrize("shell", SHELLS.values(), ids=SHELLS.keys())
def test_a_capture_takes_what_a_ring_has_kept(room: Room, shell: str) -> None:
    ring = LiveWatcher(room, shell=shell)
    first = ring.watching(2)
    parts, live = taken_by_a_capture(room)
    assert live.outcomes()["look_back"].state == "done"
    data = parts["look_back", "samples"]
    parsed = lookback.parse_lookback({"samples": BytesPart(data)}, Context(here(), "lookback"))
    results = {series.metric: series for series in parsed.series}
    assert {"psi.some_pct", "softirq.total_per_s", "sched.runq", "cpu.total_busy_pct"} <= results.keys()
    runq = results["sched.runq"]
    assert len(runq.t_ns) >= 4 and runq.part == "samples"
    lines = data.decode().split("\n")
    assert runq.lines is not None
    assert all(lines[line - 1].startswith("procs_running") for line in runq.lines), runq.lines
    assert first.lookback_bytes > 1000 and first.rss_kb > 500
    ring.send_line("cancel")
    assert ring.end() == 3
    ring.gone(room, 10)


def test_without_a_ring_there_is_nothing_to_look_back_at(room: Room) -> None:
    _, live = taken_by_a_capture(room)
    outcome = live.outcomes()["look_back"]
    assert (outcome.state, outcome.reason.key) == ("skipped", "reason.unavailable_because")


def test_a_ring_stays_within_its_bytes_and_drops_the_oldest(room: Room) -> None:
    """A quarter of the smallest ring is a piece; the fifth is being written."""
    small = LookbackBuffer(1800, 1 << 18, ("/proc/vmstat",) * 8)
    ring = LiveWatcher(room, ring=small)
    place = room.work / f"culprit-{ring.limits.run}" / "lookback"
    assert wait_for(lambda: bool(list(place.glob("r.*"))), 20)
    [first] = list(place.glob("r.*"))[:1]
    assert wait_for(lambda: not first.exists(), 60)
    assert 3 <= len(list(place.glob("r.*"))) <= 5
    assert sum(item.stat().st_size for item in place.glob("r.*")) <= small.max_bytes
    ring.hang_up()
    ring.gone(room, 10)


def test_process_start_matches_at_once_with_its_time(room: Room) -> None:
    armed = LiveWatcher(room, WatcherCondition("process_start", "culprit-probe"), ring=RING)
    armed.watching()
    program = room.top / "culprit-probe"
    program.symlink_to("/bin/sleep")
    began = Path("/proc/uptime").read_text().split()[0]
    child = subprocess.Popen([str(program), "20"])
    try:
        [fired] = armed.fired()
    finally:
        child.kill()
        child.wait()
    assert fired.number == 1
    assert 0 <= fired.boot_ns / 1e9 - float(began) < 4
    armed.send_line("cancel")
    armed.gone(room, 10)


def test_a_threshold_holds_in_so_many_of_its_readings_and_fires_once(room: Room) -> None:
    """Every reading of the load is over zero: it fires when there are three, and not again."""
    armed = LiveWatcher(
        room,
        WatcherCondition("load1", limit=0.0, required_hits=3, window_readings=5),
        WatcherCondition("running", limit=1e9),
        WatcherCondition("available_pct", op="under", limit=100.0),
    )
    assert sorted(item.number for item in armed.fired(2)) == [1, 3]
    last = armed.watching(3)
    assert len(armed.fired(2)) == 2
    assert len(last.values) == 3 and all(value is not None for value in last.values)
    armed.send_line("cancel")
    armed.gone(room, 10)


@pytest.mark.parametrize(
    "condition",
    [
        WatcherCondition("stall_pct", "cpu.some", limit=0.0),
        WatcherCondition("busy_pct", limit=0.0),
        WatcherCondition("steal_pct", limit=0.0),
        WatcherCondition("vm_per_s", "pgfault", limit=0.0),
        WatcherCondition("tcp_per_s", "TcpExt.TCPPureAcks", limit=0.0),
        WatcherCondition("softnet_drops_per_s", limit=0.0),
    ],
    ids=lambda item: item.kind,
)
def test_every_rate_has_a_reading(room: Room, condition: WatcherCondition) -> None:
    if condition.kind == "stall_pct" and not Path("/proc/pressure/cpu").exists():
        pytest.skip("this kernel measures no pressure")
    armed = LiveWatcher(room, condition)
    [fired] = armed.fired()
    assert fired.value is not None and fired.value >= 0
    armed.hang_up()
    armed.gone(room, 10)


def test_the_deadline_is_kept_by_the_host(room: Room) -> None:
    ring = LiveWatcher(room, deadline_s=4)
    assert ring.end(30) == 3
    assert ring.lines_of("end")["why"] == "deadline"
    ring.gone(room, 10)


def test_silence_ends_it(room: Room) -> None:
    ring = LiveWatcher(room, silence_s=4)
    ring.watching()
    ring.beating = False
    ring.gone(room, 20)


@pytest.mark.parametrize("whom", ["guard", "main", "awk"])
def test_killed_watcher_leaves_nothing(room: Room, whom: str) -> None:
    ring = LiveWatcher(room)
    ring.watching()
    os.kill(ring.awk() if whom == "awk" else ring.role(whom), signal.SIGKILL)
    ring.gone(room, 20)
    if whom == "awk":
        assert ring.lines_of("end")["watcher"] == "137"


def test_single_lookback_buffer_per_host_allows_captures(room: Room) -> None:
    ring = LiveWatcher(room)
    ring.watching()
    second = LiveWatcher(room)
    assert second.end() == 75 and second.lines_of("busy")["run"] == ring.limits.run
    armed = LiveWatcher(room, WatcherCondition("load1", limit=0.0), lease="armed")
    armed.fired()
    _, live = taken_by_a_capture(room)
    assert live.outcomes()["look_back"].state == "done"
    for item in (ring, armed):
        item.send_line("cancel")
        item.end()
    armed.gone(room, 10)
    ring.gone(room, 10)


def test_a_full_disk_refuses_it(room: Room) -> None:
    ring = LiveWatcher(room, ring=LookbackBuffer(60, 64 << 20, lookback.FILES), directories=("/nowhere",))
    assert ring.end() == 73
    assert not ring.of("hello")


@pytest.mark.parametrize(
    "condition",
    [
        {"kind": "unit_start", "key": "a b"},
        {"kind": "unit_start", "key": "x;y"},
        {"kind": "group_start", "key": "/a/../b"},
        {"kind": "load1", "limit": float("nan")},
        {"kind": "load1", "limit": -1},
        {"kind": "load1", "required_hits": 3, "window_readings": 2},
        {"kind": "process_start", "key": "x", "limit": 2},
        {"kind": "process_start", "key": "sixteen-chars-no"},
        {"kind": "tcp_per_s", "key": "Tcp.A B"},
        {"kind": "no_such"},
        {"kind": "load1", "cmd": "x"},
    ],
)
def test_invalid_conditions_are_rejected(condition: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        WatcherCondition.from_json(condition)


@pytest.mark.parametrize(
    "line",
    [
        "watch",
        "watch 1 2 3",
        "watch x 1 1 1",
        "fire 0 1 1",
        "fire 1 1",
        "watch 1 1 1 1 " + "9 " * 9,
        "fire 1 1 $(x)x x",
    ],
)
def test_other_words_are_noise(line: str) -> None:
    assert watcher.parse_line(line) is None


def test_words() -> None:
    assert watcher.parse_line("watch 100 20 3000 9 1.5 -\n") == WatcherStatus(10**9, 20, 3000, 9, (1.5, None))
    assert watcher.parse_line("fire 2 100 -") == ConditionMatch(2, 10**9, None)


def test_stacks_of_before_come_home_with_a_capture(room: Room) -> None:
    if shutil.which("perf") is None:
        pytest.skip("needs perf")
    ring = LiveWatcher(room, ring=replace(RING, stacks=True))
    ring.watching(2)
    place = room.work / f"culprit-{ring.limits.run}" / "lookback" / "perf.pid"
    if any("no stacks" in line for line in ring.lines):
        pytest.skip("perf is not allowed here")
    assert wait_for(lambda: place.exists() and bool(place.read_text().strip()), 20)
    parts, live = taken_by_a_capture(room)
    assert live.outcomes()["look_back"].state == "done", live.outcomes()["look_back"]
    assert parts["look_back", "script.txt"].count(b"\n") > 20
    supplied = {name: BytesPart(data) for (_, name), data in parts.items()}
    parsed = lookback.parse_lookback(supplied, Context(here(), "lookback"))
    [profile] = parsed.profiles
    assert (profile.kind, profile.part, profile.raw_part) == ("on_cpu", "script.txt", "perf.data")
    ring.hang_up()
    ring.gone(room, 10)


@ROOT
def test_a_unit_that_starts_fires_and_again_when_it_starts_again(room: Room) -> None:
    """Without systemd its control group is in the slice of the system."""
    name = f"culprit-{uuid.uuid4().hex[:8]}.service"
    with group("cpu", f"system.slice/{name}") as directory:
        armed = LiveWatcher(room, WatcherCondition("unit_start", name.removesuffix(".service")))
        armed.watching()
        for count in (1, 2):
            with started(*IDLE) as pid:
                (directory / "cgroup.procs").write_text(str(pid))
                assert len(armed.fired(count)) == count
        armed.hang_up()
        armed.gone(room, 10)


@ROOT
@pytest.mark.parametrize("by", ["id", "name"])
def test_a_container_that_starts_fires(room: Room, by: str) -> None:
    """By the beginning of its id, or by the name that its engine gives (a stand-in that answers as inspect does)."""
    path = Path(room.tools())
    engine = path / "docker"
    engine.write_text("#!/bin/sh\necho /web\n")
    engine.chmod(0o755)
    name = uuid.uuid4().hex * 2
    condition = WatcherCondition("container_start", "web" if by == "name" else name[:12])
    armed = LiveWatcher(room, condition, path=str(path))
    armed.watching(2)  # what runs already is no start
    with group("pids", f"docker/{name}"):
        [fired] = armed.fired()
        assert fired.value == 1
    armed.hang_up()
    armed.gone(room, 10)


@ROOT
def test_starts_are_counted_where_pids_begin_again_and_threads_are_not(tmp_path: Path) -> None:
    """In a pid namespace that is 12 pids from its highest; the second program has threads of its own name."""
    probe = tmp_path / "culprit-probe"
    probe.symlink_to("/bin/sleep")
    threads = tmp_path / "threads.py"
    threads.write_text(
        "import ctypes, threading, time\n"
        "ctypes.CDLL(None).prctl(15, b'culprit-thread', 0, 0, 0)\n"
        "[threading.Thread(target=time.sleep, args=(4,)).start() for _ in range(9)]\n"
    )
    script = f"""
        echo $(($(cat /proc/sys/kernel/pid_max) - 12)) > /proc/sys/kernel/ns_last_pid
        : > {tmp_path}/go
        printf 'C process_start over 1 1 1 %s\\n' culprit-probe culprit-thread |
            awk -v go={tmp_path}/go -v main=1 -v guard=1 -v tck=100 -v nap=sleep -v rm=rm -f "$0" &
        sleep 1.5
        i=0; while [ $i -lt 30 ]; do i=$((i + 1)); {probe} 4 & done
        {sys.executable} {threads} &
        sleep 5
        rm {tmp_path}/go
        wait $!"""
    awk = Path(watcher.__file__).parent / "scripts" / "watcher.awk"
    command = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", script, str(awk)]
    lines = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout
    fired = [
        item for line in lines.splitlines() if isinstance(item := watcher.parse_line(line), ConditionMatch)
    ]
    counts = {number: sum(item.value or 0 for item in fired if item.number == number) for number in (1, 2)}
    assert counts == {1: 30, 2: 1}, lines
