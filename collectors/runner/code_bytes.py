"""Fetch the code of one function from a host, and the lines of its source, in a job of its own.

The job runs when a user asks for the instructions of a function. The server knows from the symbols of the file which
blocks hold them. The file is read as in `collectors.runner.symbols`: through `/proc/PID/map_files`, or by its path if
the inode is the same. The first block is sent too: the server refuses the part if it differs from that of the symbols.

Parts: `NAME.code` of each request, its blocks one after the other. A file that cannot be read has no part.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from collectors.contract import Needs, Script
from collectors.runner.program import CollectorJob
from collectors.runner.symbols import BLOCK, ID, FileRequest, name_debug_key

#: Bytes of one function; as `CODE_MAX` of the native reader.
CODE_BYTES = 64 << 10
#: Bytes of the tables of lines of one file.
LINE_BYTES = 24 << 20
MAX_BYTES = 32 << 20
SECONDS = 5
MAX_FILES = 2
MAX_RUNS = 8

_NAME = re.compile(r"[0-9a-z-]{1,80}\.[0-9]{1,9}")
_BUILD_ID = re.compile(r"[0-9a-f]{6,40}")
_PATH = re.compile(r"/[A-Za-z0-9._+@:/-]{1,255}")
_SH = r"""
LC_ALL=C
export LC_ALL
umask 077
# Set `file` to the file that one of the processes `$1` has mapped; by its path only if that is the same inode, or below
# the directory of debugging symbols.
find_file() {
    mapped=1
    for place in $1; do
        file=/proc/${place%%:*}/map_files/${place#*:}
        [ ! -r "$file" ] || return 0
    done
    file=$2 mapped=
    case $file in /*) ;; *) return 1 ;; esac
    [ -f "$file" ] && [ -r "$file" ] || return 1
    case $file in /usr/lib/debug/.build-id/*) return 0 ;; esac
    [ "$(stat -L -c %D-%i "$file" 2> .stat)" = "$3" ]
}
# Whether the descriptor 8 is a regular file, with the inode `$1` unless that is `-`.
is_same() { [ -f /proc/self/fd/8 ] && { [ "$1" = - ] || [ "$(stat -L -c %D-%i /proc/self/fd/8 2> .stat)" = "$1" ]; }; }
read_runs() {
    while [ -n "$runs" ]; do
        run=${runs%%,*} runs=${runs#"${runs%%,*}"}
        runs=${runs#,}
        $limit dd if="$1" bs=4096 skip="${run%+*}" count="${run#*+}" conv=sync 2> .dd
    done > "$name.code"
}
limit=
! timeout 5 true 2> .timeout || limit='timeout 5'
printf '%s\n' "$OPT_FILES" > .requests
while read -r name inode path runs places; do
    [ -n "$name" ] && find_file "$places" "$path" "$inode" || continue
    if [ -n "$mapped" ]; then
        read_runs "$file"
    else
        # Its path may lead elsewhere since it was checked.
        { is_same "$inode" && read_runs /proc/self/fd/8; } 2> .open 8< "$file"
    fi
    [ -s "$name.code" ] || rm -f "$name.code"
done < .requests
exit 0
"""
METHOD = Script(
    "map_files",
    Needs(tools=("dd",), root=True, remedy="root"),
    _SH,
    "read the code of one function in a file that a process maps, and the lines of its source",
)


@dataclass(frozen=True, slots=True)
class CodeRequest:
    """Blocks of a file to fetch: runs (first, count) in the order of the part. `name` is that of the part."""

    name: str
    file: FileRequest
    runs: Sequence[tuple[int, int]]


def name_code(key: str, start: int) -> str:
    """Return the name of the request for the function at the offset `start` of the file `key`."""
    return f"{key}.{start // BLOCK}"


def name_code_part(name: str) -> str:
    """Return the name of the part that a request yields."""
    return f"{name}.code"


def name_debug_file(key: str, build_id: str) -> FileRequest:
    """Return the request for the separate file with debugging symbols, where distributions install it.

    Raises ValueError if the build ID has another form.
    """
    if not _BUILD_ID.fullmatch(build_id):
        raise ValueError("a build ID is hexadecimal")
    path = f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
    return FileRequest(name_debug_key(key), (), path=path)


def list_blocks(start: int, size: int) -> tuple[int, int]:
    """Return the run of blocks (first, count) that contains `size` bytes at an offset."""
    first = start // BLOCK
    return first, (start + size - 1) // BLOCK - first + 1


def build_job(requests: Sequence[CodeRequest]) -> CollectorJob:
    """Return the job that fetches the blocks. Raises ValueError for a name or number of another form."""
    if not all(_NAME.fullmatch(request.name) and 0 < len(request.runs) <= MAX_RUNS for request in requests):
        raise ValueError("names of parts are a key and a number")
    blocks = sum(count for request in requests for _, count in request.runs)
    if len(requests) > MAX_FILES or blocks * BLOCK > MAX_BYTES:
        raise ValueError("too much is requested")
    options = {"files": "\n".join(map(_describe_request, requests))}
    return CollectorJob(ID, (METHOD,), SECONDS, MAX_BYTES, options=options)


def _describe_request(request: CodeRequest) -> str:
    file = request.file
    path = file.path if _PATH.fullmatch(file.path) else "-"
    runs = ",".join(f"{first}+{count}" for first, count in request.runs)
    places = " ".join(f"{pid}:{start:x}-{end:x}" for pid, start, end in file.places)
    return f"{request.name} {file.inode or '-'} {path} {runs} {places}"
