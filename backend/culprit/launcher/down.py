"""Commands `./culprit down [--purge]`, `./culprit worker stop|start` and `./culprit retry`."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import sys
import time

from culprit.launcher import state
from culprit.launcher.engines import engine_paths
from culprit.launcher.paths import Home
from culprit.launcher.progress import LauncherError
from culprit.launcher.supervision import child_processes

STOP_S = 60.0


def stop_platform(arguments: list[str]) -> int:
    """Stop the platform of the data directory. With --purge, delete the directory too."""
    parser = argparse.ArgumentParser(prog="culprit down", description="Stop the platform.")
    parser.add_argument("--purge", action="store_true", help="delete all data as well")
    purge = parser.parse_args(arguments).purge
    home = Home.from_environment(os.environ)
    last_state = state.read_state(home)
    if last_state and state.is_running(last_state.get("supervisor")):
        pid = last_state["supervisor"]["pid"]
        os.kill(pid, signal.SIGTERM)
        if not child_processes.wait_gone(pid, STOP_S):
            raise LauncherError(f"process {pid} did not stop within {STOP_S:.0f} s. Logs are in {home.logs}")
        sys.stdout.write("Culprit is stopped.\n")
    else:
        sys.stdout.write("Culprit is not running.\n")
    killed = kill_remaining(last_state)
    if killed:
        sys.stdout.write(f"Ended remaining processes of an earlier platform: {', '.join(killed)}.\n")
    state.clear_state(home)
    if purge:
        remove_data(home)
        sys.stdout.write(f"Deleted {home.path}. Installed packages stay in the checkout.\n")
    return 0


def kill_remaining(known: dict[str, dict[str, dict[str, int]]] | None) -> list[str]:
    """Kill the processes of a platform whose supervisor has ended. Return their names."""
    results = []
    for name, process in (known or {}).get("processes", {}).items():
        if state.is_running(process):
            results.append(name)
            with contextlib.suppress(ProcessLookupError):
                os.kill(process["pid"], signal.SIGTERM)
            if not child_processes.wait_gone(process["pid"], 10.0):
                child_processes.kill_group(process["pid"])
    return results


def remove_data(home: Home) -> None:
    """Delete the data directory, and the directory of PostgreSQL if it is elsewhere. Raises LauncherError."""
    if not home.path.exists():
        return
    if not is_data_directory(home):
        raise LauncherError(f"{home.path} is not a data directory of Culprit; nothing was deleted")
    outside = engine_paths.substitute_directory(home.postgres, durable=True)
    deadline = time.monotonic() + 10.0
    while (lock := state.hold_lock(home)) is None:
        if time.monotonic() > deadline:
            raise LauncherError(f"another `culprit up` is using {home.path}. Stop it first")
        time.sleep(0.1)
    with lock:
        shutil.rmtree(outside, ignore_errors=True)
        with contextlib.suppress(OSError):
            engine_paths.STATE_ROOT.rmdir()
        shutil.rmtree(home.path)


def is_data_directory(home: Home) -> bool:
    """Return whether `up` created the directory, so that a wrong CULPRIT_HOME deletes nothing else."""
    return home.lock.exists() and (home.secret_key.exists() or home.logs.exists())


def stop_worker(arguments: list[str]) -> int:
    """Stop or start the workers of the running platform. Other parts keep running. Raises LauncherError."""
    parser = argparse.ArgumentParser(prog="culprit worker", description="Stop or start the workers.")
    parser.add_argument("what", choices=("stop", "start"))
    what = parser.parse_args(arguments).what
    send_request(signal.SIGUSR1 if what == "stop" else signal.SIGUSR2)
    return 0


def retry_parts(arguments: list[str]) -> int:
    """Start parts that wait for a restart or were given up. Raises LauncherError."""
    parser = argparse.ArgumentParser(prog="culprit retry", description="Start failed parts again.")
    parser.parse_args(arguments)
    send_request(signal.SIGRTMIN)
    return 0


def send_request(number: int) -> None:
    """Send a signal to the supervisor of the running platform. Raises LauncherError if none runs."""
    running = state.read_running(Home.from_environment(os.environ))
    if running is None:
        raise LauncherError("Culprit is not running")
    os.kill(running["supervisor"]["pid"], number)
