"""Measure the time from the activation of the kill switch to the last start on the host.

    ./culprit bench switch [--rounds 20]

Starts `./culprit up` of this checkout over data of its own. Two callers request one short capture of this machine after
another without a pause, so that there is always one about to start. At some moment of each round the kill switch is
activated for all hosts; the table of processes, read every few milliseconds, shows when the last session began on the
host, and not on what the platform reports. All that was started is stopped and removed at the end.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import httpx2
from culprit.launcher.paths import ROOT

from bench.hosts.alerts import UP_S, AlertPlatform, MessageReceiver, compute_percentile
from bench.support import platforms

SCAN_INTERVAL_S, MAX_FORK_AGE_S, OBSERVE_S = 0.01, 0.5, 4.0


class SessionMonitor:
    """When a session of Culprit began on this machine: a child of sshd whose command uses our protocol."""

    def __init__(self) -> None:
        self.began: list[float] = []
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._watch_processes, daemon=True)
        self.thread.start()

    def _watch_processes(self) -> None:
        known = set(Path("/proc").glob("[0-9]*"))
        forked: dict[Path, float] = {}  # what sshd forked has its own name until it becomes the shell
        while not self.stop.wait(SCAN_INTERVAL_S):
            now, present = time.time(), set(Path("/proc").glob("[0-9]*"))
            forked = {item: at for item, at in forked.items() if now - at < MAX_FORK_AGE_S}
            forked |= dict.fromkeys(present - known, now)
            for item in [item for item in forked if self._is_session(item)]:
                self.began.append(forked.pop(item))
            known = present

    @staticmethod
    def _is_session(process: Path) -> bool:
        with suppress(OSError, IndexError):
            parent = (process / "stat").read_text("utf-8", "replace").rpartition(") ")[2].split()[1]
            if Path(f"/proc/{parent}/comm").read_text("utf-8", "replace").startswith("sshd"):
                return b"CULPRIT1" in (process / "cmdline").read_bytes()
        return False


class CaptureCallers:
    """Callers that request captures without a pause."""

    def __init__(self, platform: AlertPlatform) -> None:
        self.platform, self.stop = platform, threading.Event()
        self.host_id = str(platform.get("/hosts", limit=1)["items"][0]["id"])
        self.accepted = self.refused = 0
        self.threads = [threading.Thread(target=self._request_captures, daemon=True) for _ in range(2)]
        for thread in self.threads:
            thread.start()

    def _request_captures(self) -> None:
        body = {"host_ids": [self.host_id], "plan": "custom", "collectors": ["vmstat"], "seconds": 1}
        while not self.stop.is_set():
            answer = self.platform.http.post("/captures", json=body)
            if answer.status_code == httpx2.codes.CREATED:
                self.accepted += 1
            else:
                self.refused += 1
            self.stop.wait(0.4)


def measure_rounds(
    platform: AlertPlatform, sessions: SessionMonitor, count: int, rng: random.Random
) -> list[dict[str, float]]:
    """Activate and deactivate the switch several times; return the measured delays."""
    results = []
    for n in range(1, count + 1):
        before = len(sessions.began)
        time.sleep(rng.uniform(1.5, 4.0))
        activated = time.time()
        switch = platform.post("/kill-switches", {"kind": "everywhere", "reason": "bench"})
        answered = time.time()
        time.sleep(OBSERVE_S)
        began = sessions.began[before:]
        results.append(
            {
                "answer": answered - activated,
                "sessions": len(began),
                "last": max((item - activated for item in began), default=float("nan")),
                "after": sum(item > activated + 1.0 for item in began),
            }
        )
        platform.delete(f"/kill-switches/{switch['id']}")
        sys.stderr.write(f"{n}: {results[-1]}\n")
    return results


def main() -> None:
    """Measure, and print a paragraph for docs/figures.md."""
    ask = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    ask.add_argument("--rounds", type=int, default=20, help="how often it is activated")
    ask.add_argument("--seed", type=int, default=7, help="of the moments")
    chosen = ask.parse_args()
    platforms.stop_on_term()
    sessions, load = SessionMonitor(), os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="switch-", ignore_cleanup_errors=True) as top:
        home = Path(top) / "home"
        try:
            with platforms.run_platform(ROOT, home, Path(top) / "up.log", UP_S):
                platform = AlertPlatform(home, MessageReceiver())
                callers = CaptureCallers(platform)
                result = measure_rounds(platform, sessions, chosen.rounds, random.Random(chosen.seed))
                callers.stop.set()
        finally:
            sessions.stop.set()
            platforms.purge_data(ROOT, home)
    last = [item["last"] for item in result if item["last"] == item["last"]]
    answers = [item["answer"] for item in result]
    print(
        f"{os.cpu_count()} CPUs, load average {load:.1f} before; {len(result)} rounds, {callers.accepted} captures"
        f" accepted and {callers.refused} refused, "
        f"{sum(item['sessions'] for item in result):.0f} sessions on the host.\n"
        "Sessions that began more than 1 s after the switch was activated: "
        f"{sum(item['after'] for item in result):.0f}. The last began {max(last):+.2f} s after it (median"
        f" {compute_percentile(last, 0.5):+.2f} s). The request was answered in"
        f" {compute_percentile(answers, 0.5):.2f} s (median, max {max(answers):.2f} s)."
    )


if __name__ == "__main__":
    main()
