"""Brush → redrawn: from the release of the mouse to the painted flame graph, in a real browser, on many samples.

    ./culprit bench redraw [--brushes 50] [--samples 1000000 | --recording FILE]

The recording is made (`bench.support.made_recording`): 200,000 stacks in 1,000 threads, the same in every run. It is
imported into a platform of its own by the command line. A headless Chromium drags over random ranges of the time
strip; the clock runs in the page, from `pointerup` to the frame that shows the new tree. The split is that of the
browser's own record of the request: `before` is from the release to the request on the wire, `server` to the first
byte of the answer, `transfer` to the last one, `draw` from there to the painted frame. Memory is PSS: of the API
process at its highest, of the page at the end.

Takes about three minutes; all that it started is stopped and removed, on Ctrl-C too.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path

from culprit.launcher.paths import ROOT

from bench.screens.profile_imports import UP_S, import_recording, prepare_recording
from bench.support import platforms

GOAL_MS = {1_000_000: 150, 10_000_000: 300}
BROWSER_S = 900.0
UPLOAD_BYTES = 1 << 30  # a platform accepts a quarter of it unless it is configured
WARM_UP_ROUNDS = 3
STEPS = {
    "total": "brush → redrawn",
    "before": "before",
    "server": "server",
    "transfer": "transfer",
    "draw": "draw",
}


class PeakMemory:
    """The highest PSS of a process in MB, sampled twice a second until `stop`."""

    def __init__(self, pid: int) -> None:
        self.mb = 0.0
        self._path = Path(f"/proc/{pid}/smaps_rollup")
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._sample_memory, daemon=True)
        self._thread.start()

    def _sample_memory(self) -> None:
        while not self._stopped.wait(0.5):
            try:
                text = self._path.read_text()
            except OSError:
                return
            kib = next(line.split()[1] for line in text.splitlines() if line.startswith("Pss:"))
            self.mb = max(self.mb, int(kib) / 1024)

    def stop(self) -> None:
        """End the samples."""
        self._stopped.set()
        self._thread.join()


def compute_percentile(values: list[float], share: float) -> float:
    """The smallest value that at least this share of all does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-int(share * 100) * len(ordered) // 100) - 1)]


def main() -> None:
    """Measure, and print a table for docs/figures.md."""
    ask = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    ask.add_argument("--samples", type=int, default=1_000_000)
    ask.add_argument("--brushes", type=int, default=50)
    ask.add_argument("--recording", type=Path, help="use this perf.data instead of making one")
    chosen = ask.parse_args()
    platforms.stop_on_term()
    load = os.getloadavg()[0]
    with ExitStack() as stack:
        top = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="redraw-", ignore_cleanup_errors=True))
        )
        home = top / "home"
        chromium = platforms.prepare_browser()
        recording = prepare_recording(top, chosen.samples, chosen.recording)
        stack.callback(platforms.purge_data, ROOT, home)
        limit = {"CULPRIT_UPLOAD_LIMIT": str(UPLOAD_BYTES)}
        with platforms.run_platform(ROOT, home, top / "up.log", UP_S, **limit) as platform:
            api = PeakMemory(int(platform["processes"]["api"]["pid"]))
            began = time.time()
            run = import_recording(home, platform["url"], recording)
            requested = {
                "chromium": chromium,
                "url": platform["url"],
                "login_url": platform["login_url"],
                "run": run,
                "brushes": chosen.brushes,
                "warm": WARM_UP_ROUNDS,
            }
            result = platforms.run_browser(Path(__file__).with_name("redraw.mjs"), requested, BROWSER_S)
            api.stop()
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
    print(f"Memory: API process at most {api.mb:.0f} MB, page {result['memory'] / 1e6:.0f} MB.\n")
    print("| ms | p50 | p95 | max |\n|---|---|---|---|")
    for name, displayed in STEPS.items():
        values = [brush[name] for brush in brushes]
        figures = (compute_percentile(values, 0.5), compute_percentile(values, 0.95), max(values))
        print(f"| {displayed} | {' | '.join(f'{value:.0f}' for value in figures)} |")
    goal = GOAL_MS.get(round(result["samples"], -6))
    if goal:
        met = "met" if p95 <= goal else "missed"
        print(f"\nGoal: p95 at most {goal} ms; {met} in this run ({p95:.0f} ms).")


if __name__ == "__main__":
    main()
