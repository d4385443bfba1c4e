"""The reader of files of control groups as `collectors.cgroup_shell` prints them.

`mount <where> <type>` for each hierarchy, then for every look `@ <tick> <seconds of uptime>` and one line
`<path of file>:<line of it>` for each line that matters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from collectors.contract import Part, Sentence
from collectors.parse.tokens import NAN, counter, seconds_to_ns, words

_MAX_LINES = 400_000
_MAX_GROUPS = 2_000
_MAX_LOOKS = 2_000
_MAX_MOUNTS = 64
_FILE = re.compile(rb"(/[^\n]{0,2000}?)/([a-z]+\.[a-z_.]{1,60}|tasks):(.*)")

Line = tuple[int, bytes]


@dataclass(slots=True)
class Look:
    """All that was read at one moment: lines (number in the part, text) by group and file."""

    boot_ns: int
    groups: dict[str, dict[str, list[Line]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Group:
    """One control group at one moment, over all hierarchies that have it. Numbers are NaN where absent."""

    files: Mapping[str, list[Line]]

    def number(self, name: str) -> float:
        """The one number of a file."""
        rows = self.files.get(name)
        return counter(rows[0][1].strip()) if rows else NAN

    def named(self, name: str, key: str) -> float:
        """The number after a word, as in `nr_throttled 12`."""
        return next((counter(text.split()[1]) for _, text in self._keyed(name, key)), NAN)

    def text(self, name: str) -> bytes | None:
        """The one line of a file."""
        rows = self.files.get(name)
        return rows[0][1].strip() if rows else None

    def line(self, *wanted: tuple[str, str]) -> int:
        """The line of the part on which the first of these stands (file, word; no word: the first line)."""
        for name, key in wanted:
            for number, _ in self._keyed(name, key) if key else iter(self.files.get(name, ())):
                return number
        return min((rows[0][0] for rows in self.files.values() if rows), default=1)

    def _keyed(self, name: str, key: str) -> Iterator[Line]:
        wanted = key.encode()
        for number, text in self.files.get(name, ()):
            tokens = text.split()
            if len(tokens) >= 2 and tokens[0] == wanted:
                yield number, text


NOTHING = Group({})


@dataclass(frozen=True, slots=True)
class Looks:
    """Everything that one artifact holds, in order of time."""

    looks: tuple[Look, ...]
    warnings: tuple[Sentence, ...]

    @property
    def seconds(self) -> float:
        """From the first look to the last."""
        return (self.looks[-1].boot_ns - self.looks[0].boot_ns) / 1e9 if self.looks else 0.0

    def paths(self) -> list[str]:
        """The groups of the last look, by path."""
        return sorted(self.looks[-1].groups) if self.looks else []

    def first(self, path: str) -> Group:
        """A group as it was found first; empty where it came later."""
        return Group(self.looks[0].groups.get(path, {}))

    def last(self, path: str) -> Group:
        """A group as it was found last."""
        return Group(self.looks[-1].groups.get(path, {}))


def read(parts: Mapping[str, Part], limit: int) -> Looks:
    """All looks of the part `stdout`. Lines that are nothing of all this are left out."""
    part = parts.get("stdout")
    if part is None:
        return Looks((), (Sentence("warning.part_missing", {"part": "stdout"}),))
    mounts: list[str] = []
    looks: list[Look] = []
    for number, line in enumerate(part.read(limit).split(b"\n")[:_MAX_LINES], 1):
        if line.startswith(b"mount ") and len(mounts) < _MAX_MOUNTS:
            mounts = sorted((*mounts, words(line.split(b" ")[1], 500)), key=len, reverse=True)
        elif line.startswith(b"@ "):
            tokens = line.split()
            boot_ns = seconds_to_ns(tokens[2]) if len(tokens) == 3 else None
            later = boot_ns is not None and (not looks or boot_ns > looks[-1].boot_ns)
            if boot_ns is not None and later and len(looks) < _MAX_LOOKS:
                looks.append(Look(boot_ns))
        elif looks and (match := _FILE.fullmatch(line)):
            _take(looks[-1], _below(words(match[1], 1200), mounts), match[2], (number, match[3]))
    return Looks(tuple(looks), ())


def _take(look: Look, path: str, name: bytes, line: Line) -> None:
    if path in look.groups or len(look.groups) < _MAX_GROUPS:
        look.groups.setdefault(path, {}).setdefault(name.decode("ascii"), []).append(line)


def _below(directory: str, mounts: list[str]) -> str:
    """The path below the mount point, which is what /proc/PID/cgroup calls it."""
    for mount in mounts:
        if directory == mount or directory.startswith(mount + "/"):
            return directory[len(mount) :] or "/"
    return directory


def above(path: str) -> Iterator[str]:
    """The path itself and all above it, up to but without the root."""
    while path and path != "/":
        yield path
        path = path.rpartition("/")[0]
