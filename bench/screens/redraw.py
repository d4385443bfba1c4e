"""Brush → redrawn: from the release of the mouse to the painted flame graph, in a real browser, on 1M samples.

    python -m bench.redraw [--samples 1000000] [--brushes 50] [--text FILE]

The profile is made as in bench.profile: a real capture of this machine, repeated to the number of samples. It is
imported into a platform of its own by the command line. A headless Chromium drags over random ranges of the time
strip; the clock runs in the page, from `pointerup` to the frame that shows the new tree. The split is that of the
browser's own record of the request: `before` is from the release to the request on the wire, `server` to the first
byte of the answer, `transfer` to the last one, `draw` from there to the painted frame.

Takes about three minutes; all that it started is stopped and removed, on Ctrl-C too.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from culprit.launch.paths import ROOT

from bench import platforms
from bench.profile import capture, grow

GOAL_MS = 300
REAL_SAMPLES = 100_000
UP_S, IMPORT_S, BROWSER_S = 600.0, 300.0, 420.0
UNPACKED = 1000 << 20  # the server takes at most 1 GiB of text
WHEN = re.compile(rb" (\d+)\.\d{9}: ")
WARM = 3
STEPS = {
    "total": "brush → redrawn",
    "before": "before",
    "server": "server",
    "transfer": "transfer",
    "draw": "draw",
}


def say(text: str) -> None:
    """For whoever waits."""
    sys.stderr.write(f"{text}\n")


def profile_text(top: Path, samples: int, given: Path | None) -> tuple[Path, float]:
    """perf script text of `samples` samples, gzipped, and the share of the capture that had to be left out."""
    real, whole = given or top / "real.txt", top / "whole.txt"
    if given is None:
        capture(min(samples, REAL_SAMPLES), real)
    fitting = top / "fitting.txt"
    left_out, step_s = fit(real, fitting, UNPACKED / samples)
    grow(fitting, samples, whole, step_s)
    subprocess.run(["gzip", "-1", str(whole)], check=True)
    return whole.with_suffix(".txt.gz"), left_out


def fit(real: Path, into: Path, mean: float) -> tuple[float, int]:
    """Leaves out the longest stacks until a block has at most `mean` bytes on average.

    Returns their share, and after how many whole seconds a repetition leaves no gap.
    """
    blocks = [block for block in real.read_bytes().split(b"\n\n") if block]
    by_length = sorted(range(len(blocks)), key=lambda at: len(blocks[at]))
    total = sum(len(block) + 2 for block in blocks)
    kept = len(blocks)
    while total > mean * kept:
        kept -= 1
        total -= len(blocks[by_length[kept]]) + 2
    chosen = sorted(by_length[:kept])
    into.write_bytes(b"".join(blocks[at] + b"\n\n" for at in chosen))
    at = [int(found[1]) for found in map(WHEN.search, blocks) if found]
    return 1 - kept / len(blocks), max(at) - min(at) + 1


def bring(home: Path, url: str, text: Path) -> str:
    """Imports the text by the command line; the run's id."""
    command = [str(ROOT / "culprit"), "import", str(text), "--kind", "perf_script", "--wait", "--json"]
    command += ["--timeout", str(IMPORT_S)]
    done = subprocess.run(
        command, env=platforms.environment(home, CULPRIT_URL=url), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise platforms.Broken(
            f"the import ended with {done.returncode}: {(done.stderr or done.stdout)[-800:]}"
        )
    made: dict[str, Any] = json.loads(done.stdout)
    return str(made["runs"][0]["id"])


def percentile(values: list[float], share: float) -> float:
    """The smallest value that at least this share of all does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-int(share * 100) * len(ordered) // 100) - 1)]


def main() -> None:
    """Measure, and print a table for docs/figures.md."""
    ask = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    ask.add_argument("--samples", type=int, default=1_000_000)
    ask.add_argument("--brushes", type=int, default=50)
    ask.add_argument("--text", type=Path, help="use this perf script text instead of capturing")
    chosen = ask.parse_args()
    platforms.stop_on_term()
    load = os.getloadavg()[0]
    with ExitStack() as stack:
        top = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="redraw-", ignore_cleanup_errors=True))
        )
        home = top / "home"
        chromium = platforms.prepare_browser()
        text, left_out = profile_text(top, chosen.samples, chosen.text)
        say(f"{chosen.samples:,} samples in {text.stat().st_size / 1e6:.0f} MB")
        stack.callback(platforms.purge, ROOT, home)
        with platforms.running(ROOT, home, top / "up.log", UP_S) as platform:
            began = time.time()
            run = bring(home, platform["url"], text)
            asked = {
                "chromium": chromium,
                "url": platform["url"],
                "login_url": platform["login_url"],
                "run": run,
                "brushes": chosen.brushes,
                "warm": WARM,
            }
            found = platforms.browse("redraw.mjs", asked, BROWSER_S)
    took = found["ready"] / 1000 - began
    brushes: list[dict[str, float]] = found["brushes"]
    p95 = percentile([one["total"] for one in brushes], 0.95)
    print(
        f"{found['samples']:,} samples, {len(brushes)} random ranges, Chromium at 1440 x 900; {os.cpu_count()} CPUs,"
        f" which browser, server and database share; load average {load:.1f} before, {os.getloadavg()[0]:.1f} after."
        f" From the upload to a profile that can be opened: {took:.1f} s. An answer:"
        f" {statistics.median(one['bytes'] for one in brushes) / 1e3:.0f} kB,"
        f" {statistics.median(one['frames'] for one in brushes):.0f} frames (medians).\n"
    )
    if left_out:
        print(
            f"Left out of the capture, so that the text fits into the server's limit: {left_out:.1%} of the samples,"
            " those with the longest stacks.\n"
        )
    print("| ms | p50 | p95 | max |\n|---|---|---|---|")
    for name, shown in STEPS.items():
        values = [one[name] for one in brushes]
        figures = (percentile(values, 0.5), percentile(values, 0.95), max(values))
        print(f"| {shown} | {' | '.join(f'{value:.0f}' for value in figures)} |")
    print(
        f"\nGoal: p95 at most {GOAL_MS} ms; {'met' if p95 <= GOAL_MS else 'missed'} in this run ({p95:.0f} ms)."
    )


if __name__ == "__main__":
    main()
