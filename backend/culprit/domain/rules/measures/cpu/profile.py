"""What the CPU computes: hot functions of programs that serve, what changed, and whether stacks can be believed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from collectors.contract import Sentence, Text
from culprit.domain.profiles.search import list_top_functions, match_names
from culprit.domain.profiles.stacks import SampleFilter
from culprit.domain.rules.finding import Citation, Measurement
from culprit.domain.rules.intervals import estimate_share
from culprit.domain.rules.measures.derived import cite_rows
from culprit.domain.rules.measures.service_time.shares import get_service_times
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView, Stacks, TableRow

#: At 100 samples a share of one half is known to ten points either way (95 %).
LEAST_SAMPLES = 100
#: For a difference of five points between two profiles.
LEAST_FOR_A_DIFFERENCE = 500
TOP = 200
#: Loops of interpreters and engines, and collectors of garbage: what they run is the program's own doing, and being
#: innermost most of the time is their nature.
ENGINES = re.compile(
    r"PyEval|^gc_collect|^execute_ex|^zend_|^ZEND_|rb_vm_exec|vm_exec_core|^luaV_|lj_vm|^Perl_runops|Interpreter"
    r"|^sqlite3VdbeExec|ExecInterpExpr|JOIN::exec|^runtime\.(gcBgMarkWorker|scanobject)|^G1|ParallelCompact|MarkSweep"
    r"|^\[unknown\]$|^0x"
)
#: Functions in which threads wait for a lock that another holds; a worker without work waits on a condition instead.
LOCKS = (
    r"lll_lock_wait|pthread_mutex_(timed)?lock|pthread_rwlock_(rd|wr)lock|ObjectMonitor::[eE]nter"
    r"|ObjectSynchronizer::enter|monitor_locking|sync\.\(\*(RW)?Mutex\)|take_gil"
)
OFF_CPU_SECONDS = 4.0
#: Of dumps in two seconds: what more than half of them show lasts for about a second. A single dump is no time.
SAME_DUMPS = 2


def find_serving_processes(view: HostView) -> dict[int, tuple[int, ...]]:
    """Return the processes of the service of each serving process, with a parent of its name and their children.

    A process serves if it listens on a port, or if another program is connected to its Unix socket.
    """
    services = get_service_times(view).services
    used = {
        int(row.number("pid") or 0): row for row in view.rows("processes") if not row.number("kernel_thread")
    }
    results: dict[int, tuple[int, ...]] = {}
    for _, pid, name in _list_servers(view):
        if pid not in results and name not in ("sshd", "systemd"):
            parent = int(used[pid].number("ppid") or 0) if pid in used else 0
            same = parent in used and used[parent].text("comm") == used[pid].text("comm")
            service = services.find_by_pid(str(pid))
            heads = {pid, *((parent,) if same else ()), *(map(int, service.pids) if service else ())}
            results[pid] = tuple(
                sorted(heads | {item for item in used if used[item].number("ppid") in heads})
            )
    return results


def cite_serving_processes(view: HostView, pid: int, family: Iterable[int]) -> tuple[Citation, ...]:
    """Return where the sockets of a serving process and the processes of its family were read."""
    members = frozenset(family)
    service = get_service_times(view).services.find_by_pid(str(pid))
    return cite_rows(
        (row for row in view.rows("processes") if int(row.number("pid") or 0) in members),
        service.rows if service else (),
        (row for row, server, _ in _list_servers(view) if server == pid),
    )


def _list_servers(view: HostView) -> Iterator[tuple[TableRow, int, str]]:
    """Yield each row that shows a serving process, its pid and its name."""
    for row in view.rows("listeners"):
        if pid := int(row.number("pid") or 0):
            yield row, pid, row.text("process")
    for row in view.rows("unix_calls"):
        if pid := int(row.number("peer_pid") or 0):
            yield row, pid, row.text("peer_comm")


def _serving_cpu(view: HostView) -> Iterator[Measurement]:
    """Percent of one CPU of each program that serves, its children with it."""
    rows = {int(row.number("pid") or 0): row for row in view.rows("processes")}
    for pid, family in find_serving_processes(view).items():
        mine = [rows[item] for item in family if item in rows]
        if mine:
            cpu = sum(row.number("cpu") or 0.0 for row in mine)
            cites = cite_serving_processes(view, pid, family)
            yield Measurement(cpu, (("pid", str(pid)),), cites, detail={"name": mine[0].text("comm")})


def _hot(view: HostView) -> Iterator[Measurement]:
    """Percent of a serving program's samples that end in one and the same of its functions."""
    stacks = view.stacks.get("on_cpu")
    if stacks is None:
        return
    for pid, family in find_serving_processes(view).items():
        seen = stacks.profile.view(SampleFilter(pid=family, hide_idle=True))
        own = [row for row in list_top_functions(seen, TOP) if row.kind in ("user", "jit") and row.own > 0]
        if not own or not seen.weight:
            continue
        hottest = max(own, key=lambda row: row.own)
        if ENGINES.search(hottest.frame):
            continue
        yield Measurement(
            100.0 * hottest.own / seen.weight,
            (("pid", str(pid)),),
            (replace(stacks.citation, frame=hottest.frame), *cite_serving_processes(view, pid, family)),
            seen.samples,
            _few(seen.samples, LEAST_SAMPLES),
            {"function": hottest.frame, "samples": seen.samples},
        )


