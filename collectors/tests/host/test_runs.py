"""A program runs on every supported host, with the tools that are available."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from collectors.contract import Needs, Sampled, Script
from collectors.plans import PLANS
from collectors.registry import COLLECTORS
from collectors.runner import program, records
from collectors.tests.host.harness import SHELLS, Live, Room, sampled, script

pytestmark = pytest.mark.long(140)

JOBS = [
    script("counts", 'echo "$SECS $BYTES"; seq 1000 > numbers', version="echo counts 1.0"),
    script("turn1", "sleep 0.3; echo one", exclusive=True),
    script("turn2", "sleep 0.3; echo two", exclusive=True),
    sampled("stat", "/proc/stat", "/proc/none", "/proc/pressure/*"),
    sampled("facts", "/proc/version", "/sys/class/net/*/speed", once=True),
    script("absent", "true", needs=Needs(tools=("no-such-tool",))),
]


def check(live: Live, *, mode: str = "disk") -> None:
    """Asserts that JOBS went well."""
    assert live.end() == 0, live.lines
    assert live.reader.close() is None
    assert all(frame.intact for frame in live.frames)
    hello = live.lines_of("hello")
    assert hello["mode"] == mode
    outcomes, parts = live.outcomes(), live.parts()
    states = {name: result.state for name, result in outcomes.items()}
    assert states == dict.fromkeys(states, "done") | {"absent": "skipped"}, outcomes
    assert len(states) == 6
    assert outcomes["absent"].reason.key == "reason.tool_missing"
    assert outcomes["absent"].reason.params == {"tool": "no-such-tool"}
    assert parts["counts", "stdout"].split()[0] == b"1"
    assert parts["counts", "numbers"].split()[-1] == b"1000"
    assert outcomes["counts"].version == "counts 1.0"
    assert outcomes["turn2"].started_ns >= outcomes["turn1"].ended_ns
    lines = parts["stat", "samples"].split(b"\n")
    heads = [line.split() for line in lines if line.startswith(b"@ ")]
    stat = [(int(head[1]), int(head[2])) for head in heads if head[3] == b"/proc/stat"]
    assert [tick for tick, _ in stat] == list(range(len(stat)))
    assert len(stat) >= 3
    assert stat == sorted(stat, key=lambda pair: pair[1])
    assert not any(head[3] == b"/proc/none" for head in heads)
    assert parts["facts", "samples"].count(b" /proc/version\n") == 2
    readings = [records.parse_reading(frame) for frame in live.of("clock")]
    assert [reading.at for reading in readings][:1] == ["start"]
    assert all(reading.boot0_ns < reading.boot1_ns for reading in readings)
    assert live.lines_of("end")["state"] == "done"
    assert any(line.startswith("alive ") for line in live.lines)


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell(room: Room, shell: str) -> None:
    live = Live(JOBS, room.limits(), shell=SHELLS[shell])
    check(live)
    assert live.lines_of("hello")["session"] == "setsid"
    live.gone(room, 2)


MISSING = {
    "setsid": ({"setsid", "busybox"}, "session", "timeout"),
    "setsid+timeout": ({"setsid", "timeout", "busybox"}, "session", "none"),
    "setsid, busybox has it": ({"setsid"}, "session", "setsid"),
    "flock": ({"flock", "busybox"}, "lease", "mkdir"),
    "nice": ({"nice", "busybox"}, "nice", "ionice -c 3"),
    "ionice": ({"ionice", "busybox"}, "nice", "nice -n 19"),
    "nice+ionice": ({"nice", "ionice", "busybox"}, "nice", ""),
    "timeout": ({"timeout", "busybox"}, "session", "setsid"),
    "zstd": ({"zstd"}, "pack", "gzip"),
    "zstd+gzip": ({"zstd", "gzip", "busybox"}, "pack", "identity"),
    "sha256sum": ({"sha256sum", "busybox"}, "sum", "openssl dgst -sha256 -r"),
    "sha256sum+openssl": ({"sha256sum", "openssl", "busybox"}, "sum", "cksum"),
    "coreutils: busybox only": (
        {"date", "df", "du", "gzip", "sha256sum", "sleep", "setsid", "flock", "nice", "ionice", "timeout",
         "openssl",
         "tail", "wc", "readlink", "rm", "mkdir", "zstd", "find", "grep", "tr", "cat", "head", "getconf"},
        "session", "busybox",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MISSING)
def test_missing_tools(tmp_path: Path, case: str) -> None:
    """Under every shell, side by side."""
    without, key, value = MISSING[case]
    plain = "busybox only" in case
    lives = []
    for shell in SHELLS:
        (tmp_path / shell).mkdir()
        room = Room(tmp_path / shell)
        limits = room.limits(path=room.tools(*without))
        lives.append((room, Live(JOBS_PLAIN if plain else JOBS, limits, shell=SHELLS[shell])))
    for room, live in lives:
        if plain:
            assert live.end() == 0, live.lines
            assert {result.state for result in live.outcomes().values()} == {"done"}
            assert live.lines_of("hello")["sum"] == "busybox sha256sum"
            assert live.lines_of("hello")["clock"] in ("adjtimex", "bash")
        else:
            check(live)
            assert live.lines_of("hello")[key] == value
        live.gone(room, 2)


JOBS_PLAIN = [sampled("stat", "/proc/stat"), script("words", "echo words")]


@pytest.mark.parametrize("awk", ["mawk", "gawk", "busybox"])
def test_every_awk(room: Room, awk: str) -> None:
    if awk == "gawk" and not Path("/usr/bin/gawk").exists():
        pytest.skip("gawk is not installed")
    live = Live(JOBS, room.limits(path=room.tools(awk=awk)))
    check(live)


@pytest.mark.parametrize("login", ["/bin/bash", "/usr/bin/tcsh", "/usr/bin/fish", "/usr/bin/ksh93"])
def test_every_login_shell(room: Room, login: str) -> None:
    if not Path(login).exists():
        pytest.skip(f"{login} is not installed")
    live = Live(JOBS_PLAIN, room.limits(), login=[login, "-c"])
    assert live.end() == 0, live.lines
    assert set(live.outcomes()) == {"stat", "words"}


@pytest.mark.parametrize(
    "tools",
    [["base64"], ["busybox"], ["openssl"], ["awk"], []],
    ids=["base64", "busybox", "openssl", "awk", "none"],
)
@pytest.mark.parametrize("awk", ["mawk", "busybox"])
def test_every_decoder(room: Room, tools: list[str], awk: str, tmp_path: Path) -> None:
    path = tmp_path / "login"
    path.mkdir()
    for tool in tools:
        if tool == "awk":
            (path / "awk").symlink_to(f"/usr/bin/{awk}")
        else:
            (path / tool).symlink_to(f"/usr/bin/{tool}")
    live = Live(
        JOBS_PLAIN, room.limits(path=room.tools()), login=["/usr/bin/env", f"PATH={path}", "/bin/sh", "-c"]
    )
    if not tools:
        assert live.end() == 69
        assert live.lines_of("refused") == {"reason": "reason.no_decoder"}
        return
    assert live.end() == 0, live.lines
    assert set(live.outcomes()) == {"stat", "words"}


def test_first_frame_needs_no_fork(room: Room) -> None:
    """With a limit of no further process, the first instant of the host still arrives."""
    command = program.build_command(program.build_program(JOBS_PLAIN, room.limits()))
    done = subprocess.run(
        ["setpriv", "--reuid=12345", "--clear-groups", "prlimit", "--nproc=1", "/bin/dash", "-c", command],
        stdin=subprocess.DEVNULL, capture_output=True, timeout=30, check=False,
    )  # fmt: skip
    assert done.stdout.startswith(b"CULPRIT1 kind=snapshot ")
    assert b"/proc/loadavg\n" in done.stdout and b"MemAvailable:" in done.stdout


def test_all_collectors_fit_into_a_single_argument(room: Room) -> None:
    """The kernel takes 128 KiB. What runs without being named leaves room for more collectors."""
    for collectors, most in (
        (COLLECTORS.keys(), 128),
        ({item.id for item in PLANS["triage"].collectors}, 80),
    ):
        jobs = [program.CollectorJob.of(COLLECTORS[name], 30) for name in collectors]
        command = program.build_command(program.build_program(jobs, room.limits()), sudo="password")
        assert len(command) < most * 1024
        assert "password" not in command.replace("sudo -S", "")


def test_next_method_runs_when_the_first_cannot(room: Room) -> None:
    methods = (
        Script("first", Needs(), "echo no >&2; exit 69", "first"),
        Script("second", Needs(root=True, files=("/no/such/file",)), "true", "second"),
        Sampled("third", Needs(), ("/proc/loadavg",), 0.5),
    )
    never = (methods[0], methods[1])
    live = Live(
        [program.CollectorJob("falls", methods, 1), program.CollectorJob("never", never, 1)], room.limits()
    )
    assert live.end() == 0
    outcomes = live.outcomes()
    assert outcomes["falls"].state == "done" and outcomes["falls"].method == "third"
    assert live.parts()["falls", "samples"].startswith(b"@ 0 ")
    assert outcomes["never"].state == "skipped"
    assert outcomes["never"].reason.key == "reason.unavailable_because"
    assert outcomes["never"].reason.params == {"why": "no"}
    assert [(method, why.key) for method, why in outcomes["never"].tried] == [
        ("first", "reason.unavailable"),
        ("second", "reason.file_missing"),
    ]
    assert outcomes["never"].stderr_tail.strip() == "no"


def test_failure_reports_stderr(room: Room) -> None:
    live = Live(
        [script("broken", "echo half; echo 'it broke' >&2; exit 3"), script("syntax", "if then fi ((")],
        room.limits(),
    )
    assert live.end() == 0
    outcomes = live.outcomes()
    assert outcomes["broken"].state == "failed" and outcomes["broken"].exit_code == 3
    assert outcomes["broken"].reason.params == {"code": 3}
    assert "broke" in outcomes["broken"].stderr_tail
    assert live.parts()["broken", "stdout"] == b"half\n"
    assert outcomes["syntax"].state == "failed"


def test_what_really_ran_is_reported(room: Room) -> None:
    live = Live(
        [script("says", 'echo "perf record -e cpu-clock" > "$ARGV"; perl -e "" 2>/dev/null; echo x')],
        room.limits(),
    )
    live.end()
    assert live.outcomes()["says"].argv == "perf record -e cpu-clock"


def test_hostile_names_of_files(room: Room) -> None:
    sh = "echo a > 'b c'; echo a > ok.txt; echo a > '$(id)'; ln -s /etc/shadow link; mkdir sub; echo a > .hid"
    live = Live([script("names", sh)], room.limits())
    live.end()
    assert {part for _, part in live.parts()} <= {"ok.txt"}
    assert ("names", "ok.txt") in live.parts()


def test_sampler_survives_files_that_cannot_be_read(room: Room, tmp_path: Path) -> None:
    """A file may open and not read (EINVAL): mawk dies of it, the samples must not."""
    bad = "/sys/class/net/lo/speed"
    live = Live(
        [sampled("net", bad, "/proc/net/dev"), sampled("mem", "/proc/self/mem", "/proc/meminfo")],
        room.limits(),
    )
    assert live.end() == 0
    assert {result.state for result in live.outcomes().values()} == {"done"}
    assert live.parts()["mem", "samples"].count(b"/proc/meminfo\n") >= 2


def test_lines_that_look_like_heads(room: Room, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    trap.write_text("@ 7 7 /proc/evil\nplain\n")
    live = Live([sampled("trap", str(trap))], room.limits())
    live.end()
    assert b"\n@@ 7 7 /proc/evil\nplain\n" in live.parts()["trap", "samples"]
