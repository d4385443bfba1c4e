"""Turns jobs and limits into the program that travels to a host, and into the command that starts it there.

Pure: text in, text out. The parts of the program are the shell files in `host/`; PROTOCOL.md there says what
the program hears and sends. Scripts of collectors are data to it: quoted here, run in a shell of their own.
"""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Literal

from collectors.contract import Collector, Needs, Sampled, Script, Way
from collectors.scope import Scope

Sudo = Literal["none", "nopasswd", "password"]

ARGUMENT_MAX = 128 * 1024  # the kernel's MAX_ARG_STRLEN; the whole command is one argument of the login shell
#: From this many bytes of base64 on a program travels compressed: it fits, but the host must have gzip.
PLAIN_MAX = 96 * 1024
UNPACK = "| { gzip -dc || busybox gzip -dc || zcat; } 2>/dev/null"
WORD = 1000  # some versions of csh take no longer word; a multiple of four, so that each is base64 by itself
END_MARK = "CULPRIT-END"
WHOLE_HOST = Scope()
PARTS = (
    "base.sh",
    "directories.sh",
    "lease.sh",
    "place.sh",
    "guard.sh",
    "jobs.sh",
    "sampled.sh",
    "ship.sh",
    "memory.sh",
    "scope.sh",
    "standby.sh",
    "main.sh",
)
#: Where the directory of the lease may be created, in this order: where only root can create one, the account's own
#: (/run/user stands for /run/user/UID), shared directories last.
LOCK_DIRECTORIES = ("/run", "/run/user", "/var/run", "/run/lock", "/dev", "/var/tmp", "/tmp", "/dev/shm")  # noqa: S108
#: What a run that measures has no use for.
ONLY_STANDBY = frozenset({"standby.sh"})

_ID = re.compile(r"[a-z][a-z0-9_]{0,40}")
_RUN = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TOOL = re.compile(r"[A-Za-z0-9._+-]+")
_PATH = re.compile(r"/[A-Za-z0-9._/*?\[\]:-]+")
_CONDITION = re.compile(r"[a-z0-9_]+ (over|under) [0-9.e+-]+ [0-9]+ [0-9]+ [A-Za-z0-9_@:.+/\\-]+")


@dataclass(frozen=True, slots=True)
class Job:
    """One collector in one run. `grace_s`: how much longer than `seconds` it may take before it is ended.

    `options` are the values of its options by name, each one already matched against its pattern.
    """

    id: str
    ways: tuple[Way, ...]
    seconds: int
    max_bytes: int = 64 << 20
    exclusive: bool = False
    grace_s: int = 15
    options: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, collector: Collector, seconds: int, options: Mapping[str, str] | None = None) -> Job:
        """The job that runs `collector` for `seconds`, within what the collector allows.

        Raises ValueError for an option that the collector does not have, or whose value does not match.
        """
        seconds = min(seconds, collector.seconds_max)
        return cls(
            collector.id,
            collector.ways,
            seconds,
            collector.max_bytes,
            collector.exclusive,
            15 + seconds // 2,
            options_of(collector, options or {}),
        )


def options_of(collector: Collector, given: Mapping[str, str]) -> dict[str, str]:
    """All options of a collector by name, `given` over their defaults. Raises ValueError on a wrong one."""
    known = {one.name: one for one in collector.options}
    for name, value in given.items():
        if name not in known or not value.isascii() or not re.fullmatch(known[name].pattern, value):
            raise ValueError(f"{collector.id}.{name}")
    return {name: given.get(name, one.default) for name, one in known.items()}


@dataclass(frozen=True, slots=True)
class Limits:
    """What the host enforces by itself. Seconds, bytes, percent of one core.

    `silence_s` 0 means that nobody listens: no heartbeats, only the absolute deadline. `need_bytes` is the
    free space that a directory must have before anything is written to it.
    """

    run: str
    deadline_s: int = 120
    silence_s: int = 15
    flush_s: int = 5
    need_bytes: int = 256 << 20
    pipe_ok: bool = True
    pipe_bytes: int = 4 << 20
    cpu_pct: int = 100
    memory_bytes: int = 1 << 30
    tasks: int = 256
    lease: str = "capture"
    zstd_ok: bool = True
    directories: tuple[str, ...] = ("/var/tmp", "/tmp", "/dev/shm")  # noqa: S108
    lock_directories: tuple[str, ...] = LOCK_DIRECTORIES
    path: str = ""


class TooLarge(ValueError):
    """The program does not fit into one argument."""


def deadline_for(jobs: Iterable[Job]) -> int:
    """Seconds that a run may take in all: light jobs together, exclusive ones in turn, and 30 more."""
    together, turn = 0, 0
    for job in jobs:
        whole = job.seconds + job.grace_s
        if job.exclusive:
            turn += whole
        else:
            together = max(together, whole)
    return max(together, turn) + 30


