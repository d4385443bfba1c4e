"""Threads that wait in the kernel for something that can be named, and processes that are stopped or traced."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

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
    TargetAccess,
    Text,
    Tier,
)
from collectors.parse.tables.held_locks import parse_held_locks
from collectors.parse.tables.tokens import parse_decimal, to_text
from collectors.shell.dedent import strip_indent

#: Kernel functions in which a thread waits, by what it waits for: names of /proc/PID/wchan, from the source of Linux
#: 3.10 to 6.18. A function that waits for more than one thing is left out: folio_wait_bit_common, io_schedule,
#: rwsem_down_read_slowpath, pipe_wait, wait_woken.
WAITS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        #: net/sunrpc, fs/nfs, fs/smb/client, net/9p, fs/ceph: the answer of a file server.
        "remote_mount": (
            *("rpc_wait_bit_killable", "nfs_wait_bit_killable", "nfs_wait_on_request", "nfs4_delay_killable"),
            *("nfs4_delay_interruptible", "wait_for_response", "wait_for_free_credits", "p9_client_rpc"),
            *("p9_virtio_zc_request", "ceph_mdsc_wait_request", "ceph_osdc_wait_request"),
        ),
        #: fs/fuse/dev.c: the answer of the program that serves a FUSE mount.
        "fuse_mount": ("request_wait_answer", "fuse_get_req", "fuse_wait_answer"),
        #: fs/jbd2, fs/xfs, fs/btrfs: room in the journal, or the end of a commit that others asked for.
        "journal": (
            *("start_this_handle", "wait_transaction_locked", "wait_transaction_switching"),
            *("add_transaction_credits", "jbd2_log_do_checkpoint", "__jbd2_log_wait_for_space"),
            *("do_get_write_access", "xlog_grant_head_wait", "wait_current_trans"),
        ),
        #: mm/page-writeback.c: the writer is slowed to the speed of the disk.
        "dirty_limit": ("balance_dirty_pages",),
        #: block/blk-rq-qos.c: io.cost, io.latency or writeback throttling hold the request back.
        "io_controller": ("rq_qos_wait", "blkcg_maybe_throttle_blkg", "blkcg_maybe_throttle_current"),
        #: mm/memcontrol.c: the group is above memory.high.
        "memory_high": ("mem_cgroup_handle_over_high", "__mem_cgroup_handle_over_high", "reclaim_high"),
        #: mm/memcontrol-v1.c: the group is full and its OOM killer is off.
        "memory_full": ("mem_cgroup_oom_synchronize",),
        #: mm/vmscan.c: an allocation waits for reclaim.
        "reclaim": ("reclaim_throttle", "throttle_direct_reclaim", "wait_iff_congested"),
        #: fs/pipe.c: the reader of a pipe does not read.
        "pipe_write": ("pipe_write", "anon_pipe_write", "pipe_wait_writable"),
        #: net/unix/af_unix.c: the reader of a datagram socket, such as that of syslog, does not read.
        "unix_datagram": ("unix_wait_for_peer",),
        #: fs/locks.c: another process holds the lock of a file.
        "file_lock": (
            *("locks_lock_inode_wait", "flock_lock_inode_wait", "posix_lock_inode_wait", "fcntl_setlk"),
            *("fcntl_setlk64", "flock_lock_file_wait", "do_lock_file_wait"),
        ),
        #: fs/notify/fanotify: a program that checks files has not permitted the access.
        "fanotify": ("fanotify_get_response", "fanotify_handle_event"),
        #: kernel/audit.c: the queue to auditd is full.
        "audit": ("audit_log_start",),
        #: drivers/char/random.c: the generator is not seeded, or /dev/random of kernels before 5.6 is empty.
        "entropy": ("wait_for_random_bytes", "random_read", "_random_read"),
        #: fs/userfaultfd.c: another process has not supplied the page.
        "userfault": ("handle_userfault",),
        #: block/blk-core.c: the queue of the device is frozen or its driver suspended it.
        "queue_frozen": ("blk_queue_enter", "__bio_queue_enter"),
    }
)
#: Function → what is waited for.
KIND_OF: Mapping[str, str] = MappingProxyType(
    {function: kind for kind, functions in WAITS.items() for function in functions}
)
_MAX_BYTES = 2 << 20
_MAX_LINES = 40_000
_MAX_ROWS = 200

#: Names of kernel functions only: no file is opened, so a mount that hangs does not hold this up. The link of a
#: descriptor is read by lstat. Threads of all processes are checked at most six times; at most 20,000 of them.
_SH = (
    r"""
