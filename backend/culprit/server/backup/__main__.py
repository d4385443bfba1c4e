"""`python -m culprit.backup make TARGET | restore FILE [--drill]`: by the launcher, with a database to work on."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import psycopg

from culprit.backup.archive import Refused
from culprit.backup.make import Made, make
from culprit.backup.restore import Restored, restore
from culprit.config import Settings, settings
from culprit.infra.artifacts import make_store
from culprit.infra.s3 import UNUSABLE

UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def size(count: int) -> str:
    """Bytes for people."""
    value = float(count)
    for unit in UNITS:
        if value < 1000 or unit == UNITS[-1]:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.3g} {unit}"
        value /= 1024
    raise AssertionError


def say(text: str) -> None:
    """A line about how far it is."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str]) -> int:
    """Exit status: 0 done, 2 refused with a sentence, 3 done with artifacts missing."""
    parser = argparse.ArgumentParser(prog="culprit.backup")
    commands = parser.add_subparsers(dest="what", required=True)
    making = commands.add_parser("make")
    making.add_argument("target", type=Path)
    restoring = commands.add_parser("restore")
    restoring.add_argument("file", type=Path)
    restoring.add_argument("--drill", action="store_true")
    given = parser.parse_args(arguments)
    config = settings()
    try:
        if given.what == "make":
            return _made(make(config, make_store(config), given.target, say))
        done = restore(config, make_store(config), given.file, say, drill=given.drill)
        _restored(config, done, drill=given.drill)
    except Refused as refused:
        return _refused(str(refused))
    except psycopg.OperationalError as error:
        return _refused(f"the database of DATABASE_URL cannot be used: {_first_line(error)}")
    except UNUSABLE as error:
        return _refused(f"the store of S3_BUCKET and S3_ENDPOINT cannot be used: {_first_line(error)}")
    return 0


def _refused(why: str) -> int:
    sys.stderr.write(f"culprit: {why}\n")
    return 2


def _first_line(error: Exception) -> str:
    """What libraries say beneath it is for their authors."""
    return str(error).partition("\n")[0][:400]


def _made(made: Made) -> int:
    say(
        f"{made.path}: {size(made.bytes)}, and {size(made.copied_bytes)} of artifacts copied, in {made.seconds:.1f} s"
    )
    say(
        "The key that opens stored credentials is NOT in it. Keep that apart, or hosts must be enrolled again."
    )
    return 3 if made.missing else 0


def _restored(config: Settings, done: Restored, *, drill: bool) -> None:
    steps = ", ".join(f"{what} {seconds:.1f} s" for what, seconds in done.seconds.items())
    counted = f"{done.rows} rows, {done.objects} artifacts, {done.audit_entries} audit entries"
    say(f"{counted} are as they were on {done.made_at}")
    say(f"incident #{done.incident} opens" if done.incident is not None else "there is no incident to open")
    if done.key_fits is False:
        where = "of this machine" if drill else f"in {config.home}"
        say(
            f"The key {where} does not open its credentials: put the key of the platform that was backed up there."
        )
    elif done.key_fits:
        say("The key opens its credentials.")
    say(f"{'Drill passed' if drill else 'Restored'} in {sum(done.seconds.values()):.1f} s ({steps}).")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
