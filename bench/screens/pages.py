"""Time, requests, bytes, long tasks, DOM nodes and axe violations of each main page, in a real browser.

    ./culprit bench pages [--opens 3]

Starts a platform of its own over empty data, captures and diagnoses this machine, and creates an incident from the
diagnosis. Then Chromium opens each page in a new context (cold) and again in the same one (warm). A page has settled
at its last change, response or long task before 0.7 s without any.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from culprit.launcher.paths import ROOT

from bench.support import platforms

UP_S, BROWSER_S = 600.0, 1500.0
COLD_MS, WARM_MS, REQUESTS, SCRIPT_KB, LONG_TASK_MS = 1000.0, 300.0, 25, 250.0, 100.0
Opens = Sequence[Mapping[str, float]]


def compute_median(opens: Opens, field: str) -> float:
    """Return the median of a figure over all times that a page was opened."""
    return statistics.median(item[field] for item in opens)


def format_row(name: str, page: Mapping[str, Any]) -> str:
    """Return the row of a page in the table."""
    cold, warm = page["cold"], page["warm"]
    longest = max(item["longest_task_ms"] for item in warm)
    cells = [
        name,
        f"{compute_median(cold, 'ms'):.0f}",
        f"{compute_median(warm, 'ms'):.0f}",
        f"{compute_median(cold, 'requests'):.0f}",
        f"{compute_median(cold, 'bytes') / 1024:.0f}",
        f"{compute_median(cold, 'script_bytes') / 1024:.0f}",
        f"{longest:.0f}",
        f"{compute_median(warm, 'nodes'):,.0f}",
        ", ".join(page["axe"]) or "0",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Measure, and print a table for docs/figures.md."""
    ask = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    ask.add_argument("--opens", type=int, default=3, help="how often each page is opened, cold and warm")
    chosen = ask.parse_args()
    platforms.stop_on_term()
    load = os.getloadavg()[0]
    with ExitStack() as stack:
        top = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="pages-", ignore_cleanup_errors=True))
        )
        home = top / "home"
        chromium = platforms.prepare_browser()
        stack.callback(platforms.purge_data, ROOT, home)
        with platforms.run_platform(ROOT, home, top / "up.log", UP_S) as platform:
            requested = {
                "chromium": chromium,
                "url": platform["url"],
                "login_url": platform["login_url"],
                "opens": chosen.opens,
            }
            result = platforms.run_browser(Path(__file__).with_name("pages.mjs"), requested, BROWSER_S)
    print(
        f"{os.cpu_count()} CPUs, Linux {os.uname().release}; median of {chosen.opens}; load average {load:.1f} before,"
        f" {os.getloadavg()[0]:.1f} after. Goals: settled {COLD_MS:.0f} ms cold and {WARM_MS:.0f} ms warm, at most"
        f" {REQUESTS} requests, {SCRIPT_KB:.0f} kB of scripts, no long task over {LONG_TASK_MS:.0f} ms while typing.\n"
    )
    print(
        "| page | settled cold, ms | warm, ms | requests cold | kB cold | of it scripts | longest task warm, ms |"
        " DOM nodes | axe |\n|---|--:|--:|--:|--:|--:|--:|--:|---|"
    )
    for name, page in result["pages"].items():
        print(format_row(name, page))
    print(f"\nLongest task while typing 25 characters in the command palette: {result['typing']:.0f} ms.")


if __name__ == "__main__":
    main()
