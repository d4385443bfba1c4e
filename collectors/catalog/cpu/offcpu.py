"""Where tasks wait: time off the CPU by stack, split into blocked and preempted while runnable."""

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
    Tool,
)
from collectors.parse.perf import perf_report
from collectors.parse.perf.recording import find_stacks
from collectors.parse.tables.tokens import parse_whole, to_text
from collectors.shell.perf import POSTLUDE, PRELUDE
from collectors.shell.perf_events import SWITCH_RATE

_MAX_BYTES = 64 << 20
_PART = "offcpu.folded"
_MAX_SECONDS = 10
_NUMBERS = frozenset({b"switches_per_s", b"seconds", b"switches", b"unpaired"})
#: Above this share of departures without a return, sums are too low to be compared with anything.
_UNPAIRED = 0.02

_BPF_SH = (
    r"""
LC_ALL=C DEBUGINFOD_URLS=
export LC_ALL DEBUGINFOD_URLS
umask 077
report() { echo "$*" >> status.txt; }
"""
    + SWITCH_RATE
    + r"""
[ "$rate" -le 200000 ] || { echo "$rate context switches a second: too many stacks to walk" >&2; exit 69; }
only= or=
for pid in $(echo ${TARGET_PIDS-} | cut -d ' ' -f 1-32); do only="$only${or}pid == $pid" or=' || '; done
cat > .program <<END
tracepoint:sched:sched_switch {
  if (args->prev_pid != 0${only:+ && ($only)}) {
    @t[args->prev_pid] = nsecs; @s[args->prev_pid] = args->prev_state;
    @k[args->prev_pid] = kstack(perf, 40); @u[args->prev_pid] = ustack(perf, 40);
  }
  \$t = @t[args->next_pid];
  if (\$t) {
    \$n = args->next_pid;
    @ns[args->next_comm, @s[\$n], @u[\$n], @k[\$n]] = sum(nsecs - \$t);
    delete(@t[\$n]); delete(@s[\$n]); delete(@u[\$n]); delete(@k[\$n]);
  }
}
interval:s:$SECS { exit(); }
END { clear(@t); clear(@s); clear(@k); clear(@u); }
END
BPFTRACE_MAP_KEYS_MAX=16384
export BPFTRACE_MAP_KEYS_MAX
timeout -s INT $((SECS + 20)) bpftrace .program > .out 2> .err
report "bpftrace_exit $?"
head -c 4000 .err >&2
grep -q '^@ns\[' .out || exit 69
report method bpftrace
report "switches_per_s $rate"
report "seconds $SECS"
# @ns[comm, state, <user frames, innermost first>, <kernel frames>]: ns
awk '
    function frame(mark) {
        sub(/^[ \t]*[0-9a-f]+ /, ""); sub(/\+[0-9]+( \(.*\))?$/, "")
        if (sub(/ \(\[unknown\]\)$/, "") || /^0x/) $0 = "[unknown]"
        gsub(/;/, ":"); return $0 mark
    }
    /^@ns\[/ {
        sub(/^@ns\[/, ""); sub(/,[ \t]*$/, "")
        c = match($0, /, [0-9]+$/); name = substr($0, 1, c - 1); state = substr($0, c + 2) + 0
        gsub(/;/, ":", name); user = kernel = ""; part = 1; next
    }
    /^,[ \t]*$/ { part++; next }
    /^(, )?\]: [0-9]+$/ {
        sub(/^.*: /, "")
        print name ";" (state % 256 ? "blocked" : "runnable") user kernel " " $0; name = ""; next
    }
    name != "" && /[^ \t]/ { if (part > 1) kernel = ";" frame("_[k]") kernel; else user = ";" frame("") user }
' .out | head -c "$((BYTES / 2))" > offcpu.folded
[ -s offcpu.folded ] || { rm -f offcpu.folded; exit 69; }
"""
)

