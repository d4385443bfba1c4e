"""Make this machine the first host: fetch missing tools and start a private sshd."""

from __future__ import annotations

import os
import time
from pathlib import Path

from culprit.launcher.install import requirements
from culprit.launcher.install.apt_packages import AptError, Packages, list_missing_tools
from culprit.launcher.local_host.sshd import SshdProcess, prepare_sshd
from culprit.launcher.progress import Progress
from culprit.launcher.supervision.supervisor import Supervisor

START_S = 20.0


def list_tools_to_unpack(packages: Packages) -> dict[str, str]:
    """Return the tools, with their packages, that this machine lacks and `packages` does not hold yet."""
    return {tool: name for tool, name in list_missing_tools().items() if packages.program(tool) is None}


def unpack_tools(packages: Packages, tools: dict[str, str], progress: Progress) -> None:
    """Unpack `tools` if possible; otherwise print how to install them. Never fails."""
    problem, lost = f"Missing on this machine: {', '.join(tools)}", tools
    if os.geteuid() == 0 and requirements.read_distribution() in {"debian", "ubuntu"}:
        names = ", ".join(tools.values())
        try:
            with progress.phase("packages", f"Fetching {names} into {packages.root} (not installed)"):
                errors = packages.fetch(tools)
            lost = {tool: tools[tool] for tool in errors}
            problem = f"Cannot fetch {', '.join(lost)} ({next(iter(errors.values()), '')})"
        except (AptError, OSError) as error:
            problem = f"Cannot fetch {', '.join(tools)} ({error})"
    if lost:
        command = f"{'' if os.geteuid() == 0 else 'sudo '}apt-get install {' '.join(lost.values())}"
        progress.print_line(f"{problem}. Continuing without. To install: {command}")


def start_private_sshd(
    directory: Path, packages: Packages, supervisor: Supervisor, progress: Progress
) -> SshdProcess | None:
    """Start the sshd. Return None, with a printed reason, if this machine cannot. Raises LauncherError."""
    sshd = prepare_sshd(directory, packages)
    if sshd is None:
        progress.print_line("This machine has no sshd and is not added as a host. You can add other hosts.")
        return None
    with progress.phase("sshd", "Starting the private sshd of this machine"):
        supervisor.start(sshd, env=sshd.env)
        deadline = time.monotonic() + START_S
        while sshd.pid is not None and time.monotonic() < deadline:
            if sshd.is_ready():
                return sshd
            time.sleep(0.05)
    why = sshd.read_log_tail()[-1:] or ["no answer"]
    supervisor.processes.pop("sshd").stop()
    progress.print_line(f"This machine is not added as a host: its private sshd did not start ({why[0]}).")
    return None
