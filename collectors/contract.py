"""The words that collectors, parsers and the server share.

A collector says what it runs on a host (`ways`, in order of preference), what that costs, and how the bytes
that come home are read (`parse`). Everything here is an immutable value; nothing does I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import BinaryIO, Literal, Protocol

import numpy as np
import numpy.typing as npt

Times = npt.NDArray[np.int64]  # UTC nanoseconds
Values = npt.NDArray[np.float64]
ClockKind = Literal["boottime", "monotonic", "realtime"]
Severity = Literal["info", "warn", "critical"]


class Tier(StrEnum):
    """What a collector may cost the host; who may run it follows from it."""

    LIGHT = "light"
    STANDARD = "standard"
    DEEP = "deep"
    PTRACE = "ptrace"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A message for people: a key into the sentence catalogue, and its parameters."""

    key: str
    params: Mapping[str, str | int | float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Text:
    """A fixed text in both languages of the product."""

    en: str
    zh: str


@dataclass(frozen=True, slots=True)
class Needs:
    """What one way of collecting asks of the host.

    `perf` means that system-wide perf events must be allowed: root, CAP_PERFMON, or
    perf_event_paranoid <= -1. `target` means that the scope of the capture must have named a process, a
    control group or a service, so that there is a `$TARGET_PID`.
    `mend` names the command or package that supplies what is missing.
    """

    tools: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    root: bool = False
    perf: bool = False
    target: bool = False
    mend: str = ""


@dataclass(frozen=True, slots=True)
class Script:
    """A way that runs commands.

    `sh` is POSIX sh, run in its own process group under the runner's deadline with the working directory set
    to an empty directory of its own. `$SECS` is the duration in whole seconds, `$BYTES` the byte cap. Each
    file that it leaves behind in that directory becomes one part of the artifact; standard output becomes
    the part `stdout` where it is not empty. `shows` is the command line that a person sees before dispatch,
    with `{seconds}` filled in. `version` prints the version of the tool on one line. What the capture looks at is
    in `$TARGET_KIND` (host, cgroup or process), `$TARGET_PID` (the process to look at; empty for a whole host),
    `$TARGET_PIDS` (at most 512) and `$TARGET_CGROUP` (its path below the mount points; empty where unknown). A
    value that the collector asks for is in `$OPT_<NAME>`, empty where nobody gave one.
    """

    name: str
    needs: Needs
    sh: str
    shows: str
    version: str = ""
    stop: Literal["INT", "TERM"] = "INT"


@dataclass(frozen=True, slots=True)
class Sampled:
    """A way that costs no process: the bundle's one sampler reads these files every `interval_s` seconds.

    Globs are allowed. The artifact has one part, `samples`: for every tick a line
    `@ <tick> <boottime_ns> <path>` for each file, followed by the file's text. Lines of text that begin
    with `@` are written with a second `@` in front. `once` reads at the start and the end only.
    """

    name: str
    needs: Needs
    files: tuple[str, ...]
    interval_s: float = 1.0
    once: bool = False

    @property
    def shows(self) -> str:
        """What a person sees before dispatch."""
        return "read " + " ".join(self.files)


Way = Script | Sampled


@dataclass(frozen=True, slots=True)
class Cost:
    """Expected cost on the host, as a person should see it before dispatch.

    `cpu_pct` is percent of one core while it runs, `bytes_per_s` what is written or sent.
    """

    cpu_pct: float
    bytes_per_s: float
    note: Text


class Part(Protocol):
    """One stored piece of an artifact, as a parser sees it."""

    @property
    def sha256(self) -> str:
        """The digest of the bytes as they are stored."""
        ...

    @property
    def size(self) -> int:
        """The number of decompressed bytes."""
        ...

    def open(self) -> BinaryIO:
        """The decompressed bytes, from the beginning."""
        ...

    def read(self, limit: int) -> bytes:
        """At most `limit` decompressed bytes."""
        ...


class Clock(Protocol):
    """Turns a host's clocks into UTC."""

    @property
    def uncertainty_ns(self) -> int:
        """How far off a time may be."""
        ...

    def to_utc(self, kind: ClockKind, ns: Times) -> Times:
        """UTC nanoseconds for readings of the host's clock `kind`."""
        ...


@dataclass(frozen=True, slots=True)
class Context:
    """What a parser may know besides the bytes: the clock, facts of the host, and the way that was taken."""

    clock: Clock
    way: str = ""
    seconds: float = 0.0
    facts: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Series:
    """One metric over time as a matrix.

    Shapes: `t_ns` [n], `values` [n, k], `lines` [n] (1-based line in `part` that each row was read from).
    `axis` names the dimension that the k columns run over ("cpu", "node"); without one, k is 1.
    NaN in `values` is "no data", which is not zero. The unit is that of the metric in `collectors.metrics`.
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
    """One column of a table: its id, and its unit where it has one."""

    id: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A small table that is no time series; rows hold strings and numbers in the order of `columns`.

    `lines` names for each row the 1-based line of `part` that it was read from.
    """

    kind: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str | int | float | None, ...], ...]
    part: str = "stdout"
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened at an instant or over a span, with the line that says so.

    `uncertainty_ns` is what its own time is uncertain by, beyond the uncertainty of the clock.
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
class ProfileSource:
    """A part that holds stacks: which reader opens it, and what its weights mean.

    Profiles are built by a task of their own, because they may hold ten million samples.
    """

    kind: Literal["on_cpu", "sched", "off_cpu", "page_faults", "state"]
    reader: Literal["perf_script", "folded", "perf_sched"]
    part: str
    unit: Literal["samples", "ns"]
    clock: ClockKind | None
    raw_part: str | None = None


@dataclass(frozen=True, slots=True)
class Parsed:
    """All that one artifact yielded. No parser raises on bad input: what it could not read is a warning.

    `fact_lines` says where facts stand: the name, with dots between the names of nested ones, and the 1-based line of
    the part that the collector's samples are in.
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
    """A value that whoever asks for a capture may give a collector: exported to scripts as `$OPT_<NAME>`.

    `pattern` is what the whole value must match; it is checked where the request comes in and again where
    the program is built. `default` is what scripts see where nobody gave one; one that is `required` has none, and
    no capture is made without it.
    """

    name: str
    pattern: str
    title: Text
    default: str = ""
    required: bool = False


class TargetAccess(StrEnum):
    """What of a process a collector touches. Nothing of it is ever executed, whatever this says.

    `counters`: what the kernel says of it, names and counts included. `files`: bytes of files that it controls.
    `sockets`: talks to it, or reads its packets. `memory`: reads its memory, or sets probes in it.
    """

    COUNTERS = "counters"
    FILES = "files"
    SOCKETS = "sockets"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class Collector:
    """One thing that can be run on a host and read afterwards.

    `exclusive` collectors run one after another, after the light ones have started. `seconds_max` caps the
    duration, `max_bytes` what it may write on the host (decompressed). `parser_version` grows whenever
    `parse` would yield something else for the same bytes. Light collectors are part of every plan, unless they
    are `on_demand`. `touches` is empty where only the host as a whole is looked at.
    """

    id: str
    title: Text
    why: Text
    tier: Tier
    ways: tuple[Way, ...]
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
    touches: frozenset[TargetAccess] = field(kw_only=True)
