"""Measure the time from an alert to the first sample and to the notification, and a storm of a thousand alerts.

    ./culprit bench alerts [--alerts 12] [--storm 1000] [--seed N]

The benchmark starts `./culprit up` of this checkout with data of its own. Each alert is about another host of the lab
with a random fault; order and parameters come from the seed, which is printed. A trigger receives the alerts over HTTP,
labels of the hosts allow it the standard tier, and a web server of the benchmark is the notification channel. The storm
is about this machine, with the sshd with which the platform adds it.

First sample: the first reading on the host after the alert was sent, on the same clock. Notification: its arrival at
the web server of the benchmark. Everything that was started is stopped and removed at the end.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx2
import psycopg
from culprit.json_types import Json
from culprit.launcher.paths import ROOT

from bench.accuracy import score_client
from bench.support import platforms
from lab.environment import LabEnvironment
from lab.faults import list_missing_programs, load_scenarios
from lab.scenario import Scenario

UP_S, ANSWER_S = 300.0, 180.0


class MessageReceiver:
    """The notification channel: messages with their arrival times."""

    def __init__(self) -> None:
        self.arrived: list[tuple[float, Json]] = []
        self.arrival = threading.Condition()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                """Do not log requests: the output has only the figures."""

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                with receiver.arrival:
                    receiver.arrived.append((time.time(), json.loads(body)))
                    receiver.arrival.notify_all()
                self.send_response(204)
                self.end_headers()

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """The URL of the receiver."""
        return f"http://127.0.0.1:{self.server.server_address[1]}/alerts"

    def wait(self, count: int, seconds: float) -> tuple[float, Json]:
        """Wait for message number `count` (from 1) and return its arrival time and content. Raises PlatformError."""
        with self.arrival:
            if not self.arrival.wait_for(lambda: len(self.arrived) >= count, seconds):
                raise platforms.PlatformError(f"message {count} did not arrive within {seconds:.0f} s")
            return self.arrived[count - 1]


class AlertPlatform(score_client.PlatformClient):
    """Administrator's client of a running platform, with a trigger whose channel is this program."""

    def __init__(self, home: Path, reported: MessageReceiver) -> None:
        stored = json.loads((home / "cli.json").read_text())
        super().__init__(stored["url"], stored["token"])
        self.url = stored["url"]
        self.post(
            "/network-rules", {"cidr": "127.0.0.0/8", "port_from": 1, "port_to": 65535, "note": "bench"}
        )
        channel = self.post("/channels", {"name": "bench", "kind": "webhook", "url": reported.url})
        body = {"name": "bench", "kind": "generic", "channel_ids": [channel["id"]], "options": {"seconds": 5}}
        self.trigger = self.post("/triggers", body)

    def alert(self, title: str, host: str, **more: object) -> Json:
        """Send one alert about a host. Return the response of the trigger. Raises PlatformError."""
        body = {"title": title, "host": host, "sent": time.time_ns(), **more}
        headers = {"Authorization": f"Bearer {self.trigger['secret']}"}
        answer = httpx2.post(
            self.url.rstrip("/") + self.trigger["path"], json=body, headers=headers, timeout=30.0
        )
        if answer.status_code != 202:
            raise platforms.PlatformError(
                f"the alert was answered with {answer.status_code}: {answer.text[:200]}"
            )
        return dict(answer.json())


def read_database_url(home: Path) -> str:
    """Return the database URL of the platform from the state file of `up`."""
    state = json.loads((home / "running.json").read_text())
    return str(state["database_url"])


def measure_first_sample_s(url: str, diagnosis: int, sent: float) -> float:
    """Return the seconds from an alert to the first load average in its diagnosis; logs of the host start earlier."""
    query = """
        SELECT min(series_chunk.t0_ns) FROM series_chunk JOIN run ON run.id = series_chunk.run_id
        JOIN capture ON capture.id = run.capture_id JOIN diagnosis ON diagnosis.id = capture.diagnosis_id
        WHERE diagnosis.number = %s AND series_chunk.metric = 'load.avg1'
    """
    with psycopg.connect(url) as connection:
        row = connection.execute(query, [diagnosis]).fetchone()
    if row is None or row[0] is None:
        raise platforms.PlatformError("no sample was stored")
    return float(row[0]) / 1e9 - sent


