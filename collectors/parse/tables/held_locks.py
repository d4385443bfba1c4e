"""Locks for writing that one process held in every look at /proc/locks, and the files that they are on."""

from __future__ import annotations

import re
from collections.abc import Iterable

from collectors.contract import Column, Table
from collectors.parse.tables.tokens import to_text

_MAX_ROWS = 50
_PLACE = (
    rb"(POSIX|OFDLCK|FLOCK)\s+\w+\s+WRITE\s+(\d{1,10})\s+([0-9a-f]{1,8}:[0-9a-f]{1,8}:\d{1,20})"
    rb"\s+(\d{1,20})\s+(\d{1,20}|EOF)"
)
_HELD = re.compile(rb"held " + _PLACE)
_ON = re.compile(rb"/proc/(\d{1,10})/fdinfo/(\d{1,7}):lock " + _PLACE)
_LINK = re.compile(rb"/proc/(\d{1,10})/fd/(\d{1,7}) -> (.{1,4096})")
_COMM = re.compile(rb"/proc/(\d{1,10})/comm:(.{0,64})")
_COLUMNS = (Column("pid"), Column("comm"), Column("kind"), Column("file"), Column("path"))


def parse_held_locks(lines: Iterable[tuple[int, bytes]]) -> Table | None:
    """Return `held_locks`: a row for each lock, with the path of its file if the process still has it open.

    Args:
        lines: The numbered lines of the output: `held` and a line of /proc/locks without its number, then lines `lock:`
            of /proc/PID/fdinfo, links of /proc/PID/fd, and names of processes.

    A kind is `posix`, `ofdlck` or `flock`; `file` is device and inode, as /proc/locks writes them.
    """
    held: dict[tuple[bytes, ...], int] = {}
    places: dict[tuple[bytes, bytes], tuple[bytes, ...]] = {}
    paths: dict[tuple[bytes, ...], str] = {}
    comms: dict[bytes, str] = {}
    for number, line in lines:
        if match := _HELD.fullmatch(line):
            held.setdefault(match.groups(), number)
        elif match := _ON.fullmatch(line):
            places[match[1], match[2]] = match.groups()[2:]
        elif match := _LINK.fullmatch(line):
            if place := places.get((match[1], match[2])):
                paths.setdefault(place, to_text(match[3], 300))
        elif match := _COMM.fullmatch(line):
            comms[match[1]] = to_text(match[2], 64)
    rows = [
        (int(pid), comms.get(pid, ""), kind.decode("ascii").lower(), file.decode("ascii"), paths.get(place))
        for place in held
        for kind, pid, file, *_ in [place]
    ][:_MAX_ROWS]
    return (
        Table("held_locks", _COLUMNS, tuple(rows), lines=tuple(held.values())[:_MAX_ROWS]) if rows else None
    )
