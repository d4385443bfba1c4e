"""Build the program that is sent to a host from jobs and limits, and the command that starts it.

Pure: text in, text out. The program consists of the shell files in `scripts/`. PROTOCOL.md there defines what the
program receives and sends. Scripts of collectors are data: they are quoted here and run in a shell of their own.
"""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Literal

from collectors.contract import CollectionMethod, Collector, Needs, Sampled, Script
from collectors.runner.scope import Scope
from collectors.runner.script_order import order_scripts
from collectors.shell.ticks import PAUSE

Sudo = Literal["none", "nopasswd", "password"]

ARGUMENT_MAX = 128 * 1024  # the kernel's MAX_ARG_STRLEN; the whole command is one argument of the login shell
#: From this size in base64 on, the program is sent compressed. Then the host needs gzip.
PLAIN_MAX = 96 * 1024
UNPACK = "| { gzip -dc || busybox gzip -dc || zcat; } 2>/dev/null"
WORD = 1000  # the longest word of some csh versions; a multiple of four, so that each word is valid base64
END_MARK = "CULPRIT-END"
#: The lines around what only the main shell needs. The guard runs without it: a small process starts others quickly.
JOBS_MARKS = (": CULPRIT-JOBS", ": CULPRIT-PARTS")
WHOLE_HOST = Scope()
PARTS = (
    "base.sh",
    "directories.sh",
    "lease.sh",
    "workdir.sh",
    "guard.sh",
    "jobs.sh",
    "sampled.sh",
    "send.sh",
    "memory.sh",
    "scope.sh",
    "watcher.sh",
    "main.sh",
)
#: Where the directory of the lease can be created, in this order: where only root can create one, the account's own
#: (/run/user means /run/user/UID), shared directories last.
LOCK_DIRECTORIES = ("/run", "/run/user", "/var/run", "/run/lock", "/dev", "/var/tmp", "/tmp", "/dev/shm")  # noqa: S108
#: A directory in memory. `choose_workdir` uses it only where much memory is available.
MEMORY_DIRECTORY = "/dev/shm"  # noqa: S108
#: Parts that only a watcher needs.
WATCHER_PARTS = frozenset({"watcher.sh"})

_ID = re.compile(r"[a-z][a-z0-9_]{0,40}")
_RUN = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TOOL = re.compile(r"[A-Za-z0-9._+-]+")
_PATH = re.compile(r"/[A-Za-z0-9._/*?\[\]:-]+")
_CONDITION = re.compile(r"[a-z0-9_]+ (over|under) [0-9.e+-]+ [0-9]+ [0-9]+ [A-Za-z0-9_@:.+/\\-]+")


@dataclass(frozen=True, slots=True)
class CollectorJob:
    """One collector in one run. It is stopped `grace_s` seconds after `seconds` have passed.

    `options` holds the values of its options by name. Each value matches its pattern.
    """

    id: str
    methods: tuple[CollectionMethod, ...]
    seconds: int
    max_bytes: int = 64 << 20
    exclusive: bool = False
    grace_s: int = 15
    options: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, collector: Collector, seconds: int, options: Mapping[str, str] | None = None) -> CollectorJob:
        """Return the job that runs `collector` for `seconds`, or for its maximum.

        Raise ValueError for an option that the collector does not have, or whose value does not match.
        """
        seconds = min(seconds, collector.seconds_max)
        return cls(
            collector.id,
            collector.methods,
            seconds,
            collector.max_bytes,
            collector.exclusive,
            15 + seconds // 2,
            resolve_options(collector, options or {}),
        )


def resolve_options(collector: Collector, supplied: Mapping[str, str]) -> dict[str, str]:
    """Return all options of a collector by name, with their defaults. Raise ValueError for a wrong option."""
    known = {option.name: option for option in collector.options}
    for name, value in supplied.items():
        if name not in known or not value.isascii() or not re.fullmatch(known[name].pattern, value):
            raise ValueError(f"{collector.id}.{name}")
    return {name: supplied.get(name, item.default) for name, item in known.items()}


