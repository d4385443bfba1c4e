"""Fetch from a host what names the functions of a recording: symbol tables of files, and maps of JIT compilers.

The job runs after a capture, for files whose symbols the server does not have. It reads a file through
`/proc/PID/map_files`, which is the file that the process has mapped, also if its path leads elsewhere by now. Only the
blocks that hold its headers, symbol tables, notes and function starts are sent.

Parts: `index`, and a part `KEY.blocks` or `KEY.map` of each file or map. Lines of the index: `file KEY BUILD_ID`,
`blocks KEY BLOCK COUNT` (4096 bytes each, in the order of the part), `map KEY`, `failed KEY REASON`.

Of a file with a build ID, the separate file with its debugging symbols is sent too, as `KEY-debug`, if it is where
distributions and developers install it and has the same build ID.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files

from collectors.contract import Column, Context, Needs, Parsed, Part, Script, Sentence, Table
from collectors.runner.program import CollectorJob
from collectors.shell.target import ENTER

ID = "symbols"
INDEX = "index"
#: The index of files that were fetched for earlier runs of the host. The server writes it.
KNOWN = "known"
#: The symbols of the kernel.
KALLSYMS = "kallsyms"
BLOCK = 4096
MAX_FILES = 200
MAX_MAPS = 16
#: Symbol tables of node have 25 MB, those of most libraries less than 0.1 MB.
MAX_BYTES = 96 << 20
_FILE_BYTES = 40 << 20
_MAP_BYTES = 16 << 20
SECONDS = 5
MAX_LINES = 10_000
MAX_INDEX = 1 << 20
REASONS = ("gone", "not_elf", "no_sections", "too_large", "unreadable")

_KEY = r"[0-9a-z-]{1,80}"
_LINE = re.compile(
    rf"(file) ({_KEY}) (-|[0-9a-f]{{2,40}})|(blocks) ({_KEY}) (\d{{1,9}}) (\d{{1,6}})|(map) ({_KEY})"
    rf"|(failed) ({_KEY}) ([a-z_]{{1,20}})"
)
_PATH = re.compile(r"/[A-Za-z0-9._+@:/-]{1,255}")

#: Programs for awk. Their input are the bytes of `od -An -v -tu1`, one number a byte; `n` reads a little-endian number.
#: Of each file in `files`: its key, build ID or `-`, place of the section headers, their count, size and index of their
#: names, and place and size of the table of function starts. Constants: \x7fELF, PT_GNU_EH_FRAME, PT_NOTE, "GNU".
_HEADS_AWK = r"""
function n(at, size,  v) { for (v = 0; size > 0; size--) v = v * 256 + b[at + size - 1]; return v }
function up(size) { return int((size + 3) / 4) * 4 }
function note(at, end,  j) {
    for (; at + 16 <= end; at += 12 + up(n(at, 4)) + up(n(at + 4, 4)))
        if (n(at, 4) == 4 && n(at + 8, 4) == 3 && n(at + 12, 4) == 5590599)
            for (j = 0; j < n(at + 4, 4) && j < 20 && at + 16 + j < end; j++) id = id sprintf("%02x", b[at + 16 + j])
}
# `w` is the width of numbers in bytes: 8 in 64-bit files, 4 in others.
function head(  i, at, start, end, frames, size, w, sections, counts) {
    id = ""; frames = size = 0; w = b[4] * 4; sections = w == 8 ? 40 : 32; counts = w == 8 ? 56 : 44
    if (n(0, 4) != 1179403647 || w != 4 && w != 8 || b[5] != 1 || n(sections, w) > 1e12) {
        print file, "not_elf"; return
    }
    for (i = 0; i < n(counts, 2); i++) {
        at = n(24 + w, w) + i * (w == 8 ? 56 : 32)
        if (at + 56 > 4096) break
        start = n(at + w, w); end = start + n(at + 4 * w, w)
        if (n(at, 4) == 1685382480 && start < 1e12) { frames = start; size = end - start }
        if (n(at, 4) == 4 && id == "" && end <= 4096) note(start, end)
    }
    entry = w == 8 ? 64 : 40
    printf "%s %s %.0f %d %d", file, id == "" ? "-" : id, n(sections, w), n(counts + 4, 2), entry
    printf " %d %.0f %.0f\n", n(counts + 2, 2) == entry ? n(counts + 6, 2) : -1, frames, size
}
BEGIN { split(files, name, " ") }
{
    for (i = 1; i <= NF; i++) b[have++] = $i
    if (have >= 4096) { file = name[++done]; head(); have = 0 }
}
"""
_SECTIONS_AWK = (files("collectors") / "runner" / "scripts" / "symbol_blocks.awk").read_text(encoding="ascii")
_SH = (
    r"""
