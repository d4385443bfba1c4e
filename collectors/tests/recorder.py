"""Run a method of a collector on this host and print its output. A single file that uses only the standard library.

It imports nothing of this project, so that its text can be handed to the Python of any host: a job, as JSON on
standard input, becomes a result, as JSON on standard output.
"""

from __future__ import annotations

import base64
import glob
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

CENTISECOND_NS = 10_000_000


@dataclass
class Left:
    """What one way left behind."""

    exit_code: int
    parts: dict[str, bytes]
    stderr: str
    argv: str = ""


def run_text(
    text: str, seconds: int, max_bytes: int, shell: str = "/bin/sh", env: Mapping[str, str] | None = None
) -> Left:
    """Run a script in an empty directory of its own, under `shell`, SIGINT ignored as the runner has it."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        folder = Path(scratch) / "d"
        folder.mkdir()
        argv = Path(scratch) / "argv"
        script = Path(scratch) / "way.sh"
        script.write_text('trap "" INT\n' + text)
        if env and "RUN_AS" in env:
            for path in (Path(scratch), folder):
                path.chmod(0o777)
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
                    "BYTES": str(max_bytes),
                    "ARGV": str(argv),
                },
                check=False,
                timeout=120,
                user=(env or {}).get("RUN_AS"),
                extra_groups=[] if env and "RUN_AS" in env else None,
            )
        results = {
            item.name: item.read_bytes()
            for item in folder.iterdir()
            if item.is_file()
            and not item.name.startswith(".")
            and (item.name != "stdout" or item.stat().st_size)
        }
        return Left(
            done.returncode,
            results,
            (Path(scratch) / "err").read_text(errors="replace"),
            argv.read_text() if argv.exists() else "",
        )


def uptime_ns() -> int:
    """The uptime as a shell reads it."""
    return int(Path("/proc/uptime").read_text().split()[0].replace(".", "")) * CENTISECOND_NS


def sample(files: Sequence[str], seconds: int, *, once: bool, interval_s: float) -> bytes:
    """What the sampler would write."""
    out = bytearray()
    ticks = 2 if once else seconds + 1
    for tick in range(ticks):
        for path in [item for pattern in files for item in sorted(glob.glob(pattern))]:  # noqa: PTH207
            try:
                text = Path(path).read_bytes()
            except OSError:
                continue
            out += f"@ {tick} {uptime_ns()} {path}\n".encode()
            for line in text.splitlines():
                out += (b"@" if line.startswith(b"@") else b"") + line + b"\n"
        if tick + 1 < ticks:
            time.sleep(seconds if once else interval_s)
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


def distribution() -> str:
    """`debian-12`, as /etc/os-release names it."""
    lines = Path("/etc/os-release").read_text().splitlines()
    pairs = dict(line.split("=", 1) for line in lines if "=" in line)
    return f"{pairs['ID']}-{pairs['VERSION_ID']}".replace('"', "")


def main() -> None:
    job = json.load(sys.stdin)
    seconds = job["seconds"]
    clocks = [clock_record("start")]
    if "sh" in job:
        left = run_text(job["sh"], seconds, job["max_bytes"], env=job["env"])
    else:
        left = Left(
            0, {"samples": sample(job["files"], seconds, once=job["once"], interval_s=job["interval_s"])}, ""
        )
    clocks.append(clock_record("end"))
    reported = ""
    if job.get("version"):
        reported = subprocess.run(
            job["version"], shell=True, capture_output=True, text=True, check=False
        ).stdout.partition("\n")[0]
    result = {
        "exit_code": left.exit_code,
        "parts": {name: base64.b64encode(data).decode() for name, data in left.parts.items()},
        "stderr": left.stderr[-300:],
        "distribution": distribution(),
        "how": {"kernel": os.uname().release, "version": reported, "clock": clocks},
    }
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main()
