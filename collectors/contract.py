"""The types that collectors, parsers and the server share.

A collector defines what it runs on a host (`methods`, in order of preference), what that costs, and how its output is
parsed (`parse`). All types are immutable values. Nothing here does I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, BinaryIO, Literal, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collectors.metrics.row import Metric

Times = npt.NDArray[np.int64]  # UTC nanoseconds
Values = npt.NDArray[np.float64]
ClockKind = Literal["boottime", "monotonic", "realtime"]
Severity = Literal["info", "warn", "critical"]


TierName = Literal["light", "standard", "deep", "ptrace"]


class Tier(StrEnum):
    """The cost that a collector can cause on the host. It decides which users can run the collector."""

    LIGHT = "light"
    STANDARD = "standard"
    DEEP = "deep"
    PTRACE = "ptrace"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A message for people: its key in `culprit.domain.messages`, and its parameters."""

    key: str
    params: Mapping[str, str | int | float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Text:
    """A fixed text in both languages of the product."""

    en: str
    zh: str


@dataclass(frozen=True, slots=True)
class Tool:
    """A command that a collection method needs, and the package that installs it.

    `package` is its name on every distribution. `packages` names the exceptions by package family: debian, ubuntu,
    rpm, apk, zypper, pacman. Tools that many collectors need are in `collectors.runner.packages` instead.
    """

    name: str
    package: str = ""
    packages: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class PlanEntry:
    """Membership of a collector in a plan, and for how many seconds it runs there."""

    plan: str
    seconds: int


@dataclass(frozen=True, slots=True)
class Needs:
    """What one collection method requires of the host.

    `perf` means that system-wide perf events must be allowed: root, CAP_PERFMON, or
    perf_event_paranoid <= -1. `target` means that the scope of the capture must name a process, a
    control group or a service, so that `$TARGET_PID` is set.
    `remedy` names the command or package that supplies a missing requirement.
    """

    tools: tuple[str | Tool, ...] = ()
    files: tuple[str, ...] = ()
    root: bool = False
    perf: bool = False
    target: bool = False
    remedy: str = ""

    @property
    def tool_names(self) -> tuple[str, ...]:
        """Return the names of the commands."""
        return tuple(tool.name if isinstance(tool, Tool) else tool for tool in self.tools)


@dataclass(frozen=True, slots=True)
class Script:
    """A collection method that runs commands.

    `sh` is POSIX sh, run in its own process group under the runner's deadline with the working directory set
    to an empty directory of its own. `$SECS` is the duration in whole seconds, `$BYTES` the byte cap. Each
    file that it leaves in that directory becomes one part of the artifact. Standard output becomes the part
    `stdout` unless it is empty. `command_line` is shown to users before the capture, with `{seconds}` filled in.
    `version` prints the version of the tool on one line. The target of the capture is in `$TARGET_KIND` (host,
    cgroup or process), `$TARGET_PID` (the target process; empty for a whole host), `$TARGET_PIDS` (at most 512) and
    `$TARGET_CGROUP` (its path below the mount points; empty if unknown). The value of an option is in
    `$OPT_<NAME>`, empty if it was not set.

    Collectors that read the same things name the same `share` and have the same `sh`, `max_bytes` and `stop`. The
    script then runs once for all of them. `$OUT_<id>` is the directory that takes the files of collector `id`: `.` is
    the working directory, unset means that the collector is not part of the run, and empty that there is no directory:
    then its text goes to standard output.
    """

    name: str
    needs: Needs
    sh: str
    command_line: str
    version: str = ""
    stop: Literal["INT", "TERM"] = "INT"
    share: str = ""


@dataclass(frozen=True, slots=True)
class Sampled:
    """A collection method without its own process: the shared sampler reads these files every `interval_s` seconds.

    Globs are allowed. The artifact has one part, `samples`: at every tick a line
    `@ <tick> <boottime_ns> <path>` for each file, followed by the text of the file. A line of text that begins
    with `@` is escaped with a second `@`. With `once`, files are read only at start and end, else `at_ends` are.
    """

    name: str
    needs: Needs
    files: tuple[str, ...]
    interval_s: float = 1.0
    once: bool = False
    at_ends: tuple[str, ...] = ()

    @property
    def command_line(self) -> str:
        """Return what users see before the capture."""
        return "read " + " ".join(self.files)


CollectionMethod = Script | Sampled


@dataclass(frozen=True, slots=True)
class Cost:
    """Expected cost on the host, shown before the capture.

    `cpu_pct` is percent of one core, `bytes_per_s` the bytes written or sent per second.
    """

    cpu_pct: float
    bytes_per_s: float
    note: Text


class Part(Protocol):
    """One stored file of an artifact, as parsers read it."""

    @property
    def sha256(self) -> str:
        """Return the digest of the stored bytes."""

    @property
    def size(self) -> int:
        """Return the number of decompressed bytes."""
        ...

    def open(self) -> BinaryIO:
        """Open the decompressed bytes at the beginning."""
        ...

    def read(self, limit: int) -> bytes:
        """Return at most `limit` decompressed bytes."""
        ...


class Clock(Protocol):
    """Converts the clocks of a host to UTC."""

    @property
    def uncertainty_ns(self) -> int:
        """Return the largest possible error of a time."""
        ...

    def to_utc(self, kind: ClockKind, ns: Times) -> Times:
        """Return UTC nanoseconds for readings of the host's clock `kind`."""
        ...


@dataclass(frozen=True, slots=True)
class Context:
    """What a parser knows besides the bytes: the clock, facts of the host, and the collection method."""

    clock: Clock
    method: str = ""
    seconds: float = 0.0
    facts: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Series:
    """One metric over time as a matrix.

    Shapes: `t_ns` [n], `values` [n, k], `lines` [n] (the 1-based source line of each row in `part`).
    `axis` names the dimension of the k columns ("cpu", "node"). Without an axis, k is 1.
    NaN in `values` means "no data", which is not zero. The unit is that of the metric in `collectors.metrics.registry`.
    """

    metric: str
    t_ns: Times
    values: Values
    labels: Mapping[str, str] = field(default_factory=dict)
    axis: str | None = None
    axis_values: tuple[str, ...] = ()
    part: str = "stdout"
    lines: npt.NDArray[np.int32] | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table: its ID, and its unit if it has one."""

    id: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A small table that is not a time series. Rows hold strings and numbers in the order of `columns`.

    `lines` holds the 1-based source line of each row in `part`.
    """

    kind: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str | int | float | None, ...], ...]
    part: str = "stdout"
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened at a time or over a range, with its source line.

    `uncertainty_ns` is the uncertainty of its own time, in addition to that of the clock.
    """

    t_ns: int
    kind: str
    severity: Severity
    title: Sentence
    detail: str = ""
    end_ns: int | None = None
    part: str = "stdout"
    line: int | None = None
    uncertainty_ns: int = 0


@dataclass(frozen=True, slots=True)
class UsedModule:
    """A program or library that samples of a recording are in.

    `key`: its build ID, or `inode-MAJOR-MINOR-INODE-GENERATION`, all hexadecimal; None if the recording has neither.
    `places`: (PID, start, end) of processes that mapped it. `samples`: those whose innermost function is in it.
    `symbols`: how many of its symbols are known; of memory without a file (`is_anonymous`), those of the map or dump of
    a JIT compiler.
    """

    path: str
    key: str | None
    is_anonymous: bool
    places: tuple[tuple[int, int, int], ...]
    samples: int
    symbols: int


@dataclass(frozen=True, slots=True)
class ProfileSource:
    """A part that holds stacks: which reader opens it, and the unit of its weights.

    A separate job builds profiles, because they can hold ten million samples. Functions of `perf_data` are named by the
    server: `kernel` is the key of the symbols of the kernel, `modules` are the programs and libraries to be named.
    Of kinds that are computed from events, only what is of `pids` is read, if there are any: `off_cpu`, `wall_time`,
    `block_io` and `futex`.
    """

    kind: Literal[
        "on_cpu", "sched", "off_cpu", "wall_time", "page_faults", "block_io", "futex", "state", "imported"
    ]
    reader: Literal[
        "perf_script",
        "perf_data",
        "folded",
        "perf_sched",
        "pprof",
        "speedscope",
        "chrome_trace",
        "cpuprofile",
        "firefox",
        "bpftrace",
        "tables",
    ]
    part: str
    unit: Literal["samples", "ns"]
    clock: ClockKind | None
    raw_part: str | None = None
    kernel: str = ""
    modules: tuple[UsedModule, ...] = ()
    pids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Parsed:
    """The result of parsing one artifact. No parser raises on bad input: unreadable input becomes a warning.

    `fact_lines` maps a fact (names of nested facts are joined by dots) to its 1-based source line in the part that
    holds the samples of the collector.
    """

    series: tuple[Series, ...] = ()
    tables: tuple[Table, ...] = ()
    events: tuple[Event, ...] = ()
    profiles: tuple[ProfileSource, ...] = ()
    facts: Mapping[str, object] = field(default_factory=dict)
    fact_lines: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[Sentence, ...] = ()
    readable: bool = True


Parse = Callable[[Mapping[str, Part], Context], Parsed]


@dataclass(frozen=True, slots=True)
class Option:
    """A value that a user can set for a collector. Scripts read it as `$OPT_<NAME>`.

    The whole value must match `pattern`. It is checked when the request arrives and again when the program is
    built. `default` applies if the value is not set. A `required` option has no default, and a capture without it
    is refused.
    """

    name: str
    pattern: str
    title: Text
    default: str = ""
    required: bool = False


class TargetAccess(StrEnum):
    """What a collector accesses of a process. It never executes anything of the process.

    `counters`: values of the kernel about it, including names and counts. `files`: bytes of files that it controls.
    `sockets`: connects to it, or reads its packets. `memory`: reads its memory, or sets probes in it.
    """

    COUNTERS = "counters"
    FILES = "files"
    SOCKETS = "sockets"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class Collector:
    """One thing that runs on a host and is parsed afterwards.

    `exclusive` collectors run one after another, after the light ones have started. `seconds_max` caps the
    duration, `max_bytes` the decompressed bytes that it can write on the host. `parser_version` is raised when
    `parse` yields something else for the same bytes. Light collectors are part of every plan, unless they
    are `on_demand`. `touches` is empty if the collector reads only values of the whole host.

    `metrics` defines the metrics that no other collector yields, `plans` the plans that a collector of another tier is
    part of, and `messages` the texts of its own warnings, by message key.
    """

    id: str
    title: Text
    why: Text
    tier: Tier
    methods: tuple[CollectionMethod, ...]
    parse: Parse
    cost: Cost
    yields: tuple[str, ...] = ()
    mandatory: bool = False
    exclusive: bool = False
    seconds_max: int = 120
    max_bytes: int = 64 << 20
    parser_version: int = 1
    options: tuple[Option, ...] = ()
    on_demand: bool = False
    metrics: tuple[Metric, ...] = ()
    plans: tuple[PlanEntry, ...] = ()
    messages: Mapping[str, Text] = field(default_factory=dict, hash=False)
    touches: frozenset[TargetAccess] = field(kw_only=True)