LC_ALL=C file=
export LC_ALL file
umask 077
"""
    + ENTER
    + r"""
: > index
failed() { case $1 in *-debug) ;; *) echo "failed $1 $2" >> index ;; esac; }
# Set `file` to the file that one of the processes `$1` has mapped; by its path only if that is the same inode.
find_file() {
    mapped=1
    for place in $1; do
        file=/proc/${place%%:*}/map_files/${place#*:}
        [ ! -r "$file" ] || return 0
    done
    file=$2 mapped=
    case $file in /*) ;; *) return 1 ;; esac
    [ -f "$file" ] && [ "$(stat -L -c %D-%i "$file" 2> .stat)" = "$3" ]
}
# A path that is not `$mapped` may be replaced between two reads, also by a link to a file of root. So the file is read
# through the descriptor 8 only, and opened again only if it is the same: its inode is in `.inode-KEY`.
hold_file() { [ -f /proc/self/fd/8 ] && held=$(stat -L -c %D-%i /proc/self/fd/8 2> .stat) && [ -n "$held" ]; }
read_first() { $limit dd if="$1" of=".head-$2" bs=4096 count=1 conv=sync 2> .dd && [ -s ".head-$2" ]; }
# Read the first block of the file `$file`. Its inode must be `$2`, if there is one.
read_head() {
    if [ -n "$mapped" ]; then
        read_first "$file" "$1" || return 1
    else
        { hold_file && [ "$held" = "${2:-$held}" ] && read_first /proc/self/fd/8 "$1"; } 2> .open 8< "$file" || return 1
        echo "$held" > ".inode-$1"
    fi
    heads="$heads .head-$1" keys="$keys $1"
    echo "$file" > ".file-$1"
}
heads= keys= limit=
! timeout 5 true 2> .timeout || limit='timeout 5'
printf '%s\n' "$OPT_FILES" > .requests
: > .paths
while read -r key inode path places; do
    [ -n "$key" ] || continue
    echo "$key $path" >> .paths
    find_file "$places" "$path" "$inode" && read_head "$key" "$inode" || failed "$key" gone
done < .requests
# Send the blocks of the file `$file`; the loop below sets the other variables.
send_file() {
    # Linkers put the names of sections in front of their headers.
    first=$((offset / 4096)) base=$((offset / 4096 * 4096))
    [ "$first" -eq 0 ] || first=$((first - 1)) base=$((base - 4096))
    dd if="$file" bs=4096 skip="$first" count=$(((offset + count * size - 1) / 4096 - first + 1)) conv=sync 2> .dd |
        od -An -v -tu1 | awk -v base="$base" -v offset="$offset" -v count="$count" -v entry="$size" \
        -v names="$names" -v frames="$frames" -v size="$frames_size" \
        -v max="$((left < @FILE_BYTES@ ? left : @FILE_BYTES@))" '@SECTIONS@' > .blocks
    read -r first rest < .blocks || { failed "$key" unreadable; return 0; }
    [ "$first" != too_large ] || { failed "$key" too_large; return 0; }
    while read -r first blocks; do
        dd if="$file" bs=4096 skip="$first" count="$blocks" conv=sync 2> .dd
        left=$((left - blocks * 4096))
    done < .blocks > "$key.blocks"
    echo "file $key $id" >> index
    while read -r first blocks; do echo "blocks $key $first $blocks"; done < .blocks >> index
}
# Send the blocks of the files whose heads were read. `.ids` has the key and the build ID of each file in the index.
send_files() {
: > .heads
[ -z "$heads" ] || cat $heads | od -An -v -tu1 | awk -v files="$keys" '@HEADS@' > .heads
while read -r key id offset count size names frames frames_size; do
    [ "$id" != not_elf ] || { failed "$key" not_elf; continue; }
    if [ "$names" -lt 0 ] || [ "$count" -lt 2 ] || [ "$count" -gt 2000 ] || [ "$offset" -lt "$size" ]; then
        failed "$key" no_sections
        continue
    fi
    read -r file < ".file-$key"
    if [ -s ".id-$key" ]; then
        read -r expected < ".id-$key"
        [ "$expected" = "$id" ] || continue
    fi
    if [ -e ".inode-$key" ]; then
        read -r expected < ".inode-$key"
        { hold_file && [ "$held" = "$expected" ] && file=/proc/self/fd/8 && send_file; } 2> .open 8< "$file" ||
            failed "$key" gone
    else
        send_file
    fi
done < .heads
}
# Maps come first: they are gone with their process, and a file is not. A map is read with the rights of its process:
# in its root, as its user.
for pid in $OPT_MAPS; do
    key=map-$pid inner=
    while read -r name value rest; do
        [ "$name" != NSpid: ] || { inner=${rest##*[!0-9]} inner=${inner:-$value}; break; }
    done < "/proc/$pid/status" 2> .status
    [ -z "$inner" ] ||
        enter_target file "/tmp/perf-$inner.map" @MAP_BYTES@ 10 "$pid" 2> .enter | tail -n +2 > "$key.map"
    # A compiler maps its dump, which begins with `JiTD`. Of a file that is too large, only the end is read.
    dump=$(awk -v name="/jit-$inner.dump" '
        $2 ~ /x/ && (at = index($0, "/")) && substr($0, length($0) - length(name) + 1) == name {
            print substr($0, at); exit
        }' "/proc/$pid/maps" 2> .maps)
    [ -z "$dump" ] || enter_target file "$dump" @MAP_BYTES@ 10 "$pid" 2> .enter | tail -n +2 > "dump-$pid.map"
    case $(head -c 4 "dump-$pid.map" 2> .head) in
        JiTD | DTiJ) echo "map dump-$pid" >> index ;;
        *) rm -f "dump-$pid.map" ;;
    esac
    if [ -s "$key.map" ]; then
        echo "map $key" >> index
    else
        rm -f "$key.map"
        [ -s "dump-$pid.map" ] || failed "$key" gone
    fi
done
left=$BYTES
send_files
heads= keys=
cp index .sent
while read -r kind key id; do
    [ "$kind" = file ] && [ "${#id}" -gt 2 ] || continue
    rest=${id#??} path=
    while read -r known name; do [ "$known" != "$key" ] || path=$name; done < .paths
    set -- "/usr/lib/debug/.build-id/${id%"$rest"}/$rest.debug"
    case $path in
        /*) set -- "$1" "/usr/lib/debug$path.debug" "${path%/*}/.debug/${path##*/}.debug" "$path.debug" ;;
    esac
    mapped=
    for file in "$@"; do
        [ -f "$file" ] && [ -r "$file" ] || continue
        echo "$id" > ".id-$key-debug"
        read_head "$key-debug"
        break
    done
done < .sent
send_files
exit 0
"""
)
for _mark, _text in {"HEADS": _HEADS_AWK.strip(), "SECTIONS": _SECTIONS_AWK.strip()}.items():
    _SH = _SH.replace(f"@{_mark}@", _text)
_SH = _SH.replace("@FILE_BYTES@", str(_FILE_BYTES)).replace("@MAP_BYTES@", str(_MAP_BYTES))
METHOD = Script(
    "map_files",
    Needs(tools=("dd", "od", "awk"), root=True, remedy="root"),
    _SH,
    "read the symbol tables of files that processes map, and their maps of generated code",
)


@dataclass(frozen=True, slots=True)
class FileRequest:
    """A file to fetch the symbols of, and where processes map it: (PID, start, end).

    `key` names it in the store of symbols. `inode` is the device number in hexadecimal and the inode, as `stat -c
    %D-%i` prints them. `path` is one in the mount namespace of the host. Both may be "".
    """

    key: str
    places: Sequence[tuple[int, int, int]]
    inode: str = ""
    path: str = ""


def name_blocks_part(key: str) -> str:
    """Return the name of the part that holds the blocks of a file."""
    return f"{key}.blocks"


def name_debug_key(key: str) -> str:
    """Return the key of the separate file with the debugging symbols of a file."""
    return f"{key}-debug"


def describe_known(blocks: Mapping[str, Sequence[Sequence[int]]]) -> str:
    """Return the index of files that are known already: their blocks by key."""
    return "".join(f"blocks {key} {first} {count}\n" for key, runs in blocks.items() for first, count in runs)


def name_map_part(pid: int | str) -> str:
    """Return the name of the part that holds the map of a process."""
    return f"map-{pid}.map"


def name_dump_part(pid: int | str) -> str:
    """Return the name of the part that holds the dump of a process: `jit-PID.dump`."""
    return f"dump-{pid}.map"


def build_job(requests: Sequence[FileRequest], map_pids: Sequence[int]) -> CollectorJob:
    """Return the job that fetches files, and maps of processes. Raise ValueError for a key that is not a plain name."""
    if not all(re.fullmatch(_KEY, request.key) for request in requests):
        raise ValueError("keys are plain names")
    options = {
        "files": "\n".join(map(_describe_file, requests[:MAX_FILES])),
        "maps": " ".join(str(pid) for pid in map_pids[:MAX_MAPS]),
    }
    return CollectorJob(ID, (METHOD,), SECONDS, MAX_BYTES, options=options)


def _describe_file(request: FileRequest) -> str:
    path = request.path if _PATH.fullmatch(request.path) and request.inode else "-"
    places = " ".join(f"{pid}:{start:x}-{end:x}" for pid, start, end in request.places)
    return f"{request.key} {request.inode or '-'} {path} {places}"


@dataclass(slots=True)
class FetchIndex:
    """What was fetched, by key.

    `blocks`: runs of blocks (first, count) in the order of the part. `build_ids`: hexadecimal or "". `failed`: one of
    REASONS.
    """

    blocks: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    build_ids: dict[str, str] = field(default_factory=dict)
    maps: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)


TABLE = "symbol_files"
_COLUMNS = (Column("key"), Column("state"), Column("build_id"), Column("blocks"), Column("part"))


def parse_symbols(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Return what was fetched as the table `symbol_files`: one row per file or map.

    Columns: key; state (`file`, `map`, or one of REASONS); build ID or ""; blocks as `FIRST+COUNT ...`; part or "".
    A file whose part does not have as many bytes as its blocks is `unreadable`.
    """
    part = parts.get(INDEX)
    if part is None and KNOWN in parts:
        return Parsed()
    if part is None:
        return Parsed(warnings=(Sentence("warning.part_missing", {"part": INDEX}),), readable=False)
    index = parse_index(part.read(MAX_INDEX).decode("ascii", "replace"))
    rows: list[tuple[str, str, str, str, str]] = []
    for key, build_id in index.build_ids.items():
        name, blocks = name_blocks_part(key), index.blocks.get(key, [])
        if name in parts and parts[name].size == BLOCK * sum(count for _, count in blocks) > 0:
            text = " ".join(f"{first}+{count}" for first, count in blocks)
            rows.append((key, "file", build_id, text, name))
        else:
            rows.append((key, "unreadable", "", "", ""))
    rows += [(key, "map", "", "", f"{key}.map") for key in sorted(index.maps) if f"{key}.map" in parts]
    rows += [(key, reason, "", "", "") for key, reason in index.failed.items()]
    return Parsed(tables=(Table(TABLE, _COLUMNS, tuple(rows), INDEX),) if rows else ())


def parse_index(text: str) -> FetchIndex:
    """Read the index; lines of any other form are skipped."""
    index = FetchIndex()
    for line in text.split("\n")[:MAX_LINES]:
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        kind, key, *values = (value for value in match.groups() if value is not None)
        if kind == "file":
            index.build_ids[key] = values[0].strip("-")
        elif kind == "blocks":
            index.blocks.setdefault(key, []).append((int(values[0]), int(values[1])))
        elif kind == "map":
            index.maps.add(key)
        elif kind == "failed" and values[0] in REASONS:
            index.failed[key] = values[0]
    return index
