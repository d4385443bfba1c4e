"""Runs programs for hosts as real processes, and checks what they leave behind."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

from collectors.contract import Needs, Sampled, Script
from collectors.runner import frames, records
from collectors.runner import program as bundle
from collectors.runner.scope import Scope

SHELLS = {"dash": "/bin/dash", "bash": "/bin/bash", "busybox": "/bin/busybox sh"}

# What the runner may call; a PATH for a test is made of links to these.
TOOLS = [
    "awk",
    "base64",
    "busybox",
    "cat",
    "cksum",
    "date",
    "df",
    "du",
    "env",
    "find",
    "flock",
    "getconf",
    "grep",
    "gzip",
    "head",
    "ionice",
    "ls",
    "mkdir",
    "mv",
    "nice",
    "openssl",
    "printf",
    "readlink",
    "rm",
    "rmdir",
    "setsid",
    "sha256sum",
    "sleep",
    "tail",
    "timeout",
    "tr",
    "true",
    "wc",
    "zstd",
    "vmstat",
    "seq",
    "dd",
    "yes",
]

# Runs a command without the directories of other runs on this machine, whose look-back buffers a capture would find.
PRIVATE_DIRECTORIES = (
    ["unshare", "--mount", "/bin/sh", "-c",
     'mount -t tmpfs none /dev/shm && mount -t tmpfs none /var/tmp && exec "$@"', "sh"]
    if os.geteuid() == 0 else []
)  # fmt: skip


def script(name: str, sh: str, **more: object) -> bundle.CollectorJob:
    """A job of one script."""
    needs = more.pop("needs", Needs())
    seconds = more.pop("seconds", 1)
    stop = more.pop("stop", "INT")
    method = Script(name, needs, sh, f"run {name}", str(more.pop("version", "")), stop)  # type: ignore[arg-type]
    return bundle.CollectorJob(name, (method,), seconds, **more)  # type: ignore[arg-type]


def sampled(name: str, *paths: str, **more: object) -> bundle.CollectorJob:
    """A job of sampled files."""
    method = Sampled(name, Needs(), paths, float(more.pop("every", 0.5)), bool(more.pop("once", False)))  # type: ignore[arg-type]
    return bundle.CollectorJob(name, (method,), int(more.pop("seconds", 1)), **more)  # type: ignore[arg-type,call-overload]


class Room:
    """Directories of one test: a place to work in, a place for leases. `tools` makes a PATH of links."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.work = top / "work"
        self.locks = top / "locks"
        for directory in (self.work, self.locks):
            directory.mkdir()
            directory.chmod(0o1777)

    def limits(self, **more: object) -> bundle.RunnerLimits:
        """Limits that keep to this room."""
        supplied: dict[str, object] = {
            "run": str(uuid.uuid4()),
            "silence_s": 10,
            "deadline_s": 60,
            "need_bytes": 1 << 20,
            "directories": (str(self.work),),
            "lock_directories": (str(self.locks),),
        }
        return bundle.RunnerLimits(**(supplied | more))  # type: ignore[arg-type]

    def tools(self, *without: str, awk: str = "mawk") -> str:
        """A PATH without some tools. Without `busybox`, no applet of it can stand in."""
        path = self.top / ("bin-" + "-".join(without) + awk)
        path.mkdir(exist_ok=True)
        for tool in TOOLS:
            result = shutil.which(awk if tool == "awk" else tool)
            if tool in without or result is None:
                continue
            if awk == "busybox" and tool == "awk":
                continue
            with contextlib.suppress(FileExistsError):
                (path / tool).symlink_to(result)
        return str(path)

    def left(self) -> list[str]:
        """Files that are still there."""
        return [str(item.relative_to(self.top)) for top in (self.work, self.locks) for item in top.rglob("*")]


def processes(run: str) -> list[int]:
    """Pids of the processes of a run that can still be ended."""
    results = []
    mark = f"CULPRIT_RUN={run}".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    results.append(int(entry.name))
    return results


def cages(run: str) -> list[str]:
    """Control groups of a run."""
    return [str(path) for path in Path("/sys/fs/cgroup").glob(f"*/culprit-{run}")]


