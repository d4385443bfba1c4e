"""Measure 200 viewers, each with a live stream and page requests, against a single reader.

    ./culprit bench viewers [--viewers 200] [--seconds 60] [--think 3] [--json FILE]
    ./culprit bench viewers --months 1 4 12 [--json FILE]

One API process as the platform starts it, on a PostgreSQL and a Valkey of its own, all on loopback. The viewers are 20
accounts with 50 hosts, 10 incidents and 20 captures. Half of them watch an incident, half a capture; each reads, with a
pause of `--think` seconds on average, the pages that its screen reads. For as long before them, one reader alone reads
the same pages: its times are what the others are compared with. Ends automatically after both rounds.

`--months` measures growth instead: one reader reads the calls of each page of 500 hosts that were captured daily for
so many months. Each length of history has its own database and API process; they are read in turns.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import os
import random
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

import httpx2
import psycopg
from alembic import command
from alembic.config import Config
from culprit.accounts.tokens import API_PREFIX, generate_token, hash_token
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.accounts.api_token import ApiToken
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.settings import REPOSITORY
from culprit.launcher import services
from culprit.launcher.engines import Postgres, Valkey
from culprit.launcher.install import requirements
from culprit.launcher.supervision import child_processes
from culprit.tests.support.fleet import LIGHT_RULES, add_evaluated_runs, add_hosts, generate_runs

from bench.support import history, platforms

ACCOUNTS, HOSTS, INCIDENTS, CAPTURES = 20, 50, 10, 20
GROWTH_HOSTS = 500
RAMP_S = 5.0
READ_LIMIT_S = 30.0
API = "/api/v1"


@dataclass
class Tally:
    """Results of requests: seconds of the successful ones, and status codes of the others."""

    seconds: list[float] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    streams: Counter[str] = field(default_factory=Counter)
    events: int = 0

    def read(self) -> dict[str, Any]:
        """The figures of one round."""
        taken = sorted(self.seconds)
        return {
            "reads": len(taken),
            "refused": dict(self.refused),
            "streams": dict(self.streams),
            "events": self.events,
            "p50_ms": round(1e3 * statistics.median(taken), 1) if taken else None,
            "p99_ms": round(1e3 * taken[int(len(taken) * 0.99)], 1) if taken else None,
            "max_ms": round(1e3 * taken[-1], 1) if taken else None,
        }


def seed_viewers(url: str, host_count: int = HOSTS) -> tuple[list[str], list[Any], list[Any]]:
    """Add accounts with tokens, hosts with evaluated runs and running captures. Return tokens, hosts and captures."""
    config = Config(REPOSITORY / "migrations" / "alembic.ini")
    config.attributes["url"] = sqlalchemy = url.replace("postgresql://", "postgresql+psycopg://", 1)
    command.upgrade(config, "head")
    database = Database(sqlalchemy)
    tokens = [generate_token(API_PREFIX) for _ in range(ACCOUNTS)]
    with unit_of_work(database.sessions) as session:
        for number, text in enumerate(tokens):
            user = UserAccount(name=f"viewer-{number}", role="investigator", label_scope={})
            session.add(user)
            session.flush()
            session.add(
                ApiToken(user_id=user.id, name="b", token_hash=hash_token(text), prefix="x", role=user.role)
            )
        hosts = add_hosts(
            session, [f"host-{at:03}" for at in range(host_count)], [{"role": "feed"}] * host_count
        )
        for batch in generate_runs(hosts, 2):
            add_evaluated_runs(session, batch)
        captures = []
        for at in range(CAPTURES):
            capture = Capture(id=new_uuid7(), plan="triage", state="running", collectors=[])
            session.add(capture)
            session.flush()
            session.add(Run(capture_id=capture.id, host_id=hosts[at], state="queued"))
            captures.append(capture.id)
    database.close()
    return tokens, hosts, captures


async def read_page(client: httpx2.AsyncClient, path: str, headers: dict[str, str], tally: Tally) -> None:
    """Send one request without retries: every error counts."""
    begun = time.perf_counter()
    try:
        answer = await client.get(API + path, headers=headers)
    except httpx2.HTTPError as error:
        tally.refused[type(error).__name__] += 1
        return
    if answer.status_code == 200:
        tally.seconds.append(time.perf_counter() - begun)
    else:
        tally.refused[str(answer.status_code)] += 1


async def hold_stream(client: httpx2.AsyncClient, path: str, headers: dict[str, str], tally: Tally) -> None:
    """Keep a live stream open until the task is canceled; reconnect as a browser does."""
    while True:
        try:
            async with client.stream("GET", API + path, headers=headers, timeout=READ_LIMIT_S) as answer:
                tally.streams[str(answer.status_code)] += 1
                async for line in answer.aiter_lines():
                    tally.events += line.startswith("event")
        except httpx2.HTTPError as error:
            tally.streams[type(error).__name__] += 1
        await asyncio.sleep(3)


async def run_viewer(
    client: httpx2.AsyncClient, headers: dict[str, str], stream: str, pages: list[str], tally: Tally,
    think_s: float, end: float,
) -> None:  # fmt: skip
    """One viewer: a stream, and the pages of its screen at once, then one after the other."""
    await asyncio.sleep(random.random() * RAMP_S)
    live = asyncio.create_task(hold_stream(client, stream, headers, tally))
    await asyncio.gather(*(read_page(client, path, headers, tally) for path in pages))
    while time.monotonic() < end:
        await asyncio.sleep(min(random.expovariate(1 / think_s), 4 * think_s))
        await read_page(client, random.choice(pages), headers, tally)
    live.cancel()
    await asyncio.gather(live, return_exceptions=True)


def read_rss_mb(pid: int) -> float:
    """Resident memory of a process."""
    lines = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
    return round(next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024, 1)


async def watch_server(pid: int, url: str, until: float) -> dict[str, Any]:
    """The most connections to PostgreSQL and the most memory of the API, each second."""
    most, rss = 0, 0.0
    with psycopg.connect(url, autocommit=True) as connection:
        query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'culprit'"
        while time.monotonic() < until:
            row = connection.execute(query).fetchone()
            most, rss = max(most, row[0] if row else 0), max(rss, read_rss_mb(pid))
            await asyncio.sleep(1)
    return {"connections": most, "rss_mb": rss}


async def measure_rounds(
    base: str, chosen: argparse.Namespace, tokens: list[str], pages: list[tuple[str, list[str]]], pid: int,
    url: str,
) -> dict[str, Any]:  # fmt: skip
    """Both rounds."""
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx2.AsyncClient(base_url=base, timeout=READ_LIMIT_S, limits=limits) as client:
        headers = [{"Authorization": f"Bearer {token}"} for token in tokens]
        idle, crowded = Tally(), Tally()
        rss_before = read_rss_mb(pid)
        end = time.monotonic() + min(20.0, chosen.seconds)
        every = [path for _, paths in pages for path in paths]
        while time.monotonic() < end:
            await read_page(client, random.choice(every), headers[0], idle)
            await asyncio.sleep(0.05)
        end = time.monotonic() + RAMP_S + chosen.seconds
        viewers = [
            run_viewer(
                client, headers[at % len(headers)], *pages[at % len(pages)], crowded, chosen.think, end
            )
            for at in range(chosen.viewers)
        ]
        server, *_ = await asyncio.gather(watch_server(pid, url, end), *viewers)
    return {"idle": idle.read(), "viewers": crowded.read(), "rss_before_mb": rss_before, **server}


def main() -> None:
    """Measure, and print a table for docs/figures.md."""
    ask = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    ask.add_argument("--viewers", type=int, default=200)
    ask.add_argument("--seconds", type=float, default=60.0)
    ask.add_argument("--think", type=float, default=3.0, help="seconds between two reads of a viewer")
    ask.add_argument("--months", type=int, nargs="+", help="measure growth of history instead")
    ask.add_argument("--json", type=Path)
    chosen = ask.parse_args()
    if not 1 <= chosen.viewers <= 1000 or not 1 <= chosen.seconds <= 600 or chosen.think <= 0:
        ask.error("at most 1000 viewers for at most 600 s, who think for more than 0 s")
    if chosen.months and not all(0 < months <= 24 for months in chosen.months):
        ask.error("--months needs numbers from 1 to 24")
    platforms.stop_on_term()
    random.seed(7)
    with ExitStack() as stack:
        top = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="viewers-", ignore_cleanup_errors=True))
        )
        if chosen.months:
            measure_growth(top, chosen)
            return
        postgres = stack.enter_context(Postgres(top / "postgres", durable=False))
        valkey = stack.enter_context(Valkey(top / "valkey"))
        tokens, hosts, captures = seed_viewers(postgres.url)
        api, base = stack.enter_context(run_api(top, postgres.url, valkey.url))
        with httpx2.Client(base_url=base, headers={"Authorization": f"Bearer {tokens[0]}"}) as client:
            incidents = open_incidents(client, hosts)
        pages = list_pages(hosts, incidents, captures)
        result = asyncio.run(measure_rounds(base, chosen, tokens, pages, find_api_pid(api), postgres.url))
    result |= {"load": round(os.getloadavg()[0], 1), "cpus": os.cpu_count()}
    for name in ("p50_ms", "p99_ms"):
        alone, among = result["idle"][name], result["viewers"][name]
        result[name.replace("_ms", "_ratio")] = round(among / alone, 1) if alone and among else None
    if chosen.json:
        chosen.json.write_text(json.dumps(result, indent=1), "utf-8")
    print_table(chosen, result)


def open_incidents(client: httpx2.Client, hosts: list[Any]) -> list[Any]:
    """Open an incident on each of the first hosts."""
    bodies = [{"title": "slow", "hosts": [{"host_id": str(hosts[at])}]} for at in range(INCIDENTS)]
    return [client.post(f"{API}/incidents", json=body).json()["id"] for body in bodies]


@contextmanager
def run_api(top: Path, database_url: str, redis_url: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Run one API process as the platform starts it; yield it with its address. Raises PlatformError."""
    port = requirements.find_free_port("127.0.0.1", 0)
    if port is None:
        raise platforms.PlatformError("no port of 127.0.0.1 is free")
    own = {
        "CULPRIT_HOME": str(top), "DATABASE_URL": database_url, "REDIS_URL": redis_url,
        "CULPRIT_SECRET_KEY": base64.b64encode(secrets.token_bytes(32)).decode(),
    }  # fmt: skip
    api = subprocess.Popen(
        child_processes.guard_command(list(services.build_api_service("127.0.0.1", port).command)),
        env=services.build_process_environment(platforms.build_environment(top), **own), start_new_session=True,
    )  # fmt: skip
    try:
        wait_ready(f"http://127.0.0.1:{port}", api)
        yield api, f"http://127.0.0.1:{port}"
    finally:
        child_processes.stop_child(api, platforms.STOP)


