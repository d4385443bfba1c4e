"""What is mounted where, with which options, and how full it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan

from collectors.contract import (
    Collector,
    Column,
    Context,
    Cost,
    Needs,
    Parsed,
    Part,
    Script,
    Sentence,
    Table,
    Text,
    Tier,
)
from collectors.parse.tables.tokens import parse_counter, to_text

_MAX_BYTES = 2 << 20
_MAX_ROWS = 1_000
_OCTAL = re.compile(rb"\\([0-7]{3})")
_DF = re.compile(
    rb"^(.{1,4096}?)\s+(\d{1,20}|-)\s+(\d{1,20}|-)\s+(\d{1,20}|-)\s+(?:\d{1,3}%|-)\s+(/.{0,4096})$"
)
_REMOTE = re.compile(r"nfs|cifs|smb|ceph|gluster|lustre|afs|9p|sshfs|gpfs|beegfs|fuse\.s3|davfs")
_COLUMNS = (
    Column("mountpoint"),
    Column("device"),
    Column("fstype"),
    Column("options"),
    Column("read_only"),
    Column("remote"),
    Column("size_kb", "kb"),
    Column("used_kb", "kb"),
    Column("used_pct", "pct"),
    Column("inodes"),
    Column("inodes_used_pct", "pct"),
    Column("dev"),
)

# Remote file systems and FUSE are never asked how full they are: an unreachable server would block the caller.
# What looks like a credential is replaced before it leaves the host.
_SH = r"""
LC_ALL=C
export LC_ALL
umask 077
cut -c1-1500 /proc/self/mountinfo | head -n 1000 | sed -E \
    -e 's/((pass(word|wd)?|user(name)?|cred(ential)?s?|secret|token|key|auth|sig)[a-z0-9_]*)=[^, ]*/\1=***/gI' \
    -e 's#(//)[^/@ ]*@#\1***@#g' -e 's#\?[^ ,]*#?***#g' > .mounts
