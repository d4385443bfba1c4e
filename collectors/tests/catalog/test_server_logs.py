"""What the program for the host reads from lines of logs, with every awk that hosts have."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from collectors.catalog.application import server_logs

AWKS = [name for name in ("mawk", "gawk", "busybox") if shutil.which(name)]
#: Lines as the programs write them, and which limit they report.
MESSAGES = {
    "connections_full": [
        "2026/11/28 09:00:00 [alert] 7#7: 64 worker_connections are not enough",
        "1:M 28 Nov 2026 09:00:00.000 # Error registering fd event: max number of clients reached",
        "WARNING C-0x5580: (nodb)/(nouser)@10.0.0.9:40000 pooler error: no more connections allowed (max_client_conn)",
        "Nov 28 09:00:00 files sshd[612]: error: beginning MaxStartups throttling",
    ],
    "requests_limited": [
        '2026/11/28 09:00:00 [error] 7#7: *9 limiting requests, excess: 5.120 by zone "pages", client: 10.0.0.9',
        "requests.exceptions.HTTPError: Too Many Requests for url: https://api.example/v1/rates",
    ],
    "workers_full": [
        "WARNING: [pool www] server reached pm.max_children setting (5), consider raising it",
        '*** uWSGI listen queue of socket "127.0.0.1:9000" (fd: 3) full !!! (101/100) ***',
        'warning: service "smtp" (25) has reached its process limit "10": new clients may experience delays',
        "java.util.concurrent.RejectedExecutionException: Task rejected from pool [Running, pool size = 8]",
    ],
    "database_full": [
        "FATAL:  sorry, too many clients already",
        'FATAL:  too many connections for role "shop"',
        "(1040, 'Too many connections')",
    ],
    "pool_full": [
        "sqlalchemy.exc.TimeoutError: QueuePool limit of size 5 overflow 10 reached, connection timed out, timeout 30.00",
        "HikariPool-1 - Connection is not available, request timed out after 30001ms.",
        "psycopg_pool.PoolTimeout: couldn't get a connection after 30.00 sec",
        "redis: connection pool timeout",
        "Error: timeout exceeded when trying to connect",
        "FATAL: query_wait_timeout",
    ],
    "locks_wait": [
        "ERROR:  canceling statement due to lock timeout",
        "(1205, 'Lock wait timeout exceeded; try restarting transaction')",
        "LOG:  process 77 still waiting for ShareLock on transaction 770 after 1000.1 ms",
        "sqlite3.OperationalError: database is locked",
    ],
    "cache_full": ["-OOM command not allowed when used memory > 'maxmemory'."],
    "heap_full": ["java.lang.OutOfMemoryError: Java heap space"],
    "read_only": ["OSError: [Errno 30] Read-only file system: '/srv/data/1'"],
    "certificate_expired": [
        "x509: certificate has expired or is not yet valid: current time 2026-11-28 is after 2026-11-27",
        "Error: certificate has expired { code: 'CERT_HAS_EXPIRED' }",
    ],
    "names_fail": [
        "socket.gaierror: [Errno -3] Temporary failure in name resolution",
        "Error: getaddrinfo EAI_AGAIN db.internal",
        "dial tcp: lookup db.internal: server misbehaving",
    ],
    "names_unknown": [
        "dial tcp: lookup db.internal: no such host",
        "Error: getaddrinfo ENOTFOUND db.internal",
        "java.net.UnknownHostException: db.internal: Name or service not known",
    ],
    "clients_limited": [
        '2026/11/28 09:00:00 [error] 7#7: *9 limiting connections by zone "each", client: 10.0.0.9',
    ],
    "peer_refuses": [
        "connect() failed (111: Connection refused) while connecting to upstream",
        "Error: connect EHOSTUNREACH 192.168.77.9:8088",
        "dial tcp 192.168.77.9:8088: connect: network is unreachable",
        "OSError: [Errno 113] No route to host",
    ],
    "files_full": ["accept4() failed (24: Too many open files)"],
    "space_full": [
        "could not write to file: No space left on device",
        "write /srv/a.db: disk quota exceeded",
        "OSError: [Errno 27] File too large",
    ],
    "processes_full": ["can't start new thread"],
    "programs_die": [
        "[2026-12-01 09:00:00 +0000] [7] [WARNING] Worker with pid 812 was terminated due to signal 6",
        "[2026-12-01 09:00:00 +0000] [7] [ERROR] Worker (pid:812) was sent SIGSEGV!",
        "[2026-12-01 09:00:00 +0000] [7] [ERROR] Worker (pid:812) exited with code 3",
        "[pool www] child 812 exited on signal 6 (SIGABRT) after 3.2 seconds from start",
        "AH00052: child pid 812 exit signal Aborted (6)",
        "2026/12/01 09:00:00 [alert] 7#7: worker process 812 exited on signal 6",
        "DAMN ! worker 1 (pid: 812) died, killed by signal 6 :( trying respawn ...",
        "LOG:  server process (PID 812) was terminated by signal 11: Segmentation fault",
        "imap: Fatal: master: service(imap): child 812 killed with signal 6 (core dumped)",
        "INFO exited: web (exit status 1; not expected)",
        "INFO exited: web (terminated by SIGSEGV; not expected)",
        "shop.service: Main process exited, code=exited, status=1/FAILURE",
        "shop.service: Main process exited, code=killed, status=9/KILL",
    ],
}
#: Lines about programs that end as they are meant to, or that do not end.
ENDS = (
    "[2026-12-01 09:00:00 +0000] [7] [INFO] Worker exiting (pid: 812)",
    "[2026-12-01 09:00:00 +0000] [7] [WARNING] Worker with pid 812 was terminated due to signal 15",
    "[2026-12-01 09:00:00 +0000] [7] [ERROR] Worker (pid:812) was sent SIGTERM!",
    "[pool www] child 812 exited with code 0 after 60.1 seconds from start",
    "[pool www] child 812 exited on signal 15 (SIGTERM) after 60.1 seconds from start",
    "INFO exited: import (exit status 0; expected)",
    "shop.service: Main process exited, code=killed, status=15/TERM",
    "worker 3 sent 812 bytes, status 404",
    "child process started, pid 812, status pending",
)
#: Lines about answers, and their status.
ANSWERS = {
    '10.0.0.9 - - [28/Nov/2026:09:00:00 +0000] "GET /a HTTP/1.1" 502 157 "-" "curl/7.88.1"': 502,
    '127.0.0.1:33966 [28/Nov/2026:08:33:13.840] f b/s 0/0/-1/-1/+3048 503 217 - - SC-- 1/1/0/0/3 0/0 "GET /y HTTP/1.1"': 503,
    "[pid: 7|app: 0|req: 1/1] 10.0.0.9 () {} [Sat] GET /a => generated 9 bytes in 5 msecs (HTTP/1.1 500) 2 headers": 500,
    '{"level":"info","method":"GET","http.response.status_code": 504}': 504,
    "::1 GET /orders/7 500 12.3 ms - 9": 500,
    '10.0.0.9 - - [28/Nov/2026:09:00:00 +0000] "GET /?q=Too+many+open+files HTTP/1.1" 200 157 "-" "-"': 200,
}


def read_lines(awk: str, lines: list[str]) -> list[dict[str, str]]:
    """Return the rows that the program prints about these lines."""
    command = [awk, *(["awk"] if awk == "busybox" else [])]
    program = [*command, "-v", "who=pid=7", "-v", "whose=pid=7", "-v", "head=log", server_logs.AWK]
    text = "\n".join(lines) + "\n"
    done = subprocess.run(program, input=text, capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return [{"row": row[0], **dict(cell.split("=", 1) for cell in row[1:])} for row in rows]


@pytest.mark.parametrize("awk", AWKS)
@pytest.mark.parametrize("kind", MESSAGES)
def test_each_message_has_its_kind(awk: str, kind: str) -> None:
    for line in MESSAGES[kind]:
        kinds = [(row["kind"], row["count"]) for row in read_lines(awk, [line]) if row["row"] == "message"]
        assert kinds == [(kind, "1")], line


@pytest.mark.parametrize("awk", AWKS)
def test_a_program_that_ends_as_it_is_meant_to_does_not_die(awk: str) -> None:
    assert [row["row"] for row in read_lines(awk, [*ENDS])] == ["log"]


@pytest.mark.parametrize("awk", AWKS)
def test_answers_are_counted_by_their_status(awk: str) -> None:
    for line, status in ANSWERS.items():
        (row,) = [row for row in read_lines(awk, [line]) if row["row"] == "answers"]
        failed = status >= 500
        assert (row["requests"], row["failed"]) == ("1", str(int(failed))), line
        assert row["worst"] == str(status if failed else 0), line


@pytest.mark.parametrize("awk", AWKS)
def test_the_clients_with_most_failures_are_counted(awk: str) -> None:
    line = '{} - - [28/Nov/2026:09:00:00 +0000] "GET /a HTTP/1.1" {} 157 "-" "-"'
    seen = [("10.0.0.9", 503)] * 3 + [("10.0.0.9", 200), ("::1", 500), ("10.0.0.7", 200), ("10.0.0.7", 200)]
    (row,) = [
        row for row in read_lines(awk, [line.format(*pair) for pair in seen]) if row["row"] == "answers"
    ]
    assert (row["clients"], row["client_failed"], row["client_requests"], row["few"]) == ("3", "4", "5", "2")
    many = [line.format(f"10.0.0.{n}", 503) for n in range(1, 9)] + [line.format("10.0.0.4", 503)]
    (row,) = [row for row in read_lines(awk, many) if row["row"] == "answers"]
    assert (row["clients"], row["client_failed"], row["few"]) == ("8", "6", "5")
    (row,) = [
        row for row in read_lines(awk, ["::1 GET /orders/7 200 12.3 ms - 9"]) if row["row"] == "answers"
    ]
    assert (row["clients"], row["client_failed"], row["client_requests"]) == ("1", "0", "0")


@pytest.mark.parametrize("awk", AWKS)
@pytest.mark.parametrize("first", ["1764539000.123", "12:34:56", "12:34:56.789", "abc", "7.5"])
def test_a_line_that_begins_with_a_time_has_no_client(awk: str, first: str) -> None:
    lines = [f"{first} GET /orders/7 503 12.3 ms - 9"] * 3
    (row,) = [row for row in read_lines(awk, lines) if row["row"] == "answers"]
    assert (row["failed"], row["clients"], row["client_failed"]) == ("3", "0", "0")


@pytest.mark.parametrize("awk", AWKS)
def test_lines_without_a_limit_report_none(awk: str) -> None:
    lines = ["GET / took 12 ms", "listening on 0.0.0.0:8080", "x" * 5000, "", "status 500 of 700 rows"]
    assert [row["row"] for row in read_lines(awk, [*lines, *ANSWERS])] == ["log", "answers"]
