"""What tasks do when they do not run, without perf: state, system call and kernel stack, 10 times a second.

These are not CPU samples: a task that sleeps all the time is seen in every look.
"""

from __future__ import annotations

from collections.abc import Mapping

from collectors.contract import (
    Collector,
    Context,
    Cost,
    Needs,
    Parsed,
    Part,
    ProfileSource,
    Script,
    Sentence,
    TargetAccess,
    Text,
    Tier,
)
from collectors.parse.tables.tokens import parse_whole

_MAX_BYTES = 16 << 20
_PART = "state.folded"
_HZ = 10
_TASKS = 64
#: System calls in which tasks are mostly found, by their numbers: arch/x86/entry/syscalls and asm-generic/unistd.h.
_X86 = (
    "0 read 1 write 2 open 7 poll 16 ioctl 17 pread64 18 pwrite64 20 writev 23 select 34 pause 35 nanosleep 42 connect"
    " 43 accept 44 sendto 45 recvfrom 47 recvmsg 61 wait4 72 fcntl 73 flock 74 fsync 75 fdatasync 76 truncate"
    " 77 ftruncate 82 rename 87 unlink 128 rt_sigtimedwait 130 rt_sigsuspend 162 sync 202 futex 208 io_getevents"
    " 230 clock_nanosleep 232 epoll_wait 247 waitid 257 openat 270 pselect6 271 ppoll 277 sync_file_range"
    " 281 epoll_pwait 288 accept4 426 io_uring_enter"
)
_ARM = (
    "4 io_getevents 22 epoll_pwait 25 fcntl 29 ioctl 32 flock 56 openat 63 read 64 write 66 writev 67 pread64"
    " 68 pwrite64 72 pselect6 73 ppoll 81 sync 82 fsync 83 fdatasync 95 waitid 98 futex 101 nanosleep"
    " 115 clock_nanosleep 133 rt_sigsuspend 137 rt_sigtimedwait 202 accept 203 connect 206 sendto 207 recvfrom"
    " 212 recvmsg 242 accept4 260 wait4 426 io_uring_enter"
)

# Without a target: tasks that were blocked or used the CPU during one second, kernel threads included.
_SH = rf"""
LC_ALL=C
export LC_ALL
cd /proc || exit 69
names=
case $(uname -m) in
    x86_64) names='{_X86}' ;;
    aarch64) names='{_ARM}' ;;
esac
if [ -n "${{TARGET_PIDS-}}" ]; then
    tasks=$(for pid in $TARGET_PIDS; do for task in "$pid"/task/*; do echo "$task"; done; done | head -n {_TASKS * 4})
else
    busy() {{ awk -v t="$1" 'BEGIN {{ for (i = 1; i < ARGC; i++) {{ if ((getline l < ARGV[i]) > 0) {{
        sub(/.*\) /, "", l); split(l, w, " "); print t, ARGV[i], w[1], w[12] + w[13] }} close(ARGV[i]) }} }}' \
        [0-9]*/task/[0-9]*/stat; }}
    tasks=$({{ busy 1; sleep 1; busy 2; }} | awk '$1 == 1 {{ before[$2] = $4; next }}
        {{ used = $4 - before[$2]; if ($3 == "D") used += 1000
        sub(/\/stat$/, "", $2); if (used > 0) print used, $2 }}' \
        | sort -rn | head -n {_TASKS} | cut -d ' ' -f 2)
    SECS=$((SECS - 1))
fi
[ -n "$tasks" ] || {{ echo "looks 0" > "$OLDPWD/status.txt"; exit 0; }}
looks=$((SECS * {_HZ})) nap=0.1
sleep 0.01 2> /dev/null || {{ looks=$SECS nap=1; }}
# A line a look and a task, counted by the second awk: mawk ends when a task goes while it is read.
awk -v looks="$looks" -v nap="$nap" -v names="$names" '
    BEGIN {{
        n = split(names, one, " "); for (i = 1; i < n; i += 2) call[one[i]] = one[i + 1]
        states = "R running_or_runnable S sleeping D uninterruptible T stopped t traced I idle Z zombie P parked"
        split(states, one, " ")
        for (i = 1; i < 16; i += 2) long[one[i]] = one[i + 1]
        for (k = 0; k < looks; k++) {{
            for (i = 1; i < ARGC; i++) look(ARGV[i])
            print "+"
            system("exec sleep " nap)
        }}
    }}
    function look(f,   l, s, name, own, n) {{
        if ((getline l < (f "/stat")) <= 0) {{ close(f "/stat"); return }}
        close(f "/stat")
        name = l; sub(/^[0-9]+ \(/, "", name); sub(/\) [A-Za-z] [0-9-]+ .*/, "", name); gsub(/;/, ":", name)
        sub(/.*\) /, "", l); s = substr(l, 1, 1)
        s = name ";" (s in long ? long[s] : s)
        if (s !~ /;running/) {{
            l = ""
            if ((getline l < (f "/syscall")) > 0 && l ~ /^[0-9]/ && l !~ / 0x0 0x0$/) {{
                sub(/ .*/, "", l); s = s ";" (l in call ? call[l] : "syscall_" l)
            }}
            close(f "/syscall")
            own = ""; n = 0
            while (n++ < 32 && (getline l < (f "/stack")) > 0) {{
                sub(/^\[<[^>]*>\] /, "", l); sub(/\+0x.*/, "", l); own = ";" l "_[k]" own
            }}
            close(f "/stack")
            if (own == "") {{
                l = ""; getline l < (f "/wchan"); close(f "/wchan")
                if (l != "" && l != "0") own = ";" l "_[k]"
            }}
            s = s own
        }}
        print s
    }}' $tasks | awk '
    $0 == "+" {{ looks++; next }}
    {{ if (($0 in seen) || kinds++ < 20000) seen[$0]++ }}
    END {{ for (k in seen) print k, seen[k]; print "looks", looks + 0 > "/dev/stderr" }}' \
    > "$OLDPWD/{_PART}" 2> "$OLDPWD/status.txt"
cd "$OLDPWD" || exit 1
[ -s {_PART} ] || {{ rm -f {_PART}; exit 69; }}
"""


