"""From the address of a profile to its painted flame graph, compared with speedscope, in a real browser.

    ./culprit bench open_profile [--samples 1000000] [--pairs 5] [--text FILE]

The profile is that of `./culprit bench redraw`. speedscope (from npm) opens it as folded stacks, the smallest form that
it reads; the page of Culprit requests it from the server, which has it in its cache. The same Chromium opens both in
turns, each in a new page with a filled cache. The clock runs in the page, from the navigation to the painted frame.
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

from bench.screens.redraw import UP_S, import_text, print_progress, profile_text
from bench.support import platforms

GOAL = 0.25
SPEEDSCOPE = "speedscope@1.25.0"
BROWSER_S = 900.0


def install_speedscope(folder: Path) -> Path:
    """Install speedscope into a folder, and return the folder of its page."""
    command = ["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(folder), SPEEDSCOPE]
    subprocess.run(command, env=install.node_environment(), stdin=subprocess.DEVNULL, check=True)
    return folder / "node_modules" / "speedscope" / "dist" / "release"


def main() -> None:
    """Measure, and print a table for docs/figures.md."""
    ask = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    ask.add_argument("--samples", type=int, default=1_000_000)
    ask.add_argument("--pairs", type=int, default=5)
    ask.add_argument("--text", type=Path, help="use this perf script text instead of capturing")
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
        text, _ = profile_text(top, chosen.samples, chosen.text)
        print_progress(f"{chosen.samples:,} samples in {text.stat().st_size / 1e6:.0f} MB")
        stack.callback(platforms.purge_data, ROOT, home)
        with platforms.running_platform(ROOT, home, top / "up.log", UP_S) as platform:
            requested = {
                "chromium": chromium,
                "url": platform["url"],
                "login_url": platform["login_url"],
                "run": import_text(home, platform["url"], text),
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
    for side, title in (("ours", "Culprit"), ("theirs", "speedscope")):
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