LC_ALL=C e=
export LC_ALL
trap 'e=1' TERM
W='"""
    + "|".join(sorted(KIND_OF))
    + r"""'
find_lines() {
  m=$1 o=$2 r=$3
  shift 3
  [ $# -gt 8000 ] || { grep $o "$r" "$@"; return; }
  printf '%s\n' "$@" | head -n 20000 | xargs grep $o "$r" | head -n $m
}
look() {
  read -r u x </proc/uptime
  echo "@ $1 $u"
  grep -sm 2000 ' WRITE ' /proc/locks >>.writers
  # Every third look finds new tasks: to list them costs as much as to read them.
  [ $(($1 % 3)) != 1 ] || { set -- /proc/[0-9]*/task/[0-9]*/wchan; T="$*"; }
  h=$(find_lines 200 -sHxE "$W" $T)
  [ -n "$h" ] || return 0
  [ ${#h} -le 8000 ] || h=$(echo "$h" | head -n 200)
  echo "$h"
  set --
  for l in $h; do
    set -- "$@" "${l%wchan:*}syscall"
    p=${l#/proc/}
    p=${p%%/*}
    case " $P " in *" $p "*) ;; *) P="$P $p" ;; esac
  done
  h=$(grep -sH '' "$@" | awk '{ split($1, w, "/"); a = $2 }
    length(a) < 8 && a ~ /^0x[0-9a-f]+$/ { n = 0
      for (i = 3; i <= length(a); i++) n = n * 16 + index("0123456789abcdef", substr(a, i, 1)) - 1
      print "/proc/" w[3] "/task/" w[5] "/fd/" n }')
  [ -z "$h" ] || ls -ld $h /dev/null 2>/dev/null | sed -n 's|^l.* \(/proc/[^ ]* -> \)|\1|p'
}
awk '{ for (i = 7; $i != "-"; i++) { } }
  $(i + 1) !~ /^(proc|sysfs|cgroup2?|devpts|mqueue|debugfs|tracefs|securityfs|bpf|configfs|nsfs|devtmpfs)$/ {
    print "mount " $1 " " $(i + 1) " " substr($6, 1, 2) " " substr($(i + 3), 1, 2) \
      " " ($(i + 3) ~ /emergency_ro|shutdown/) " " $5
    if (++n == 500) exit }' /proc/self/mountinfo
P= n=0; : >.writers
# At most six looks. The pause is at least 50 times the duration of the last look.
s=$(((SECS + 5) / 6))
i=0
while [ $SECS -gt 0 ] && [ -z "$e" ]; do
  i=$((i + 1))
  [ $s -le $SECS ] || s=$SECS
  sleep $s &
  wait $!
  SECS=$((SECS - s))
  look $i
  read -r v x </proc/uptime
  v=$(((${v%.*}${v#*.} - ${u%.*}${u#*.}) / 2))
  [ $v -le $s ] || s=$v
done
echo "@ end 0"
[ -z "$P" ] || {
  set --
  s=
  for p in $P; do
    [ $# -lt 100 ] || break
    set -- "$@" /proc/$p/cgroup
    s="$s /proc/$p/stat"
  done
  grep -sH '' $s
  grep -sHE '^[0-9]+:([^:]*,)?(memory|blkio|name=systemd)?:/' "$@"
}
find_lines 100 -sHE '^(State:.*[Tt] \(|TracerPid:.*[1-9])' /proc/[0-9]*/status >.held
[ ! -s .held ] || { head -n 100 .held; awk -F: 'NR > 100 { exit } { t = $3; sub(/status$/, "comm", $1); print $1 }
  $2 ~ /^T/ { gsub(/[^0-9]/, "", t); print "/proc/" t "/comm" }' .held | sort -u | xargs grep -sH '' /dev/null; }
: >.held
find /sys/fs/cgroup '(' -name freezer.state -o -name cgroup.events ')' 2>/dev/null | head -n 2000 |
  xargs grep -sHxE 'FROZEN|frozen 1' /dev/null | while IFS= read -r g && [ $((n += 1)) -le 50 ]; do
  g=${g%:*} c=
  [ "${g##*/}" = cgroup.events ] || c=freezer
  read -r p x <"${g%/*}/cgroup.procs" 2>/dev/null &&
    sed -n "s|^[0-9]*:\([^:]*,\)*$c:/|frozen $p /|p" /proc/$p/cgroup 2>/dev/null
done
# Locks with waiting processes; in .held those for writing that a process held in all of three or more looks.
awk -v n=$i 'FILENAME == ".writers" { if (n < 3 || $2 == "->" || $5 !~ /^[0-9]+$/) next
    $1 = ""; if (++c[$0] == n) print "held" $0 > ".held"; next }
  FNR > 2000 { next } { a[$1] = a[$1] "lock " $0 "\n"; m[$1]++ } $2 == "->" { w[$1] = 1 }
  END { for (k in w) if ((t += m[k]) <= 200) printf "%s", a[k] }' .writers /proc/locks >.locks
[ ! -s .locks ] || {
  cat .locks
  awk '$3 != "->" && $6 ~ /^[0-9]+$/ { print "/proc/" $6 "/comm" }' .locks | sort -u | xargs grep -sH '' /dev/null
}
[ ! -s .held ] || {
  head -n 50 .held
  for p in $(cut -d ' ' -f 5 .held | sort -u | head -n 20); do
    set -- /proc/$p/fdinfo/*
    [ $# -gt 500 ] || grep -sH '^lock:.* WRITE ' "$@" /dev/null | head -n 20 |
      sed 's/:lock:[^:]*: */:lock /' | while IFS= read -r l; do
      f=${l%%:*}
      echo "$l"
      ls -ld "/proc/$p/fd/${f##*/}" 2>/dev/null | sed -n 's|^l.* \(/proc/[^ ]* -> \)|\1|p'
    done
    grep -sH '' /proc/$p/comm /dev/null
  done
}
exit 0
"""
)
_SCAN = re.compile(rb"@ (\w{1,9}) ([\d.]{1,20})")
_WAIT = re.compile(rb"/proc/(\d{1,10})/task/(\d{1,10})/wchan:(\w{1,80})")
_LINK = re.compile(rb"/proc/(\d{1,10})/task/(\d{1,10})/fd/\d{1,7} -> (.{1,4096})")
_STAT = re.compile(rb"/proc/(\d{1,10})/stat:\d+ \((.{0,64})\) (\S) (-?\d+) (?:-?\d+ ){4}(\d+)")
_GROUP = re.compile(rb"/proc/(\d{1,10})/cgroup:\d+:([^:]{0,200}):(/.{0,1000})")
_HELD = re.compile(rb"/proc/(\d{1,10})/status:(State|TracerPid):\s*(\S+)")
_COMM = re.compile(rb"/proc/(\d{1,10})/comm:(.{0,64})")
_LOCK = re.compile(rb"lock (\d+):\s+(-> )?(\w+)\s+\w+\s+(\w+)\s+(-?\d+)\s+(\S+)")
_FROZEN = re.compile(rb"frozen (\d{1,10}) (/.{0,1000})")
_KERNEL_THREAD = 0x200000

