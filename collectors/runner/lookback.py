"""The minutes before a capture, out of the ring that something on the host has kept meanwhile.

It is no collector that anybody chooses: a run on a host with a ring takes it along. What is in the ring is what the
sampled collectors read, so their parsers read it; the series are theirs, only earlier.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from collectors.bundle import Job
from collectors.catalog import perf_record
from collectors.contract import Context, Needs, Parsed, Part, Sampled, Script, Sentence, Series
from collectors.parse import sampled
from collectors.perf_shell import POSTLUDE, PRELUDE
from collectors.registry import COLLECTORS

ID = "look_back"
STDOUT = "stdout"
MAX_BYTES = 48 << 20
#: Whose files are kept: what tells of processors, queues, memory, disks and the network of the whole host.
KEPT = (
    "psi",
    "softirqs",
    "vmstat_proc",
    "vmstat",
    "cpu_stat",
    "loadavg",
    "meminfo",
    "iostat",
    "net_dev",
    "snmp",
    "netstat_ext",
    "softnet",
)


def _files(collector: str) -> tuple[str, ...]:
    """The files that the sampled way of a collector reads."""
    return next(way.files for way in COLLECTORS[collector].ways if isinstance(way, Sampled))


#: In the order in which they are read each second.
FILES = tuple(dict.fromkeys(path for name in KEPT for path in _files(name)))

#: Of several rings the one that goes back furthest; of that the newest pieces that fit.
_SH = (
    r"""
# Change into the ring of directory $1, if nobody else can write there: from then on no other user can lead the shell
# elsewhere. A mount point is refused, as a file system in user space can claim any owner.
enter_ring() {
    [ -d "$1" ] && [ ! -L "$1" ] && [ -O "$1" ] && b=$(cd -P "${1%/*}" && pwd -P) || return 1
    cd -P "$1" 2> /dev/null && [ "$PWD" = "${b%/}/${1##*/}" ] && [ -O . ] || return 1
    case $(ls -ldn .) in d????-??-*) ;; *) return 1 ;; esac
    ! grep -qF " $PWD " /proc/self/mountinfo && [ "$PWD" -ef . ] && [ -d ring ] && [ ! -L ring ] && cd ring
}
home=$PWD place= oldest=
for d in "${DIR%/*}"/culprit-* /dev/shm/culprit-* /var/tmp/culprit-* /tmp/culprit-*; do
    enter_ring "$d" && set -- r.* && [ -e "$1" ] || continue
    x=${1#r.}
    x=${x%%[!0-9]*}
    [ -z "$place" ] || [ "$x" -lt "$oldest" ] || continue
    place=$PWD oldest=$x
    exec 7< .
done
cd "$home"
[ -n "$place" ] || { echo "nothing kept a look-back here" >&2; exit 69; }
ring=/proc/self/fd/7
list= room=$BYTES take=
for f in "$ring"/r.*; do list="$f $list"; done
for f in $list; do
    n=$(wc -c < "$f" 2> /dev/null) || continue
    room=$((room - n))
    [ "$room" -ge 0 ] || break
    take="$f $take"
done
echo "cat $place/r.*" > "${ARGV:-/dev/null}"
if { : > samples; } 2> /dev/null; then cat $take > samples 2> /dev/null; else cat $take 2> /dev/null; fi
[ -n "$take" ]
[ -s "$ring/perf.pid" ] || exit 0
(
    read -r p began < "$ring/perf.pid" && read -r x < "/proc/$p/stat" && x=${x##*) } && set -- $x || exit
    [ "${20}" = "$began" ] && rm -f "$ring"/perf.data.[0-9]* && kill -USR2 "$p" || exit
    n=0
    while set -- "$ring"/perf.data.[0-9]* && [ ! -s "$1" ] && [ "$n" -lt 100 ]; do
        sleep 0.1 2> /dev/null || sleep 1
        n=$((n + 1))
    done
    [ -s "$1" ] && mv "$1" perf.data || exit
"""
    + PRELUDE
    + POSTLUDE
    + r"""
    say "clock $clock"
    usable perf.data && text perf.data $((BYTES / 2)) """
    + perf_record.FIELDS
    + r""" cat
) > .stacks 2>&1
exit 0
"""
)
WAY = Script("ring", Needs(), _SH, "cat the pieces of the ring")
JOB = Job(ID, (WAY,), 5, MAX_BYTES, grace_s=30)


def parse(parts: Mapping[str, Part], context: Context) -> Parsed:
    """The series of the sampled collectors in the time before the capture, cited in the one part that came home.

    And the stacks of that time, where the ring kept any.
    """
    name = sampled.PART if sampled.PART in parts else STDOUT
    part = parts.get(name)
    if part is None:
        missing = Sentence("warning.part_missing", {"part": sampled.PART})
        return Parsed(warnings=(missing,), readable=False)
    data = part.read(MAX_BYTES)
    data = data[: data.rfind(b"\n") + 1]
    pieces = sampled.split(data)
    series = [one for collector in KEPT for one in _of(collector, pieces, part, context, name)]
    if not series:
        return Parsed(warnings=(Sentence("warning.no_samples", {"part": name}),), readable=False)
    stacks = perf_record.parse(parts, context) if "script.txt" in parts else Parsed()
    return Parsed(series=tuple(series), profiles=stacks.profiles, warnings=stacks.warnings)


def _of(
    collector: str, pieces: Sequence[sampled.Piece], whole: Part, context: Context, name: str
) -> Iterator[Series]:
    """What one collector would have read of its own files, with the lines of the part that holds all files."""
    wanted = _files(collector)
    exact = {path for path in wanted if "*" not in path}
    heads = tuple(path.partition("*")[0] for path in wanted if "*" in path)
    mine = [one for one in pieces if one.path in exact or (heads and one.path.startswith(heads))]
    if not mine:
        return
    lines = np.concatenate([np.arange(one.line, one.line + one.lines, dtype=np.int32) for one in mine])
    piece = _Piece(whole.sha256, b"".join(one.data for one in mine))
    for one in COLLECTORS[collector].parse({sampled.PART: piece}, context).series:
        yield replace(one, part=name, lines=_in_whole(one.lines, lines))


def _in_whole(
    of_piece: npt.NDArray[np.int32] | None, lines: npt.NDArray[np.int32]
) -> npt.NDArray[np.int32] | None:
    """Lines (from 1, 0: none) of a piece as lines of the whole."""
    if of_piece is None:
        return None
    known = (of_piece > 0) & (of_piece <= len(lines))
    return np.where(known, lines[np.clip(of_piece - 1, 0, len(lines) - 1)], 0).astype(np.int32)


@dataclass(frozen=True, slots=True)
class _Piece:
    """The snapshots of one collector's files, as a part."""

    sha256: str
    data: bytes

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.data)

    def open(self) -> BinaryIO:
        """From the beginning."""
        return io.BytesIO(self.data)

    def read(self, limit: int) -> bytes:
        """At most so many."""
        return self.data[:limit]