def compute_percentile(values: list[float], share: float) -> float:
    """Return the percentile of the values."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * share) - 1)]


def choose_faults(count: int, rng: random.Random) -> list[Scenario]:
    """Return random faults of the lab that need no host of their own, each once before any is repeated."""
    known = [
        item
        for item in load_scenarios().values()
        if item.kind == "fault" and not item.own_host and not list_missing_programs(item)
    ]
    order: list[Scenario] = []
    while len(order) < count:
        order += rng.sample(known, len(known))
    return order[:count]


def measure_alert(
    platform: AlertPlatform, reported: MessageReceiver, url: str, fault: Scenario, seed: int, number: int
) -> Json:
    """Start an unhealthy host, send an alert about it, and wait for the notification."""
    with LabEnvironment(max_s=300) as environment, fault.run(environment, random.Random(seed)) as live:
        name = f"bench-{number}"
        host = platform.add_host(live.host, name)
        platform.post("/unattended-tiers", {"label": {"lab": name}})
        if live.access_log:
            platform.declare_service(name, live.access_log)
        time.sleep(fault.seconds)
        sent = time.time()
        text = platform.alert(f"alert {number}", name)
        answered = time.time()
        if text["started"] != 1:
            raise platforms.PlatformError(f"alert {number} started nothing: {text}")
        at, message = reported.wait(number, ANSWER_S)
        sample = measure_first_sample_s(url, int(message["diagnosis"]), sent)
        platform.delete_quietly(f"/hosts/{host}")
    return {
        "fault": fault.id,
        "http": answered - sent,
        "sample": sample,
        "message": at - sent,
        "right": message["cause_id"] in fault.causes,
        "cause": message["cause_id"] or message["outcome"],
        "figures": len(message["figures"]),
        "chart": bool(message.get("chart")),
    }


def measure_alerts(
    platform: AlertPlatform, reported: MessageReceiver, url: str, faults: list[Scenario], rng: random.Random
) -> list[Json]:
    """Send the alerts one after another, each after the response to the previous one."""
    rows = []
    for number, fault in enumerate(faults, 1):
        item = measure_alert(platform, reported, url, fault, rng.randrange(1 << 31), number)
        rows.append(item)
        sys.stderr.write(
            f"{number}: {fault.id}: sample {item['sample']:.2f} s, message {item['message']:.1f} s: {item['cause']},"
            f" {item['figures']} numbers, {'a' if item['chart'] else 'no'} chart\n"
        )
    return rows


def send_storm(platform: AlertPlatform, url: str, count: int) -> tuple[Counter[str], float, int]:
    """Send alerts for one host over two connections as fast as possible. Return results, seconds and captures."""
    host = str(platform.get("/hosts", query="")["items"][-1]["name"])
    with psycopg.connect(url) as connection:
        before = connection.execute("SELECT count(*) FROM capture").fetchone()
    numbers, message, lock = itertools.count(), Counter[str](), threading.Lock()

    def shower() -> None:
        while (n := next(numbers)) < count:
            answer = platform.alert("storm", host, id=str(n % 50))
            with lock:
                message.update(
                    {name: answer[name] for name in ("started", "joined", "deferred", "refused", "unmatched")}
                )

    began = time.monotonic()
    threads = [threading.Thread(target=shower) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.monotonic() - began
    with psycopg.connect(url) as connection:
        after = connection.execute("SELECT count(*) FROM capture").fetchone()
    assert before is not None and after is not None
    return message, took, int(after[0]) - int(before[0])


def main() -> None:
    """Measure, and print tables for docs/figures.md."""
    ask = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    ask.add_argument("--alerts", type=int, default=12, help="alerts, one after another")
    ask.add_argument("--storm", type=int, default=1000, help="alerts of the storm")
    ask.add_argument("--seed", type=int, default=0, help="0 draws one")
    chosen = ask.parse_args()
    platforms.stop_on_term()
    seed = chosen.seed or random.SystemRandom().randrange(1, 1 << 31)
    rng = random.Random(seed)
    reported, load = MessageReceiver(), os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="alerts-", ignore_cleanup_errors=True) as top:
        home = Path(top) / "home"
        try:
            with platforms.run_platform(ROOT, home, Path(top) / "up.log", UP_S):
                platform = AlertPlatform(home, reported)
                url = read_database_url(home)
                rows = measure_alerts(platform, reported, url, choose_faults(chosen.alerts, rng), rng)
                message, took, captures = send_storm(platform, url, chosen.storm)
        finally:
            platforms.purge_data(ROOT, home)
    print(
        f"{os.cpu_count()} CPUs, Linux {os.uname().release}; {len(rows)} alerts one after another, first look 5 s,"
        f" seed {seed}; load average {load:.1f} before.\n"
    )
    print("| from the alert | median, s | p95, s | max, s |\n|---|---|---|---|")
    names = {
        "http": "answered over HTTP",
        "sample": "first sample on the host",
        "message": "message with the answer",
    }
    for name, title in names.items():
        values = [row[name] for row in rows]
        cells = " | ".join(f"{compute_percentile(values, share):.2f}" for share in (0.5, 0.95, 1.0))
        print(f"| {title} | {cells} |")
    right = sum(row["right"] for row in rows)
    full = [min(row["figures"], 3) for row in rows if row["chart"]]
    print(f"\nThe message named the cause in {right} of {len(rows)}, and contained a chart in {len(full)}.")
    print(f"Numbers in the messages: {', '.join(f'{k} in {v}' for k, v in sorted(Counter(full).items()))}.")
    print("\n| fault | cause | numbers | chart | message, s |\n|---|---|---|---|---|")
    for row in rows:
        print(
            f"| {row['fault']} | {row['cause']} | {row['figures']} | {'yes' if row['chart'] else 'no'}"
            f" | {row['message']:.1f} |"
        )
    print(
        f"\nStorm: {sum(message.values())} alerts for one host in {took:.1f} s "
        f"({60 * sum(message.values()) / took:,.0f} a"
        f" minute): {message['started']} started, {message['joined']} joined, {captures} captures."
    )


if __name__ == "__main__":
    main()
