"""The reader of files of control groups as `collectors.shell.cgroups` prints them.

`mount <where> <type>` for each hierarchy, then for every look `@ <tick> <seconds of uptime>` and one line
`<path of file>:<line of it>` for each line that matters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from collectors.contract import Part, Sentence
from collectors.parse.tables.tokens import NAN, parse_counter, parse_seconds_ns, to_text

_MAX_LINES = 400_000
_MAX_GROUPS = 2_000
_MAX_SAMPLES = 2_000
_MAX_MOUNTS = 64
_FILE = re.compile(rb"(/[^\n]{0,2000}?)/([a-z]+\.[a-z_.]{1,60}|tasks):(.*)")

Line = tuple[int, bytes]


@dataclass(slots=True)
class CgroupSample:
    """All that was read at one moment: lines (number in the part, text) by group and file."""

    boot_ns: int
    groups: dict[str, dict[str, list[Line]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CgroupFiles:
    """One control group at one moment, over all hierarchies that have it. Numbers are NaN where absent."""

    files: Mapping[str, list[Line]]

    def number(self, name: str) -> float:
        """The one number of a file."""
        rows = self.files.get(name)
        return parse_counter(rows[0][1].strip()) if rows else NAN

    def named(self, name: str, key: str) -> float:
        """The number after a word, as in `nr_throttled 12`."""
        return next((parse_counter(text.split()[1]) for _, text in self._keyed(name, key)), NAN)

    def text(self, name: str) -> bytes | None:
        """The one line of a file."""
        rows = self.files.get(name)
        return rows[0][1].strip() if rows else None

    def line(self, *requested: tuple[str, str]) -> int:
        """Line of the part with the first of these (file, word; without a word: the first line)."""
        for name, key in requested:
            for number, _ in self._keyed(name, key) if key else iter(self.files.get(name, ())):
                return number
        return min((rows[0][0] for rows in self.files.values() if rows), default=1)

    def _keyed(self, name: str, key: str) -> Iterator[Line]:
        requested = key.encode()
        for number, text in self.files.get(name, ()):
            tokens = text.split()
            if len(tokens) >= 2 and tokens[0] == requested:
                yield number, text


NOTHING = CgroupFiles({})


@dataclass(frozen=True, slots=True)
class CgroupSamples:
    """Everything that one artifact holds, in order of time."""

    samples: tuple[CgroupSample, ...]
    warnings: tuple[Sentence, ...]

    @property
    def seconds(self) -> float:
        """From the first sample to the last."""
        return (self.samples[-1].boot_ns - self.samples[0].boot_ns) / 1e9 if self.samples else 0.0

    def paths(self) -> list[str]:
        """The groups of the last sample, by path."""
        return sorted(self.samples[-1].groups) if self.samples else []

    def first(self, path: str) -> CgroupFiles:
        """A group as it was found first; empty where it came later."""
        return CgroupFiles(self.samples[0].groups.get(path, {}))

    def last(self, path: str) -> CgroupFiles:
        """A group as it was found last."""
        return CgroupFiles(self.samples[-1].groups.get(path, {}))


def parse_cgroup_files(parts: Mapping[str, Part], limit: int) -> CgroupSamples:
    """All samples of the part `stdout`. Other lines are left out."""
    part = parts.get("stdout")
    if part is None:
        return CgroupSamples((), (Sentence("warning.part_missing", {"part": "stdout"}),))
    mounts: list[str] = []
    cgroup_samples: list[CgroupSample] = []
    for number, line in enumerate(part.read(limit).split(b"\n")[:_MAX_LINES], 1):
        if line.startswith(b"mount ") and len(mounts) < _MAX_MOUNTS:
            mounts = sorted((*mounts, to_text(line.split(b" ")[1], 500)), key=len, reverse=True)
        elif line.startswith(b"@ "):
            tokens = line.split()
            boot_ns = parse_seconds_ns(tokens[2]) if len(tokens) == 3 else None
            later = boot_ns is not None and (not cgroup_samples or boot_ns > cgroup_samples[-1].boot_ns)
            if boot_ns is not None and later and len(cgroup_samples) < _MAX_SAMPLES:
                cgroup_samples.append(CgroupSample(boot_ns))
        elif cgroup_samples and (match := _FILE.fullmatch(line)):
            _add_line(
                cgroup_samples[-1], _is_below(to_text(match[1], 1200), mounts), match[2], (number, match[3])
            )
    return CgroupSamples(tuple(cgroup_samples), ())


def _add_line(cgroup_sample: CgroupSample, path: str, name: bytes, line: Line) -> None:
    if path in cgroup_sample.groups or len(cgroup_sample.groups) < _MAX_GROUPS:
        cgroup_sample.groups.setdefault(path, {}).setdefault(name.decode("ascii"), []).append(line)


def _is_below(directory: str, mounts: list[str]) -> str:
    """The path below the mount point, which is what /proc/PID/cgroup calls it."""
    for mount in mounts:
        if directory == mount or directory.startswith(mount + "/"):
            return directory[len(mount) :] or "/"
    return directory


def list_ancestors(path: str) -> Iterator[str]:
    """The path itself and all above it, up to but without the root."""
    while path and path != "/":
        yield path
        path = path.rpartition("/")[0]