def _few(samples: int, least: int) -> tuple[Sentence, ...]:
    if samples >= least:
        return ()
    return (Sentence("doubt.few_samples", {"samples": samples, "least": least}),)


def _own_shares(stacks: Stacks | None) -> tuple[Mapping[str, float], int]:
    """Percent of the busy samples in which each function is innermost, and how many samples."""
    if stacks is None:
        return {}, 0
    seen = stacks.profile.view(SampleFilter(hide_idle=True))
    if not seen.weight:
        return {}, 0
    return {
        row.frame: 100.0 * row.own / seen.weight for row in list_top_functions(seen, TOP) if row.own
    }, seen.samples


def _changed(view: HostView) -> Iterator[Measurement]:
    """Points by which the share of a function grew against the baseline's profile; the most grown one."""
    stacks = view.stacks.get("on_cpu")
    here, samples = _own_shares(stacks)
    before, samples_before = _own_shares(view.baseline.stacks.get("on_cpu") if view.baseline else None)
    if stacks is None or not here:
        return
    grown = {name: share - before.get(name, 0.0) for name, share in here.items()}
    name = max(grown, key=lambda each: grown[each])
    least = min(samples, samples_before) if before else samples
    yield Measurement(
        grown[name], (), (replace(stacks.citation, frame=name),), samples, _few(least, LEAST_FOR_A_DIFFERENCE),
        {"function": name, "before": round(before.get(name, 0.0), 2), "share": round(here[name], 2)},
    )  # fmt: skip


def _samples(view: HostView) -> Iterator[Measurement]:
    """Busy samples of the CPU profile."""
    stacks = view.stacks.get("on_cpu")
    if stacks is not None:
        samples = stacks.profile.view(SampleFilter(hide_idle=True)).samples
        yield Measurement(samples, (), (replace(stacks.citation, frame="all"),), samples)


def _lost(view: HostView) -> Iterator[Measurement]:
    """Percent of samples that were lost, by profile."""
    for kind, stacks in view.stacks.items():
        total = stacks.lost + stacks.profile.table.samples
        if total:
            cites = (replace(stacks.citation, frame="all"),)
            yield Measurement(
                100.0 * stacks.lost / total, (("profile", kind),), cites, total, detail={"kind": kind}
            )


def _unknown(view: HostView) -> Iterator[Measurement]:
    """Percent of samples whose innermost frame has no name, by profile."""
    for kind, stacks in view.stacks.items():
        cites = (replace(stacks.citation, frame="[unknown]"),)
        yield Measurement(
            100.0 * stacks.unknown_share, (("profile", kind),), cites, stacks.profile.table.samples,
            detail={"kind": kind},
        )  # fmt: skip


def _capture_cost(view: HostView) -> Iterator[Measurement]:
    """Measure the cores that the capture itself used; the citation is the host clock, which every capture reads."""
    if view.capture_cpu_cores is not None:
        cites = tuple(series.citation for series in view.series_of("cpu.total_busy_pct"))[:1]
        lines = tuple(
            int(series.lines[0]) for series in view.series_of("cpu.total_busy_pct") if series.lines
        )[:1]
        yield Measurement(
            view.capture_cpu_cores, (), tuple(replace(citation, lines=lines) for citation in cites)
        )


