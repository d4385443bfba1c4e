"""Entry point `python -m culprit.launcher COMMAND …`, called by the script `culprit` in the root of the
checkout.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from culprit.launcher import backup_commands, down, status, up
from culprit.launcher.doctor.command import run_doctor
from culprit.launcher.progress import LauncherError

COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "up": up.install_platform,
    "up-installed": up.run_platform,
    "build": up.run_build,
    "native": up.run_native,
    "packages": up.run_packages,
    "down": down.stop_platform,
    "status": status.print_status,
    "doctor": run_doctor,
    "worker": down.stop_worker,
    "retry": down.retry_parts,
    "backup": backup_commands.run_backup,
    "restore": backup_commands.run_restore,
    "login-link": backup_commands.print_login_link,
}


def main(arguments: list[str]) -> int:
    """Run one command. A LauncherError becomes one line on standard error and exit code 2."""
    try:
        return COMMANDS[arguments[0]](arguments[1:])
    except LauncherError as refusal:
        sys.stderr.write(f"culprit: {refusal}\n")
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
