"""How soon nothing starts any more once the kill switch is pulled.

    ./culprit bench switch [--rounds 20]

Starts `./culprit up` of this checkout over data of its own. Two callers order one short capture of this machine after
another without a pause, so that there is always one about to start. At some moment of each round the kill switch is
pulled everywhere; the table of processes, read every few milliseconds, tells when the last session of ours began on the
host, whatever the platform believes. All that was started is stopped and removed at the end.
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
from culprit.launch.paths import ROOT

from bench import platforms
from bench.alerts import UP_S, Platform, Told, percentile

LOOK_S, YOUNG_S, AFTER_S = 0.01, 0.5, 4.0


class Sessions:
    """When a session of Culprit began on this machine: a child of sshd whose command speaks our protocol."""

    def __init__(self) -> None:
        self.began: list[float] = []
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()

    def _watch(self) -> None:
        known = set(Path("/proc").glob("[0-9]*"))
        young: dict[Path, float] = {}  # what sshd forked has its own name until it becomes the shell
        while not self.stop.wait(LOOK_S):
            now, there = time.time(), set(Path("/proc").glob("[0-9]*"))
            young = {one: at for one, at in young.items() if now - at < YOUNG_S}
            young |= dict.fromkeys(there - known, now)
            for one in [one for one in young if self._ours(one)]:
                self.began.append(young.pop(one))
            known = there

    @staticmethod
    def _ours(process: Path) -> bool:
        with suppress(OSError, IndexError):
            parent = (process / "stat").read_text("utf-8", "replace").rpartition(") ")[2].split()[1]
            if Path(f"/proc/{parent}/comm").read_text("utf-8", "replace").startswith("sshd"):
                return b"CULPRIT1" in (process / "cmdline").read_bytes()
        return False


class Callers:
    """People who order captures as fast as they are answered."""

    def __init__(self, platform: Platform) -> None:
        self.platform, self.stop = platform, threading.Event()
        self.host_id = str(platform.get("/hosts", limit=1)["items"][0]["id"])
        self.ordered = self.refused = 0
        self.threads = [threading.Thread(target=self._order, daemon=True) for _ in range(2)]
        for one in self.threads:
            one.start()

    def _order(self) -> None:
        body = {"host_ids": [self.host_id], "plan": "custom", "collectors": ["vmstat"], "seconds": 1}
        while not self.stop.is_set():
            answer = self.platform.http.post("/captures", json=body)
            if answer.status_code == httpx2.codes.CREATED:
                self.ordered += 1
            else:
                self.refused += 1
            self.stop.wait(0.4)


def rounds(platform: Platform, sessions: Sessions, count: int, rng: random.Random) -> list[dict[str, float]]:
    """Pulled and lifted so often."""
    found = []
    for n in range(1, count + 1):
        before = len(sessions.began)
        time.sleep(rng.uniform(1.5, 4.0))
        pulled = time.time()
        switch = platform.post("/kill-switches", {"kind": "everywhere", "reason": "bench"})
        answered = time.time()
        time.sleep(AFTER_S)
        began = sessions.began[before:]
        found.append(
            {
                "answer": answered - pulled,
                "sessions": len(began),
                "last": max((one - pulled for one in began), default=float("nan")),
                "after": sum(one > pulled + 1.0 for one in began),
            }
        )
        platform.post(f"/kill-switches/{switch['id']}/lift", {})
        sys.stderr.write(f"{n}: {found[-1]}\n")
    return found


def main() -> None:
    """Measure, and print a paragraph for docs/figures.md."""
    ask = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    ask.add_argument("--rounds", type=int, default=20, help="how often it is pulled")
    ask.add_argument("--seed", type=int, default=7, help="of the moments")
    chosen = ask.parse_args()
    platforms.stop_on_term()
    sessions, load = Sessions(), os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="switch-", ignore_cleanup_errors=True) as top:
        home = Path(top) / "home"
        try:
            with platforms.running(ROOT, home, Path(top) / "up.log", UP_S):
                platform = Platform(home, Told())
                callers = Callers(platform)
                found = rounds(platform, sessions, chosen.rounds, random.Random(chosen.seed))
                callers.stop.set()
        finally:
            sessions.stop.set()
            platforms.purge(ROOT, home)
    last = [one["last"] for one in found if one["last"] == one["last"]]
    answers = [one["answer"] for one in found]
    print(
        f"{os.cpu_count()} CPUs, load average {load:.1f} before; {len(found)} rounds, {callers.ordered} captures"
        f" ordered and {callers.refused} refused, {sum(one['sessions'] for one in found):.0f} sessions on the host.\n"
        f"Sessions that began more than 1 s after the pull: {sum(one['after'] for one in found):.0f}. The last began"
        f" {max(last):+.2f} s from the pull (median {percentile(last, 0.5):+.2f} s); the pull was answered in"
        f" {percentile(answers, 0.5):.2f} s (median, max {max(answers):.2f} s)."
    )


if __name__ == "__main__":
    main()
