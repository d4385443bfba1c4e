"""Live streams on a real server: they end when their reader loses access, and their number is limited."""

from __future__ import annotations

import json
import signal
import socket
import time
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from culprit.infra.db.clock import utc_now
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.accounts.api_token import ApiToken
from culprit.infra.models.accounts.login_session import LoginSession
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.accounts.user_identity import UserIdentity
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.incidents.incident import Incident
from culprit.tests.support import runs
from culprit.tests.support.live import PASSWORD, Login, Server, StreamReader, add_session, make_login, server
from sqlalchemy import delete, update

pytestmark = pytest.mark.long(90)
LIMIT_S = 5.0
FEED = {"role": ["feed"]}


def make_capture(db, host_id):
    with unit_of_work(db.sessions) as session:
        capture = Capture(plan="triage", state="running", collectors=[])
        session.add(capture)
        session.flush()
        session.add(Run(capture_id=capture.id, host_id=host_id, state="queued"))
        return capture.id


def stream_url(base: str, kind: str, thing: object) -> str:
    tail = {"captures": "progress", "incidents": "updates"}[kind]
    return f"{base}/api/v1/{kind}/{thing}/{tail}"


class Scene:
    """Hosts, and for each way of losing access one account with a capture or incident."""

    def __init__(self, db, served: Server, kind: str) -> None:
        self.db, self.served, self.kind = db, served, kind
        self.admin = make_login(db, "root", "admin")
        self.http = httpx2.Client(base_url=f"{served.url}/api/v1", timeout=30)

    def close(self) -> None:
        self.http.close()

    def make_thing(self, name: str) -> tuple[object, object]:
        """Create a host with a capture or an incident."""
        host = runs.make_host(self.db, name, {"role": "feed"})
        if self.kind == "captures":
            return host, make_capture(self.db, host)
        answer = self.http.post(
            "/incidents",
            json={"title": "t", "hosts": [{"host_id": str(host)}]},
            headers=self.admin.bearer,
        )
        assert answer.status_code == 201, answer.text
        return host, answer.json()["id"]

    def write(self, statement) -> None:
        with unit_of_work(self.db.sessions) as session:
            session.execute(statement)

    def ask(self, method: str, path: str, headers: dict[str, str], **more) -> None:
        answer = self.http.request(method, path, headers=headers, **more)
        assert answer.status_code < 300, answer.text


def change_password(scene: Scene, who: Login) -> None:
    """Change the password in another session of the account, which stays open."""
    scene.ask(
        "PATCH",
        "/me",
        add_session(scene.db, who.user_id),
        json={"password": "another horse battery", "current_password": PASSWORD},
    )


def remove_provider(scene: Scene, who: Login) -> None:
    """Remove an identity provider with its accounts."""
    from culprit.accounts.sessions import close_sessions

    with unit_of_work(scene.db.sessions) as session:
        close_sessions(session, who.user_id)


def rest_token(scene: Scene, who: Login) -> None:
    with unit_of_work(scene.db.sessions) as session:
        session.add(
            UserIdentity(
                user_id=who.user_id,
                issuer="i",
                subject=str(who.user_id),
                seen_at=utc_now() - timedelta(days=31),
            )
        )


def remove_thing(scene: Scene, thing: object) -> None:
    if scene.kind == "captures":
        scene.write(delete(Run).where(Run.capture_id == thing))
        scene.write(delete(Capture).where(Capture.id == thing))
    else:
        scene.write(delete(Incident).where(Incident.id == thing))


Way = Callable[[Scene, Login, object, object], object]
#: Ways of losing access, with the authentication of the stream: a browser session or a token.
WAYS: dict[str, tuple[str, Way]] = {
    "logged out": ("cookie", lambda s, who, *_: s.ask("DELETE", "/session", who.cookie)),
    "password changed": ("cookie", lambda s, who, *_: change_password(s, who)),
    "session expired": ("cookie", lambda s, who, *_: s.write(
        update(LoginSession).where(LoginSession.id == who.session_id).values(expires_at=utc_now()))),
    "identity provider removed": ("cookie", lambda s, who, *_: remove_provider(s, who)),
    "account disabled": ("bearer", lambda s, who, *_: s.ask(
        "PATCH", f"/users/{who.user_id}", s.admin.cookie, json={"disabled": True})),
    "account deleted": ("cookie", lambda s, who, *_: s.write(
        delete(UserAccount).where(UserAccount.id == who.user_id))),
    "scope changed": ("cookie", lambda s, who, *_: s.ask(
        "PATCH", f"/users/{who.user_id}", s.admin.cookie, json={"label_scope": {"role": ["ads"]}})),
    "host relabeled": ("cookie", lambda s, who, host, _: s.write(
        update(Host).where(Host.id == host).values(labels={"role": "ads"}))),
    "token revoked": ("bearer", lambda s, who, *_: s.ask("DELETE", f"/tokens/{who.token_id}", who.cookie)),
    "token expired": ("bearer", lambda s, who, *_: s.write(
        update(ApiToken).where(ApiToken.id == who.token_id).values(expires_at=utc_now()))),
    "token rests": ("bearer", lambda s, who, *_: rest_token(s, who)),
    "resource deleted": ("cookie", lambda s, who, _, thing: remove_thing(s, thing)),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["captures", "incidents"])