_PERF_SH = (
    PRELUDE
    + POSTLUDE
    + SWITCH_RATE
    + r"""
[ "$rate" -le 60000 ] || { echo "$rate context switches a second: too many stacks to record" >&2; exit 69; }
cap= events='-e sched:sched_switch' share=2
if named_by_server; then
    share=4
    # Who ends a wait is recorded too, which doubles the cost.
    [ "$rate" -gt 30000 ] || events="$events -e sched:sched_waking"
fi
has record --max-size && cap="--max-size=$((BYTES * share / 5 / 1024))K"
"$perf" record $events -a -g $clock -m 1024 $extra $cap -o perf.data -- sleep "$SECS" > record.log 2>&1
report "record_exit $?"
cat record.log >&2
usable perf.data || { rm -f perf.data header.txt; exit 69; }
report method perf
report "switches_per_s $rate"
report "seconds $SECS"
if named_by_server; then
    [ -z "${TARGET_PIDS-}" ] || report pids $TARGET_PIDS
    kernel_symbols
    exit 0
fi
# A task's stack is taken when it leaves; its time is known when it comes back.
tids=$(for pid in ${TARGET_PIDS-}; do for one in "/proc/$pid/task"/*; do echo "${one##*/}"; done; done | head -n 5000)
fields=tid,time,event,ip,sym,trace
printing_options
$limit $nice "$perf" script -i perf.data $inline --ns -F "$fields" 2> .scripterr | $nice awk -v tids="$(echo $tids)" '
    BEGIN { n = split(tids, one, " "); for (i = 1; i <= n; i++) only[one[i]] = 1 }
    /sched:sched_switch:/ {
        at = 0; for (i = 1; i <= NF && !at; i++) if ($i ~ /^[0-9]+\.[0-9]+:$/) at = $i + 0
        p = $0; sub(/.*prev_pid=/, "", p); p += 0
        s = $0; sub(/.*prev_state=/, "", s); sub(/ .*/, "", s)
        x = $0; sub(/.*next_comm=/, "", x); sub(/ next_pid=.*/, "", x); gsub(/;/, ":", x)
        q = $0; sub(/.*next_pid=/, "", q); q += 0
        if (q && (q in since)) { ns[x ";" stack[q]] += (at - since[q]) * 1e9; delete since[q] }
        if (p && (!n || (p in only))) {
            outs++; if (p in since) unpaired++
            since[p] = at; stack[p] = s ~ /^R/ ? "runnable" : "blocked"; own = ""; depth = 0
        } else p = 0
        next
    }
    /^$/ { if (p) { stack[p] = stack[p] own; p = 0 } next }
    p && depth++ < 80 {
        kernel = $1 ~ /^ffff/; sub(/^[ \t]*[0-9a-f]+ /, ""); sub(/\+0x[0-9a-f]+$/, ""); gsub(/;/, ":")
        own = ";" $0 (kernel ? "_[k]" : "") own
    }
    END {
        for (k in ns) if (ns[k] >= 1) printf "%s %.0f\n", k, ns[k]
        print "switches", outs + 0 > ".counts"; print "unpaired", unpaired + 0 > ".counts"
    }
' | head -c "$((BYTES / 2))" > offcpu.folded
cat .counts >> status.txt
rm -f perf.data header.txt
[ -s offcpu.folded ] || rm -f offcpu.folded
exit 0
"""
)


def parse_offcpu(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Where the stacks are, and by which method they were taken.

    A thread that slept through the whole window is not there. No wait at all is an answer, not a failure. Where the
    host sums up the waits, only those that ended inside the window are counted.
    """
    facts: dict[str, object] = {}
    numbers: dict[str, int] = {}
    status = parts.get("status.txt")
    for line in status.read(8192).split(b"\n")[:50] if status is not None else []:
        key, _, value = line.partition(b" ")
        if key == b"method":
            facts["offcpu_way"] = to_text(value, 40)
        elif key in _NUMBERS and (number := parse_whole(value.strip())) is not None:
            numbers[key.decode("ascii")] = number
    facts |= {f"offcpu_{name}": number for name, number in numbers.items()}
    part = parts.get(_PART)
    if part is not None and part.size:
        warnings = [Sentence("warning.offcpu_ended_only")]
        if numbers.get("unpaired", 0) > _UNPAIRED * numbers.get("switches", 0):
            warnings.append(Sentence("warning.perf_lost"))
        return Parsed(
            profiles=(ProfileSource("off_cpu", "folded", _PART, "ns", None),),
            facts=facts,
            warnings=tuple(warnings),
        )
    reported = perf_report.parse_perf_report(parts)
    profile = find_stacks("off_cpu", parts, reported.clock)
    if profile is not None:
        return Parsed(profiles=(profile,), facts=facts, warnings=reported.warnings)
    if facts.get("offcpu_way") == "perf" and "switches" in numbers:
        return Parsed(facts=facts, warnings=(Sentence("warning.offcpu_no_waits"),))
    return Parsed(facts=facts, warnings=(Sentence("warning.part_missing", {"part": _PART}),), readable=False)


COLLECTOR = Collector(
    id="offcpu",
    title=Text("Off-CPU time", "Off-CPU 时间"),
    why=Text(
        "Where tasks wait for locks, disks and replies: time off the CPU, with the stack that waits.",
        "任务在哪里等待锁、磁盘与应答：不在 CPU 上的时间及其调用栈。",
    ),
    tier=Tier.DEEP,
    exclusive=True,
    on_demand=True,
    methods=(
        Script(
            "perf",
            Needs(tools=("perf", "awk"), perf=True, remedy="linux-perf"),
            sh=_PERF_SH,
            command_line="perf record -e sched:sched_switch -e sched:sched_waking -a -g -m 1024 -- sleep {seconds};"
            " then perf script, folded, unless the server reads perf.data",
            version="perf version",
        ),
        Script(
            "bpftrace",
            Needs(
                tools=(Tool("bpftrace", package="bpftrace"), "awk", "timeout"),
                root=True,
                remedy="bpftrace, and a kernel with BTF",
            ),
            sh=_BPF_SH,
            command_line="bpftrace: sum the time from sched_switch out to in, by stack, for {seconds} s",
            version="bpftrace --version",
        ),
    ),
    parse=parse_offcpu,
    cost=Cost(
        15.0,
        500_000,
        Text(
            "A stack is walked at every context switch: some 2 µs each; refused on hosts that switch too often.",
            "每次上下文切换遍历一次调用栈，约 2 µs；切换过于频繁的主机会拒绝执行。",
        ),
    ),
    seconds_max=_MAX_SECONDS,
    max_bytes=_MAX_BYTES,
    messages={
        "warning.offcpu_no_waits": Text(
            "No wait of a thread ended during the capture.",
            "采集期间没有线程的等待结束。",
        ),
        "warning.offcpu_ended_only": Text(
            "Only waits that ended during the capture are counted. A task that waited the whole time is missing.",
            "只统计采集期间结束的等待；整段时间都在等待的任务不在其中。",
        ),
    },
    touches=frozenset({TargetAccess.COUNTERS, TargetAccess.FILES, TargetAccess.MEMORY}),
)
