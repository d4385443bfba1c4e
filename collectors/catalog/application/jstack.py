"""What the threads of a Java process do, in five dumps half a second apart, and who waits for whose lock."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from collectors.contract import (
    Collector,
    Column,
    Context,
    Cost,
    Needs,
    Parsed,
    Part,
    Script,
    Table,
    TargetAccess,
    Text,
    Tier,
)
from collectors.parse.tables import field_lines
from collectors.parse.tables.tokens import to_text
from collectors.shell.jvm import ATTACH
from collectors.shell.target import PYTHON_REMEDY

_MAX_BYTES = 16 << 20
_MAX_LINES = 400_000
_MAX_THREADS = 20_000
_MAX_ROWS = 2_000
_MAX_DUMPS = 8
_NAME = re.compile(rb'"(.{0,200}?)" (?:#\d|.{0,200}\bnid=)')
_NID = re.compile(rb"\bnid=(0x[0-9a-f]{1,16}|\d{1,10})\b")
_CPU = re.compile(rb"\bcpu=(\d{1,15}(?:\.\d{1,6})?)ms\b")
_STATE = re.compile(rb"\s+java\.lang\.Thread\.State: ([A-Z_]{3,20})")
_FRAME = re.compile(rb"\s+at (.{1,300}?)\(")
_LOCK = re.compile(
    rb"\s+- (waiting to lock|locked|waiting on|parking to wait for)\s+<(0x[0-9a-f]{1,16})> \(a ([^)]{1,200})\)"
)
_THREADS = (
    *(
        Column("tid"),
        Column("name"),
        Column("state"),
        Column("dumps"),
        Column("same_top"),
        Column("top_frame"),
    ),
    *(Column("waits_for"), Column("lock_class"), Column("owner"), Column("cpu", "ms")),
)
_LOCKS = (
    *(Column("lock"), Column("lock_class"), Column("owner"), Column("waiters"), Column("pid")),
    *(Column("dumps"), Column("queue_dumps"), Column("queue_mean")),
)
#: Locks of java.util.concurrent. An idle thread of a pool parks for a condition, a queue or a future instead: a thread
#: parks for the object that it waits for (LockSupport.park(Object blocker)).
_LOCK_CLASS = re.compile(
    rb"java\.util\.concurrent\.locks\.(Reentrant(ReadWrite)?Lock\$\w{0,20}Sync|StampedLock)$"
)

_SH = f"""
LC_ALL=C
export LC_ALL
{ATTACH}
s=$SECS
i=1
echo "process $j"
while [ $i -le 5 ]; do
  jvm_command Thread.print 3000000 > .dump
  grep -q 'java.lang.Thread.State' .dump || {{ echo "the Java process does not answer" >&2; exit 69; }}
  echo "dump $i"
  cat .dump
  echo
  i=$((i + 1))
  [ $i -gt 5 ] || [ "$s" -lt 1 ] || sleep .5 || sleep 1
done
"""


@dataclass(slots=True)
class _Thread:
    """One thread in one dump."""

    line: int
    name: str
    tid: int | None
    cpu_ms: float | None
    state: str = ""
    top: str = ""
    waits_for: str = ""
    lock_class: str = ""
    queues: bool = False
    holds: list[str] = field(default_factory=list)


def parse_jstack(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Tables `java_threads` (state in the last dump, CPU between the first and the last) and `java_locks`.

    `tid` is the kernel's thread id (nid), as perf and strace name it. The format is HotSpot's, JDK 8 to 21. `waiters`
    are threads that wait for a lock or condition in the last dump, `queue_mean` those that want to lock it, on average
    over all `dumps`, and `queue_dumps` the dumps with such a thread. `pid` is None where the output does not state it.
    """
    del context
    part = parts.get("stdout")
    if part is None:
        return field_lines.report_missing_part()
    dumps: list[dict[str, _Thread]] = []
    deadlocks, pid = 0, None
    for number, line in enumerate(part.read(_MAX_BYTES).split(b"\n")[:_MAX_LINES], 1):
        if line.startswith(b"dump ") and len(line) < 8:
            dumps = (dumps if len(dumps) < _MAX_DUMPS else dumps[:-1]) + [{}]
        elif not dumps and line.startswith(b"process ") and line[8:18].isdigit():
            pid = int(line[8:18])
        elif line.startswith(b"Found ") and b" deadlock" in line[:60]:
            deadlocks += 1
        elif dumps:
            _read_lines(dumps[-1], number, line[:1_000])
    if not any(dumps):
        return field_lines.build_parsed({})
    last = next(dump for dump in reversed(dumps) if dump)
    owners = {lock: thread.name for thread in last.values() for lock in thread.holds}
    rows = sorted(_build_rows(dumps, last, owners), key=lambda pair: -float(pair[1][9] or 0))[:_MAX_ROWS]
    locks = list(_build_locks(dumps, last, owners, pid))[:_MAX_ROWS]
    tables = [Table("java_threads", _THREADS, tuple(row for _, row in rows), lines=tuple(n for n, _ in rows))]
    if locks:
        tables.append(
            Table("java_locks", _LOCKS, tuple(r for _, r in locks), lines=tuple(n for n, _ in locks))
        )
    states: dict[str, int] = {}
    for thread in last.values():
        states[thread.state] = states.get(thread.state, 0) + 1
    facts = {"java_threads": len(last), "java_deadlocks": deadlocks, "java_states": states}
    return Parsed(tables=tuple(tables), facts=facts)


