"""Services that others need, with one thing wrong: the log host, the passwords of a mail server, a signed zone."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.daemons.dovecot import Dovecot
from lab.real.services.daemons.rsyslog import SOCKET, Rsyslog
from lab.real.services.daemons.signed_names import SignedNames
from lab.real.services.gunicorn import Gunicorn
from lab.real.services.nginx import ACCESS_LOG, Nginx, NginxSettings, build_proxy, build_upstream
from lab.real.services.web_neighbours import (
    PROGRAMS,
    ApiServer,
    choose_scope,
    draw_ports,
    start_neighbours,
    start_requests,
)
from lab.scenario import Live, Scenario

MAIL_CLIENTS = str(PROGRAMS / "clients" / "mail_clients.py")


@contextmanager
def _log_host(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: whether the log host, to which rsyslog passes all lines on, takes them."""
    port, app_port = draw_ports(rng, 2)
    neighbours = start_neighbours(environment, rng)
    queue_size = rng.randrange(1000, 3000)
    rsyslog = Rsyslog(
        environment,
        rng.choice((514, 10514)),
        queue_size=queue_size,
        action_words='action.resumeRetryCount="-1"',
    )
    steps, detail = rng.randrange(2, 5), rng.randrange(200, 700)
    app = Gunicorn(
        environment, app_port, "claims_app.py", address="127.0.0.1", workers=2, threads=rng.choice((16, 24)),
        variables={"LOG_SOCKET": SOCKET, "STEPS": str(steps), "DETAIL": str(detail)},
    )  # fmt: skip
    web = NginxSettings(
        http_lines=build_upstream("claims", (f"127.0.0.1:{app.port}",)),
        server_lines=build_proxy("/", "claims"),
    )
    nginx = Nginx(environment, port, web)
    rate = rng.uniform(70, 110)
    kinds = ["/claims/{n}", "/lists/{n}", "/rates/{n}"]
    paths = kinds + [rng.choice(kinds) for _ in range(rng.randrange(1, 4))]
    load = start_requests(environment, rng, nginx.address, rate, *paths, options=("--timeout-s", 4))
    wait_for(lambda: load.stats()["ok"] > 50, "answers to clients")
    time.sleep(2.0)
    healthy = load.baseline(4.0)
    state = rng.choice(("ended", "stopped"))
    if state == "ended":
        environment.stop(rsyslog.central)
    else:
        os.kill(rsyslog.central.pid, signal.SIGSTOP)
    time.sleep(queue_size / (rate * steps) + (4.0 if state == "ended" else 20.0))
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, rng.choice((app.pid, rsyslog.pid))),
        {
            "port": port, "healthy": healthy, "rate": rate, "paths": paths, "queue_size": queue_size, "steps": steps,
            "state": state, "neighbours": neighbours,
        },
        load.stats,
        ACCESS_LOG,
    )  # fmt: skip