def build(jobs: Sequence[Job], limits: Limits, scope: Scope = WHOLE_HOST) -> bytes:
    """The program for one run, without comments. Raises ValueError on what no host should be asked."""
    return _program(jobs, limits, scope, standalone=False, plain=False).encode("ascii")


def standby_program(
    limits: Limits,
    *,
    ring_s: int,
    ring_bytes: int,
    files: Sequence[str],
    conditions: Sequence[str],
    stacks_hz: int = 0,
) -> bytes:
    """The program that waits instead of measuring; see `collectors.standby`. Raises ValueError."""
    if not all(_PATH.fullmatch(path) for path in files) or not all(map(_CONDITION.fullmatch, conditions)):
        raise ValueError("a standby reads what it may not")
    waiting = [
        "STANDBY=1",
        f"RING_SECS={ring_s}",
        f"RING_BYTES={ring_bytes}",
        f"STACKS={stacks_hz}",
        f"RING_FILES={_quote(' '.join(files))}",
        f"CONDITIONS={_quote(chr(10).join(conditions))}",
        f"STANDBY_AWK={_quote(_strip(_host('standby.awk')))}",
    ]
    return _program([], limits, WHOLE_HOST, standalone=False, plain=False, waiting=waiting).encode("ascii")


def standalone(jobs: Sequence[Job], limits: Limits, scope: Scope = WHOLE_HOST) -> str:
    """The same as a script to carry by hand; its comments stay, for whoever reads it before running it."""
    return _program(jobs, limits, scope, standalone=True, plain=True)


def pushing(script: str, url: str) -> str:
    """A standalone script that sends what it sees to `url` by itself. Raises ValueError for what is no such address."""
    if not re.fullmatch(r"https?://[A-Za-z0-9._~:/\[\]-]{1,400}", url):
        raise ValueError("not an address")
    end = "CULPRIT_ENDS_HERE"
    if end in script:
        raise ValueError("the script holds the word that ends it")
    text = _host("push.sh").replace("@URL@", url).replace("@END@", end)
    return text.replace("@SCRIPT@", script.rstrip("\n"))


def command(program: bytes, sudo: Sudo = "none", shell: str = "/bin/sh") -> str:
    """What to ask sshd to execute. Raises TooLarge."""
    if not re.fullmatch(r"/[A-Za-z0-9/._-]+( [a-z]+)?", shell):
        raise ValueError("not a shell")
    plain = len(program) * 4 // 3 < PLAIN_MAX
    packed = base64.b64encode(program if plain else gzip.compress(program, 9, mtime=0)).decode("ascii")
    words = " ".join(packed[at : at + WORD] for at in range(0, len(packed), WORD))
    elevate = {"none": "", "nopasswd": "sudo -n -- ", "password": "sudo -S -p '' -- "}[sudo]
    text = f"exec {elevate}{shell} -c '{_bootstrap(shell, plain=plain)}' culprit {words}"
    if len(text) >= ARGUMENT_MAX:
        raise TooLarge(f"{len(text)} bytes")
    return text


def _bootstrap(shell: str, *, plain: bool) -> str:
    lines = (line for line in _host("bootstrap.sh").splitlines() if line and not line.startswith("#"))
    text = ";".join(lines).replace("@SHELL@", shell).replace(" @UNPACK@", "" if plain else f" {UNPACK}")
    if "'" in text or "!" in text:
        raise AssertionError("the bootstrap must survive every login shell")
    return text


def _program(
    jobs: Sequence[Job],
    limits: Limits,
    scope: Scope,
    *,
    standalone: bool,
    plain: bool,
    waiting: Sequence[str] = (),
) -> str:
    if len({job.id for job in jobs}) != len(jobs):
        raise ValueError("a collector may run once per run")
    head = [*_limit_lines(limits, standalone=standalone)]
    head += [f"WANT_KIND={scope.kind}", f"WANT_VALUE={_quote(scope.value)}", *(waiting or ["STANDBY="])]
    for number, job in enumerate(jobs, 1):
        head += _job_lines(number, job)
    head.append(f"JOBS={_quote(' '.join(str(number) for number in range(1, len(jobs) + 1)))}")
    head += [
        f"{name}={_quote(_strip(_host(file)))}"
        for name, file in (("SCAN", "scan.awk"), ("SAMPLER", "sampler.awk"))
    ]
    parts = [part for part in PARTS if waiting or part not in ONLY_STANDBY]
    body = [_host(part) if plain else _strip(_host(part)) for part in parts]
    intro = [_host("standalone.sh")] if standalone else []
    return "\n".join([*intro, *head, *body]) + "\n"


