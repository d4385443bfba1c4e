"""What waits on a host: what it costs there, how soon it fires, and what of the time before it brings home.

    python -m bench.standby [--pairs 4] [--seconds 15] [--beside 60] [--fires 10] [--aborts 20]

The reference workload of `bench.cost` keeps every CPU busy; each row is a window without a ring, one with it and
one without again, and 1 - B/C is the slow-down, beside 1 - A/C, where nothing runs in either. CPU is what the kernel
charged the ring's own processes with, per second of the window; memory is their resident set; disk is what its
directory held in the blocks of a file system, which is none where it lies in memory.

Then the ring alone: a process is started again and again, and it is measured how long after that the watcher says so,
and how many seconds before the start the ring holds when it is taken as a capture takes it.

Beside it, in the same seconds, sadc and atop write the same minute once a second: what else would have kept it.

And aborts: one of its processes is killed, or its input ends, at a random moment; what is left 20 s later is counted.
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

from bench.cost import CPUS, Workload, quiet
from bench.own_capture import BEAT_S, every, heartbeat, held
from collectors import bundle, look_back, standby
from collectors.standby import Condition, Fired, Ring, Watching

NAME = "bench-standby"
SADC = "/usr/lib/sysstat/sadc"
RING = Ring(600, 600 * (32 << 10), look_back.FILES)
HEAD = re.compile(rb"^@ \d+ (\d+) ", re.MULTILINE)


class Standing:
    """One standby of this machine, started as sshd would start it."""

    def __init__(self, *conditions: Condition) -> None:
        self.run = str(uuid.uuid4())
        self.limits = standby.limits(self.run, "bench", 600, 15, RING)
        line = bundle.command(standby.program(RING, conditions, self.limits))
        self.child = subprocess.Popen(
            ["/bin/sh", "-c", line],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.words: list[tuple[float, Watching | Fired]] = []
        self.news = threading.Condition()
        self.reader = threading.Thread(target=self._hear, daemon=True)
        self.reader.start()

    def _hear(self) -> None:
        assert self.child.stderr
        for line in self.child.stderr:
            word = standby.said(line.decode("utf-8", "replace"))
            if word is not None:
                with self.news:
                    self.words.append((time.monotonic(), word))
                    self.news.notify_all()

    def heard(self, kind: type, count: int) -> tuple[float, Watching | Fired]:
        """The word of that number of a kind. Raises SystemExit after a minute."""
        with self.news:
            of_kind = [one for one in self.words if isinstance(one[1], kind)]
            end = time.monotonic() + 60
            while len(of_kind) < count:
                if not self.news.wait(max(0.0, end - time.monotonic())):
                    raise SystemExit("the watcher does not speak")
                of_kind = [one for one in self.words if isinstance(one[1], kind)]
            return of_kind[count - 1]

    def place(self) -> Path:
        """Where it keeps what it keeps."""
        found = (Path(top) / f"culprit-{self.run}" for top in self.limits.directories)
        return next(one for one in found if one.exists())

    def end(self) -> None:
        """Hangs up, and waits until it is gone."""
        assert self.child.stdin and self.child.stderr
        self.child.stdin.close()
        self.child.wait(30)
        self.reader.join()
        self.child.stderr.close()


@contextmanager
def standing(*conditions: Condition) -> Iterator[Standing]:
    """One that watches, for the length of the block."""
    one = Standing(*conditions)
    try:
        with every(BEAT_S, heartbeat(one.child)):
            one.heard(Watching, 1)
            yield one
    finally:
        one.end()


def spent_ms(run: str) -> float:
    """CPU of the processes of a standby that live, and of their children that have ended."""
    total = 0
    mark = f"CULPRIT_RUN={run}".encode()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                total += sum(int(one) for one in fields[11:15])
        except OSError:
            continue
    return total * 1000 / os.sysconf("SC_CLK_TCK")


def _of(pid: int) -> tuple[float, float]:
    """CPU of a process in milliseconds, and its resident set in KiB."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    status = Path(f"/proc/{pid}/status").read_text()
    resident = re.search(r"VmRSS:\s+(\d+)", status)
    assert resident
    spent = sum(int(one) for one in fields[11:15]) * 1000 / os.sysconf("SC_CLK_TCK")
    return spent, float(resident[1])