[ -s .mounts ] || exit 69
echo '= mountinfo'
cat .mounts
set --
while read -r id parent dev root where rest; do
    case ${rest#*- } in
        nfs* | cifs* | smb* | fuse* | ceph* | gluster* | lustre* | afs* | 9p* | autofs*) continue ;;
        proc* | sysfs* | cgroup*) continue ;;
        devpts* | mqueue* | debugfs* | tracefs* | securityfs* | bpf* | configfs* | pstore* | nsfs* | rpc_*) continue ;;
    esac
    case $where in *\\*) where=$(printf '%b' "$(echo "$where" | sed 's/\\/\\0/g')") ;; esac
    [ $# -ge 200 ] || set -- "$@" "$where"
done < .mounts
limit=
timeout -s KILL 1 true 2> .err && limit='timeout -s KILL 2'
{
    echo '= df'
    $limit df -kP -- "$@" 2> .err
    echo '= inodes'
    $limit df -iP -- "$@" 2> .err
} > .df &
n=0
while kill -0 $! 2> .err && [ $n -lt 5 ]; do sleep 1; n=$((n + 1)); done
cat .df
: "$SECS"
"""

Row = tuple[str | int | float | None, ...]


@dataclass(frozen=True, slots=True)
class _Usage:
    """One line of df: blocks of 1024 bytes, or inodes."""

    line: int
    total: float
    used: float
    free: float

    @property
    def used_pct(self) -> float | None:
        """As df has it: of what users without privileges may have; None of a file system without any."""
        room = self.used + self.free
        return 100.0 * self.used / room if room > 0 else None


def parse_mounts(parts: Mapping[str, Part], context: Context) -> Parsed:
    """One row for each mount; how full it is where that could be asked without risk.

    Sources: /proc/self/mountinfo, see proc(5), and df in POSIX format. Where something is mounted on top of
    something else, df reports the last one.
    """
    part = parts.get("stdout")
    if part is None:
        return Parsed(warnings=(Sentence("warning.part_missing", {"part": "stdout"}),), readable=False)
    mounts: list[tuple[int, bytes, bytes, bytes, bytes, bytes, str]] = []
    usage: dict[str, dict[bytes, _Usage]] = {"df": {}, "inodes": {}}
    section = ""
    for number, line in enumerate(part.read(_MAX_BYTES).split(b"\n")[:10_000], 1):
        if line.startswith(b"= "):
            section = to_text(line[2:], 20)
        elif section == "mountinfo" and (mount := _parse_mount(line)) and len(mounts) < _MAX_ROWS:
            mounts.append((number, *mount))
        elif section in usage and (row := _DF.match(line)):
            usage[section][row[5]] = _Usage(
                number, parse_counter(row[2]), parse_counter(row[3]), parse_counter(row[4])
            )
    if not mounts:
        return Parsed(warnings=(Sentence("warning.no_samples", {"part": "stdout"}),), readable=False)
    topmost = {where: number for number, where, *_ in mounts}
    rows: list[Row] = []
    lines: list[int] = []
    for number, where, device, kind, options, dev, mode in mounts:
        seen = topmost[where] == number
        blocks = usage["df"].get(where) if seen else None
        inodes = usage["inodes"].get(where) if seen else None
        rows.append(
            (*_list_names(where, device, kind, options, mode), *_read_sizes(blocks, inodes), to_text(dev, 20))
        )
        lines.append(blocks.line if blocks else number)
    return Parsed(tables=(Table("mounts", _COLUMNS, tuple(rows), lines=tuple(lines)),))


def _parse_mount(line: bytes) -> tuple[bytes, bytes, bytes, bytes, bytes, str] | None:
    """(mount point, device, type, options, major:minor, ro or rw); the fields before ` - ` vary in number."""
    own, dash, rest = line.partition(b" - ")
    fields, tail = own.split(b" "), rest.split(b" ", 2)
    if not dash or len(fields) < 6 or len(tail) < 2:
        return None
    every = fields[5] + (b"," + tail[2] if len(tail) > 2 else b"")
    unique = b",".join(dict.fromkeys(every.split(b",")))
    mode = "ro" if b"ro" in every.split(b",") else "rw"
    return _unescape(fields[4]), _unescape(tail[1]), tail[0], unique, fields[2], mode


def _unescape(field: bytes) -> bytes:
    return _OCTAL.sub(lambda result: bytes([int(result[1], 8) & 0xFF]), field)


def _list_names(where: bytes, device: bytes, kind: bytes, options: bytes, mode: str) -> Row:
    fstype = to_text(kind, 40)
    remote = int(bool(_REMOTE.match(fstype.removeprefix("fuse.")) or _REMOTE.match(fstype)))
    return (
        *(to_text(where, 300), to_text(device, 300), fstype),
        *(to_text(options, 500), int(mode == "ro"), remote),
    )


def _read_sizes(blocks: _Usage | None, inodes: _Usage | None) -> Row:
    return (
        *(_read_cell(blocks.total) if blocks else None, _read_cell(blocks.used) if blocks else None),
        *(_read_cell(blocks.used_pct) if blocks else None, _read_cell(inodes.total) if inodes else None),
        _read_cell(inodes.used_pct) if inodes else None,
    )


def _read_cell(value: float | None) -> float | None:
    return None if value is None or isnan(value) else value


COLLECTOR = Collector(
    id="mounts",
    title=Text("File systems", "文件系统"),
    why=Text(
        "Which file systems are mounted, with which options, and which run out of space or inodes.",
        "挂载了哪些文件系统、使用哪些选项，以及哪些空间或 inode 将尽。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Script(
            "df",
            Needs(tools=("df", "sed"), files=("/proc/self/mountinfo",), remedy="mount -t proc proc /proc"),
            sh=_SH,
            command_line="read /proc/self/mountinfo; df -kP and df -iP of local file systems, once in {seconds} s",
            stop="TERM",
        ),
    ),
    parse=parse_mounts,
    cost=Cost(
        0.1,
        500,
        Text("One sample. Remote file systems are not accessed.", "只读取一次；不访问远程文件系统。"),
    ),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset(),
)
