"""The first stage of `./culprit test`: install what the checks need, then continue with the Python of .venv."""

from __future__ import annotations

import os
import sys

from culprit.launcher.install import locked_packages as install
from culprit.launcher.install import requirements
from culprit.launcher.paths import PYTHON
from culprit.launcher.progress import LauncherError, Progress


def install_and_test(arguments: list[str]) -> None:
    """Install the packages of the checks and replace this process with the checks. Raises LauncherError."""
    requirements.check_requirements()
    groups = ["embedded", "dev", *(["node"] if requirements.find_system_node() is None else [])]
    install.install_python_packages(groups, Progress())
    os.execv(PYTHON, [str(PYTHON), "-P", "-m", "tools.checks", *arguments])  # noqa: S606


if __name__ == "__main__":
    try:
        install_and_test(sys.argv[1:])
    except LauncherError as refusal:
        sys.exit(f"culprit: {refusal}")
