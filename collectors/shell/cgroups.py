"""The shell that reads files of control groups: v1, v2 or both, wherever they are mounted, once for all collectors.

It reads the groups that `select` picks, at the start and the end. With a target it also reads its group, those above
and those below, once a second: what a service waits for is often in another group than the service.
"""

from __future__ import annotations

from dataclasses import dataclass

from collectors.shell.dedent import strip_indent

#: The name of the share, for `Script.share`.
SHARE = "cgroups"


@dataclass(frozen=True, slots=True)
class CgroupReader:
    """What one collector reads of control groups.

    `controllers` are its hierarchies of v1. `marks` are the files that tell whether a group matters, and `select` is
    the condition of awk on file name `f`, its line `v` and the line of the same file in the root `root`. `files` are
    read of the groups that matter, and `lines` is the pattern of the lines that are kept. `then` is shell that adds to
    the end; `$G` holds the directories of the groups.
    """

    id: str
    controllers: tuple[str, ...]
    marks: tuple[str, ...]
    select: str
    files: tuple[str, ...]
    lines: str = ""
    then: str = ""


CPU_FILES = (
    *("cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.shares", "cpuacct.usage"),
    *("cpu.max", "cpu.weight", "cpu.stat"),
)
CPUSET_CPUS = ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus")
CPUSET_MEMS = ("cpuset.mems.effective", "cpuset.effective_mems", "cpuset.mems")
#: Limit: the file of v1 and the word of v2; what counts against it: the file and word of v1, the word of v2.
IO_LIMITS = {
    "read bytes": ("blkio.throttle.read_bps_device", "rbps", "blkio.throttle.io_service_bytes", "Read", "rbytes"),
    "write bytes": ("blkio.throttle.write_bps_device", "wbps", "blkio.throttle.io_service_bytes", "Write", "wbytes"),
    "reads": ("blkio.throttle.read_iops_device", "riops", "blkio.throttle.io_serviced", "Read", "rios"),
    "writes": ("blkio.throttle.write_iops_device", "wiops", "blkio.throttle.io_serviced", "Write", "wios"),
}  # fmt: skip
READERS = (
    CgroupReader(
        "cgroup_cpu",
        ("cpu", "cpuacct"),
        ("cpu.cfs_quota_us", "cpu.max"),
        'f == "cpu.max" ? v !~ /^max/ : v != "-1"',
        CPU_FILES,
        "^(-?[0-9]+|max|(nr_periods|nr_throttled|throttled_time|throttled_usec|usage_usec)) ?[0-9]*$",
        # Threads are counted, not named; those below count too.
        r"""
        D=$(printf '%s\n' "$G" | sed -n 's/^D cgroup_cpu //p' |
          while read -r d; do [ ! -f "$d/cpu.stat" ] || echo "$d"; done)
        [ -z "$D" ] || find $D '(' -name tasks -o -name cgroup.threads ')' -exec grep -scH '' {} + | head -n 2000
        """,
    ),
    CgroupReader(
        "cgroup_mem",
        ("memory",),
        ("memory.limit_in_bytes", "memory.max", "memory.events", "memory.oom_control"),
        'f == "memory.limit_in_bytes" ? v !~ /^9223372036854[0-9]*$/ : '
        'f == "memory.max" ? v != "max" : v ~ /^oom_kill [1-9]/',
        (
            *("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.failcnt", "memory.oom_control"),
            *("memory.max", "memory.current", "memory.events", "memory.pressure", "memory.stat"),
        ),
        "^([0-9]+|max|(total_)?(anon|rss|file|cache|shmem|pgmajfault|workingset_refault(_file)?) [0-9]+"
        "|(max|oom_kill) [0-9]+|(some|full) avg10.*)$",
    ),
    CgroupReader(
        "cgroup_cpuset",
        ("cpuset",),
        ("cpuset.effective_cpus", "cpuset.effective_mems", "cpuset.cpus.effective", "cpuset.mems.effective"),
        # Only groups that differ from the whole host carry information.
        'root != "" && v != root',
        (*CPUSET_CPUS, *CPUSET_MEMS),
        "^[0-9,-]*$",
        r"""
        set +f
        grep -sH '' /sys/devices/system/node/node*/cpulist
        set -f
        (IFS=' '; for p in ${TARGET_PIDS-}; do grep -sHE '^(Name|(Cpus|Mems)_allowed_list):' "/proc/$p/status"; done)
        """,
    ),
    CgroupReader(
        "cgroup_io",
        ("blkio",),
        (*(v1 for v1, *_ in IO_LIMITS.values()), "io.max"),
        'v != ""',
        (
            *(v1 for v1, *_ in IO_LIMITS.values()),
            *("blkio.throttle.io_service_bytes", "blkio.throttle.io_serviced", "io.max", "io.stat"),
            *("cpu.pressure", "memory.pressure", "io.pressure"),
        ),
        "^([0-9]+:[0-9]+ ((Read |Write )?[0-9]+|r(bps|bytes)=.*)|(some|full) avg10.*)$",
        # Names of the devices that a limit of v1 or v2 can be set on.
        r"""
        case $G in *"D cgroup_io /"*)
          ls -l /sys/dev/block 2>/dev/null |
            sed -n 's|.* \([0-9:]*\) -> .*/\([^/]*\)$|device \1 \2|p' | head -n 500 ;;
        esac
        """,
    ),
)