def _limit_lines(limits: Limits, *, standalone: bool) -> list[str]:
    if not _RUN.fullmatch(limits.run) or not _ID.fullmatch(limits.lease):
        raise ValueError("run must be a UUID and lease a name")
    directories = (*limits.directories, *limits.lock_directories)
    if not all(_PATH.fullmatch(directory) for directory in directories):
        raise ValueError("directories must be plain absolute paths")
    numbers = {
        "DEADLINE": limits.deadline_s,
        "SILENCE": 0 if standalone else limits.silence_s,
        "FLUSH": limits.flush_s,
        "NEED_KB": -(-limits.need_bytes // 1024),
        "PIPE_OK": int(limits.pipe_ok),
        "PIPE_BYTES": limits.pipe_bytes,
        "CPU_PCT": limits.cpu_pct,
        "MEM_BYTES": limits.memory_bytes,
        "TASKS": limits.tasks,
        "ZSTD_OK": int(limits.zstd_ok),
    }
    if any(value < 0 for value in numbers.values()):
        raise ValueError("limits are not negative")
    path = (
        _quote(limits.path)
        if limits.path
        else '"$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"'
    )
    return [
        f"RUN={limits.run}",
        f"KIND={limits.lease}",
        f"STANDALONE={'1' if standalone else ''}",
        f"DIRS={_quote(' '.join(limits.directories))}",
        f"LOCKDIRS={_quote(' '.join(limits.lock_directories))}",
        f"PATH={path}",
        *(f"{name}={value}" for name, value in numbers.items()),
    ]


def _job_lines(number: int, job: Job) -> list[str]:
    if not _ID.fullmatch(job.id) or not 0 < job.seconds <= 3600 or not job.ways or job.max_bytes < 1:
        raise ValueError(f"job {job.id!r} is out of bounds")
    name = f"J{number}"
    lines = [
        f"{name}_id={job.id}",
        f"{name}_secs={job.seconds}",
        f"{name}_cap={job.max_bytes}",
        f"{name}_grace={job.grace_s}",
        f"{name}_exclusive={int(job.exclusive)}",
        f"{name}_options={_quote(_assignments(job.options))}",
        f"{name}_ways={_quote(' '.join(str(way) for way in range(1, len(job.ways) + 1)))}",
    ]
    for way_number, way in enumerate(job.ways, 1):
        fields = _way_fields(way, job)
        lines += [f"{name}_{way_number}_{key}={_quote(value)}" for key, value in fields.items()]
    return lines


def _assignments(options: Mapping[str, str]) -> str:
    """Lines of shell that export the options to a script."""
    if not all(_ID.fullmatch(name) for name in options):
        raise ValueError("options have plain names")
    return "\n".join(f"export OPT_{name.upper()}={_quote(value)}" for name, value in options.items())


def travelling(sh: str) -> str:
    """The script as it is sent: without comments, indentation and empty lines, where no here-document needs them."""
    return sh if "<<" in sh else _strip(sh)


def _way_fields(way: Way, job: Job) -> dict[str, str]:
    if not re.fullmatch(r"[A-Za-z0-9._+-]{1,60}", way.name):
        raise ValueError(f"way {way.name!r} of {job.id} has no plain name")
    shows = way.shows.replace("{seconds}", str(job.seconds))
    fields = {"name": way.name, "shows": " ".join(shows.split()), **_needs_fields(way.needs)}
    if isinstance(way, Script):
        # A tool that bounds itself must be left room to end its file well; any other is cut at the cap.
        fuse = 2 * job.max_bytes if "--max-size" in way.sh else job.max_bytes
        return fields | {
            "kind": "script",
            "sh": travelling(way.sh),
            "version": way.version,
            "stop": way.stop,
            "fuse": str(fuse),
        }
    return fields | _sampled_fields(way)


def _sampled_fields(way: Sampled) -> dict[str, str]:
    if not all(_PATH.fullmatch(path) for path in way.files) or way.interval_s < 0.05:
        raise ValueError(f"way {way.name!r} reads what it may not, or too often")
    once = str(int(way.once))
    return {"kind": "sampled", "paths": " ".join(way.files), "every": f"{way.interval_s:g}", "once": once}


def _needs_fields(needs: Needs) -> dict[str, str]:
    if not all(_TOOL.fullmatch(tool) for tool in needs.tools) or not all(
        _PATH.fullmatch(f) for f in needs.files
    ):
        raise ValueError("needs must be plain names and paths")
    return {
        "tools": " ".join(needs.tools),
        "files": " ".join(needs.files),
        "root": str(int(needs.root)),
        "perf": str(int(needs.perf)),
        "target": str(int(needs.target)),
    }


def _host(name: str) -> str:
    return (files("collectors") / "host" / name).read_text(encoding="ascii")


def _strip(source: str) -> str:
    """Without comments, indentation and empty lines: nothing in `host/` depends on them."""
    lines = (line.strip(" ") for line in source.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("#"))


def _quote(text: str) -> str:
    if not text.isascii() or "\0" in text:
        raise ValueError("programs are ASCII")
    return "'" + text.replace("'", "'\\''") + "'"
