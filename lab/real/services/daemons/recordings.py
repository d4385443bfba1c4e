"""Jobs of a host next to its services: recordings that are packed, and a job that a scheduler starts."""

from __future__ import annotations

import random
import shlex
import subprocess

from lab.environment import LabEnvironment

# A camera: what it recorded is packed, then the next part is awaited.
PACKING = 'while :; do {policy} xz -{level} -c "$0" >"$0.xz"; sleep {pause_s:.2f}; done'
# Exports what is new to a partner. Only the first of several runs may work, and the others wait for it.
EXPORT = """#!/bin/sh
cd {directory}
until mkdir export.run 2>/dev/null; do sleep {pause_s}; done
head -c {kilobytes}k /dev/urandom | gzip -4 >export.gz.new && mv export.gz.new export.gz
rmdir export.run
"""
SCHEDULER = 'while :; do sh "$0" & sleep {every_s:.2f}; done'


class Recordings:
    """Cameras whose recordings are packed on the host."""

    def __init__(
        self, environment: LabEnvironment, rng: random.Random, *, cameras: int, kilobytes: int
    ) -> None:
        """Write what the cameras recorded. kilobytes: of each part."""
        self.environment, self.rng = environment, rng
        self.directory = environment.directory / "recordings"
        self.directory.mkdir()
        self.files = [self.directory / f"camera{number}.yuv" for number in range(1, cameras + 1)]
        for file in self.files:
            size = int(kilobytes * rng.uniform(0.85, 1.15))
            # Half of each block repeats, as pictures do.
            block = "".join(f"{rng.getrandbits(256):064x}" for _ in range(64))
            text = "".join(f"{block[:2048]}{rng.getrandbits(8192):x}" for _ in range(size // 4))
            file.write_text(text)
        self._levels = [rng.randrange(3, 6) for _ in self.files]
        self._pauses_s = [rng.uniform(0.4, 0.8) for _ in self.files]
        self._jobs: list[subprocess.Popen[bytes]] = []

    def start(self, policy: str) -> None:
        """Start to pack, with these words of chrt, in place of what packed until now."""
        for job in self._jobs:
            self.environment.stop(job)
        self._jobs = [
            self.environment.on_host(
                ["sh", "-c", PACKING.format(policy=f"chrt {policy}", level=level, pause_s=pause_s), str(file)]
            )
            for file, level, pause_s in zip(self.files, self._levels, self._pauses_s, strict=True)
        ]


class PartnerExport:
    """A job that a scheduler starts again and again."""

    def __init__(
        self, environment: LabEnvironment, rng: random.Random, *, every_s: float, kilobytes: int
    ) -> None:
        """Start the scheduler."""
        self.environment = environment
        self.directory = environment.directory / rng.choice(("exports", "feeds", "transfers"))
        self.directory.mkdir()
        job = self.directory / rng.choice(("nightly.sh", "to-partner.sh", "stock-feed.sh"))
        job.write_text(
            EXPORT.format(
                directory=shlex.quote(str(self.directory)), pause_s=rng.choice((0.08, 0.1, 0.12)), kilobytes=kilobytes
            )
        )  # fmt: skip
        environment.on_host(["sh", "-c", SCHEDULER.format(every_s=every_s), str(job)])

    def leave_run(self) -> None:
        """Leave what a run leaves that was killed while it worked."""
        self.environment.host_sh(f"until mkdir {self.directory}/export.run 2>/dev/null; do sleep 0.01; done")