def _lock_waiters(view: HostView) -> Iterator[Measurement]:
    """Threads of a program that wait at a moment for a lock that another thread holds: their time over the window's."""
    stacks = view.stacks.get("off_cpu")
    fact = view.facts.get("offcpu")
    value = fact.get("offcpu_seconds") if isinstance(fact, dict) else None
    if stacks is None:
        return
    span_ns = 1e9 * (float(value) if isinstance(value, int | float) and value > 0 else OFF_CPU_SECONDS)
    profile = stacks.profile
    trie, seen = profile.table.trie, profile.view()
    hit = match_names(profile.names, LOCKS, regex=True)[trie.frame] & profile.outermost
    tops = np.flatnonzero(trie.parent == 0)
    for start in tops.tolist():
        inside = (np.flatnonzero(hit[start : trie.end[start]]) + start).tolist()
        waited, after = 0, -1
        for node in inside:
            if node >= after:
                waited, after = waited + int(seen.total[node]), int(trie.end[node])
        if waited:
            comm = profile.names[int(trie.frame[start])]
            frames = sorted({profile.names[int(trie.frame[node])] for node in inside})
            citation = replace(stacks.citation, frame=frames[0])
            yield Measurement(
                waited / span_ns, (("comm", comm),), (citation,), detail={"frames": ", ".join(frames[:3])}
            )


def _parked(view: HostView) -> Iterator[Measurement]:
    """Threads of a serving program that are mostly found in a futex and go in and out of it all the time."""
    rows: dict[int, list[TableRow]] = {}
    for row in view.rows("threads"):
        mostly = row.text("wchan").startswith("futex") and (row.number("wchan_pct") or 0) >= 50
        if mostly and (row.number("voluntary_per_s") or 0) >= 1:
            rows.setdefault(int(row.number("pid") or 0), []).append(row)
    names = {pid: name for _, pid, name in _list_servers(view)}
    families = find_serving_processes(view)
    for pid, mine in rows.items():
        if pid in families:
            cites = (*cite_rows(mine), *cite_serving_processes(view, pid, families[pid]))
            yield Measurement(len(mine), (("pid", str(pid)),), cites, detail={"name": names[pid]})


def _java_locks(view: HostView) -> Iterator[Measurement]:
    """Java threads that wait for a monitor which another thread holds, by monitor, in the last dump."""
    for row in view.rows("java_locks"):
        if row.text("owner"):
            detail = {"lock": row.text("lock_class"), "owner": row.text("owner")}
            subject = (("lock", row.text("lock")),)
            yield Measurement(row.number("waiters") or 0.0, subject, (row.citation,), detail=detail)


def _java_hot_class(view: HostView) -> Iterator[Measurement]:
    """Percent of the CPU time of Java threads, between dumps, of those whose innermost frame is in one class."""
    used: dict[str, float] = {}
    rows = [row for row in view.rows("java_threads") if (row.number("cpu") or 0.0) > 0]
    for row in rows:
        name = read_java_class(row.text("top_frame"))
        used[name] = used.get(name, 0.0) + (row.number("cpu") or 0.0)
    if rows:
        top = max(sorted(used), key=lambda name: used[name])
        share = used[top] / sum(used.values()) if top else 0.0
        detail: dict[str, str | int | float] = {"class": top or "-", "threads": len(rows)}
        interval = estimate_share(share, len(rows))
        yield Measurement(100.0 * share, (), cite_rows(rows), len(rows), (), detail, interval=interval)


def read_java_class(frame: str) -> str:
    """Return the outermost class of a frame such as `java.util.regex.Pattern$Loop.match`."""
    return frame.rpartition(".")[0].partition("$")[0]


#: Frames in which a thread of Java waits for bytes of a connection; it is RUNNABLE by its own word.
SOCKET_READ = re.compile(
    r"(java\.net\.SocketInputStream\.socketRead|sun\.nio\.ch\.(Net\.poll|SocketDispatcher\.read|NioSocketImpl\.park))"
)