#: Words that begin a line for the last awk: `M` mount point, type; `G` collector, group; `>` collector, text that
#: follows. The list of files is too long for an argument on a host with many groups.
_SH = r"""
LC_ALL=C
export LC_ALL
N='
'
M= F= L= e= g=${TARGET_CGROUP-}
for x in @IDS@; do
  eval "k=\${OUT_$x-unset}"
  case $k in
    unset) continue ;;
    '' | .) k=/dev/stdout ;;
    *) k=$k/stdout ;;
  esac
  L="$L $x=$k"
done
while read -r x m k o x; do
  c=
  @CONTROLLERS@
  [ "$k" != cgroup2 ] || c=$L
  case $k in cgroup | cgroup2) [ -z "$c" ] || M="${M}M $m $k $c$N" ;; esac
done </proc/self/mounts
[ -n "$M" ] || { echo "no cgroup file system is mounted" >&2; exit 69; }
m=$(printf %s "$M" | cut -d ' ' -f 2)
IFS=$N
set -f
matches() {
  d=$g
  while [ -n "$d" ]; do echo "T $d"; d=${d%/*}; done
  [ -z "$g" ] ||
    for x in $m; do [ ! -d "$x$g" ] || (cd "$x$g" && find . -mindepth 1 -type d | sed "s|^\.|T $g|;99q"); done
  find $m @FIND@ -exec grep -sH '' {} +
}
look() {
  IFS=' ' read -r u x </proc/uptime
  echo "@ $1 $u"
  [ -n "$2" ] || return 0
  if [ ${#2} -lt 400000 ]; then
    grep -sHE '@LINES@' $2
  else
    printf '%s\n' "$2" | tr '\n' '\0' | xargs -0 grep -sHE '@LINES@'
  fi
}
A='function place(p,  i) {
  top = ""
  for (i in kind) if (index(p, i "/") == 1 && length(i) > length(top)) top = i
  return top
}
function name(l) { return match(l, /\/[a-z]+\.[a-z_.]+:/) ? substr(l, RSTART + 1, RLENGTH - 2) : "" }
BEGIN { @TABLE@ }
/^M / {
  words = split($0, w, " "); kind[w[2]] = w[3]
  for (i = 4; i <= words; i++) { sub(/=.*/, "", w[i]); uses[w[i], w[2]]; ids[w[i]] }
}'
G=$({ printf %s "$M"; matches 2>/dev/null; } | awk "$A"'
/^M / { next }
/^T / { for (k in ids) pick(k, substr($0, 3)); target[substr($0, 3)]; next }
{
  f = name($0)
  if (f == "" || place($0) == "") next
  d = substr($0, length(top) + 1, RSTART - length(top) - 1); v = substr($0, RSTART + RLENGTH)
  for (k in ids) if (((k, top) in uses) && ((k, f) in marked)) {
    if (k == "cgroup_cpuset") {
      if (d == "") base[top, f] = v
      else if (++late < 20000) { L[late] = d; V[late] = v; B[late] = top SUBSEP f }
    }
    else if (d != "" && chosen(k, f, v, "")) pick(k, d)
  }
}
function chosen(k, f, v, root) { @SELECT@ return 0 }
function pick(k, d) { if (!((k, d) in got) && ++many[k] <= 300) { got[k, d]; print "G " k " " d } }
END {
  for (i = 1; i <= late && i < 20000; i++)
    if (chosen("cgroup_cpuset", "", V[i], base[B[i]])) pick("cgroup_cpuset", L[i])
  for (i in got) {
    split(i, w, SUBSEP)
    for (t in kind) if ((w[1], t) in uses) {
      print "D " w[1] " " t w[2]
      for (j in reads) {
        split(j, x, SUBSEP); f = t w[2] "/" x[2]
        if (x[1] == w[1] && !(f in F)) { F[f]; print (w[2] in target ? "+" f : f) }
      }
    }
  }
}')
T=$(printf '%s\n' "$G" | sed -n 's/^+//p')
F=$(printf '%s\n' "$G" | sed -n 's/^+*\//\//p')
n=1 s=$SECS i=0
[ -z "$g" ] || n=$SECS s=1
{
  trap 'e=1' TERM
  printf '%s\n' "$M$G" | grep '^[MG] '
  look 0 "$F"
  while [ $i -lt $n ] && [ -z "$e" ]; do
    i=$((i + 1))
    sleep $s &
    wait $!
    if [ $i = $n ] || [ -n "$e" ]; then look $i "$F"; else look $i "$T"; fi
  done
  for x in $(IFS=' '; printf '%s\n' $L); do
    echo "> ${x%%=*}"
    case ${x%%=*} in
      @THEN@
    esac
  done
} | (trap '' TERM; exec awk -v outs="$L" "$A"'
BEGIN {
  n = split(outs, w, " ")
  for (i = 1; i <= n; i++) { j = index(w[i], "="); out[substr(w[i], 1, j - 1)] = substr(w[i], j + 1) }
}
/^M / { for (k in out) if ((k, $2) in uses) print "mount " $2 " " kind[$2] > out[k]; next }
/^G / { k = $2; sub(/^G [^ ]* /, ""); in_[k, $0]; next }
/^@ / { for (k in out) print > out[k]; next }
/^> / { to = $2; next }
to != "" { if (!((to, $0) in had)) { had[to, $0]; print > out[to] } next }
{
  f = name($0)
  if (f == "" || place($0) == "") next
  d = substr($0, length(top) + 1, RSTART - length(top) - 1); v = substr($0, RSTART + RLENGTH)
  for (k in out) if (((k, f) in reads) && ((k, d) in in_) && v ~ keep[k]) print > out[k]
}')
exit 0
"""