_WAITS = (
    *(
        Column("pid"),
        Column("comm"),
        Column("kind"),
        Column("function"),
        Column("cgroup"),
        Column("kernel_thread"),
    ),
    *(Column("scans"), Column("scans_waiting"), Column("mean_threads"), Column("stuck_threads")),
    *(Column("path"), Column("holder"), Column("holder_comm")),
)
_HELD_COLUMNS = (Column("pid"), Column("comm"), Column("state"), Column("tracer"), Column("tracer_comm"))
_FROZEN_COLUMNS = (Column("path"), Column("first_pid"))
_MOUNTS = (Column("mountpoint"), Column("fstype"), Column("mounted"), Column("super"), Column("shut_down"))


@dataclass(slots=True)
class _Waiter:
    """What one process waits for at one place: threads by scan, and the files that they wait at."""

    line: int
    function: str
    threads: defaultdict[int, set[bytes]] = field(default_factory=lambda: defaultdict(set))
    paths: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class _Output:
    """The lines of the script by kind."""

    scans: int = 0
    waiters: dict[tuple[bytes, str], _Waiter] = field(default_factory=dict)
    at: dict[tuple[bytes, bytes], _Waiter] = field(default_factory=dict)
    stats: dict[bytes, tuple[str, int]] = field(default_factory=dict)
    groups: dict[bytes, str] = field(default_factory=dict)
    held: dict[bytes, dict[str, bytes]] = field(default_factory=dict)
    held_lines: dict[bytes, int] = field(default_factory=dict)
    comms: dict[bytes, str] = field(default_factory=dict)
    locks: dict[bytes, tuple[list[bytes], list[bytes]]] = field(default_factory=dict)
    mounts: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)
    frozen: list[tuple[int, tuple[str | int | float | None, ...]]] = field(default_factory=list)

    def add(self, number: int, line: bytes) -> None:
        """Take one line."""
        if line.startswith(b"mount "):
            words = line.split(b" ", 6)
            if len(words) == 7:
                self.mounts.append((number, tuple(to_text(word, 300) for word in words[2:])))
        elif match := _SCAN.fullmatch(line):
            self.scans += match[1] != b"end"
            self.at.clear()
        elif match := _WAIT.fullmatch(line):
            self._add_wait(number, match[1], match[2], match[3].decode("ascii"))
        elif match := _LINK.fullmatch(line):
            if (match[1], match[2]) in self.at:
                self.at[match[1], match[2]].paths[to_text(match[3], 300)] += 1
        elif match := _STAT.match(line):
            self.stats[match[1]] = to_text(match[2], 64), int(match[5]) & _KERNEL_THREAD
        elif match := _GROUP.fullmatch(line):
            group = to_text(match[3], 1000)
            if len(group) > len(self.groups.get(match[1], "")):
                self.groups[match[1]] = group
        elif match := _HELD.match(line):
            self.held.setdefault(match[1], {})[match[2].decode("ascii")] = match[3]
            self.held_lines.setdefault(match[1], number)
        elif match := _COMM.fullmatch(line):
            self.comms[match[1]] = to_text(match[2], 64)
        elif match := _FROZEN.fullmatch(line):
            self.frozen.append((number, (to_text(match[2], 1000), int(match[1]))))
        elif match := _LOCK.match(line):
            holders, waiting = self.locks.setdefault(match[1], ([], []))
            (waiting if match[2] else holders).append(match[5])

    def _add_wait(self, number: int, pid: bytes, tid: bytes, function: str) -> None:
        kind = KIND_OF.get(function)
        if kind is None:
            return
        waiter = self.waiters.setdefault((pid, kind), _Waiter(number, function))
        waiter.threads[self.scans].add(tid)
        self.at[pid, tid] = waiter

    def find_holder(self, pid: bytes) -> bytes:
        """Return the process that holds a lock for which this one waits; empty if it is not known."""
        held = (holders[0] for holders, waiting in self.locks.values() if pid in waiting and holders)
        return next(held, b"")


