"""The first stage of `./culprit test`: install what the checks need, go on under .venv's Python."""

from __future__ import annotations

import os

from culprit.launch import install, machine
from culprit.launch.paths import PYTHON
from culprit.launch.progress import Progress


def test(arguments: list[str]) -> int:
    """Does not return where everything is installed. Raises Refusal."""
    machine.check()
    groups = ["embedded", "dev", *(["node"] if machine.system_node() is None else [])]
    install.python_packages(groups, Progress())
    os.execv(PYTHON, [str(PYTHON), "-P", "-m", "culprit.launch.checks", *arguments])  # noqa: S606
