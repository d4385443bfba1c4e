"""More requests than connections on a real server: they wait in order, and are refused above the limit."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx2
import psycopg
import pytest
from culprit.infra.db.admission import DatabaseBusyError, RequestSlots
from culprit.infra.db.session import RESERVED_CONNECTIONS, Database
from culprit.tests.support import runs
from culprit.tests.support.live import StreamReader, make_login, server
from culprit.tests.test_live_streams import make_capture, stream_url
from culprit.web.errors import OverloadedError

pytestmark = pytest.mark.long(20)
READERS, ROUNDS = 50, 2


def count_connections(url: str) -> int:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'culprit' AND datname = current_database()"
        ).fetchone()
    assert row is not None
    return int(row[0])


async def read_hosts(client: httpx2.AsyncClient, problems: list[str]) -> int:
    """Read like the web interface: repeat if the server is overloaded."""
    for pause_s in (1, 2, 4, 0):
        answer = await client.get("/api/v1/hosts")
        if answer.status_code == 200:
            break
        problems.append(answer.json()["key"])
        await asyncio.sleep(pause_s)
    return answer.status_code


def test_many_readers_at_once_all_get_their_answer(db, config):
    who = make_login(db, "reader")
    statuses: list[int] = []
    problems: list[str] = []

    async def read_all(base: str) -> None:
        limits = httpx2.Limits(max_connections=None)
        async with httpx2.AsyncClient(base_url=base, headers=who.bearer, timeout=60, limits=limits) as client:
            for _ in range(ROUNDS):
                statuses.extend(await asyncio.gather(*(read_hosts(client, problems) for _ in range(READERS))))

    with server() as served:
        asyncio.run(read_all(served.url))
        connections = count_connections(config.database_url)
    assert statuses.count(200) == READERS * ROUNDS
    assert set(problems) <= {"platform.busy"}, "the database was there all the time"
    assert connections <= config.request_connections + RESERVED_CONNECTIONS + 10  # the test has a pool too


def test_streams_hold_no_connection_and_no_thread(db, config):
    """60 streams with 2 connections for requests and 40 threads: reads are answered as without them."""
    people = [make_login(db, f"reader-{number}") for number in range(6)]
    thing = make_capture(db, runs.make_host(db))
    with server(CULPRIT_REQUEST_CONNECTIONS="2") as served:
        url = stream_url(served.url, "captures", thing)
        readers = [StreamReader(url, who.bearer) for who in people for _ in range(10)]
        for reader in readers:
            assert reader.ready.wait(30) and reader.status == 200
        with ThreadPoolExecutor(8) as pool, httpx2.Client(headers=people[0].bearer, timeout=30) as client:
            answers = list(
                pool.map(lambda _: client.get(f"{served.url}/api/v1/hosts").status_code, range(80))
            )
        assert answers.count(200) == 80
        assert all(reader.ended_at is None for reader in readers)


def test_full_database_is_reported_as_full(db, config):
    """Requests that wait for a row hold all connections;

    the next one is refused with a retry after one second.
    """
    who = make_login(db, "reader")
    with server(CULPRIT_REQUEST_CONNECTIONS="2") as served, httpx2.Client(timeout=30) as client:
        with psycopg.connect(config.database_url) as blocker:
            blocker.execute("LOCK TABLE user_account IN ACCESS EXCLUSIVE MODE")
            stuck = [
                threading.Thread(
                    target=lambda: httpx2.get(f"{served.url}/api/v1/hosts", headers=who.bearer, timeout=60)
                )
                for _ in range(2)
            ]
            for item in stuck:
                item.start()
            time.sleep(1)
            begun = time.monotonic()
            answer = client.get(f"{served.url}/api/v1/hosts", headers=who.bearer)
            took = time.monotonic() - begun
            blocker.rollback()
        for item in stuck:
            item.join(30)
        problem = answer.json()
        assert (answer.status_code, problem["key"]) == (503, "platform.busy")
        assert problem["type"] == OverloadedError.problem_type
        assert answer.headers["retry-after"] == "1"
        assert 4 < took < 9
        assert client.get(f"{served.url}/api/v1/hosts", headers=who.bearer).status_code == 200


def test_a_pool_without_a_connection_is_no_database_away(app, as_):
    narrow = Database(app.state.settings.sqlalchemy_url, request_slots=1)
    narrow.engine.dispose()
    narrow.engine.pool._timeout = 0.2  # type: ignore[attr-defined]
    held = [narrow.engine.connect() for _ in range(1 + RESERVED_CONNECTIONS)]
    own, app.state.database = app.state.database, narrow
    try:
        answer = as_("viewer").get("/api/v1/hosts")
        assert (answer.status_code, answer.json()["key"]) == (503, "platform.busy")
    finally:
        app.state.database = own
        for item in held:
            item.close()
        narrow.close()


def test_slots_are_assigned_in_order_and_never_lost():
    async def scene() -> list[int]:
        slots = RequestSlots(2, wait_s=0.5)
        order: list[int] = []

        async def use(number: int) -> None:
            slot = await slots.acquire()
            order.append(number)
            await asyncio.sleep(0.01)
            threading.Thread(target=slot.release).start()
            slot.release()

        await asyncio.gather(*(use(number) for number in range(20)))
        held = [await slots.acquire() for _ in range(2)]
        waiting = [asyncio.create_task(slots.acquire()) for _ in range(5)]
        await asyncio.sleep(0.1)
        waiting[0].cancel()
        ended = await asyncio.gather(*waiting, return_exceptions=True)
        assert isinstance(ended[0], asyncio.CancelledError)
        assert all(isinstance(item, DatabaseBusyError) for item in ended[1:])
        turn = asyncio.create_task(slots.acquire())
        await asyncio.sleep(0)
        held[0].release()
        turn.cancel()  # granted and abandoned at the same moment
        await asyncio.gather(turn, return_exceptions=True)
        held[1].release()
        for _ in range(50):
            await asyncio.sleep(0.01)
            if slots.used == 0:
                break
        assert slots.used == 0
        return order

    assert asyncio.run(scene()) == list(range(20))


def test_so_many_may_wait_and_no_more():
    async def scene() -> None:
        slots = RequestSlots(1, max_waiting=1, wait_s=0.2)
        slot = await slots.acquire()
        second = asyncio.create_task(slots.acquire())
        await asyncio.sleep(0)
        with pytest.raises(DatabaseBusyError):
            await slots.acquire()
        slot.release()
        (await second).release()

    asyncio.run(scene())
