"""System calls of one process for at most three seconds, without a byte of what it read or wrote.

The most expensive thing that Culprit can do to a process: each call stops it twice. So the host refuses by
itself where the process makes too many calls, on top of what the server asks before anything is sent.
"""

# ruff: noqa: E501 - a statement of the program for the host stays on one line

from __future__ import annotations

from collections.abc import Mapping

from collectors.contract import (
    Collector,
    Context,
    Cost,
    Needs,
    Parsed,
    Part,
    Script,
    Sentence,
    TargetAccess,
    Text,
    Tier,
    Tool,
)
from collectors.parse.perf import strace_calls
from collectors.parse.tables import field_lines

_MAX_BYTES = 64 << 20
#: Calls and switches a second above which the process is left alone: each costs it some 20 us more.
_MAX_RATE = 1000
_MAX_SECONDS = 3

#: strace writes into a pipe and awk alone reads it: payloads never reach a disk. awk prints fields that it
#: knows and drops the rest. A payload becomes its length and an ordinal: equal bytes in one run have equal
#: ordinals, and an ordinal reveals nothing about the bytes, as a hash of a short secret would. What neither reads,
#: writes nor blocks is not in the counters of the gate: so awk leaves after 20 000 lines, and strace with it.
_AWK = r"""
function strip(s,  o, t) {
  o = ""; ns = 0
  while (match(s, /"([^"\\]|\\.)*"(\.\.\.)?/)) {
    t = substr(s, RSTART, RLENGTH)
    if (++ns <= 64) S[ns] = t
    o = o substr(s, 1, RSTART - 1) "\""
    s = substr(s, RSTART + RLENGTH)
  }
  return o (index(s, "\"") ? substr(s, 1, index(s, "\"") - 1) : s)
}
function clean(s) { gsub(/[\t=]/, "_", s); return substr(s, 1, 200) }
function call(tid, t, s,  n, a, r, p, d, fd, w, i, j, out, text) {
  s = strip(s)
  if (!match(s, /^[a-z0-9_]+\(/)) return
  n = substr(s, 1, RLENGTH - 1); s = substr(s, RLENGTH + 1)
  if (!match(s, / <[0-9.]+>$/)) return
  d = substr(s, RSTART + 2, RLENGTH - 3); s = substr(s, 1, RSTART - 1)
  if (!match(s, /\) += [^)]*(\([^()]*\))?$/)) return
  r = substr(s, RSTART); a = substr(s, 1, RSTART - 1); sub(/^\) += /, "", r)
  out = "call\tt=" t "\ttid=" tid "\tname=" n "\tms=" d * 1000
  if (match(r, /^-?[0-9]+/)) out = out "\tret=" substr(r, 1, RLENGTH)
  if (match(r, /^-1 E[A-Z0-9]+/)) out = out "\terr=" substr(r, 4, RLENGTH - 3)
  if (match(a, /^[0-9]+</)) {
    fd = substr(a, 1, RLENGTH - 1); w = substr(a, RLENGTH + 1)
    i = index(w, ">,"); j = index(w, ">(deleted)")
    if (j && (!i || j < i)) i = j
    if (!i && substr(w, length(w)) == ">") i = length(w)
    out = out "\tfd=" fd "\twhat=" clean(i ? substr(w, 1, i - 1) : "")
  }
  if (n == "futex") { split(a, p, /, */); out = out "\taddr=" clean(p[1]) "\top=" clean(p[2]) }
  if (ns && n ~ /^(open|openat2?|creat|stat|lstat|newfstatat|statx|access|faccessat2?|readlink|readlinkat|unlink|unlinkat|mkdir|mkdirat|chdir|execve|truncate|statfs)$/)
    out = out "\tpath=" clean(substr(S[1], 2, length(S[1]) - 2))
  if (ns && n ~ /^(p?readv?2?|pread64|pwrite64|p?writev?2?|recv(from|msg)?|send(to|msg)?)$/ && r + 0 > 0) {
    text = r + 0
    for (i = 1; i <= ns && i <= 64; i++) text = text S[i]
    if (!(text in seen)) { if (kept++ > 20000) { split("", seen); kept = 0 } seen[text] = ++same }
    out = out "\tpay=" seen[text]
  }
  print out
}
NR > 20000 { print "cut\tlines=20000"; exit }
{
  tid = $1; t = $2
  if (tid !~ /^[0-9]+$/ || t !~ /^[0-9.]+$/) next
  s = $0; sub(/^[0-9]+ +[0-9.]+ /, "", s)
  if (s ~ / <unfinished \.\.\.>$/) { sub(/ <unfinished \.\.\.>$/, "", s); open[tid] = s; from[tid] = t; next }
  if (match(s, /^<\.\.\. [a-z0-9_]+ resumed>/)) {
    if (tid in open) call(tid, from[tid], open[tid] substr(s, RSTART + RLENGTH))
    delete open[tid]; next
  }
  call(tid, t, s)
}
"""

