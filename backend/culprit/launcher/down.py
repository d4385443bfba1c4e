"""`./culprit down [--purge]`, `./culprit worker stop|start` and `./culprit retry`."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import sys
import time

from culprit.launch import children, places, state
from culprit.launch.paths import Home
from culprit.launch.progress import Refusal

STOP_S = 60.0


def down(arguments: list[str]) -> int:
    """Stop what runs over the data directory; with --purge remove the directory too."""
    parser = argparse.ArgumentParser(prog="culprit down", description="Stop the platform.")
    parser.add_argument("--purge", action="store_true", help="remove all data as well")
    purge = parser.parse_args(arguments).purge
    home = Home.of(os.environ)
    known = state.read(home)
    if known and state.lives(known.get("supervisor")):
        pid = known["supervisor"]["pid"]
        os.kill(pid, signal.SIGTERM)
        if not children.wait_gone(pid, STOP_S):
            raise Refusal(f"process {pid} does not stop within {STOP_S:.0f} s; logs are in {home.logs}")
        sys.stdout.write("Culprit is stopped.\n")
    else:
        sys.stdout.write("Culprit is not running.\n")
    left = kill_left(known)
    if left:
        sys.stdout.write(f"Ended what an earlier platform had left: {', '.join(left)}.\n")
    state.clear(home)
    if purge:
        remove_data(home)
        sys.stdout.write(f"Removed {home.path}. Installed packages stay in the checkout.\n")
    return 0


def kill_left(known: dict[str, dict[str, dict[str, int]]] | None) -> list[str]:
    """Kill processes of a platform whose supervisor is gone; returns their names."""
    found = []
    for name, process in (known or {}).get("processes", {}).items():
        if state.lives(process):
            found.append(name)
            with contextlib.suppress(ProcessLookupError):
                os.kill(process["pid"], signal.SIGTERM)
            if not children.wait_gone(process["pid"], 10.0):
                children.kill_group(process["pid"])
    return found


def remove_data(home: Home) -> None:
    """The data directory and, where PostgreSQL had to live elsewhere, that too. Raises Refusal."""
    if not home.path.exists():
        return
    if not looks_like_ours(home):
        raise Refusal(f"{home.path} does not look like a data directory of Culprit; nothing was removed")
    outside = places.elsewhere(home.postgres, durable=True)
    deadline = time.monotonic() + 10.0
    while (lock := state.hold(home)) is None:
        if time.monotonic() > deadline:
            raise Refusal(f"another ./culprit up holds {home.path}")
        time.sleep(0.1)
    with lock:
        shutil.rmtree(outside, ignore_errors=True)
        with contextlib.suppress(OSError):
            places.STATE_ROOT.rmdir()
        shutil.rmtree(home.path)


def looks_like_ours(home: Home) -> bool:
    """Whether `up` made it: nobody's home directory is removed because CULPRIT_HOME pointed there."""
    return home.lock.exists() and (home.secret_key.exists() or home.logs.exists())


def worker(arguments: list[str]) -> int:
    """Stop or start the workers of the running platform; the rest goes on. Raises Refusal."""
    parser = argparse.ArgumentParser(prog="culprit worker", description="Stop or start the workers.")
    parser.add_argument("what", choices=("stop", "start"))
    what = parser.parse_args(arguments).what
    send_request(signal.SIGUSR1 if what == "stop" else signal.SIGUSR2)
    return 0


def retry(arguments: list[str]) -> int:
    """Start now what waits for its restart or was given up. Raises Refusal."""
    parser = argparse.ArgumentParser(
        prog="culprit retry", description="Start parts again that the platform gave up."
    )
    parser.parse_args(arguments)
    send_request(signal.SIGRTMIN)
    return 0


def send_request(number: int) -> None:
    """Send a signal to the supervisor of the running platform. Raises Refusal where none runs."""
    known = state.read(Home.of(os.environ))
    if not known or not state.lives(known.get("supervisor")):
        raise Refusal("Culprit is not running")
    os.kill(known["supervisor"]["pid"], number)
