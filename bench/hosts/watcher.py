"""A watcher on a host: its cost, how fast it reports a condition, and how much of the time before it stores.

    ./culprit bench watcher [--pairs 4] [--seconds 15] [--compare 60] [--fires 10] [--aborts 20]

The reference workload of `bench.hosts.cost` keeps every CPU busy. Each row is a window without a look-back buffer (A),
one with it (B) and one without it again (C). The slow-down is 1 - B/C; it is compared with 1 - A/C, where neither
window has a buffer. CPU is what the kernel charged to the processes of the buffer, per second of the window. Memory
is their resident set. Disk is the size of its directory in file system blocks, which is 0 for a directory in memory.

Then the buffer alone: the benchmark starts a process repeatedly and measures how long the watcher takes to report it,
and how many seconds before the start the buffer contains when a capture takes it.

During the same seconds, sadc and atop record the same minute once a second, for comparison.

Aborts: one of its processes is killed, or its input ends, at a random time; what is left 20 s later is counted.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.hosts.cost import CPUS, Workload, measure_window
from bench.support.own_capture import HEARTBEAT_S, call_every, make_heartbeat, measure_disk_bytes
from collectors.runner import lookback, watcher
from collectors.runner import program as bundle
from collectors.runner.watcher import ConditionMatch, LookbackBuffer, WatcherCondition, WatcherStatus

NAME = "bench-watcher"
SADC = "/usr/lib/sysstat/sadc"
BUFFER = LookbackBuffer(600, 600 * (32 << 10), lookback.FILES)
HEAD = re.compile(rb"^@ \d+ (\d+) ", re.MULTILINE)


class WatcherRun:
    """A watcher on this machine, started as sshd would start it."""

    def __init__(self, *conditions: WatcherCondition) -> None:
        self.run = str(uuid.uuid4())
        self.limits = watcher.build_limits(self.run, "bench", 600, 15, BUFFER)
        line = bundle.build_command(watcher.build_program(BUFFER, conditions, self.limits))
        self.child = subprocess.Popen(
            ["/bin/sh", "-c", line],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.messages: list[tuple[float, WatcherStatus | ConditionMatch]] = []
        self.arrival = threading.Condition()
        self.reader = threading.Thread(target=self._read_messages, daemon=True)
        self.reader.start()

    def _read_messages(self) -> None:
        assert self.child.stderr
        for line in self.child.stderr:
            message = watcher.parse_line(line.decode("utf-8", "replace"))
            if message is not None:
                with self.arrival:
                    self.messages.append((time.monotonic(), message))
                    self.arrival.notify_all()

    def await_message(self, kind: type, count: int) -> tuple[float, WatcherStatus | ConditionMatch]:
        """Wait for message number `count` of a kind. Raises SystemExit after a minute."""
        with self.arrival:
            matches = [message for message in self.messages if isinstance(message[1], kind)]
            end = time.monotonic() + 60
            while len(matches) < count:
                if not self.arrival.wait(max(0.0, end - time.monotonic())):
                    raise SystemExit("the watcher reports nothing")
                matches = [message for message in self.messages if isinstance(message[1], kind)]
            return matches[count - 1]

    def directory(self) -> Path:
        """The directory of the watcher."""
        directories = (Path(top) / f"culprit-{self.run}" for top in self.limits.directories)
        return next(directory for directory in directories if directory.exists())

    def end(self) -> None:
        """Close the connection and wait until the watcher has ended."""
        assert self.child.stdin and self.child.stderr
        self.child.stdin.close()
        self.child.wait(30)
        self.reader.join()
        self.child.stderr.close()


@contextmanager
def run_watcher(*conditions: WatcherCondition) -> Iterator[WatcherRun]:
    """Run a watcher for the length of the block."""
    item = WatcherRun(*conditions)
    try:
        with call_every(HEARTBEAT_S, make_heartbeat(item.child)):
            item.await_message(WatcherStatus, 1)
            yield item
    finally:
        item.end()


def read_cpu_ms(run: str) -> float:
    """CPU time of the running processes of a watcher, and of their children that have ended."""
    total = 0
    mark = f"CULPRIT_RUN={run}".encode()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                total += sum(int(field) for field in fields[11:15])
        except OSError:
            continue
    return total * 1000 / os.sysconf("SC_CLK_TCK")


def _read_cost(pid: int) -> tuple[float, float]:
    """CPU of a process in milliseconds, and its resident set in KiB."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    status = Path(f"/proc/{pid}/status").read_text()
    resident = re.search(r"VmRSS:\s+(\d+)", status)
    assert resident
    spent = sum(int(field) for field in fields[11:15]) * 1000 / os.sysconf("SC_CLK_TCK")
    return spent, float(resident[1])