def beside(seconds: float) -> None:
    """The ring, and in the same seconds what an engineer would have left running to keep them."""
    with tempfile.TemporaryDirectory() as top:
        lines = {
            "sadc": [SADC, "-S", "XALL", "1", f"{top}/sadc"],
            "atop": ["atop", "-w", f"{top}/atop", "1"],
        }
        others = {name: line for name, line in lines.items() if shutil.which(line[0])}
        with ExitStack() as stack:
            ring = stack.enter_context(standing())
            started = {
                name: stack.enter_context(
                    subprocess.Popen(line, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
                )
                for name, line in others.items()
            }
            time.sleep(3)
            ours, first = spent_ms(ring.run), {name: _of(one.pid) for name, one in started.items()}
            size = {name: Path(top, name).stat().st_size for name in started}
            before = ring.heard(Watching, 1)[1]
            time.sleep(seconds)
            after = ring.words[-1][1]
            assert isinstance(before, Watching) and isinstance(after, Watching)
            cpu = (spent_ms(ring.run) - ours) / seconds
            kept = (after.ring_bytes - before.ring_bytes) * 1e9 / (after.boot_ns - before.boot_ns)
            on_disk = 0.0 if str(ring.place()).startswith("/dev/shm") else kept
            print(f"ring  {cpu:.2f} ms/s, {after.rss_kb / 1024:.1f} MiB, {on_disk / 1024:.1f} KiB/s to disk")
            print(f"      ({kept / 1024:.1f} KiB/s kept; over {seconds:g} s)")
            for name, one in started.items():
                spent, resident = _of(one.pid)
                its = (spent - first[name][0]) / seconds
                wrote = (Path(top, name).stat().st_size - size[name]) / seconds
                ratio = cpu / its if its else float("nan")
                print(
                    f"{name}  {its:.2f} ms/s, {resident / 1024:.1f} MiB, {wrote / 1024:.1f} KiB/s to disk;",
                    end=" ",
                )
                print(f"ring/{name}: CPU {ratio:.2f}, memory {after.rss_kb / resident:.2f}")
                one.terminate()


def cost(pairs: int, seconds: float) -> None:
    """The side-by-side."""
    slower, control, cpu, dearer = [], [], [], []
    rss = kept = disk = 0.0
    with Workload() as work:
        for _ in range(pairs):
            before = quiet(work, seconds)
            with standing() as ring:
                first, began = spent_ms(ring.run), time.monotonic()
                window = quiet(work, seconds)
                cpu.append((spent_ms(ring.run) - first) / (time.monotonic() - began))
                last = ring.heard(Watching, 2)[1]
                assert isinstance(last, Watching)
                rss, kept = max(rss, last.rss_kb), max(kept, last.ring_bytes)
                disk = max(disk, 0 if str(ring.place()).startswith("/dev/shm") else held(ring.place()))
            after = quiet(work, seconds)
            slower.append(1 - window.rate / after.rate)
            control.append(1 - before.rate / after.rate)
            dearer.append(1 - window.per_cpu_s / after.per_cpu_s)
    print(f"{CPUS} CPUs, all busy; {pairs} rows of 3 windows of {seconds:g} s")
    print(f"slow-down with a ring     median {statistics.median(slower):+.2%}  of {_shown(slower)}")
    print(f"slow-down with nothing    median {statistics.median(control):+.2%}  of {_shown(control)}")
    print(f"work per CPU second lost  median {statistics.median(dearer):+.2%}  of {_shown(dearer)}")
    print(f"CPU of the ring           mean {statistics.mean(cpu):.2f} ms/s  of {[round(x, 2) for x in cpu]}")
    print(
        f"memory {rss / 1024:.1f} MiB resident, {kept / 1024:.0f} KiB kept so far, {disk / 1024:.0f} KiB on disk"
    )


def _shown(values: list[float]) -> str:
    return ", ".join(f"{one:+.2%}" for one in sorted(values))


def fires(count: int) -> None:
    """How soon a start is heard of, and what the ring then holds of the time before."""
    late, before = [], []
    with tempfile.TemporaryDirectory() as top, standing(Condition("process_start", NAME)) as armed:
        program = Path(top) / NAME
        program.symlink_to("/bin/sleep")
        since = time.monotonic()
        for n in range(1, count + 1):
            time.sleep(5 + n * 0.37 % 1)  # not in step with the watcher
            began, boot = time.monotonic(), float(Path("/proc/uptime").read_text().split()[0])
            with subprocess.Popen([str(program), "1.5"]):
                at, _ = armed.heard(Fired, n)
            late.append(at - began)
            data = b"".join(one.read_bytes() for one in sorted((armed.place() / "ring").glob("r.*")))
            found = HEAD.search(data)
            assert found
            before.append(boot - int(found[1]) / 1e9)
        print(f"start to word: median {statistics.median(late):.2f} s, most {max(late):.2f} s (n={count})")
        print(f"kept before the last start: {before[-1]:.1f} s of {time.monotonic() - since:.1f} s")


def aborts(count: int) -> None:
    """Ends it at random moments in ways that nobody asked for."""
    left = 0
    slowest = 0.0
    ways = ("input ends", "guard", "main", "awk")
    for n in range(count):
        one = Standing(Condition("load1", limit=1e9))
        with every(BEAT_S, heartbeat(one.child)):
            one.heard(Watching, 1)
            place = one.place()
            time.sleep(random.random() * 3)
            way = ways[n % len(ways)]
            if way != "input ends":
                os.kill(_pid(place, way), signal.SIGKILL)
        if way == "input ends":
            one.end()
        began = time.monotonic()
        while (_alive(one.run) or place.exists()) and time.monotonic() - began < 20:
            one.child.poll()  # as sshd would: whoever was killed is a zombie until somebody has asked for its status
            time.sleep(0.1)
        slowest = max(slowest, time.monotonic() - began)
        left += bool(_alive(one.run)) + place.exists()
        if way != "input ends":
            one.end()
    print(f"{count} aborts ({', '.join(ways)}): {left} left behind; clean after {slowest:.1f} s at most")


def _pid(place: Path, who: str) -> int:
    if who == "awk":
        return int((place / "l" / "s1").read_text().split()[0])
    lines = (place / "manifest").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{who} "))


def _alive(run: str) -> list[str]:
    found = []
    mark = f"CULPRIT_RUN={run}".encode()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append(entry.name)
        except OSError:
            continue
    return found


def main() -> int:
    """Prints all of them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--beside", type=float, default=60)
    parser.add_argument("--fires", type=int, default=10)
    parser.add_argument("--aborts", type=int, default=20)
    asked = parser.parse_args()
    if asked.pairs:
        cost(asked.pairs, asked.seconds)
    if asked.beside:
        beside(asked.beside)
    if asked.fires:
        fires(asked.fires)
    if asked.aborts:
        aborts(asked.aborts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
