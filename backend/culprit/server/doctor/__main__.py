"""Command `python -m culprit.server.doctor [--json]`: what is wrong with this installation, and what repairs it.

It reads the settings of the server from the environment. `./culprit doctor` runs it for an installation of the
launcher.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence

from pydantic import ValidationError

from culprit.infra.settings import Settings
from culprit.server.doctor.commands import RepairCommands
from culprit.server.doctor.database_checks import check_database
from culprit.server.doctor.local_checks import check_local_parts
from culprit.server.doctor.queue_checks import check_queue
from culprit.server.doctor.results import ServiceCheck, list_secrets, mask_secrets
from culprit.server.doctor.store_checks import check_store

MARKS = {"ok": "ok", "warning": "WARNING", "problem": "PROBLEM"}


def run_checks(commands: RepairCommands, *, offline: bool) -> list[ServiceCheck]:
    """Run all checks; `offline` leaves out the database and the queue. No result contains a secret."""
    try:
        config = Settings()
    except ValidationError as error:
        return [
            mask_secrets(check, list_secrets(None, os.environ.items())) for check in explain_settings(error)
        ]
    hidden = list_secrets(config, os.environ.items())
    return [mask_secrets(check, hidden) for check in _list_checks(config, commands, offline=offline)]


def _list_checks(config: Settings, commands: RepairCommands, *, offline: bool) -> Iterator[ServiceCheck]:
    yield from check_local_parts(config, commands)
    yield check_store(config)
    if not offline:
        queue, lengths = check_queue(config)
        yield queue
        yield from check_database(config, commands, lengths)


def explain_settings(error: ValidationError) -> Iterator[ServiceCheck]:
    """Yield one problem for each setting that is refused, without its value."""
    for fault in error.errors(include_input=False, include_url=False):
        name = str(fault["loc"][0]) if fault["loc"] else "the environment"
        yield ServiceCheck(
            "settings", "problem", f"{name} is refused: {fault['msg']}.", f"unset {name}, or correct it"
        )


def print_checks(checks: Sequence[ServiceCheck]) -> None:
    """Print one line for each check, and the command that helps below it."""
    width = max(len(check.check) for check in checks)
    for check in checks:
        sys.stdout.write(f"{MARKS[check.state]:<8}  {check.check:<{width}}  {check.message}\n")
        if check.command:
            sys.stdout.write(f"{'':<8}  {'':<{width}}  → {check.command}\n")


def main(arguments: Sequence[str]) -> int:
    """Run the command. Exit status: 0 without a problem (warnings are allowed), 1 with a problem."""
    parser = argparse.ArgumentParser(prog="culprit.server.doctor", description="Check this installation.")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--offline", action="store_true", help="leave out the database and the queue")
    parser.add_argument("--launcher", action="store_true", help="recommend commands of ./culprit")
    options = parser.parse_args(arguments)
    checks = run_checks(RepairCommands(launcher=options.launcher), offline=options.offline)
    healthy = all(check.state != "problem" for check in checks)
    if options.json:
        document = {"healthy": healthy, "checks": [check.to_json() for check in checks]}
        sys.stdout.write(json.dumps(document, indent=1) + "\n")
    else:
        print_checks(checks)
    return 0 if healthy else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