def parse_kernel_waits(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Table `kernel_waits`: a row for each process and what it waits for, most threads first.

    `mean_threads` is the mean number of its threads that wait there, `stuck_threads` those that did in every scan.
    `kernel_scans` shows how often all threads were checked, also where none waited. `held_processes` are stopped or
    traced; `held_locks` see `parse_held_locks`.
    """
    del context
    part = parts.get("stdout")
    if part is None:
        return Parsed(warnings=(Sentence("warning.part_missing", {"part": "stdout"}),), readable=False)
    output, first_scan = _Output(), 0
    lines = list(enumerate(part.read(_MAX_BYTES).split(b"\n")[:_MAX_LINES], 1))
    for number, line in lines:
        first_scan = first_scan or (number if line.startswith(b"@ 1 ") else 0)
        output.add(number, line)
    if not output.scans:
        return Parsed(warnings=(Sentence("warning.too_few_samples"),), readable=False)
    scans = Table("kernel_scans", (Column("scans"),), ((output.scans,),), lines=(first_scan,))
    held_locks = parse_held_locks(lines)
    tables = (
        scans,
        *((held_locks,) if held_locks else ()),
        *_build("kernel_waits", _WAITS, list(_list_waits(output))),
        *_build("held_processes", _HELD_COLUMNS, list(_list_held(output))),
        *_build("frozen_groups", _FROZEN_COLUMNS, output.frozen),
        *_build("super_blocks", _MOUNTS, list(_list_mounts(output))),
    )
    return Parsed(tables=tables)


_Row = tuple[int, tuple[str | int | float | None, ...]]


def _build(kind: str, columns: tuple[Column, ...], rows: Sequence[_Row]) -> Iterator[Table]:
    if rows:
        stored = rows[:_MAX_ROWS]
        yield Table(kind, columns, tuple(row for _, row in stored), lines=tuple(line for line, _ in stored))


def _list_waits(output: _Output) -> Iterator[_Row]:
    def count(waiter: _Waiter) -> int:
        return sum(len(threads) for threads in waiter.threads.values())

    for (pid, kind), waiter in sorted(output.waiters.items(), key=lambda item: -count(item[1])):
        comm, kernel_thread = output.stats.get(pid, (output.comms.get(pid, ""), 0))
        everywhere = len(waiter.threads) == output.scans
        stuck = set.intersection(*waiter.threads.values()) if everywhere else set()
        path = next((path for path, _ in waiter.paths.most_common(1)), None)
        holder = output.find_holder(pid) if kind == "file_lock" else b""
        yield (
            waiter.line,
            (
                *(int(pid), comm, kind, waiter.function, output.groups.get(pid), int(bool(kernel_thread))),
                *(output.scans, len(waiter.threads), count(waiter) / output.scans, len(stuck)),
                *(path, to_text(holder, 20) or None, output.comms.get(holder)),
            ),
        )


def _list_held(output: _Output) -> Iterator[_Row]:
    for pid, values in output.held.items():
        tracer = values.get("TracerPid", b"")
        stopped = to_text(values.get("State", b""), 2)
        cells = (int(pid), output.comms.get(pid, ""), stopped or None)
        yield (
            output.held_lines[pid],
            (*cells, int(tracer) if tracer.isdigit() else None, output.comms.get(tracer)),
        )


def _list_mounts(output: _Output) -> Iterator[_Row]:
    for number, (fstype, mounted, super_block, shut_down, where) in output.mounts:
        yield number, (where, fstype, mounted, super_block, int(parse_decimal(shut_down.encode()) == 1))


COLLECTOR = Collector(
    id="kernel_waits",
    title=Text("Waits in the kernel", "内核中的等待"),
    why=Text(
        "What threads wait for in the kernel: a mount that hangs, a journal, a file lock, a full pipe, a limit.",
        "线程在内核中等待什么：挂起的挂载、日志、文件锁、写满的管道、限额。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Script(
            "proc",
            Needs(
                tools=("awk", "find", "grep", "sed", "sort", "xargs"),
                files=("/proc/self/wchan",),
                root=True,
                remedy="root, because the kernel hides wchan from others",
            ),
            sh=strip_indent(_SH),
            command_line="grep /proc/*/task/*/wchan, /proc/locks up to six times in {seconds} s; PID/status once",
            stop="TERM",
        ),
    ),
    parse=parse_kernel_waits,
    cost=Cost(
        0.4, 500, Text("The wait of each thread is read up to six times.", "每个线程的等待位置最多读取六次。")
    ),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
