"""From the address of a profile to its painted flame graph, compared with speedscope, in a real browser.

    ./culprit bench open_profile [--pairs 5] [--recording FILE | --samples 1000000]

The profile is a recording of this machine for a minute, about a million samples, or a made one. speedscope (from npm)
opens it as folded stacks, the smallest form that it reads, in the view that draws what Culprit draws ("Left Heavy").
Folded stacks are without time, threads and CPUs, so this is the easier task. The page of Culprit requests a tree from
the server, which has the profile in its cache. The same Chromium opens both in turns, each in a new page with a filled
cache. The clock runs in the page, from the navigation to the painted frame. The page draws the profile before its
application has started; the third opening of a round ends with the drawing of the application, with pointer and keys.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path

from culprit.launcher.install import locked_packages as install
from culprit.launcher.paths import ROOT

from bench.screens.profile_imports import UP_S, import_recording, prepare_recording
from bench.support import platforms

GOAL = 0.25
SPEEDSCOPE = "speedscope@1.25.0"
BROWSER_S = 900.0


def install_speedscope(folder: Path) -> Path:
    """Install speedscope into a folder, and return the folder of its page."""
    command = ["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(folder), SPEEDSCOPE]
    subprocess.run(command, env=install.build_node_environment(), stdin=subprocess.DEVNULL, check=True)
    return folder / "node_modules" / "speedscope" / "dist" / "release"


def main() -> None:
    """Measure, and print a table for docs/figures.md."""
    ask = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    ask.add_argument("--samples", type=int, help="make a recording of this size instead of recording")
    ask.add_argument("--pairs", type=int, default=5)
    ask.add_argument("--recording", type=Path, help="use this perf.data instead of recording")
    chosen = ask.parse_args()
    platforms.stop_on_term()
    load = os.getloadavg()[0]
    with ExitStack() as stack:
        top = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="open-", ignore_cleanup_errors=True))
        )
        home = top / "home"
        chromium = platforms.prepare_browser()
        speedscope = install_speedscope(top / "npm")
        recording = prepare_recording(top, chosen.samples, chosen.recording)
        stack.callback(platforms.purge_data, ROOT, home)
        with platforms.run_platform(ROOT, home, top / "up.log", UP_S) as platform:
            requested = {
                "chromium": chromium,
                "url": platform["url"],
                "login_url": platform["login_url"],
                "run": import_recording(home, platform["url"], recording),
                "pairs": chosen.pairs,
                "speedscope": str(speedscope),
                "folded": str(top / "folded.txt"),
            }
            result = platforms.run_browser(Path(__file__).with_name("open_profile.mjs"), requested, BROWSER_S)
    pairs = result["pairs"]
    print(
        f"{result['samples']:,} samples, {result['folded'] / 1e6:.1f} MB as folded stacks; {chosen.pairs} pairs,"
        f" {os.cpu_count()} CPUs; load average {load:.1f} before, {os.getloadavg()[0]:.1f} after.\n"
    )
    print("| | to painted, ms: median [min-max] | heap of the page, MB |\n|---|---|--:|")
    titles = {"ours": "Culprit", "page": "Culprit, with pointer and keys", "theirs": "speedscope"}
    for side, title in titles.items():
        times = sorted(pair[side]["ms"] for pair in pairs)
        heap = statistics.median(pair[side]["heap"] for pair in pairs) / 1e6
        print(f"| {title} | {statistics.median(times):.0f} [{times[0]:.0f}-{times[-1]:.0f}] | {heap:.0f} |")
    ratios = sorted(pair["ours"]["ms"] / pair["theirs"]["ms"] for pair in pairs)
    ratio = statistics.median(ratios)
    print(
        f"\nRatio {ratio:.2f} [{ratios[0]:.2f}-{ratios[-1]:.2f}]; goal {GOAL}, {'met' if ratio <= GOAL else 'missed'}."
    )


if __name__ == "__main__":
    main()
