"""Commands `make TARGET` and `restore FILE [--drill]`, started by the launcher."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import psycopg
from sqlalchemy.exc import DBAPIError

from culprit.accounts import audit
from culprit.infra.artifacts.s3 import UNUSABLE
from culprit.infra.artifacts.store import make_store
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.settings import Settings, get_settings
from culprit.server.backup.archive import BackupError
from culprit.server.backup.make import BackupResult, create_backup
from culprit.server.backup.restore import RestoreResult, restore_backup
from culprit.server.queries import BACKUP_CREATED

UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def format_size(count: int) -> str:
    """Return a size as text."""
    value = float(count)
    for unit in UNITS:
        if value < 1000 or unit == UNITS[-1]:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.3g} {unit}"
        value /= 1024
    raise AssertionError


def print_line(text: str) -> None:
    """Print a line of progress."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str]) -> int:
    """Run one command. Exit status: 0 done, 2 refused with a message, 3 done with missing artifacts."""
    parser = argparse.ArgumentParser(prog="culprit.server.backup")
    commands = parser.add_subparsers(dest="what", required=True)
    making = commands.add_parser("make")
    making.add_argument("target", type=Path)
    restoring = commands.add_parser("restore")
    restoring.add_argument("file", type=Path)
    restoring.add_argument("--drill", action="store_true")
    args = parser.parse_args(arguments)
    config = get_settings()
    try:
        if args.what == "make":
            done = create_backup(config, make_store(config), args.target, print_line)
            record_backup(config, done)
            return _run_make(done)
        restored = restore_backup(config, make_store(config), args.file, print_line, drill=args.drill)
        _print_restored(config, restored, drill=args.drill)
    except BackupError as refused:
        return _print_refusal(str(refused))
    except psycopg.OperationalError as error:
        return _print_refusal(f"cannot use the database of DATABASE_URL: {_first_line(error)}")
    except UNUSABLE as error:
        return _print_refusal(f"cannot use the store of S3_BUCKET and S3_ENDPOINT: {_first_line(error)}")
    return 0


def record_backup(config: Settings, done: BackupResult) -> None:
    """Record a backup in the audit log, from which its age is computed. A failure does not spoil the backup."""
    db = Database(config.sqlalchemy_url, pool_size=1)
    try:
        with unit_of_work(db.sessions) as session:
            audit.record_action(
                session, None, BACKUP_CREATED, "backup", done.path.name,
                rows=done.rows, artifacts=done.objects, missing=done.missing, bytes=done.bytes,
            )  # fmt: skip
    except DBAPIError as error:
        print_line(f"The backup is complete. Its time cannot be recorded: {_first_line(error)}")
    finally:
        db.close()


def _print_refusal(why: str) -> int:
    sys.stderr.write(f"culprit: {why}\n")
    return 2


def _first_line(error: Exception) -> str:
    """Return the first line of an error; the other lines are for developers of the library."""
    return str(error).partition("\n")[0][:400]


def _run_make(backup_result: BackupResult) -> int:
    print_line(
        f"{backup_result.path}: {format_size(backup_result.bytes)}, and "
        f"{format_size(backup_result.copied_bytes)} of artifacts copied,"
        f" in {backup_result.seconds:.1f} s"
    )
    print_line(
        "The key of stored credentials is NOT part of the backup. "
        "Store it separately, or all hosts must be added again."
    )
    return 3 if backup_result.missing else 0


def _print_restored(config: Settings, done: RestoreResult, *, drill: bool) -> None:
    steps = ", ".join(f"{what} {seconds:.1f} s" for what, seconds in done.seconds.items())
    counted = f"{done.rows} rows, {done.objects} artifacts, {done.audit_entries} audit entries"
    print_line(f"{counted} are as they were on {done.created_at}")
    print_line(
        f"incident #{done.incident} opens" if done.incident is not None else "there is no incident to open"
    )
    if done.key_fits is False:
        where = "of this machine" if drill else f"in {config.home}"
        print_line(
            f"The key {where} does not open its credentials: put the key of the platform that was backed up there."
        )
    elif done.key_fits:
        print_line("The key opens its credentials.")
    print_line(f"{'Drill passed' if drill else 'Restored'} in {sum(done.seconds.values()):.1f} s ({steps}).")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
