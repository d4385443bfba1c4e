"""This machine as the platform's first host: fetch what it lacks for that, and start its private sshd."""

from __future__ import annotations

import os
from pathlib import Path

from culprit.launch import local_sshd, machine, services
from culprit.launch.apt_packages import AptError, Packages, Tool, missing
from culprit.launch.progress import Progress
from culprit.launch.supervisor import Supervisor

START_S = 20.0


def wanted(packages: Packages) -> list[Tool]:
    """What this machine lacks and nobody has unpacked yet."""
    return [tool for tool in missing() if packages.program(tool.program) is None]


def mend_line(tools: list[Tool], distribution: str) -> str:
    """The command that installs `tools` for good."""
    names = " ".join(tool.package(distribution) for tool in tools)
    return f"{'' if os.geteuid() == 0 else 'sudo '}apt-get install {names}"


def fetch(packages: Packages, tools: list[Tool], progress: Progress) -> None:
    """Unpack `tools` where that is possible; else say in one line what mends it. Never fails."""
    distribution, _ = machine.distribution()
    lacking = ", ".join(tool.program for tool in tools)
    mend = mend_line(tools, distribution)
    if os.geteuid() != 0 or distribution not in {"debian", "ubuntu"}:
        progress.say(f"Missing on this machine: {lacking}; goes on without. To mend: {mend}")
        return
    names = ", ".join(tool.package(distribution) for tool in tools)
    try:
        with progress.phase("packages", f"Fetching {names} into {packages.root} (nothing is installed)"):
            lost = packages.fetch(tools, distribution)
    except (AptError, OSError) as error:
        progress.say(f"Could not fetch {lacking} ({error}); goes on without. To mend: {mend}")
        return
    if lost:
        left = ", ".join(tool.program for tool in lost)
        progress.say(f"Could not fetch {left}; goes on without. To mend: {mend_line(lost, distribution)}")


def start(
    directory: Path, packages: Packages, supervisor: Supervisor, progress: Progress
) -> local_sshd.Prepared | None:
    """Start the sshd; None, said in one line, where this machine cannot. Raises Refusal."""
    prepared = local_sshd.prepare(directory, packages)
    if prepared is None:
        progress.say("This machine is not a host: it has no sshd. Others can be enrolled.")
        return None
    with progress.phase("sshd", "Starting the private sshd of this machine"):
        service = services.Service("sshd", tuple(prepared.command), port=prepared.port)
        child = supervisor.start(service, env=prepared.environment)
        if local_sshd.wait_for(prepared, child, START_S):
            return prepared
    why = supervisor.tail("sshd").splitlines()[-1:] or ["no answer"]
    supervisor.stop_one("sshd")
    progress.say(f"This machine is not a host: its private sshd did not start ({why[0]}).")
    return None