def _read_lines(dump: dict[str, _Thread], number: int, line: bytes) -> None:
    if line.startswith(b'"'):
        match = _NAME.match(line)
        if match and len(dump) < _MAX_THREADS:
            nid, cpu = _NID.search(line), _CPU.search(line)
            name = to_text(match[1], 100)
            tid = int(nid[1], 0) if nid and not (nid[1][:1] == b"0" and nid[1][1:2] != b"x") else None
            thread = _Thread(number, name, tid, float(cpu[1]) if cpu else None)
            dump[f"{tid} {name}"] = thread
        return
    if not dump or not line[:1].isspace():
        return
    thread = next(reversed(dump.values()))
    if match := _STATE.match(line):
        thread.state = to_text(match[1])
    elif match := _FRAME.match(line):
        thread.top = thread.top or to_text(match[1], 200)
    elif match := _LOCK.match(line):
        lock = to_text(match[2])
        if match[1] == b"locked":
            if len(thread.holds) < 50 and lock != thread.waits_for:
                thread.holds.append(lock)
        elif not thread.waits_for:
            thread.waits_for, thread.lock_class = lock, to_text(match[3], 100)
            is_lock = match[1] == b"parking to wait for" and _LOCK_CLASS.match(match[3]) is not None
            thread.queues = is_lock or match[1] == b"waiting to lock"


Row = tuple[str | int | float | None, ...]


def _build_rows(
    dumps: list[dict[str, _Thread]], last: dict[str, _Thread], owners: Mapping[str, str]
) -> Iterator[tuple[int, Row]]:
    for key, thread in last.items():
        seen = [dump[key] for dump in dumps if key in dump]
        same = sum(item.top == thread.top and item.state == thread.state for item in seen)
        began = seen[0].cpu_ms
        cpu = thread.cpu_ms - began if thread.cpu_ms is not None and began is not None else None
        yield (
            thread.line,
            (
                *(thread.tid, thread.name, thread.state, len(seen), same, thread.top),
                *(thread.waits_for, thread.lock_class, owners.get(thread.waits_for, ""), cpu),
            ),
        )


def _build_locks(
    dumps: list[dict[str, _Thread]], last: dict[str, _Thread], owners: Mapping[str, str], pid: int | None
) -> Iterator[tuple[int, Row]]:
    """Yield a row for each lock that threads wait for in the last dump, or want in any dump, most waiters first."""
    waiters: dict[str, list[_Thread]] = {}
    queues: dict[str, list[int]] = {}
    for dump in dumps:
        count = Counter(thread.waits_for for thread in dump.values() if thread.queues)
        for lock, number in count.items():
            queues.setdefault(lock, []).append(number)
        for thread in dump.values():
            if thread.waits_for and (dump is last or thread.queues):
                waiters.setdefault(thread.waits_for, []).append(thread)
    for lock, threads in sorted(waiters.items(), key=lambda item: -len(item[1])):
        now = sum(thread.waits_for == lock for thread in last.values())
        queue = queues.get(lock, [])
        mean = round(sum(queue) / len(dumps), 2)
        head = (lock, threads[-1].lock_class, owners.get(lock, ""), now)
        yield threads[-1].line, (*head, pid, len(dumps), len(queue), mean)


COLLECTOR = Collector(
    id="jstack",
    title=Text("Java threads", "Java 线程"),
    why=Text(
        "Which locks JVM threads wait for, which threads hold them, and what busy threads do.",
        "JVM 线程在等待哪些锁、锁由谁持有，以及忙碌线程在做什么。",
    ),
    tier=Tier.STANDARD,
    exclusive=True,
    on_demand=True,
    methods=(
        Script(
            "attach",
            Needs(tools=("awk", "env", "grep"), target=True, remedy=PYTHON_REMEDY),
            sh=_SH,
            command_line="Thread.print over the attach socket of the JVM, as its user, five times in two seconds"
            " ({seconds} s at most)",
        ),
    ),
    parse=parse_jstack,
    cost=Cost(
        2.0,
        50_000,
        Text(
            "Five safepoints of 10 to 500 ms each, during which all Java threads pause.",
            "五次安全点，每次 10 至 500 毫秒，所有 Java 线程暂停。",
        ),
    ),
    seconds_max=10,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.FILES, TargetAccess.SOCKETS}),
)