def _build_script() -> str:
    """The script of all collectors that read control groups."""

    def quote(names: tuple[str, ...], table: str, reader: CgroupReader) -> str:
        return "".join(f'{table}["{reader.id}", "{name}"]; ' for name in names)

    marks = sorted({name for reader in READERS for name in reader.marks})
    replaced = {
        "@IDS@": " ".join(reader.id for reader in READERS),
        "@CONTROLLERS@": "\n".join(
            f'case "$L,$k,,$o," in {patterns}) c="$c {reader.id}=" ;; esac'
            for reader in READERS
            for patterns in [
                " | ".join(f'*" {reader.id}="*,cgroup,,*,{controller},*' for controller in reader.controllers)
            ]
        ),
        "@FIND@": "'(' " + " -o ".join(f"-name {name}" for name in marks) + " ')'",
        "@LINES@": "|".join(reader.lines for reader in READERS),
        "@TABLE@": "".join(
            quote(reader.marks, "marked", reader)
            + quote(reader.files, "reads", reader)
            + f'keep["{reader.id}"] = "{reader.lines}"; '
            for reader in READERS
        ),
        "@SELECT@": " ".join(f'if (k == "{reader.id}") return {reader.select};' for reader in READERS),
        "@THEN@": "\n".join(f"{reader.id}) {reader.then.strip()} ;;" for reader in READERS if reader.then),
    }
    script = _SH
    for mark, text in replaced.items():
        script = script.replace(mark, text)
    return strip_indent(script)


SH = _build_script()
