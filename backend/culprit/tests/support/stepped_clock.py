"""A wall clock of PostgreSQL and Valkey that tests set while they run, as `date -s` and ntpd do.

libfaketime moves CLOCK_REALTIME of the programs that are started with `variables`; monotonic clocks go on. It cannot be
used for programs in Python: with libfaketime 0.9.10, `time.sleep` fails with EINVAL if monotonic clocks go on.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from culprit.launcher.engines import Postgres, Valkey

LIBRARY = next(iter(sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))), None)


class SteppedClock:
    """The clock of some programs, `ahead_s` seconds ahead of the real one."""

    def __init__(self, directory: Path) -> None:
        self._file = directory / "clock"
        self.ahead_s = 0
        self.set_ahead(0)
        self.variables = {
            "LD_PRELOAD": str(LIBRARY),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }

    def set_ahead(self, ahead_s: int) -> None:
        """Set the clock, at the same moment for all programs."""
        new = self._file.with_suffix(".new")
        new.write_text(f"{ahead_s:+d}\n", encoding="ascii")
        new.chmod(0o644)
        new.replace(self._file)
        self.ahead_s = ahead_s


@contextmanager
def start_engines(directory: Path) -> Iterator[tuple[SteppedClock, Postgres, Valkey]]:
    """Start PostgreSQL and Valkey with a clock that can be set."""
    directory.chmod(0o755)
    clock = SteppedClock(directory)
    postgres, valkey = Postgres(directory / "postgres", durable=False), Valkey(directory / "valkey")
    postgres.prepare()
    # Not in the environment of `setpriv`, which starts it: the shared memory of the library would belong to root.
    postgres.tree = wrap_server(postgres.tree, directory / "tree", clock)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in clock.variables.items():
            patch.setenv(name, value)
        valkey.start()
    try:
        with postgres:
            yield clock, postgres, valkey
    finally:
        valkey.stop()


def wrap_server(tree: Path, wrapped: Path, clock: SteppedClock) -> Path:
    """Return a directory in `wrapped` with a command `bin/postgres` that starts that of `tree` with the clock."""
    script = wrapped / "bin" / "postgres"
    script.parent.mkdir(parents=True)
    for program in (tree / "bin").iterdir():
        if program.name != script.name:
            (script.parent / program.name).symlink_to(program)
    variables = " ".join(f"{name}={shlex.quote(value)}" for name, value in clock.variables.items())
    script.write_text(f'#!/bin/sh\n{variables} exec {shlex.quote(str(tree / "bin" / "postgres"))} "$@"\n')
    script.chmod(0o755)
    return wrapped