#: On a busy host strace may take a second to start, and until then it ignores INT as this shell does: so the
#: clock runs from the moment it is attached, and INT is sent more than once.
_SH = f"""
LC_ALL=C
export LC_ALL
p=${{TARGET_PID-}}
[ "${{TARGET_KIND-}}" = process ] && [ -n "$p" ] || {{ echo "one process must be named" >&2; exit 69; }}
[ -r "/proc/$p/io" ] || {{ echo "/proc/$p/io may not be read" >&2; exit 69; }}
if grep -q '^TracerPid:[^0-9]*[1-9]' "/proc/$p/status"; then echo "another tracer is attached" >&2; exit 69; fi
load() {{ cat "/proc/$p/io" "/proc/$p"/task/[0-9]*/status 2>/dev/null |
  awk '/^sysc[rw]:|^voluntary_ctxt/ {{ n += $2 }} END {{ printf "%d", n }}'; }}
a=$(load); sleep 1; b=$(load)
echo "gate	per_s=$((b - a))	limit={_MAX_RATE}"
[ $((b - a)) -le {_MAX_RATE} ] || exit 0
for t in "/proc/$p"/task/[0-9]*/comm; do
  read -r c <"$t" && i=${{t%/comm}} && printf 'task\\ttid=%s\\tcomm=%s\\n' "${{i##*/}}" "$c"
done 2>/dev/null
s=$SECS
[ "$s" -le {_MAX_SECONDS} ] || s={_MAX_SECONDS}
umask 077
mkfifo .calls || exit 69
awk '{_AWK}' <.calls & w=$!
strace -f -ttt -T -yy -s 256 -a 1 -o .calls -p "$p" 2>.err & t=$!
trap 'kill -TERM $t' TERM HUP
(
  for i in 1 2 3 4 5; do grep -q ' attached' .err && break; sleep 1; done
  sleep "$s"
  for i in 1 2 3; do kill -INT $t || exit; sleep 1; done
  kill -TERM $t
) 2>/dev/null & k=$!
wait $t
wait $t
kill $k 2>/dev/null
wait $w
rm -f .calls
if grep -q ' attached' .err; then echo "end	seconds=$s"; exit 0; fi
head -n 3 .err >&2
exit 69
"""


def parse_strace(parts: Mapping[str, Part], context: Context) -> Parsed:
    """What the process asked of the kernel, on which descriptors, and what it waited for.

    Times are the host's wall clock. `strace_calls`: by thread, call and descriptor; `strace_waits`: the 200
    longest; `strace_repeats`: the same bytes written to two descriptors within 5 ms; `strace_futex`: who waited
    for whom; `strace_requests`: what came in on connections that it serves, and how long it took to answer.
    """
    del context
    part = parts.get("stdout")
    if part is None:
        return field_lines.report_missing_part()
    calls = strace_calls.SyscallTotals()
    for line in field_lines.iterate_lines(part, max_lines=20_000_000):
        calls.add(line)
    if calls.refused_at is not None:
        rate = Sentence("warning.strace_rate", {"per_s": calls.refused_at, "limit": _MAX_RATE})
        return Parsed(warnings=(rate,), facts=calls.facts)
    if not calls.known:
        return Parsed(warnings=(Sentence("warning.nothing_known", {"part": "stdout"}),), readable=False)
    cut = (Sentence("warning.strace_cut", {"lines": calls.cut_at}),) if calls.cut_at else ()
    return Parsed(tables=calls.tables(), facts=calls.facts, warnings=cut)


COLLECTOR = Collector(
    id="strace",
    title=Text("strace", "strace"),
    why=Text(
        "The system calls of one process and their waits. It slows the process down considerably.",
        "逐个系统调用记录一个进程的请求与等待；会明显拖慢该进程。",
    ),
    tier=Tier.PTRACE,
    exclusive=True,
    on_demand=True,
    methods=(
        Script(
            "strace",
            Needs(
                tools=(Tool("strace", package="strace"), "awk", "mkfifo"),
                target=True,
                remedy="strace, and the right to trace",
            ),
            sh=_SH,
            command_line="strace -f -ttt -T -yy -p PID, {seconds} s at most 3; payloads become lengths on the host",
            version="strace --version 2>&1 | head -n 1",
        ),
    ),
    parse=parse_strace,
    cost=Cost(
        50.0,
        200_000,
        Text(
            "Every call stops the process twice: up to 50 times slower. Refused above 1000 calls a second.",
            "每次系统调用都会让进程停顿两次，最多慢 50 倍；每秒超过 1000 次调用时拒绝执行。",
        ),
    ),
    seconds_max=_MAX_SECONDS,
    max_bytes=_MAX_BYTES,
    messages={
        "warning.strace_cut": Text(
            "Tracing stopped after {lines} calls because the process makes too many to trace safely.",
            "进程的系统调用过多，跟踪在 {lines} 次调用后停止。",
        ),
        "warning.strace_rate": Text(
            "Not traced: the process makes {per_s} calls per second. Above {limit}, tracing would slow it down too much.",
            "未跟踪：进程每秒 {per_s} 次系统调用，超过 {limit} 次时跟踪会明显拖慢它。",
        ),
    },
    touches=frozenset({TargetAccess.COUNTERS, TargetAccess.MEMORY}),
)
