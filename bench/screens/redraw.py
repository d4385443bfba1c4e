"""Brush → redrawn: from the release of the mouse to the painted flame graph, in a real browser, on 1M samples.

    ./culprit bench redraw [--samples 1000000] [--brushes 50] [--text FILE]

The profile is made as in bench.server.profile: a real capture of this machine, repeated to the number of samples. It is
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

from culprit.launcher.paths import ROOT

from bench.server.profile import record_samples, resize_capture
from bench.support import platforms

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


def print_progress(text: str) -> None:
    """Print progress."""
    sys.stderr.write(f"{text}\n")


def profile_text(top: Path, samples: int, path: Path | None) -> tuple[Path, float]:
    """perf script text of `samples` samples, gzipped, and the share of the capture that had to be left out."""
    real, whole = path or top / "real.txt", top / "whole.txt"
    if path is None:
        record_samples(min(samples, REAL_SAMPLES), real)
    fitting = top / "fitting.txt"
    left_out, step_s = drop_long_stacks(real, fitting, UNPACKED / samples)
    resize_capture(fitting, samples, whole, step_s)
    subprocess.run(["gzip", "-1", str(whole)], check=True)
    return whole.with_suffix(".txt.gz"), left_out


def drop_long_stacks(real: Path, into: Path, mean: float) -> tuple[float, int]:
    """Leaves out the longest stacks until a block has at most `mean` bytes on average.

    Returns their share, and after how many whole seconds a repetition leaves no gap.
    """
    blocks = [block for block in real.read_bytes().split(b"\n\n") if block]
    by_length = sorted(range(len(blocks)), key=lambda at: len(blocks[at]))
    total = sum(len(block) + 2 for block in blocks)
    stored = len(blocks)
    while total > mean * stored:
        stored -= 1
        total -= len(blocks[by_length[stored]]) + 2
    chosen = sorted(by_length[:stored])
    into.write_bytes(b"".join(blocks[at] + b"\n\n" for at in chosen))
    at = [int(result[1]) for result in map(WHEN.search, blocks) if result]
    return 1 - stored / len(blocks), max(at) - min(at) + 1


def import_text(home: Path, url: str, text: Path) -> str:
    """Imports the text by the command line; the run's id."""
    command = [
        str(ROOT / "culprit"),
        "capture",
        "import",
        str(text),
        "--kind",
        "perf_script",
        "--wait",
        "--json",
    ]
    command += ["--timeout", str(IMPORT_S)]
    done = subprocess.run(
        command,
        env=platforms.build_environment(home, CULPRIT_URL=url),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise platforms.Broken(
            f"the import ended with {done.returncode}: {(done.stderr or done.stdout)[-800:]}"
        )
    result: dict[str, Any] = json.loads(done.stdout)
    return str(result["runs"][0]["id"])


def compute_percentile(values: list[float], share: float) -> float:
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
        print_progress(f"{chosen.samples:,} samples in {text.stat().st_size / 1e6:.0f} MB")
        stack.callback(platforms.purge_data, ROOT, home)
        with platforms.running_platform(ROOT, home, top / "up.log", UP_S) as platform:
            began = time.time()
            run = import_text(home, platform["url"], text)
            requested = {
                "chromium": chromium,
                "url": platform["url"],
                "login_url": platform["login_url"],
                "run": run,
                "brushes": chosen.brushes,
                "warm": WARM,
            }
            result = platforms.run_browser(Path(__file__).with_name("redraw.mjs"), requested, BROWSER_S)
    took = result["ready"] / 1000 - began
    brushes: list[dict[str, float]] = result["brushes"]
    p95 = compute_percentile([brush["total"] for brush in brushes], 0.95)
    print(
        f"{result['samples']:,} samples, {len(brushes)} random ranges, Chromium at 1440 x 900; {os.cpu_count()} CPUs,"
        f" which browser, server and database share; load average {load:.1f} before, {os.getloadavg()[0]:.1f} after."
        f" From the upload to a profile that can be opened: {took:.1f} s. An answer:"
        f" {statistics.median(brush['bytes'] for brush in brushes) / 1e3:.0f} kB,"
        f" {statistics.median(brush['frames'] for brush in brushes):.0f} frames (medians).\n"
    )
    if left_out:
        print(
            f"Left out of the capture, so that the text fits into the server's limit: {left_out:.1%} of the samples,"
            " those with the longest stacks.\n"
        )
    print("| ms | p50 | p95 | max |\n|---|---|---|---|")
    for name, displayed in STEPS.items():
        values = [brush[name] for brush in brushes]
        figures = (compute_percentile(values, 0.5), compute_percentile(values, 0.95), max(values))
        print(f"| {displayed} | {' | '.join(f'{value:.0f}' for value in figures)} |")
    print(
        f"\nGoal: p95 at most {GOAL_MS} ms; {'met' if p95 <= GOAL_MS else 'missed'} in this run ({p95:.0f} ms)."
    )


if __name__ == "__main__":
    main()