def parse_state_profile(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Where the stacks are, and how many samples were taken. A host without a busy or blocked task gives none."""
    facts: dict[str, object] = {}
    status = parts.get("status.txt")
    for line in status.read(4096).split(b"\n")[:20] if status is not None else []:
        key, _, value = line.partition(b" ")
        if key == b"looks" and (number := parse_whole(value.strip())) is not None:
            facts["state_samples"] = number
    part = parts.get(_PART)
    if part is None and facts.get("state_samples") == 0:
        return Parsed(facts=facts, warnings=(Sentence("warning.no_busy_tasks"),))
    if part is None or not part.size:
        missing = Sentence("warning.part_missing", {"part": _PART})
        return Parsed(facts=facts, warnings=(missing,), readable=False)
    profile = ProfileSource("state", "folded", _PART, "samples", None)
    return Parsed(profiles=(profile,), facts=facts, warnings=(Sentence("warning.not_cpu_samples"),))


COLLECTOR = Collector(
    id="state_profile",
    title=Text("Task states (not CPU samples)", "任务状态（非 CPU 采样）"),
    why=Text(
        "Where tasks sleep or block, on hosts without perf: state, system call and kernel stack.",
        "在没有 perf 的主机上查看任务在哪里睡眠或阻塞：状态、系统调用与内核栈。",
    ),
    tier=Tier.STANDARD,
    exclusive=True,
    on_demand=True,
    methods=(
        Script(
            "proc",
            Needs(
                tools=("awk",),
                files=("/proc/self/wchan",),
                root=True,
                remedy="root; perf for CPU samples",
            ),
            sh=_SH,
            command_line=f"read state, syscall and stack in /proc/PID/task {_HZ} times a second for {{seconds}} s",
            stop="TERM",
        ),
    ),
    parse=parse_state_profile,
    cost=Cost(
        7.0, 2_000, Text("Ten samples per second of a few dozen tasks.", "每秒采样十次，每次几十个任务。")
    ),
    seconds_max=30,
    max_bytes=_MAX_BYTES,
    parser_version=2,
    messages={
        "warning.no_busy_tasks": Text(
            "No task was blocked or busy long enough within one second, so no stack was read.",
            "一秒内没有任务阻塞或占用 CPU 足够久，因此未读取调用栈。",
        ),
        "warning.not_cpu_samples": Text(
            "These are samples of task states, not CPU samples. A task that sleeps all the time "
            "is counted in every sample.",
            "这是任务状态的采样，不是 CPU 采样：一直睡眠的任务每次都会被计入。",
        ),
    },
    touches=frozenset({TargetAccess.COUNTERS}),
)