def test_streams_end_soon_after_access_is_lost(db, config, kind, capsys):
    seconds: dict[str, float | None] = {}
    with server() as served, closing(Scene(db, served, kind)) as scene:
        people = {}
        for number, (name, (proof, way)) in enumerate(WAYS.items()):
            if name == "account deleted" and kind == "incidents":
                continue  # the database keeps accounts that took part in an incident
            host, thing = scene.make_thing(f"host-{number}")
            who = make_login(db, f"reader-{number}", scope=FEED)
            reader = StreamReader(stream_url(served.url, kind, thing), getattr(who, proof))
            people[name] = (way, who, host, thing, reader)
        stays = StreamReader(stream_url(served.url, kind, scene.make_thing("stays")[1]), scene.admin.bearer)
        for *_, reader in [*people.values(), (stays,)]:
            assert reader.ready.wait(20) and reader.status == 200
        time.sleep(5)
        assert [name for name, (*_, reader) in people.items() if reader.ended_at] == []
        begun = {}
        for name, (way, who, host, thing, _) in people.items():
            begun[name] = time.monotonic()
            way(scene, who, host, thing)
        for name, (*_, reader) in people.items():
            seconds[name] = reader.wait_ended(begun[name])
        assert stays.ended_at is None, "who keeps access keeps the stream"
        begun_stop = time.monotonic()
        served.process.send_signal(signal.SIGTERM)
        seconds["server stopped"] = stays.wait_ended(begun_stop)
        assert served.process.wait(10) in (0, -signal.SIGTERM)
    with capsys.disabled():
        print(json.dumps({"kind": kind} | {k: v and round(v, 1) for k, v in seconds.items()}))
    late = {name: took for name, took in seconds.items() if took is None or took > LIMIT_S}
    assert not late


def test_a_role_that_changes_keeps_the_stream_and_the_reader_sees_what_is_left(db, config):
    with server() as served, closing(Scene(db, served, "captures")) as scene:
        _, thing = scene.make_thing("h")
        who = make_login(db, "reader", "oncall")
        reader = StreamReader(stream_url(served.url, "captures", thing), who.cookie)
        assert reader.ready.wait(20)
        scene.ask("PATCH", f"/users/{who.user_id}", scene.admin.cookie, json={"role": "viewer"})
        time.sleep(5)
        assert reader.ended_at is None


def count_refused(readers: list[StreamReader], key: str, status: int) -> int:
    for reader in readers:
        assert reader.ready.wait(20)
    refused = [reader for reader in readers if reader.status != 200]
    for item in refused:
        assert (item.status, item.problem["key"]) == (status, key)
        assert int(item.headers["retry-after"]) > 0
    return len(refused)


def test_an_account_has_so_many_streams_over_all_servers(db, config):
    limit = {"CULPRIT_STREAMS_PER_ACCOUNT": "4"}
    with server(**limit) as item, server(**limit) as other, closing(Scene(db, item, "captures")) as scene:
        _, thing = scene.make_thing("h")
        who, neighbor = make_login(db, "reader"), make_login(db, "neighbor")
        readers = [
            StreamReader(stream_url(base.url, "captures", thing), who.bearer)
            for base in (item, item, other, other)
        ]
        assert count_refused(readers, "live.account_full", 429) == 0
        more = [StreamReader(stream_url(base.url, "captures", thing), who.bearer) for base in (item, other)]
        assert count_refused(more, "live.account_full", 429) == 2
        assert (
            count_refused([StreamReader(stream_url(item.url, "captures", thing), neighbor.bearer)], "", 0)
            == 0
        )
        other.process.kill()
        other.process.wait(10)
        time.sleep(16)  # streams of a killed server are no longer counted
        again = StreamReader(stream_url(item.url, "captures", thing), who.bearer)
        assert count_refused([again], "", 0) == 0