@contextmanager
def _stored_passwords(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how the passwords of the mailboxes are stored."""
    port = rng.choice((143, 1143, 10143))
    neighbours = start_neighbours(environment, rng)
    people, rounds, before = rng.randrange(20, 40), rng.choice((9, 10)), rng.choice((4, 5))
    dovecot = Dovecot(environment, rng, port, people)
    check_s = dovecot.measure_check_s(rounds)
    dovecot.write_passwords(before)
    dovecot.start()
    rate = rng.uniform(0.6, 0.75) / check_s
    waiting = rng.randrange(10, 40)
    load = environment.load(
        "--to", dovecot.address, "--people", people, "--rate", rate, "--waiting", waiting, "--timeout-s", 5,
        "--seed", rng.randrange(10_000), program=MAIL_CLIENTS,
    )  # fmt: skip
    wait_for(lambda: load.stats()["ok"] > 20, "answers to clients")
    time.sleep(3.0)
    healthy = load.baseline(8.0)
    dovecot.write_passwords(rounds)
    time.sleep(5.0)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, dovecot.pid),
        {
            "port": port, "healthy": healthy, "rate": rate, "people": people, "waiting": waiting,
            "rounds": [before, rounds], "check_ms": check_s * 1000, "neighbours": neighbours,
        },
        load.stats,
    )  # fmt: skip


@contextmanager
def _signatures_of_a_zone(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the signatures of one zone, which the resolver of the host checks."""
    port, app_port, rates_port, maps_port = draw_ports(rng, 4)
    neighbours = start_neighbours(environment, rng)
    signed = rng.choice(("corp.example", "svc.example.net", "int.example.org"))
    other = rng.choice(("partners.example.com", "maps.example.com"))
    rates, maps, address = (
        rng.choice(("rates", "tariffs")),
        rng.choice(("tiles", "geo")),
        environment.client_address,
    )
    names = SignedNames(
        environment, signed, {signed: {rates: address, "wiki": address}, other: {maps: address}},
        ttl_s=rng.choice((5, 10, 15)), log_level=rng.choice((0, 1, 2)),
    )  # fmt: skip
    for number in (rates_port, maps_port):
        ApiServer(
            environment, address, number, client_side=True, delay_ms=rng.uniform(3, 15), work_us=150,
            answer_bytes=rng.choice((700, 3000)),
        )  # fmt: skip
    app = Gunicorn(
        environment, app_port, "fares_app.py", address="127.0.0.1", workers=2, threads=rng.choice((16, 24)),
        variables={
            "RATES_URL": f"http://{rates}.{signed}:{rates_port}", "MAPS_URL": f"http://{maps}.{other}:{maps_port}"
        },
    )  # fmt: skip
    web = NginxSettings(
        http_lines=build_upstream("fares", (f"127.0.0.1:{app.port}",)), server_lines=build_proxy("/", "fares")
    )
    nginx = Nginx(environment, port, web)
    rate = rng.uniform(60, 100)
    paths = (
        ["/fares/{n}"] * rng.randrange(1, 3) + ["/maps/{n}"] * 2 + ["/timetables/{n}"] * rng.randrange(2, 4)
    )
    load = start_requests(environment, rng, nginx.address, rate, *paths, options=("--timeout-s", 5))
    wait_for(lambda: load.stats()["ok"] > 50, "answers to clients")
    time.sleep(2.0)
    healthy = load.baseline(4.0)
    state = rng.choice(("expired", "other keys"))
    if state == "expired":
        # unbound accepts signatures for up to a day after their end (val-sig-skew-max, unbound.conf(5)).
        names.sign_zone(names.keys, -31 * 86_400, -rng.uniform(26, 70) * 3600, 2)
    else:
        names.sign_zone(names.create_keys("keys-2027"), -3600, 30 * 86_400, 2)
    names.reload_zones()
    time.sleep(names.ttl_s + 5.0)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, rng.choice((app.pid, names.pid))),
        {
            "port": port, "healthy": healthy, "rate": rate, "paths": paths, "zone": signed, "ttl_s": names.ttl_s,
            "state": state, "neighbours": neighbours,
        },
        load.stats,
        ACCESS_LOG,
    )  # fmt: skip


SCENARIOS = (
    Scenario(
        "claims-log", "development", "log-host", ("log-receiver-blocked",),
        "The log host takes no lines; rsyslog waits for it, and the service waits for rsyslog.", _log_host,
        needs=("rsyslogd", "nginx", "gunicorn"), seconds=10.0, software=("rsyslog", "gunicorn"),
    ),
    Scenario(
        "mailbox-logins", "development", "stored-passwords", ("cpu-hot-function", "blocked-event-loop"),
        "Passwords of Dovecot are stored with more rounds; its one process for logins computes all the time.",
        _stored_passwords, needs=("dovecot", "doveadm"), seconds=10.0, software=("dovecot",), global_effect=("cpu",),
    ),
    Scenario(
        "train-fares", "development", "signed-zone", ("failing-name-resolution",),
        "unbound accepts no answer of a zone whose signatures are not good; one of two services cannot be resolved.",
        _signatures_of_a_zone, needs=("unbound", "named", "dnssec-signzone", "nginx", "gunicorn"), seconds=10.0,
        software=("unbound", "bind9", "gunicorn"),
    ),
)  # fmt: skip