def _owners(view: HostView) -> Iterator[Measurement]:
    """Threads that wait for a monitor whose owner waits for a connection in most dumps, by monitor."""
    threads = {row.text("name"): row for row in view.rows("java_threads")}
    for row in view.rows("java_locks"):
        owner = threads.get(row.text("owner"))
        if owner is not None:
            most = max(SAME_DUMPS, (owner.number("dumps") or 0) // 2 + 1)
            stays = (owner.number("same_top") or 0) >= most
            reads = stays and SOCKET_READ.search(owner.text("top_frame")) is not None
            lock, name = row.text("lock_class"), row.text("owner")
            detail = {"lock": lock, "owner": name, "frame": owner.text("top_frame")}
            waiters = (row.number("waiters") or 0.0) if reads else 0.0
            yield Measurement(
                waiters, (("lock", row.text("lock")),), (owner.citation, row.citation), detail=detail
            )


SERVING_CPU = Measure(
    id="proc.serving_cpu_pct",
    unit="pct",
    title=Text("CPU of a program that serves", "服务进程的 CPU 占用"),
    needs=(("proc_top",), ("ss_listen",)),
    read=lambda view: list(_serving_cpu(view)),
)
HOT_FUNCTION = Measure(
    id="profile.hottest_function_pct",
    unit="pct",
    title=Text("Samples that end in one function", "集中于同一函数的采样占比"),
    needs=(("perf_record",), ("ss_listen",)),
    read=lambda view: list(_hot(view)),
)
CHANGED = Measure(
    id="profile.grown_function_points",
    unit="pct",
    title=Text("Growth of a function's share of the samples", "函数采样占比的增长"),
    needs=(("perf_record",),),
    read=lambda view: list(_changed(view)),
)
SAMPLES = Measure(
    id="profile.samples_count",
    unit="count",
    title=Text("Busy samples of the CPU profile", "CPU 采样数"),
    needs=(("perf_record",),),
    read=lambda view: list(_samples(view)),
)
LOST = Measure(
    id="profile.lost_pct",
    unit="pct",
    title=Text("Samples that were lost", "丢失的采样占比"),
    needs=(("perf_record", "offcpu"),),
    read=lambda view: list(_lost(view)),
)
UNKNOWN = Measure(
    id="profile.unknown_pct",
    unit="pct",
    title=Text("Samples without a function name", "没有函数名的采样占比"),
    needs=(("perf_record", "offcpu"),),
    read=lambda view: list(_unknown(view)),
)
CAPTURE_COST = Measure(
    id="capture.own_cores",
    unit="count",
    title=Text("CPUs that the capture took", "采集自身占用的 CPU"),
    needs=(("cpu_stat",),),
    read=lambda view: list(_capture_cost(view)),
)
LOCK_WAITERS = Measure(
    id="lock.waiting_threads",
    unit="count",
    title=Text("Threads that wait for a lock at a moment", "任一时刻等待锁的线程数"),
    needs=(("offcpu",),),
    read=lambda view: list(_lock_waiters(view)),
)
PARKED = Measure(
    id="lock.futex_threads",
    unit="count",
    title=Text("Threads in and out of a futex", "频繁进出 futex 的线程数"),
    needs=(("proc_threads",), ("ss_listen",)),
    read=lambda view: list(_parked(view)),
)
JAVA_LOCKS = Measure(
    id="lock.java_waiters",
    unit="count",
    title=Text("Java threads that wait for one monitor", "等待同一监视器的 Java 线程数"),
    needs=(("jstack",),),
    read=lambda view: list(_java_locks(view)),
)
JAVA_HOT_CLASS = Measure(
    id="java.hottest_class_pct",
    unit="pct",
    title=Text("CPU of Java threads that are in one class", "集中于同一个类的 Java 线程 CPU 占比"),
    needs=(("jstack",),),
    read=lambda view: list(_java_hot_class(view)),
)
OWNER_READS = Measure(
    id="lock.waiting_for_a_reader",
    unit="count",
    title=Text("Java threads behind an owner that waits for a reply", "锁持有者在等应答时的等待线程数"),
    needs=(("jstack",),),
    read=lambda view: list(_owners(view)),
)