def compare_recorders(seconds: float) -> None:
    """Compare the look-back buffer with sadc and atop over the same seconds."""
    with tempfile.TemporaryDirectory() as top:
        lines = {
            "sadc": [SADC, "-S", "XALL", "1", f"{top}/sadc"],
            "atop": ["atop", "-w", f"{top}/atop", "1"],
        }
        others = {name: line for name, line in lines.items() if shutil.which(line[0])}
        with ExitStack() as stack:
            buffer = stack.enter_context(run_watcher())
            started = {
                name: stack.enter_context(
                    subprocess.Popen(line, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
                )
                for name, line in others.items()
            }
            time.sleep(3)
            ours, first = (
                read_cpu_ms(buffer.run),
                {name: _read_cost(item.pid) for name, item in started.items()},
            )
            size = {name: Path(top, name).stat().st_size for name in started}
            before = buffer.await_message(WatcherStatus, 1)[1]
            time.sleep(seconds)
            after = buffer.messages[-1][1]
            assert isinstance(before, WatcherStatus) and isinstance(after, WatcherStatus)
            cpu = (read_cpu_ms(buffer.run) - ours) / seconds
            stored = (after.lookback_bytes - before.lookback_bytes) * 1e9 / (after.boot_ns - before.boot_ns)
            on_disk = 0.0 if str(buffer.directory()).startswith("/dev/shm") else stored
            print(
                f"buffer  {cpu:.2f} ms/s, {after.rss_kb / 1024:.1f} MiB, {on_disk / 1024:.1f} KiB/s to disk"
            )
            print(f"      ({stored / 1024:.1f} KiB/s stored; over {seconds:g} s)")
            for name, item in started.items():
                spent, resident = _read_cost(item.pid)
                its = (spent - first[name][0]) / seconds
                wrote = (Path(top, name).stat().st_size - size[name]) / seconds
                ratio = cpu / its if its else float("nan")
                print(
                    f"{name}  {its:.2f} ms/s, {resident / 1024:.1f} MiB, {wrote / 1024:.1f} KiB/s to disk;",
                    end=" ",
                )
                print(f"buffer/{name}: CPU {ratio:.2f}, memory {after.rss_kb / resident:.2f}")
                item.terminate()


def measure_cost(pairs: int, seconds: float) -> None:
    """Measure the slow-down of the reference workload."""
    slower, control, cpu, dearer = [], [], [], []
    rss = stored = disk = 0.0
    with Workload() as work:
        for _ in range(pairs):
            before = measure_window(work, seconds)
            with run_watcher() as buffer:
                first, began = read_cpu_ms(buffer.run), time.monotonic()
                window = measure_window(work, seconds)
                cpu.append((read_cpu_ms(buffer.run) - first) / (time.monotonic() - began))
                last = buffer.await_message(WatcherStatus, 2)[1]
                assert isinstance(last, WatcherStatus)
                rss, stored = max(rss, last.rss_kb), max(stored, last.lookback_bytes)
                disk = max(
                    disk,
                    0
                    if str(buffer.directory()).startswith("/dev/shm")
                    else measure_disk_bytes(buffer.directory()),
                )
            after = measure_window(work, seconds)
            slower.append(1 - window.rate / after.rate)
            control.append(1 - before.rate / after.rate)
            dearer.append(1 - window.per_cpu_s / after.per_cpu_s)
    print(f"{CPUS} CPUs, all busy; {pairs} rows of 3 windows of {seconds:g} s")
    print(f"slow-down with a buffer   median {statistics.median(slower):+.2%}  of {_format_shares(slower)}")
    print(f"slow-down without buffer  median {statistics.median(control):+.2%}  of {_format_shares(control)}")
    print(f"work per CPU second lost  median {statistics.median(dearer):+.2%}  of {_format_shares(dearer)}")
    print(f"CPU of the buffer         mean {statistics.mean(cpu):.2f} ms/s  of {[round(x, 2) for x in cpu]}")
    print(
        f"memory {rss / 1024:.1f} MiB resident, {stored / 1024:.0f} KiB stored so far, {disk / 1024:.0f} KiB on disk"
    )


def _format_shares(values: list[float]) -> str:
    return ", ".join(f"{value:+.2%}" for value in sorted(values))


def measure_matches(count: int) -> None:
    """Measure how soon a start is reported, and how much earlier time the buffer then holds."""
    late, before = [], []
    with (
        tempfile.TemporaryDirectory() as top,
        run_watcher(WatcherCondition("process_start", NAME)) as watcher_session,
    ):
        program = Path(top) / NAME
        program.symlink_to("/bin/sleep")
        since = time.monotonic()
        for n in range(1, count + 1):
            time.sleep(5 + n * 0.37 % 1)  # not in step with the watcher
            began, boot = time.monotonic(), float(Path("/proc/uptime").read_text().split()[0])
            with subprocess.Popen([str(program), "1.5"]):
                at, _ = watcher_session.await_message(ConditionMatch, n)
            late.append(at - began)
            data = b"".join(
                item.read_bytes() for item in sorted((watcher_session.directory() / "ring").glob("r.*"))
            )
            match = HEAD.search(data)
            assert match
            before.append(boot - int(match[1]) / 1e9)
        print(f"start to report: median {statistics.median(late):.2f} s, most {max(late):.2f} s (n={count})")
        print(f"stored before the last start: {before[-1]:.1f} s of {time.monotonic() - since:.1f} s")


def measure_aborts(count: int) -> None:
    """End watchers at random times in unexpected ways."""
    left = 0
    slowest = 0.0
    ways = ("input ends", "guard", "main", "awk")
    for n in range(count):
        item = WatcherRun(WatcherCondition("load1", limit=1e9))
        with call_every(HEARTBEAT_S, make_heartbeat(item.child)):
            item.await_message(WatcherStatus, 1)
            directory = item.directory()
            time.sleep(random.random() * 3)
            way = ways[n % len(ways)]
            if way != "input ends":
                os.kill(_read_pid(directory, way), signal.SIGKILL)
        if way == "input ends":
            item.end()
        began = time.monotonic()
        while (_list_alive(item.run) or directory.exists()) and time.monotonic() - began < 20:
            item.child.poll()  # as sshd would: a killed process is a zombie until its parent reads its status
            time.sleep(0.1)
        slowest = max(slowest, time.monotonic() - began)
        left += bool(_list_alive(item.run)) + directory.exists()
        if way != "input ends":
            item.end()
    print(f"{count} aborts ({', '.join(ways)}): {left} left behind; clean after {slowest:.1f} s at most")


def _read_pid(directory: Path, who: str) -> int:
    if who == "awk":
        return int((directory / "l" / "s1").read_text().split()[0])
    lines = (directory / "manifest").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{who} "))


def _list_alive(run: str) -> list[str]:
    results = []
    mark = f"CULPRIT_RUN={run}".encode()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                results.append(entry.name)
        except OSError:
            continue
    return results


def main() -> int:
    """Run the selected measurements."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--compare", type=float, default=60)
    parser.add_argument("--fires", type=int, default=10)
    parser.add_argument("--aborts", type=int, default=20)
    args = parser.parse_args()
    if args.pairs:
        measure_cost(args.pairs, args.seconds)
    if args.compare:
        compare_recorders(args.compare)
    if args.fires:
        measure_matches(args.fires)
    if args.aborts:
        measure_aborts(args.aborts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