def wait_for(what: Callable[[], bool], seconds: float) -> bool:
    """Whether `what` comes true in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.05)
    return what()


class Live:
    """A started program: beats its heart, reads its frames and its progress."""

    #: Programs whose streams are open, so that a failed test leaves none to the next: see `end_programs`.
    started: ClassVar[list[Live]] = []

    def __init__(
        self,
        jobs: list[bundle.CollectorJob],
        limits: bundle.RunnerLimits,
        *,
        shell: str = "/bin/sh",
        login: list[str] | None = None,
        deaf: bool = False,
        sudo: bundle.Sudo = "none",
        first_line: str = "",
        scope: Scope = bundle.WHOLE_HOST,
        program: bytes | None = None,
    ) -> None:
        self.limits = limits
        self.command = bundle.build_command(program or bundle.build_program(jobs, limits, scope), sudo, shell)
        self.beating = limits.silence_s > 0
        self.reader = frames.FrameReader()
        self.frames: list[frames.Frame] = []
        self.lines: list[str] = []
        self.over: int | None = None
        self.process = subprocess.Popen(
            [*(login or ["/bin/sh", "-c"]), self.command],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        Live.started.append(self)
        if first_line:
            self.send_line(first_line)
        self.threads = [
            threading.Thread(target=work, daemon=True)
            for work in ((self._stderr, self._beat) if deaf else (self._stdout, self._stderr, self._beat))
        ]
        for thread in self.threads:
            thread.start()

    def _stdout(self) -> None:
        assert self.process.stdout
        while data := self.process.stdout.read1(65536):  # type: ignore[attr-defined]
            self.frames += self.reader.feed(data)

    def _stderr(self) -> None:
        assert self.process.stderr
        with contextlib.suppress(ValueError):  # closed by the end of the test while this thread reads
            for line in self.process.stderr:
                self.lines.append(line.decode("utf-8", "replace").rstrip("\n"))

    def _beat(self) -> None:
        n = 0
        while self.process.poll() is None:
            if self.beating:
                n += 1
                self.send_line(f"hb {n}")
            time.sleep(0.5)

    def send_line(self, line: str) -> None:
        """Write a line to the program."""
        assert self.process.stdin
        with contextlib.suppress(OSError, ValueError):
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()

    def hang_up(self) -> None:
        """End of file for the program."""
        self.beating = False
        assert self.process.stdin
        with contextlib.suppress(OSError):
            self.process.stdin.close()

    def until(self, line: str, seconds: float = 20) -> None:
        """Waits for a line of progress that begins so."""
        assert wait_for(
            lambda: any(reported_line.startswith(line) for reported_line in self.lines), seconds
        ), self.lines

    def end(self, seconds: float = 40) -> int:
        """The exit status; the streams are drained."""
        if self.over is not None:
            return self.over
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self._close()
            raise AssertionError(f"still running: {self.lines}") from None
        self._close()
        self.over = status
        return status

    def _close(self) -> None:
        if self in Live.started:
            Live.started.remove(self)
        for thread in self.threads[:2]:
            thread.join(10)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(OSError):
                stream.close()  # type: ignore[union-attr]

    @classmethod
    def end_programs(cls) -> None:
        """Kill the programs that a test did not end, and close their streams."""
        for live in list(cls.started):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(live.process.pid, signal.SIGKILL)
            live.end()

    def of(self, kind: str) -> list[frames.Frame]:
        """The frames of a kind."""
        return [frame for frame in self.frames if frame.header.kind == kind]

    def lines_of(self, kind: str) -> dict[str, str]:
        """Fields of the first frame of a kind."""
        return records.parse_lines(self.of(kind)[0])

    def outcomes(self) -> dict[str, records.CollectorExit]:
        """The outcomes by collector."""
        return {result.collector: result for result in map(records.parse_outcome, self.of("outcome"))}

    def parts(self) -> dict[tuple[str, str], bytes]:
        """What was sent, decoded, by collector and part."""
        return {(f.header.id, f.header.part): decoded(f) for f in self.of("part")}

    def role(self, name: str) -> int:
        """The pid of a process of this run: `main` or `guard`."""
        for line in self.manifest().splitlines():
            if line.startswith(name + " "):
                return int(line.split()[1])
        raise AssertionError(name)

    def manifest(self) -> str:
        """What the program wrote down about itself."""
        path = Path(self.limits.directories[0]) / f"culprit-{self.limits.run}" / "manifest"
        assert wait_for(lambda: path.exists() and "guard" in path.read_text(), 10)
        return path.read_text()

    def gone(self, room: Room, seconds: float) -> None:
        """Asserts that in time neither process nor file of the run is left."""
        run = self.limits.run
        assert wait_for(lambda: not processes(run), seconds), [_describe(pid) for pid in processes(run)]
        assert wait_for(lambda: not room.left(), 2), room.left()
        assert not cages(run)
        assert wait_for(lambda: self.process.poll() is not None, 2)
        self.end()


def _describe(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")[:200]
    return str(pid)


def decoded(frame: frames.Frame) -> bytes:
    """The bytes of a part, by the tools that made them."""
    data = frame.payload
    for step in reversed(frame.header.encoding.split("+")):
        tool = {
            "identity": ["cat"],
            "gzip": ["gzip", "-dc"],
            "zstd": ["zstd", "-dcq"],
            "base64": ["base64", "-d"],
        }[step]
        data = subprocess.run(tool, input=data, capture_output=True, check=True).stdout
    return data


@contextlib.contextmanager
def small_disk(directory: Path, size: str) -> Iterator[None]:
    """A tmpfs of that size over `directory`."""
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=1777", "tmpfs", str(directory)], check=True
    )
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(directory)], check=True)
