"""The two renderers of the flame graph, redrawn after a zoom and a search, from few frames to more than fit a screen.

    ./culprit bench renderers [--frames 250,500,1000,2000,5000,10000] [--rounds 7]

A headless Chromium draws made-up trees whose frames are all at least a pixel wide, with d3-flame-graph and on a
canvas. The clock runs in the page, from the call to the painted frame; the answer of the server is not in it. The
figures decide from how many frames on the canvas is used: `MAX_D3_FRAMES` in
frontend/src/widgets/flame-graph/FlameGraph.tsx.
"""

from __future__ import annotations

import argparse
import os
import statistics
from pathlib import Path

from culprit.launcher.paths import ROOT

from bench.support import platforms

BROWSER_S = 600.0


def main() -> None:
    """Measure, and print a table for the decision."""
    ask = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    ask.add_argument("--frames", default="250,500,1000,2000,5000,10000", help="sizes of the trees")
    ask.add_argument("--rounds", type=int, default=7, help="redraws of each kind")
    chosen = ask.parse_args()
    platforms.stop_on_term()
    requested = {
        "chromium": platforms.prepare_browser(),
        "frontend": str(ROOT / "frontend"),
        "frames": [int(number) for number in chosen.frames.split(",")],
        "rounds": chosen.rounds,
    }
    results = platforms.run_browser(Path(__file__).with_name("renderers.mjs"), requested, BROWSER_S)[
        "results"
    ]
    print(
        f"{os.cpu_count()} CPUs, load average {os.getloadavg()[0]:.1f}; median (largest) of {chosen.rounds}, ms.\n"
    )
    print("| frames | renderer | zoom | search |\n|---|---|---|---|")
    for row in results:
        cells = (f"{statistics.median(row[what]):.0f} ({max(row[what]):.0f})" for what in ("zoom", "search"))
        print(f"| {row['frames']:,} | {row['renderer']} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
