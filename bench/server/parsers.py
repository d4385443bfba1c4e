"""Parse the largest artifacts: CPU seconds, peak memory, and the growth of both.

    ./culprit bench parsers [--strace-mb 1000] [--sockets 1000000] [--cpus 256]

Each measurement runs in a separate child, so that its peak memory is its own. Every artifact is also parsed at a tenth
of its size: the ratio shows the growth of the cost (10 is linear). Sockets are counted on the host; therefore the
script is measured too, with an `ss` that prints that many lines, and then the parser of its output.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from culprit.json_types import Json

from collectors.clock.mapping import ClockMap
from collectors.contract import Context, Parsed, Script
from collectors.registry import COLLECTORS

CLOCK = {
    "bt0": "0",
    "bt1": "0",
    "m0": "0",
    "m1": "0",
    "real": "1767225600000000000",
    "res": "1",
    "src": "date",
}
VECTORS = ("HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU")
SOFTIRQ_SECONDS = 60


class FilePart:
    """A part that is a file."""

    sha256 = ""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = path.stat().st_size

    def open(self) -> BinaryIO:
        """Return a stream from the beginning."""
        return self.path.open("rb")

    def read(self, limit: int) -> bytes:
        """Return at most `limit` bytes."""
        with self.open() as stream:
            return stream.read(limit)


def strace_lines(size: int) -> Iterator[bytes]:
    """Yield redacted strace calls of eight threads, `size` bytes in total."""
    written, at = 0, 0
    yield b"gate\tper_s=169\tlimit=1000\n"
    while written < size:
        tid, t = 1000 + at % 8, 1795295986.0 + at * 1e-5
        name, more = (
            (b"read", b"fd=7\twhat=/srv/app.jar"),
            (b"lseek", b"fd=7\twhat=/srv/app.jar"),
            (b"futex", b"addr=0x707eed%x\top=FUTEX_WAIT_PRIVATE" % (at % 16)),
            (b"write", b"fd=%d\twhat=/var/log/app-%d.log\tpay=%d" % (9 + at % 2, at % 2, at % 997)),
        )[at % 4]
        line = b"call\tt=%.6f\ttid=%d\tname=%s\tms=%.3f\tret=%d\t%s\n" % (
            t,
            tid,
            name,
            at % 50 / 10,
            512,
            more,
        )
        written += len(line)
        at += 1
        yield line


def softirq_text(cpus: int) -> Iterator[bytes]:
    """Yield a minute of /proc/softirqs, one sample per second."""
    head = b"".join(b"%11s" % f"CPU{cpu}".encode() for cpu in range(cpus))
    for tick in range(SOFTIRQ_SECONDS + 1):
        yield b"@ %d %d /proc/softirqs\n           %s\n" % (tick, (1000 + tick) * 10**9, head)
        for at, vector in enumerate(VECTORS):
            counts = b"".join(b"%11d" % (10**6 + tick * (at + 1) * 37 + cpu) for cpu in range(cpus))
            yield b"%12s%s\n" % (f"{vector}:".encode(), counts)


def parse_file(collector: str, part: str, path: Path) -> Parsed:
    """Parse the file with the parser of the collector."""
    context = Context(ClockMap.from_records([CLOCK]), COLLECTORS[collector].methods[0].name, 30.0, {})
    return COLLECTORS[collector].parse({part: FilePart(path)}, context)


def measure_parser(what: str, size: int, folder: Path) -> Json:
    """Run one measurement in this process."""
    path = folder / "part"
    results: dict[str, Callable[[], Json]] = {
        "strace": lambda: _measure_parse("strace", "stdout", path, strace_lines(size << 20)),
        "softirqs": lambda: _measure_parse("softirqs", "samples", path, softirq_text(size)),
        "ss": lambda: _measure_count(size, folder),
    }
    return results[what]()


def _measure_parse(collector: str, part: str, path: Path, text: Iterator[bytes]) -> Json:
    with path.open("wb") as stream:
        stream.writelines(text)
    began = time.process_time()
    file = parse_file(collector, part, path)
    cpu_s = time.process_time() - began
    values = sum(series.values.size for series in file.series) + sum(len(table.rows) for table in file.tables)
    return {"mb": path.stat().st_size / 1e6, "cpu_s": cpu_s, "peak_mb": _read_peak_mb(), "values": values}


def _measure_count(sockets: int, folder: Path) -> Json:
    """The script of `ss` on a host with that many sockets, most of them to a few destinations."""
    tools = folder / "bin"
    tools.mkdir()
    fake = tools / "ss"
    each = (
        'printf "TIME-WAIT 0 0 10.0.0.1:%d 10.1.%d.%d:%d\\n", 32768 + i % 28000, i % 7, i % 250, 80 + i % 5'
    )
    program = f"BEGIN {{ for (i = 0; i < {sockets}; i++) {each} }}"
    fake.write_text(f"#!/bin/sh\ncase $1 in -Htan | -Hatinpe) exec awk '{program}';; esac\n")
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    method = COLLECTORS["ss"].methods[0]
    assert isinstance(method, Script)
    script = folder / "ss.sh"
    script.write_text(method.sh)
    work = folder / "work"
    work.mkdir()
    env = os.environ | {
        "PATH": f"{tools}:{os.environ['PATH']}",
        "SECS": "2",
        "BYTES": str(8 << 20),
        "LC_ALL": "C",
        "OUT_ss": ".",
    }
    with (work / "stdout").open("wb") as out:
        subprocess.run(["sh", str(script)], cwd=work, env=env, stdout=out, check=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    left = next(item for item in (work / "samples", work / "stdout") if item.exists() and item.stat().st_size)
    parse_file("ss", left.name, left)
    return {
        "mb": left.stat().st_size / 1e6, "cpu_s": (used.ru_utime + used.ru_stime) / 3,
        "peak_mb": used.ru_maxrss / 1024, "values": sockets,
    }  # fmt: skip


def _read_peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    parser = argparse.ArgumentParser(prog="culprit bench parsers", description=__doc__)
    parser.add_argument("--strace-mb", type=int, default=1000)
    parser.add_argument("--sockets", type=int, default=1_000_000)
    parser.add_argument("--cpus", type=int, default=256)
    parser.add_argument("--child", nargs=2, metavar=("WHAT", "SIZE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        with tempfile.TemporaryDirectory(prefix="culprit-bench-") as folder:
            print(json.dumps(measure_parser(options.child[0], int(options.child[1]), Path(folder))))
        return 0
    print(
        "| artifact | size | MB read | CPU s | peak MB | CPU at a tenth | growth of CPU | growth of memory |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for what, size in (("strace", options.strace_mb), ("ss", options.sockets), ("softirqs", options.cpus)):
        small, large = _run_child(what, max(1, size // 10)), _run_child(what, size)
        print(
            f"| {what} | {size:,} | {large['mb']:,.1f} | {large['cpu_s']:.2f} | {large['peak_mb']:.0f} |"
            f" {small['cpu_s']:.2f} | {large['cpu_s'] / max(small['cpu_s'], 1e-3):.1f} x |"
            f" {large['peak_mb'] / small['peak_mb']:.1f} x |",
            flush=True,
        )
    return 0


def _run_child(what: str, size: int) -> Json:
    command = [sys.executable, "-m", "bench.server.parsers", "--child", what, str(size)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return dict(json.loads(done.stdout))


if __name__ == "__main__":
    sys.exit(main())