@dataclass(frozen=True, slots=True)
class RunnerLimits:
    """What the runner enforces on the host. Seconds, bytes, percent of one core.

    With `silence_s` 0 there are no heartbeats, only the absolute deadline. `need_bytes` is the free space that a
    directory must have before anything is written to it.
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


class ProgramTooLargeError(ValueError):
    """Raised when the program does not fit into one argument."""


def compute_deadline_s(jobs: Iterable[CollectorJob]) -> int:
    """Return the maximum seconds of a run: light jobs together, exclusive jobs in turn, and 30 more."""
    together, turn = 0, 0
    for job in jobs:
        whole = job.seconds + job.grace_s
        if job.exclusive:
            turn += whole
        else:
            together = max(together, whole)
    return max(together, turn) + 30


def build_program(jobs: Sequence[CollectorJob], limits: RunnerLimits, scope: Scope = WHOLE_HOST) -> bytes:
    """Return the program for one run, without comments. Raise ValueError for jobs or limits that are not allowed."""
    return _assemble_program(jobs, limits, scope, standalone=False, plain=False).encode("ascii")


def build_watcher_program(
    limits: RunnerLimits,
    *,
    lookback_s: int,
    lookback_bytes: int,
    files: Sequence[str],
    conditions: Sequence[str],
    stacks_hz: int = 0,
) -> bytes:
    """Return the program of a watcher, see `collectors.runner.watcher`. Raise ValueError for wrong values."""
    if not all(_PATH.fullmatch(path) for path in files) or not all(map(_CONDITION.fullmatch, conditions)):
        raise ValueError("a watcher cannot read this file or check this condition")
    watcher_lines = [
        "WATCHER=1",
        f"LOOKBACK_SECS={lookback_s}",
        f"LOOKBACK_BYTES={lookback_bytes}",
        f"STACKS={stacks_hz}",
        f"LOOKBACK_FILES={_quote_shell(' '.join(files))}",
        f"CONDITIONS={_quote_shell(chr(10).join(conditions))}",
        f"WATCHER_AWK={_quote_shell(_strip_comments(_read_script('watcher.awk')))}",
    ]
    return _assemble_program(
        [], limits, WHOLE_HOST, standalone=False, plain=False, watcher_lines=watcher_lines
    ).encode("ascii")


def build_standalone(jobs: Sequence[CollectorJob], limits: RunnerLimits, scope: Scope = WHOLE_HOST) -> str:
    """Return the program as a script to copy by hand. It keeps its comments, so that it can be read before it runs."""
    return _assemble_program(jobs, limits, scope, standalone=True, plain=True)


def build_upload_script(script: str, url: str) -> str:
    """Return a standalone script that uploads its results to `url`. Raise ValueError for a wrong address."""
    if not re.fullmatch(r"https?://[A-Za-z0-9._~:/\[\]-]{1,400}", url):
        raise ValueError("not an address")
    end = "CULPRIT_ENDS_HERE"
    if end in script:
        raise ValueError("the script contains the word that ends the here-document")
    text = _read_script("push.sh").replace("@URL@", url).replace("@END@", end)
    return text.replace("@SCRIPT@", script.rstrip("\n"))


def build_command(program: bytes, sudo: Sudo = "none", shell: str = "/bin/sh") -> str:
    """Return the command that sshd executes. Raise ProgramTooLargeError."""
    if not re.fullmatch(r"/[A-Za-z0-9/._-]+( [a-z]+)?", shell):
        raise ValueError("not a shell")
    plain = len(program) * 4 // 3 < PLAIN_MAX
    packed = base64.b64encode(program if plain else gzip.compress(program, 9, mtime=0)).decode("ascii")
    words = " ".join(packed[at : at + WORD] for at in range(0, len(packed), WORD))
    elevate = {"none": "", "nopasswd": "sudo -n -- ", "password": "sudo -S -p '' -- "}[sudo]
    text = f"exec {elevate}{shell} -c '{_build_bootstrap(shell, plain=plain)}' culprit {words}"
    if len(text) >= ARGUMENT_MAX:
        raise ProgramTooLargeError(f"{len(text)} bytes")
    return text


def _build_bootstrap(shell: str, *, plain: bool) -> str:
    lines = (line for line in _read_script("bootstrap.sh").splitlines() if line and not line.startswith("#"))
    text = ";".join(lines).replace("@SHELL@", shell).replace(" @UNPACK@", "" if plain else f" {UNPACK}")
    if "'" in text or "!" in text:
        raise AssertionError("the bootstrap must survive every login shell")
    return text


def _assemble_program(
    jobs: Sequence[CollectorJob],
    limits: RunnerLimits,
    scope: Scope,
    *,
    standalone: bool,
    plain: bool,
    watcher_lines: Sequence[str] = (),
) -> str:
    if len({job.id for job in jobs}) != len(jobs):
        raise ValueError("a collector can run only once per run")
    head = [*_build_limit_lines(limits, _order_directories(limits, jobs), standalone=standalone)]
    head += [
        f"SCOPE_KIND={scope.kind}",
        f"SCOPE_VALUE={_quote_shell(scope.value)}",
        *(watcher_lines or ["WATCHER="]),
    ]
    head.append(f"SCAN={_quote_shell(_strip_comments(_read_script('scan.awk')))}")
    texts: dict[str, str] = {}
    job_lines: list[str] = []
    for at in order_scripts([[m.sh for m in job.methods if isinstance(m, Script)] for job in jobs]):
        job_lines += _build_job_lines(at + 1, jobs[at], texts)
    job_lines += [
        f"JOBS={_quote_shell(' '.join(str(number) for number in range(1, len(jobs) + 1)))}",
        f"SAMPLER={_quote_shell(_strip_comments(PAUSE + _read_script('sampler.awk')))}",
    ]
    if any(f"\n{mark}" in line for line in job_lines for mark in JOBS_MARKS):
        raise ValueError("a script has a line that marks the jobs")
    head += [JOBS_MARKS[0], *job_lines, JOBS_MARKS[1]]
    parts = [part for part in PARTS if watcher_lines or part not in WATCHER_PARTS]
    body = [_read_script(part) if plain else _strip_comments(_read_script(part)) for part in parts]
    intro = [_read_script("standalone.sh")] if standalone else []
    return "\n".join([*intro, *head, *body]) + "\n"


def _order_directories(limits: RunnerLimits, jobs: Sequence[CollectorJob]) -> tuple[str, ...]:
    """Return the working directories in the order in which the host tries them.

    Light collectors write little, so memory comes first: a file on a disk costs 0.15 ms of CPU time, and a slow disk
    would delay the run. Exclusive jobs write up to their caps.
    """
    if any(job.exclusive for job in jobs):
        return limits.directories
    return tuple(sorted(limits.directories, key=lambda directory: directory != MEMORY_DIRECTORY))


def _build_limit_lines(limits: RunnerLimits, working: tuple[str, ...], *, standalone: bool) -> list[str]:
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
        _quote_shell(limits.path)
        if limits.path
        else '"$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"'
    )
    return [
        f"RUN={limits.run}",
        f"KIND={limits.lease}",
        f"STANDALONE={'1' if standalone else ''}",
        f"DIRS={_quote_shell(' '.join(working))}",
        f"LOCKDIRS={_quote_shell(' '.join(limits.lock_directories))}",
        f"PATH={path}",
        *(f"{name}={value}" for name, value in numbers.items()),
    ]


def _build_job_lines(number: int, job: CollectorJob, texts: dict[str, str]) -> list[str]:
    """Return the variables of one job. `texts` names the variable that already holds the text of a shared script."""
    if not _ID.fullmatch(job.id) or not 0 < job.seconds <= 3600 or not job.methods or job.max_bytes < 1:
        raise ValueError(f"job {job.id!r} is out of bounds")
    name = f"J{number}"
    lines = [
        f"{name}_id={job.id}",
        f"{name}_secs={job.seconds}",
        f"{name}_cap={job.max_bytes}",
        f"{name}_grace={job.grace_s}",
        f"{name}_exclusive={int(job.exclusive)}",
        f"{name}_options={_quote_shell(_build_assignments(job.options))}",
        f"{name}_methods={_quote_shell(' '.join(str(method) for method in range(1, len(job.methods) + 1)))}",
    ]
    for method_number, method in enumerate(job.methods, 1):
        fields = _build_method_fields(method, job)
        for key, value in fields.items():
            variable = f"{name}_{method_number}_{key}"
            if key == "sh" and fields["share"]:
                known = texts.setdefault(value, variable)
                if known != variable:
                    lines.append(f"{variable}=${known}")
                    continue
            lines.append(f"{variable}={_quote_shell(value)}")
    return lines


def _build_assignments(options: Mapping[str, str]) -> str:
    """Return shell lines that export the options to a script."""
    if not all(_ID.fullmatch(name) for name in options):
        raise ValueError("options have plain names")
    return "\n".join(f"export OPT_{name.upper()}={_quote_shell(value)}" for name, value in options.items())


def compact_script(sh: str) -> str:
    """Return the script without comments, indentation and empty lines, unless it has a here-document."""
    return sh if "<<" in sh else _strip_comments(sh)


def _build_method_fields(method: CollectionMethod, job: CollectorJob) -> dict[str, str]:
    if not re.fullmatch(r"[A-Za-z0-9._+-]{1,60}", method.name):
        raise ValueError(f"method {method.name!r} of {job.id} has no plain name")
    text = method.command_line.replace("{seconds}", str(job.seconds))
    fields = {"name": method.name, "command": " ".join(text.split()), **_build_needs_fields(method.needs)}
    if isinstance(method, Script):
        if method.share and not _ID.fullmatch(method.share):
            raise ValueError(f"the share of method {method.name!r} is not a name")
        # A tool that limits itself needs room to finish its file. Any other tool is cut at the cap.
        fuse = 2 * job.max_bytes if "--max-size" in method.sh else job.max_bytes
        return fields | {
            "kind": "script",
            "sh": compact_script(method.sh),
            "version": method.version,
            "stop": method.stop,
            "fuse": str(fuse),
            "share": f"{method.share}_{job.seconds}" if method.share else "",
        }
    return fields | _build_sampled_fields(method)


def _build_sampled_fields(method: Sampled) -> dict[str, str]:
    if not all(_PATH.fullmatch(path) for path in method.files) or method.interval_s < 0.05:
        raise ValueError(f"method {method.name!r} reads a file that is not allowed, or reads too often")
    return {
        **{"kind": "sampled", "paths": " ".join(method.files), "ends": " ".join(method.at_ends)},
        "every": f"{method.interval_s:g}",
        "once": str(int(method.once)),
    }


def _build_needs_fields(needs: Needs) -> dict[str, str]:
    if not all(_TOOL.fullmatch(tool) for tool in needs.tool_names) or not all(
        _PATH.fullmatch(f) for f in needs.files
    ):
        raise ValueError("needs must be plain names and paths")
    return {
        "tools": " ".join(needs.tool_names),
        "files": " ".join(needs.files),
        "root": str(int(needs.root)),
        "perf": str(int(needs.perf)),
        "target": str(int(needs.target)),
    }


def _read_script(name: str) -> str:
    return (files("collectors") / "runner" / "scripts" / name).read_text(encoding="ascii")


def _strip_comments(source: str) -> str:
    """Return the source without comments, indentation and empty lines. No script depends on them."""
    lines = (line.strip(" ") for line in source.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("#"))


def _quote_shell(text: str) -> str:
    if not text.isascii() or "\0" in text:
        raise ValueError("programs are ASCII")
    return "'" + text.replace("'", "'\\''") + "'"
