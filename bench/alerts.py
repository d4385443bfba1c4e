"""From an alert to the first sample and to the message with its cause; and a storm of a thousand alerts.

    python -m bench.alerts [--alerts 20] [--storm 1000] [--gap 1]

Starts `./culprit up` of this checkout over data of its own. The host is this machine, by the sshd that the platform
enrols it with; while each alert is answered, this process keeps one CPU busy, so that there is a cause to be named. A
trigger takes the alerts over HTTP, and a web server of our own is the channel that is told.

First sample: the first reading on the host, on its own clock (the same one), after the alert was sent. Message: when
our server has it. Before each alert, what was fired before is moved back in the tables as if an hour had passed. All
that was started is stopped and removed at the end.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import multiprocessing
import os
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import psycopg
from culprit.launch.paths import ROOT

from bench import platforms

API = "/api/v1"
UP_S, ANSWER_S = 300.0, 180.0
Json = dict[str, Any]


class Told:
    """The channel: what arrived, and when."""

    def __init__(self) -> None:
        self.arrived: list[tuple[float, Json]] = []
        self.bell = threading.Condition()
        told = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                """Nothing: figures are what is printed."""

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                with told.bell:
                    told.arrived.append((time.time(), json.loads(body)))
                    told.bell.notify_all()
                self.send_response(204)
                self.end_headers()

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server.server_address[1]}/told"

    def wait(self, count: int, seconds: float) -> tuple[float, Json]:
        """The message with that number, the first is 1. Raises Broken."""
        with self.bell:
            if not self.bell.wait_for(lambda: len(self.arrived) >= count, seconds):
                raise platforms.Broken(f"message {count} did not arrive within {seconds:.0f} s")
            return self.arrived[count - 1]


def spin(until: float) -> None:
    """Keeps one CPU busy."""
    while time.time() < until:
        sum(range(1000))


@contextmanager
def busy(seconds: float) -> Iterator[None]:
    """One busy CPU around a block, for so long at most."""
    worker = multiprocessing.get_context("spawn").Process(
        target=spin, args=(time.time() + seconds,), daemon=True
    )
    worker.start()
    try:
        yield
    finally:
        worker.terminate()
        worker.join()


class Platform:
    """One running platform, seen by its administrator."""

    def __init__(self, home: Path, told: Told) -> None:
        kept = json.loads((home / "cli.json").read_text())
        headers = {"Authorization": f"Bearer {kept['token']}"}
        self.http = httpx2.Client(base_url=kept["url"], headers=headers, timeout=30.0)
        self.host = self.get("/hosts", limit=1)["items"][0]
        rule = {"cidr": "127.0.0.0/8", "port_from": 1, "port_to": 65535, "note": "bench"}
        self.post("/network-rules", rule)
        channel = self.post("/channels", {"name": "bench", "kind": "webhook", "url": told.url})
        body = {"name": "bench", "kind": "generic", "channel_ids": [channel["id"]], "options": {"seconds": 5}}
        self.trigger = self.post("/triggers", body)

    def get(self, path: str, **query: str | int) -> Any:
        """A GET that succeeds."""
        answer = self.http.get(API + path, params=query)
        answer.raise_for_status()
        return answer.json()

    def post(self, path: str, body: Json) -> Any:
        """A POST that succeeds."""
        answer = self.http.post(API + path, json=body)
        if answer.status_code >= 400:
            raise platforms.Broken(f"POST {path}: {answer.status_code} {answer.text[:300]}")
        return answer.json()

    def alert(self, title: str, **more: object) -> Json:
        """One alert about the host; what became of it."""
        body = {"title": title, "host": self.host["name"], "sent": time.time_ns(), **more}
        headers = {"Authorization": f"Bearer {self.trigger['secret']}"}
        answer = httpx2.post(
            str(self.http.base_url).rstrip("/") + self.trigger["path"],
            json=body,
            headers=headers,
            timeout=30.0,
        )
        if answer.status_code != 202:
            raise platforms.Broken(f"the alert was answered with {answer.status_code}: {answer.text[:200]}")
        return dict(answer.json())


def database(home: Path) -> str:
    """The address of the platform's database, out of what `up` keeps."""
    state = json.loads((home / "running.json").read_text())
    return str(state["database_url"])


def as_if_an_hour_later(url: str) -> None:
    """What was fired and alerted lies back, so that the next alert is not within a cooldown."""
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE firing SET created_at = created_at - interval '1 hour'")
        connection.execute(
            "UPDATE alert SET created_at = created_at - interval '1 hour', last_at = last_at - interval '1 hour'"
        )


