"""`./culprit up` in a fresh clone: cold by phase, warm, and from `git clone` to the first drawn flame graph.

    ./culprit bench start [--cold-caches] [--warm 3]

Clones what is committed here into a temporary directory and starts it there over data of its own. The caches of
uv and npm stay as they are unless --cold-caches gives both empty ones. Once it is ready, a headless Chromium
follows the login link, presses `Capture now` (plan cpu, 20 s, this machine busy) and goes to the flame graph; then
it opens the recorded example in the same way. Then the platform is stopped and started again, `--warm` times.

Takes about three minutes with warm caches; all that it started is stopped and removed, on Ctrl-C too.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from culprit.launcher.paths import ROOT

from bench.support import platforms

COLD_S, WARM_S, BROWSER_S = 900.0, 120.0, 300.0


def print_progress(text: str) -> None:
    """Print progress."""
    sys.stderr.write(f"{text}\n")


def empty_cache_environment(directory: Path, *, cold: bool) -> dict[str, str]:
    """The environment that makes uv and npm begin with nothing."""
    if not cold:
        return {}
    return {
        "UV_CACHE_DIR": str(directory / "uv"),
        "npm_config_cache": str(directory / "npm"),
        "PIP_NO_CACHE_DIR": "1",
    }


def main() -> None:
    """Measure, and print tables for docs/figures.md."""
    ask = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    ask.add_argument("--cold-caches", action="store_true", help="empty caches of uv and npm: downloads count")
    ask.add_argument("--warm", type=int, default=3, help="how many warm starts")
    chosen = ask.parse_args()
    platforms.stop_on_term()
    load = os.getloadavg()[0]
    warm = []
    with ExitStack() as stack:
        top = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="start-", ignore_cleanup_errors=True))
        )
        clone, home, log = top / "culprit", top / "home", top / "up.log"
        more = empty_cache_environment(top / "caches", cold=chosen.cold_caches)
        chromium = platforms.prepare_browser()

        began, clock = time.monotonic(), time.time()
        subprocess.run(["git", "clone", "-q", "--no-local", str(ROOT), str(clone)], check=True)
        cloned_s = time.monotonic() - began
        print_progress(f"cloned in {cloned_s:.1f} s")
        stack.callback(platforms.purge_data, clone, home)
        with platforms.run_platform(clone, home, log, COLD_S, **more) as cold:
            print_progress(f"ready {cold['ready_s']:.1f} s later")
            requested = {"chromium": chromium, "url": cold["url"], "login_url": cold["login_url"]}
            marks = platforms.run_browser(Path(__file__).with_name("start.mjs"), requested, BROWSER_S)
        for _ in range(chosen.warm):
            with platforms.run_platform(clone, home, log, WARM_S, **more) as again:
                warm.append(again["ready_s"])
                print_progress(f"warm: ready in {warm[-1]:.1f} s")
    at = {name: when / 1000 - clock for name, when in marks.items()}
    example = at["example_drawn"] - at["asked_for_example"]

    message = "empty" if chosen.cold_caches else "warm"
    print(
        f"{os.cpu_count()} CPUs, Linux {os.uname().release}; caches of uv and npm {message}; the clone is from a local"
        f" directory; load average {load:.1f} before, {os.getloadavg()[0]:.1f} after.\n"
    )
    print("| `./culprit up` | s |\n|---|---|")
    for name, seconds in cold["phases"].items():
        print(f"| cold: {name} | {seconds:.1f} |")
    print(f"| cold: ready, from `./culprit up` | {cold['ready_s']:.1f} |")
    if warm:
        print(
            f"| warm: ready, median of {len(warm)} | {statistics.median(warm):.1f} (up to {max(warm):.1f}) |"
        )
    print("\n| from `git clone` | s |\n|---|---|")
    steps = {
        "cloned": cloned_s,
        "ready": cloned_s + cold["ready_s"],
        "browser started": at["browser"],
        "logged in by the link, password set": at["logged_in"],
        "capture of this machine asked for (20 s)": at["pressed"],
        "its flame graph drawn": at["capture_drawn"],
        f"or the flame graph of the recorded example ({example:.1f} s from its button)": at["logged_in"]
        + example,
    }
    for name, seconds in steps.items():
        print(f"| {name} | {seconds:.1f} |")


if __name__ == "__main__":
    main()
