"""Collect the minutes before a capture from the look-back buffer of a watcher on the host.

This job is in no plan: a run on a host with a look-back buffer adds it. The buffer holds the files of the sampled
collectors, so their parsers parse it. The series have the same names and earlier times.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from collectors.catalog.cpu import perf_record
from collectors.contract import Context, Needs, Parsed, Part, Sampled, Script, Sentence, Series
from collectors.parse.proc import sampled
from collectors.registry import COLLECTORS
from collectors.runner.program import CollectorJob
from collectors.shell.perf import POSTLUDE, PRELUDE

ID = "look_back"
STDOUT = "stdout"
MAX_BYTES = 48 << 20
#: The collectors whose files the buffer holds: CPUs, queues, memory, disks and network of the whole host.
BUFFERED = (
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


def _sampled_files(collector: str) -> tuple[str, ...]:
    """Return the files that the sampled method of a collector reads."""
    return next(method.files for method in COLLECTORS[collector].methods if isinstance(method, Sampled))


#: The files, in the order in which they are read each second.
FILES = tuple(dict.fromkeys(path for name in BUFFERED for path in _sampled_files(name)))

#: Selects the buffer with the oldest data, and of that the newest pieces that fit.
_SH = (
    r"""
# Change into the buffer of directory $1 if only this user can write there: then no other user can redirect the shell.
# A mount point is refused, because a file system in user space can claim any owner.
enter_buffer() {
    [ -d "$1" ] && [ ! -L "$1" ] && [ -O "$1" ] && b=$(cd -P "${1%/*}" && pwd -P) || return 1
    cd -P "$1" 2> /dev/null && [ "$PWD" = "${b%/}/${1##*/}" ] && [ -O . ] || return 1
    case $(ls -ldn .) in d????-??-*) ;; *) return 1 ;; esac
    ! grep -qF " $PWD " /proc/self/mountinfo && [ "$PWD" -ef . ] && [ -d lookback ] && [ ! -L lookback ] && cd lookback
}
home=$PWD buffer_dir= oldest=
for d in "${DIR%/*}"/culprit-* /dev/shm/culprit-* /var/tmp/culprit-* /tmp/culprit-*; do
    enter_buffer "$d" && set -- r.* && [ -e "$1" ] || continue
    x=${1#r.}
    x=${x%%[!0-9]*}
    [ -z "$buffer_dir" ] || [ "$x" -lt "$oldest" ] || continue
    buffer_dir=$PWD oldest=$x
    exec 7< .
done
cd "$home"
[ -n "$buffer_dir" ] || { echo "no look-back buffer on this host" >&2; exit 69; }
buffer=/proc/self/fd/7
list= free_bytes=$BYTES selected=
for f in "$buffer"/r.*; do list="$f $list"; done
for f in $list; do
    n=$(wc -c < "$f" 2> /dev/null) || continue
    free_bytes=$((free_bytes - n))
    [ "$free_bytes" -ge 0 ] || break
    selected="$f $selected"
done
echo "cat $buffer_dir/r.*" > "${ARGV:-/dev/null}"
if { : > samples; } 2> /dev/null; then cat $selected > samples 2> /dev/null; else cat $selected 2> /dev/null; fi
[ -n "$selected" ]
[ -s "$buffer/perf.pid" ] || exit 0
(
    read -r p began < "$buffer/perf.pid" && read -r x < "/proc/$p/stat" && x=${x##*) } && set -- $x || exit
    [ "${20}" = "$began" ] && rm -f "$buffer"/perf.data.[0-9]* && kill -USR2 "$p" || exit
    n=0
    while set -- "$buffer"/perf.data.[0-9]* && [ ! -s "$1" ] && [ "$n" -lt 100 ]; do
        sleep 0.1 2> /dev/null || sleep 1
        n=$((n + 1))
    done
    [ -s "$1" ] && mv "$1" perf.data || exit
"""
    + PRELUDE
    + POSTLUDE
    + r"""
    report "clock $clock"
    usable perf.data || exit
    if named_by_server; then
        kernel_symbols
    else
        text perf.data $((BYTES / 2)) """
    + perf_record.FIELDS
    + r""" cat
    fi
) > .stacks 2>&1
exit 0
"""
)
METHOD = Script("lookback", Needs(), _SH, "cat the pieces of the look-back buffer")
JOB = CollectorJob(ID, (METHOD,), 5, MAX_BYTES, grace_s=30)


def parse_lookback(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Return the series of the sampled collectors before the capture. They cite the one part that was stored.

    The result includes the stacks of that time if the buffer has them.
    """
    name = sampled.PART if sampled.PART in parts else STDOUT
    part = parts.get(name)
    if part is None:
        missing = Sentence("warning.part_missing", {"part": sampled.PART})
        return Parsed(warnings=(missing,), readable=False)
    data = part.read(MAX_BYTES)
    data = data[: data.rfind(b"\n") + 1]
    pieces = sampled.split_pieces(data)
    series = [
        item for collector in BUFFERED for item in _select_collectors(collector, pieces, part, context, name)
    ]
    if not series:
        return Parsed(warnings=(Sentence("warning.no_samples", {"part": name}),), readable=False)
    stacks = (
        perf_record.parse_perf_record(parts, context)
        if "script.txt" in parts or "perf.data" in parts
        else Parsed()
    )
    return Parsed(series=tuple(series), profiles=stacks.profiles, warnings=stacks.warnings)


def _select_collectors(
    collector: str, pieces: Sequence[sampled.SamplePiece], whole: Part, context: Context, name: str
) -> Iterator[Series]:
    """Parse the files of one collector, with the line numbers of the part that holds all files."""
    requested = _sampled_files(collector)
    exact = {path for path in requested if "*" not in path}
    heads = tuple(path.partition("*")[0] for path in requested if "*" in path)
    mine = [piece for piece in pieces if piece.path in exact or (heads and piece.path.startswith(heads))]
    if not mine:
        return
    lines = np.concatenate([np.arange(item.line, item.line + item.lines, dtype=np.int32) for item in mine])
    piece = _Piece(whole.sha256, b"".join(item.data for item in mine))
    for series in COLLECTORS[collector].parse({sampled.PART: piece}, context).series:
        yield replace(series, part=name, lines=_cut_to_whole(series.lines, lines))


def _cut_to_whole(
    of_piece: npt.NDArray[np.int32] | None, lines: npt.NDArray[np.int32]
) -> npt.NDArray[np.int32] | None:
    """Convert line numbers of a piece (from 1, 0 for none) to line numbers of the whole part."""
    if of_piece is None:
        return None
    known = (of_piece > 0) & (of_piece <= len(lines))
    return np.where(known, lines[np.clip(of_piece - 1, 0, len(lines) - 1)], 0).astype(np.int32)


@dataclass(frozen=True, slots=True)
class _Piece:
    """The snapshots of the files of one collector, as a part."""

    sha256: str
    data: bytes

    @property
    def size(self) -> int:
        """Return the number of bytes."""
        return len(self.data)

    def open(self) -> BinaryIO:
        """Open the bytes at the beginning."""
        return io.BytesIO(self.data)

    def read(self, limit: int) -> bytes:
        """Return at most `limit` bytes."""
        return self.data[:limit]
