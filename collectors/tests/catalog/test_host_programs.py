"""What our programs on the host let through: synthetic logs and calls, under every awk that is here."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from collectors.catalog.application import app_log, app_metrics, strace
from collectors.catalog.platform import clock_sync
from collectors.contract import Collector, Parsed, Script
from collectors.registry import COLLECTORS
from collectors.runner.program import resolve_options
from collectors.shell import log_files
from collectors.tests.record_fixtures import run_script
from collectors.tests.support import BytesPart, context

AWKS = [item for item in ("mawk", "gawk", "busybox awk") if shutil.which(item.split()[0])]
EVERY_AWK = pytest.mark.parametrize("awk", AWKS)

CALLS = r"""
7 100.000000 sendto(3<TCP:[10.0.0.1:5->10.0.0.2:6379]>, "GET secret\n) = 5 <0.1>\"x", 20, 0, NULL, 0 <unfinished ...>
8 100.000100 read(4</tmp/a, b>,  <unfinished ...>
7 100.000200 <... sendto resumed>) = 20 <0.000200>
8 100.000300 <... read resumed>"hunter2"..., 8192) = 4096 <0.000200>
7 100.001000 write(5</var/log/x = y.log>, "GET secret\n) = 5 <0.1>\"x", 20) = 20 <0.000010>
7 100.002000 openat(AT_FDCWD</>, "/etc/app.conf", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory) <0.000010>
7 100.003000 execve("/bin/sh", ["sh", "-c", "echo hunter2"], 0x7ffd /* 3 vars */) = 0 <0.001>
7 100.004000 setsockopt(3<TCP:[10.0.0.1:5->10.0.0.2:6379]>, SOL_TCP, TCP_ULP, "hunter2", 7) = 0 <0.000010>
7 100.005000 prctl(PR_SET_NAME, "hunter2") = 0 <0.000001>
7 100.006000 poll([{fd=3<TCP:[1->2]>, events=POLLIN}], 1, 100) = 1 ([{fd=3, revents=POLLIN}]) <0.050000>
8 100.010000 futex(0x7f00, FUTEX_WAIT_PRIVATE, 2, NULL <unfinished ...>
7 100.040000 futex(0x7f00, FUTEX_WAKE_PRIVATE, 1) = 1 <0.000005>
8 100.040100 <... futex resumed>) = 0 <0.030100>
8 100.050000 write(6<UNIX-STREAM:[1->2,@"hunter2"]>, "hunter2", 7) = 7 <0.000010>
8 100.060000 write(6<pipe:[9]>, "half a line hunter2
9 x --- SIGCHLD {si_signo=SIGCHLD} ---
"""


def redacted(awk: str, text: str) -> str:
    """What the awk of the strace script prints for these lines of strace."""
    done = subprocess.run([*awk.split(), strace._AWK], input=text, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


@EVERY_AWK
def test_no_byte_of_a_payload_leaves(awk: str) -> None:
    out = redacted(awk, CALLS)
    assert "hunter2" not in out and "secret" not in out
    assert "path=/etc/app.conf" in out and "err=ENOENT" in out and "path=/bin/sh" in out


@EVERY_AWK
def test_halves_of_a_call_are_joined(awk: str) -> None:
    """A call is dated by its beginning, and equal bytes on two descriptors are seen to be equal."""
    parsed = strace.COLLECTOR.parse({"stdout": BytesPart(redacted(awk, CALLS).encode())}, context())
    tables = {table.kind: table for table in parsed.tables}
    rows = {(row[0], row[2], row[3]): row for row in tables["strace_calls"].rows}
    assert rows[7, "sendto", "3"][4:8] == ("tcp", "TCP:[10.0.0.1:5->10.0.0.2:6379]", 1, 0)
    assert rows[8, "read", "4"][5] == "/tmp/a, b"
    assert rows[8, "read", "4"][-1] == 4096
    assert rows[7, "openat", ""][7:9] == (1, "ENOENT")
    [repeat] = tables["strace_repeats"].rows
    assert repeat[0] == "3" and repeat[2] == "5" and repeat[4:7] == (1, 1, 100.0)
    [lock] = tables["strace_futex"].rows
    assert (lock[0], lock[2], lock[6]) == (8, "0x7f00", 7)
    assert [row[3] for row in tables["strace_waits"].rows[:2]] == ["poll", "futex"]


def test_a_process_that_calls_too_often_is_left_alone(tmp_path: Path) -> None:
    """The gate is on the host, before strace; the number is reported."""
    with subprocess.Popen(["sh", "-c", "while :; do read x < /etc/hostname; done"]) as busy:
        try:
            left = run_script(
                strace.COLLECTOR,
                script(strace.COLLECTOR),
                1,
                env={"TARGET_KIND": "process", "TARGET_PID": str(busy.pid)},
            )
        finally:
            busy.kill()
    assert left.exit_code == 0 and b"call\t" not in left.parts["stdout"]
    parsed = read(strace.COLLECTOR, left.parts["stdout"])
    assert [warning.key for warning in parsed.warnings] == ["warning.strace_rate"]
    assert int(parsed.warnings[0].params["per_s"]) > 1000


def test_strace_refuses_host_and_cgroup_scope() -> None:
    for kind in ("host", "cgroup"):
        left = run_script(
            strace.COLLECTOR, script(strace.COLLECTOR), 1, env={"TARGET_KIND": kind, "TARGET_PID": "1"}
        )
        assert (left.exit_code, left.parts) == (69, {})


@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
def test_a_traced_process_goes_on_as_if_nothing_had_been() -> None:
    program = "while :; do read x < /etc/hostname; sleep 0.05; done"
    with subprocess.Popen(["sh", "-c", program]) as watched:
        try:
            env = {"TARGET_KIND": "process", "TARGET_PID": str(watched.pid)}
            left = run_script(strace.COLLECTOR, script(strace.COLLECTOR), 1, env=env)
            status = Path(f"/proc/{watched.pid}/status").read_text()
        finally:
            watched.kill()
    if left.exit_code == 69:
        pytest.skip(left.stderr)
    assert re.search(r"^TracerPid:\t0$", status, re.MULTILINE)
    assert not re.search(r"^State:\t[tT]", status, re.MULTILINE)
    calls = next(table for table in read(strace.COLLECTOR, left.parts["stdout"]).tables)
    assert any(row[5] == "/etc/hostname" for row in calls.rows)


@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
def test_a_process_that_the_gate_cannot_see_through_is_let_go_early() -> None:
    """Calls that neither read, write nor block are in no counter: strace leaves after 20 000 lines."""
    program = "import os\nprint(flush=True)\nwhile True: os.getppid()"
    with subprocess.Popen(["python3", "-c", program], stdout=subprocess.PIPE) as busy:
        try:
            assert busy.stdout is not None and busy.stdout.readline()
            env = {"TARGET_KIND": "process", "TARGET_PID": str(busy.pid)}
            left = run_script(strace.COLLECTOR, script(strace.COLLECTOR), 3, env=env)
            status = Path(f"/proc/{busy.pid}/status").read_text()
        finally:
            busy.kill()
    if left.exit_code == 69:
        pytest.skip(left.stderr)
    assert re.search(r"^TracerPid:\t0$", status, re.MULTILINE) and re.search(
        r"^State:\tR", status, re.MULTILINE
    )
    assert left.parts["stdout"].count(b"\ncall\t") <= 20_000
    assert [warning.key for warning in read(strace.COLLECTOR, left.parts["stdout"]).warnings] == [
        "warning.strace_cut"
    ]


def script(collector: Collector) -> Script:
    method = collector.methods[0]
    assert isinstance(method, Script)
    return method


def read(collector: Collector, stdout: bytes) -> Parsed:
    return collector.parse({"stdout": BytesPart(stdout)}, context())


def lines_of(form: str, now: float, count: int = 200) -> str:
    """An access log of half a second's latency each, every tenth request failing, in one of four formats."""
    out = []
    for n in range(count):
        t, code = now - 20 + n / count * 10, 500 if n % 10 == 0 else 200
        clf = time.strftime("%d/%b/%Y:%H:%M:%S +0200", time.gmtime(t + 7200))
        out.append(
            {
                "lab": f"{t:.3f} GET /u/{n}?token=hunter2 {code} 500.0",
                "common": f'::1 - bob [{clf}] "GET /u/{n}?token=hunter2 HTTP/1.1" {code} 12',
                "combined": f'::1 - bob [{clf}] "GET /u/{n}?token=hunter2 HTTP/1.1" {code} 12 "-" "a b" 0.500',
                "json": f'{{"time": {t:.3f}, "method": "GET", "uri": "/u/{n}?token=hunter2", "status": {code}, "request_time": 0.5}}',
            }[form]
        )
    return "\n".join(out) + "\nrubbish\n"


@pytest.mark.parametrize("form", ["lab", "common", "combined", "json"])
@EVERY_AWK
def test_every_format_of_access_log(awk: str, form: str) -> None:
    now = int(time.time())
    done = subprocess.run(
        [*awk.split(), "-v", f"now={now}", "-v", "window=60", "-v", "form=auto", app_metrics._AWK],
        input=lines_of(form, now), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "hunter2" not in done.stdout and "bob" not in done.stdout
    parsed = read(app_metrics.COLLECTOR, done.stdout.encode())
    [table] = parsed.tables
    row = next(row for row in table.rows if row[0] == "GET /u/:id")
    assert (row[1], row[3], row[4]) == (200, 20, 10)
    assert parsed.facts["app_log_odd"] == 1
    if form == "common":
        assert row[6] is None
    else:
        assert 495 <= float(row[6] or 0) <= 505
    assert {series.metric for series in parsed.series} >= {"app.requests_per_s", "app.errors_pct"}


@EVERY_AWK
def test_templates_hold_no_value_and_no_unique_line(awk: str, tmp_path: Path) -> None:
    stamp = time.strftime("%Y-%m-%d %H:%M:%S")
    log = tmp_path / "app.log"
    log.write_text(
        "".join(
            f"{stamp} ERROR connect 10.0.0.{n} 'hunter2' password=hunter{n} user: bob{n} timed out after 1800 ms\n"
            for n in range(5)
        )
        + f"{stamp} ERROR the launch word is swordfish\n"
    )
    program = [*awk.split(), "-v", "idle=0", "-v", "window=60", app_log._AWK, str(log), str(log)]
    out = subprocess.run(program, capture_output=True, text=True, check=True).stdout
    assert not re.search(r"hunter|bob|swordfish|10\.0", out)
    parsed = read(app_log.COLLECTOR, out.encode())
    patterns = {row[0]: row for row in parsed.tables[0].rows}
    assert patterns["timeout"][1] == 5 and patterns["timeout"][5:] == (1800, 5)
    assert patterns["error"][1] == 6


@EVERY_AWK
def test_full_worker_pools_are_detected(awk: str, tmp_path: Path) -> None:
    stamp = time.strftime("%Y-%m-%d %H:%M:%S")
    log = tmp_path / "app.log"
    messages = (
        "WARNING: [pool www] server reached pm.max_children setting (5), consider raising it",
        "[alert] 33#33: 1024 worker_connections are not enough",
        "[mpm_event:error] AH00484: server reached MaxRequestWorkers setting, consider raising it",
        "All threads (200) are currently busy, waiting. Increase maxThreads (200) or check the servlet status",
        "[info] 8 worker processes are ready",
    )
    log.write_text("".join(f"{stamp} {line}\n" for line in messages))
    program = [*awk.split(), "-v", "idle=0", "-v", "window=60", app_log._AWK, str(log), str(log)]
    out = subprocess.run(program, capture_output=True, text=True, check=True).stdout
    patterns = {row[0]: row for row in read(app_log.COLLECTOR, out.encode()).tables[0].rows}
    assert patterns["workers_full"][1] == 4


@pytest.mark.parametrize(
    ("path", "good"),
    [
        ("/var/log/nginx/access.log", True),
        ("/var/log/nginx/access.log.1", True),
        ("/srv/app/current/out/server.out", True),
        ("/home/app/logs/app-2026.txt", True),
        ("/etc/shadow", False),
        ("/etc/app.log", False),
        ("/var/log/../../etc/shadow.log", False),
        ("/var/lib/mysql/users.ibd", False),
        ("/var/log/$(id).log", False),
        ("/var/log/a b.log", False),
        ("var/log/a.log", False),
    ],
)
def test_only_log_paths_are_accepted(path: str, good: bool) -> None:
    assert bool(re.fullmatch(log_files.PATTERN, path)) is good
    if not good:
        with pytest.raises(ValueError, match=r"app_log\.path"):
            resolve_options(COLLECTORS["app_log"], {"path": path})


def test_a_link_that_leads_to_a_secret_is_not_followed(tmp_path: Path) -> None:
    link = tmp_path / "app.log"
    link.symlink_to("/etc/passwd")
    left = run_script(app_log.COLLECTOR, script(app_log.COLLECTOR), 1, env={"OPT_PATH": str(link)})
    assert (left.exit_code, left.parts) == (69, {})


CHRONY = """Reference ID    : A9FEA97B (169.254.169.123)
Stratum         : 4
System time     : 0.002500000 seconds slow of NTP time
Root dispersion : 0.000300000 seconds
Leap status     : Normal
"""
NTPQ = """     remote           refid      st t when poll reach   delay   offset  jitter
==============================================================================
+10.0.0.1        10.0.0.9         3 u   12   64  377    0.200    0.500   0.100
*10.0.0.2        10.0.0.9         2 u   12   64  377    0.200   -1.250   0.040
"""
ADJTIMEX = """         mode: 0
       offset: 1500000
    frequency: 12
     maxerror: 4500
       status: 8193
         tick: 10000
"""


def test_clocks_of_other_hosts(tmp_path: Path) -> None:
    """Synthetic: the tools print what their manuals show."""
    for name, text in {"chronyc": CHRONY, "ntpq": NTPQ, "adjtimex": ADJTIMEX}.items():
        tool = tmp_path / name
        tool.write_text(f"#!/bin/sh\ncat <<'END'\n{text}END\n")
        tool.chmod(0o755)
    env = {"PATH": f"{tmp_path}:/usr/sbin:/usr/bin:/sbin:/bin"}
    left = run_script(clock_sync.COLLECTOR, script(clock_sync.COLLECTOR), 1, env=env)
    parsed = read(clock_sync.COLLECTOR, left.parts["stdout"])
    rows = {row[0]: row for row in parsed.tables[0].rows}
    assert rows["chrony"][1:4] == ("yes", -2.5, 0.3)
    assert rows["ntpd"][1:4] == ("yes", -1.25, 0.04)
    assert rows["kernel"][1:4] == ("yes", 1.5, 4.5)
    assert parsed.facts["clock_judge"] == "chrony" and parsed.facts["clock_offset_ms"] == -2.5


@pytest.mark.parametrize(
    ("local", "host"), [("10.0.0.7:6390", "10.0.0.7"), ("0.0.0.0:6390", "127.0.0.1"), ("[::1]:6390", "::1")]
)
def test_redis_is_queried_at_the_address_of_its_listener(tmp_path: Path, local: str, host: str) -> None:
    line = f'LISTEN 0 511 {local} 0.0.0.0:* users:(("redis-server",pid=7,fd=6))'
    programs = {
        "ss": f"echo '{line}'",
        "redis-cli": f'echo "$@" >> {tmp_path}/words; echo redis_version:7.0.15',
    }
    for name, shell in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{shell}\n")
        (tmp_path / name).chmod(0o755)
    above = itertools.takewhile(lambda folder: folder != Path(tempfile.gettempdir()), tmp_path.parents)
    for folder in (tmp_path, *above):  # the unprivileged user of the client must be able to enter them
        folder.chmod(0o711)
    (tmp_path / "words").touch()
    (tmp_path / "words").chmod(0o666)
    env = {"PATH": f"{tmp_path}:/usr/sbin:/usr/bin:/sbin:/bin"}
    script = COLLECTORS["redis_info"].methods[0]
    assert isinstance(script, Script)
    left = run_script(COLLECTORS["redis_info"], script, 1, env=env)
    assert left.exit_code == 0, left.stderr
    assert b"redis\tport=6390\t" in left.parts["stdout"]
    queries = (tmp_path / "words").read_text().splitlines()
    assert queries and all(words.startswith(f"-h {host} -p 6390 ") for words in queries)