def first_sample_s(url: str, diagnosis: int, sent: float) -> float:
    """Seconds from an alert to the first reading of the first stage of its diagnosis."""
    query = """
        SELECT min(run.t0_ns) FROM run JOIN capture ON capture.id = run.capture_id
        JOIN diagnosis ON diagnosis.id = capture.diagnosis_id WHERE diagnosis.number = %s
    """
    with psycopg.connect(url) as connection:
        row = connection.execute(query, [diagnosis]).fetchone()
    if row is None or row[0] is None:
        raise platforms.Broken("no sample came home")
    return float(row[0]) / 1e9 - sent


def percentile(values: list[float], share: float) -> float:
    """The value that this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * share) - 1)]


def measure(platform: Platform, told: Told, url: str, alerts: int, gap_s: float) -> list[Json]:
    """One alert after another, each answered before the next."""
    rows = []
    for n in range(1, alerts + 1):
        as_if_an_hour_later(url)
        with busy(ANSWER_S):
            time.sleep(gap_s)
            sent = time.time()
            said = platform.alert(f"alert {n}")
            answered = time.time()
            if said["fired"] != 1:
                raise platforms.Broken(f"alert {n} fired nothing: {said}")
            at, message = told.wait(n, ANSWER_S)
        sample = first_sample_s(url, int(message["diagnosis"]), sent)
        rows.append(
            {
                "http": answered - sent,
                "sample": sample,
                "message": at - sent,
                "outcome": message["outcome"],
                "cause": message["cause_id"],
                "figures": len(message["figures"]),
                "picture": bool(message.get("picture")),
                "bytes": len(json.dumps(message)),
            }
        )
        sys.stderr.write(
            f"{n}: sample {sample:.2f} s, message {at - sent:.1f} s: {message['cause_id'] or message['outcome']}\n"
        )
    return rows


def storm(platform: Platform, url: str, count: int) -> tuple[Counter[str], float, int]:
    """So many alerts for one host as fast as two connections send them: what became of them, seconds, captures."""
    as_if_an_hour_later(url)
    with psycopg.connect(url) as connection:
        before = connection.execute("SELECT count(*) FROM capture").fetchone()
    numbers, said, lock = itertools.count(), Counter[str](), threading.Lock()

    def shower() -> None:
        while (n := next(numbers)) < count:
            answer = platform.alert("storm", id=str(n % 50))
            with lock:
                said.update(
                    {name: answer[name] for name in ("fired", "joined", "held", "refused", "unmatched")}
                )

    began = time.monotonic()
    threads = [threading.Thread(target=shower) for _ in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    took = time.monotonic() - began
    with psycopg.connect(url) as connection:
        after = connection.execute("SELECT count(*) FROM capture").fetchone()
    assert before is not None and after is not None
    return said, took, int(after[0]) - int(before[0])


def main() -> None:
    """Measure, and print tables for docs/figures.md."""
    ask = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    ask.add_argument("--alerts", type=int, default=20, help="alerts, one after another")
    ask.add_argument("--storm", type=int, default=1000, help="alerts of the storm")
    ask.add_argument("--gap", type=float, default=1.0, help="seconds of load before an alert")
    chosen = ask.parse_args()
    platforms.stop_on_term()
    told, load = Told(), os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="alerts-", ignore_cleanup_errors=True) as top:
        home = Path(top) / "home"
        try:
            with platforms.running(ROOT, home, Path(top) / "up.log", UP_S):
                platform = Platform(home, told)
                url = database(home)
                rows = measure(platform, told, url, chosen.alerts, chosen.gap)
                said, took, captures = storm(platform, url, chosen.storm)
        finally:
            platforms.purge(ROOT, home)
    print(
        f"{os.cpu_count()} CPUs, Linux {os.uname().release}; {len(rows)} alerts one after another, first look 5 s;"
        f" load average {load:.1f} before.\n"
    )
    print("| from the alert | median, s | p95, s | max, s |\n|---|---|---|---|")
    names = {
        "http": "answered over HTTP",
        "sample": "first sample on the host",
        "message": "message with the answer",
    }
    for name, title in names.items():
        values = [one[name] for one in rows]
        cells = " | ".join(f"{percentile(values, share):.2f}" for share in (0.5, 0.95, 1.0))
        print(f"| {title} | {cells} |")
    causes = Counter(one["cause"] or one["outcome"] for one in rows)
    full = sum(one["figures"] == 3 and one["picture"] for one in rows)
    print(f"\nTold: {', '.join(f'{cause} {count}' for cause, count in causes.most_common())}.")
    print(f"With three numbers and a picture: {full} of {len(rows)}.")
    print(
        f"\nStorm: {sum(said.values())} alerts for one host in {took:.1f} s ({60 * sum(said.values()) / took:,.0f} a"
        f" minute): {said['fired']} fired, {said['joined']} joined, {captures} captures."
    )


if __name__ == "__main__":
    main()
