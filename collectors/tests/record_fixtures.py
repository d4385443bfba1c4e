"""Runs ways of collectors on this machine, and records what they leave as fixtures.

    python -m collectors.tests.record_fixtures CASE SECONDS COLLECTOR[:WAY]...

writes `fixtures/<collector>/<distribution>-<version>-<case>/`: one file for each part, and `how.json` with
the way, the readings of the clocks, and the versions. `expected.json` is written by the golden test where it
is missing; look at it before it is committed. A script runs as the runner would run it; what is sampled is
read here, in the format that `collectors.contract.Sampled` describes.
"""

from __future__ import annotations

import glob
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from collectors.bundle import travelling
from collectors.contract import Collector, Sampled, Script, Way
from collectors.registry import COLLECTORS

FIXTURES = Path(__file__).parent / "fixtures"
CENTISECOND_NS = 10_000_000


@dataclass
class Left:
    """What one way left behind."""

    exit_code: int
    parts: dict[str, bytes]
    stderr: str
    argv: str = ""


def run_script(
    collector: Collector, way: Script, seconds: int, shell: str = "/bin/sh", env: dict[str, str] | None = None
) -> Left:
    """Run the script in an empty directory of its own, under `shell`, SIGINT ignored as the runner has it."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        folder = Path(scratch) / "d"
        folder.mkdir()
        argv = Path(scratch) / "argv"
        script = Path(scratch) / "way.sh"
        script.write_text('trap "" INT\n' + travelling(way.sh))
        if env and "RUN_AS" in env:
            for one in (Path(scratch), folder):
                one.chmod(0o777)
        with (folder / "stdout").open("wb") as out, (Path(scratch) / "err").open("wb") as err:
            done = subprocess.run(
                [*shell.split(), str(script)],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env={
                    **os.environ,
                    **(env or {}),
                    "SECS": str(seconds),
                    "BYTES": str(collector.max_bytes),
                    "ARGV": str(argv),
                },
                check=False,
                timeout=120,
                user=(env or {}).get("RUN_AS"),
                extra_groups=[] if env and "RUN_AS" in env else None,
            )
        found = {
            one.name: one.read_bytes()
            for one in folder.iterdir()
            if one.is_file() and not one.name.startswith(".") and (one.name != "stdout" or one.stat().st_size)
        }
        return Left(
            done.returncode,
            found,
            (Path(scratch) / "err").read_text(errors="replace"),
            argv.read_text() if argv.exists() else "",
        )


def uptime_ns() -> int:
    """The uptime as a shell reads it."""
    return int(Path("/proc/uptime").read_text().split()[0].replace(".", "")) * CENTISECOND_NS


def sample(way: Sampled, seconds: int) -> bytes:
    """What the sampler would write."""
    out = bytearray()
    ticks = 2 if way.once else seconds + 1
    for tick in range(ticks):
        for path in [one for pattern in way.files for one in sorted(glob.glob(pattern))]:  # noqa: PTH207
            try:
                text = Path(path).read_bytes()
            except OSError:
                continue
            out += f"@ {tick} {uptime_ns()} {path}\n".encode()
            for line in text.splitlines():
                out += (b"@" if line.startswith(b"@") else b"") + line + b"\n"
        if tick + 1 < ticks:
            time.sleep(seconds if way.once else way.interval_s)
    return bytes(out)


def clock_record(at: str) -> dict[str, str]:
    """One reading of the clocks, as the runner prints it."""
    low = uptime_ns()
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    real = time.time_ns()
    after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    high = uptime_ns() + CENTISECOND_NS
    pairs = {
        "at": at,
        "bt0": low,
        "bt1": high,
        "m0": before,
        "m1": after,
        "real": real,
        "res": 1,
        "src": "date",
    }
    return {key: str(value) for key, value in pairs.items()}


def run(collector: Collector, way: Way, seconds: int) -> Left:
    """Run or sample."""
    if isinstance(way, Script):
        return run_script(collector, way, seconds)
    return Left(0, {"samples": sample(way, seconds)}, "")


def distribution() -> str:
    """`debian-12`, as /etc/os-release names it."""
    lines = Path("/etc/os-release").read_text().splitlines()
    pairs = dict(line.split("=", 1) for line in lines if "=" in line)
    return f"{pairs['ID']}-{pairs['VERSION_ID']}".replace('"', "")


def record(case: str, seconds: int, name: str) -> None:
    """Record one collector, by its first way or the one that is named."""
    collector_id, _, wanted = name.partition(":")
    collector = COLLECTORS[collector_id]
    way = next(one for one in collector.ways if not wanted or one.name == wanted)
    clocks = [clock_record("start")]
    left = run(collector, way, seconds)
    clocks.append(clock_record("end"))
    print(name, left.exit_code, {part: len(data) for part, data in left.parts.items()}, left.stderr[-300:])
    if left.exit_code:
        return
    folder = FIXTURES / collector_id / f"{distribution()}-{case}"
    folder.mkdir(parents=True, exist_ok=True)
    for part, data in left.parts.items():
        (folder / part).write_bytes(data)
    version = ""
    if isinstance(way, Script) and way.version:
        told = subprocess.run(way.version, shell=True, capture_output=True, text=True, check=False)
        version = told.stdout.splitlines()[0] if told.stdout else ""
    how = {
        "way": way.name,
        "seconds": seconds,
        "kernel": os.uname().release,
        "version": version,
        "clock": clocks,
    }
    (folder / "how.json").write_text(json.dumps(how, indent=1) + "\n")


if __name__ == "__main__":
    for each in sys.argv[3:]:
        record(sys.argv[1], int(sys.argv[2]), each)