def measure_growth(top: Path, chosen: argparse.Namespace) -> None:
    """Measure the calls of each page for each length of history, and print the table."""
    runs, servers = {}, {}
    with ExitStack() as stack:
        postgres = stack.enter_context(Postgres(top / "postgres", durable=False))
        valkey = stack.enter_context(Valkey(top / "valkey"))
        for months in chosen.months:
            name = f"months_{months}"
            with psycopg.connect(postgres.url, autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE {name} TEMPLATE template0")
            url = urlunsplit(urlsplit(postgres.url)._replace(path=f"/{name}"))
            tokens, hosts, _ = seed_viewers(url, GROWTH_HOSTS)
            runs[months] = history.seed_history(url, months * history.DAYS_PER_MONTH, LIGHT_RULES[0].id)
            print(f"{months} months: {runs[months]} runs", flush=True)
            home = top / name
            home.mkdir()
            _, base = stack.enter_context(run_api(home, url, valkey.url))
            headers = {"Authorization": f"Bearer {tokens[0]}"}
            client = stack.enter_context(httpx2.Client(base_url=base, headers=headers, timeout=READ_LIMIT_S))
            servers[months] = history.PageServer(client, [str(host) for host in hosts])
            servers[months].list_objects()
        rows = history.time_pages(servers)
    print(f"\n{os.cpu_count()} CPUs, load average {os.getloadavg()[0]:.1f}; runs: {runs}")
    history.print_curve(rows, runs)
    if chosen.json:
        chosen.json.write_text(json.dumps({"runs": runs, "rows": rows}, indent=1), "utf-8")


def list_pages(hosts: list[Any], incidents: list[Any], captures: list[Any]) -> list[tuple[str, list[str]]]:
    """Streams with the pages of their screens."""
    pages = []
    for at in range(max(INCIDENTS, CAPTURES)):
        incident, capture = incidents[at % INCIDENTS], captures[at % CAPTURES]
        host = quote(str(hosts[at % HOSTS]))
        pages.append((
            f"/incidents/{incident}/updates",
            [f"/incidents/{incident}", f"/incidents/{incident}/journal", "/hosts", "/me"],
        ))  # fmt: skip
        pages.append((
            f"/captures/{capture}/progress",
            [f"/captures/{capture}", "/captures", f"/hosts/{host}", "/fleet/findings", "/fleet/use"],
        ))  # fmt: skip
    return pages


def wait_ready(base: str, api: subprocess.Popen[bytes]) -> None:
    """Wait until the API responds. Raises PlatformError."""
    end = time.monotonic() + 60
    while time.monotonic() < end and api.poll() is None:
        try:
            httpx2.get(f"{base}/healthz", timeout=2)
            return
        except httpx2.HTTPError:
            time.sleep(0.1)
    raise platforms.PlatformError("the API did not start")


def find_api_pid(api: subprocess.Popen[bytes]) -> int:
    """Return the API process, which can be a child of the guard process."""
    listed = Path(f"/proc/{api.pid}/task/{api.pid}/children")
    while inner := listed.read_text("ascii").split():
        listed = Path(f"/proc/{inner[0]}/task/{inner[0]}/children")
    return int(listed.parent.name)


def print_table(chosen: argparse.Namespace, result: dict[str, Any]) -> None:
    """For docs/figures.md."""
    sys.stdout.write(
        f"{result['cpus']} CPUs, load average {result['load']}; {chosen.viewers} viewers for "
        f"{chosen.seconds:.0f} s, {chosen.think:.0f} s between two reads of each.\n\n"
        f"| | one reader alone | {chosen.viewers} viewers |\n|---|---|---|\n"
    )
    for name in ("reads", "refused", "streams", "events", "p50_ms", "p99_ms", "max_ms"):
        sys.stdout.write(f"| {name} | {result['idle'][name]} | {result['viewers'][name]} |\n")
    for name in ("p50_ratio", "p99_ratio", "connections", "rss_before_mb", "rss_mb"):
        sys.stdout.write(f"| {name} | | {result[name]} |\n")


if __name__ == "__main__":
    main()
