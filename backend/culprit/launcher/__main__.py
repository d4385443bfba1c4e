"""`python -m culprit.launch COMMAND …`, behind the script `culprit` in the root of the checkout."""

from __future__ import annotations

import sys
from collections.abc import Callable

from culprit.launch import down, prove, safekeeping, status, up
from culprit.launch.progress import Refusal

COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "up": up.first_stage,
    "up-installed": up.second_stage,
    "build": up.build,
    "packages": up.packages,
    "down": down.down,
    "status": status.status,
    "worker": down.worker,
    "retry": down.retry,
    "test": prove.test,
    "backup": safekeeping.backup,
    "restore": safekeeping.restore,
    "login-link": safekeeping.login_link,
}


def main(arguments: list[str]) -> int:
    """Exit code 2 for a refusal, which is one line on standard error."""
    try:
        return COMMANDS[arguments[0]](arguments[1:])
    except Refusal as refusal:
        sys.stderr.write(f"culprit: {refusal}\n")
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