def test_a_server_has_so_many_streams_and_gives_their_places_back(db, config):
    with server(CULPRIT_STREAMS_PER_PROCESS="3") as served, closing(Scene(db, served, "incidents")) as scene:
        _, thing = scene.make_thing("h")
        people = [make_login(db, f"reader-{number}") for number in range(5)]
        url = stream_url(served.url, "incidents", thing)
        for attempt in range(3):
            readers = [StreamReader(url, who.bearer) for who in people]
            assert count_refused(readers, "live.server_full", 503) == 2, attempt
            for who in people:
                scene.write(update(ApiToken).where(ApiToken.id == who.token_id).values(revoked_at=utc_now()))
            for reader in readers:
                reader.thread.join(LIMIT_S)
                assert reader.ended_at is not None
            for who in people:
                scene.write(update(ApiToken).where(ApiToken.id == who.token_id).values(revoked_at=None))
        # One read needs no stream.
        for _ in range(5):
            assert (
                scene.http.get(
                    f"/incidents/{thing}/updates?once=true", headers=scene.admin.bearer
                ).status_code
                == 200
            )


def test_without_the_broker_streams_are_limited_by_each_server(db, config, tmp_path):
    away = {"REDIS_URL": f"unix://{tmp_path}/nothing", "CULPRIT_STREAMS_PER_ACCOUNT": "2"}
    with server(**away) as served, closing(Scene(db, served, "captures")) as scene:
        _, thing = scene.make_thing("h")
        who = make_login(db, "reader")
        readers = [StreamReader(stream_url(served.url, "captures", thing), who.bearer) for _ in range(4)]
        assert count_refused(readers, "live.account_full", 429) == 2
        begun = time.monotonic()
        scene.write(update(ApiToken).where(ApiToken.id == who.token_id).values(revoked_at=utc_now()))
        for reader in readers:
            took = reader.wait_ended(begun)
            assert took is not None and took < LIMIT_S


def hold_without_reading(base: str, path: str, headers: dict[str, str]) -> socket.socket:
    """Send a request and never read the answer, with the smallest receive buffer."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    client.connect(("127.0.0.1", urlsplit(base).port or 0))
    lines = [f"GET /api/v1{path} HTTP/1.1", "Host: 127.0.0.1", *(f"{k}: {v}" for k, v in headers.items())]
    client.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
    return client


def count_connections(served: Server) -> int:
    """Return the TCP connections of the server process to its clients."""
    port = f"{urlsplit(served.url).port:04X}"
    with Path("/proc/net/tcp").open(encoding="ascii") as table:
        rows = [line.split() for line in list(table)[1:]]
    return sum(row[1].endswith(f":{port}") and row[3] != "0A" and row[9] != "0" for row in rows)


@pytest.mark.slow
def test_clients_that_never_read_are_cut_and_hold_no_memory(db, config):
    with server() as served, closing(Scene(db, served, "captures")) as scene:
        for number in range(300):
            scene.make_thing(f"long-host-name-{number:04}-{'x' * 40}")
        path = "/captures?limit=200"
        size = len(scene.http.get(path, headers=scene.admin.bearer | {"Accept-Encoding": "identity"}).content)
        assert size > 100_000
        before = served.rss_kb
        clients = [hold_without_reading(served.url, path, scene.admin.bearer) for _ in range(200)]
        time.sleep(5)
        held = served.rss_kb
        assert count_connections(served) >= 100
        time.sleep(45)
        assert count_connections(served) <= 2
        for client in clients:
            client.close()
        print({"answer": size, "rss": (before, held, served.rss_kb)})


def test_a_stream_that_is_not_read_ends_as_the_others_do(db, config):
    with server() as served, closing(Scene(db, served, "captures")) as scene:
        _, thing = scene.make_thing("h")
        who = make_login(db, "reader")
        client = hold_without_reading(served.url, f"/captures/{thing}/progress", who.bearer)
        time.sleep(2)
        assert count_connections(served) >= 1
        scene.write(update(ApiToken).where(ApiToken.id == who.token_id).values(revoked_at=utc_now()))
        time.sleep(LIMIT_S)
        client.settimeout(5)
        left = b""
        while piece := client.recv(4096):
            left += piece
            if left.endswith(b"0\r\n\r\n"):
                break
        assert left.endswith(b"0\r\n\r\n"), "the stream is at its end"
        client.close()
