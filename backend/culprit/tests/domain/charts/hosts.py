"""Views of one host for the pictures of CPU, memory, disks and peers: real captures, brought to one time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from culprit.core.rules.contract import Citation
from culprit.core.rules.evaluate import evaluate
from culprit.core.rules.parsed_view import view_of
from culprit.core.rules.registry import RULES
from culprit.core.rules.view import Scheduled, View
from culprit.tests.core.visuals.fixtures import captured

from collectors.catalog import kmsg
from collectors.contract import Context
from collectors.parse import perf_sched
from collectors.sched import build
from collectors.tests import profiles
from collectors.tests.record_fixtures import FIXTURES
from collectors.tests.support import SIMPLE, BytesPart

#: 2026-11-22 02:14:10 UTC.
T0_NS = 1_795_313_650 * 10**9
_SCHED = "debian-12-perf6.1"


def together(view: View) -> View:
    """The same with every collector's readings beginning at one time, as those of one capture do."""
    begun: dict[str, int] = {}
    for lane in view.lanes:
        if len(lane.t_ns):
            name = lane.cite.collector
            begun[name] = min(begun.get(name, int(lane.t_ns[0])), int(lane.t_ns[0]))
    lanes = [replace(lane, t_ns=lane.t_ns - begun.get(lane.cite.collector, 0) + T0_NS) for lane in view.lanes]
    events = [replace(one, t_ns=T0_NS + 1_700_000_000) for one in view.events]
    return replace(view, lanes=lanes, events=events, span_ns=(T0_NS, T0_NS + 30 * 10**9))


def of(fixtures: Mapping[str, str]) -> View:
    """These captures as one, on a host with two CPUs."""
    return together(captured(fixtures, cpus=2))


def killed() -> View:
    """A group at its limit, and the kernel's own lines of a kill, told of that group."""
    view = of({"cgroup_mem": "debian-12-target"})
    text = (FIXTURES / "kmsg/debian-12-util-linux2.38-oom/stdout").read_bytes()
    parts = {"stdout": BytesPart(text.replace(b"/culprit-fixture", b"/h1lab/app"))}
    told = view_of({"kmsg": kmsg.parse(parts, Context(SIMPLE, "dmesg", 30.0, {}))})
    return together(replace(view, events=told.events))


def scheduled(text: bytes) -> Scheduled:
    """The scheduler's events of a capture."""
    table = build(perf_sched.read(profiles.source(text)))
    return Scheduled(table, Citation("", "perf_sched", "perf_sched", "script.txt"))


def waiting() -> View:
    """Waits of a busy host, beside those of another capture."""
    before = scheduled((FIXTURES / "perf_sched" / _SCHED / "script.txt").read_bytes())
    now = scheduled(profiles.captured("sched.txt"))
    return replace(View(), sched=now).against(replace(View(), sched=before))


def judged() -> View:
    """A host that much was captured of, with what all rules said."""
    view = of(
        {
            "cpu_stat": "debian-12-kernel6.18",
            "loadavg": "debian-12-kernel6.18",
            "meminfo": "debian-12-kernel6.18",
            "vmstat_proc": "debian-12-kernel6.18",
            "iostat": "debian-12-sysstat12.6.1",
            "cgroup_mem": "debian-12-target",
            "proc_schedstat": "debian-12-quota",
            "numastat": "debian-12-v2-limits",
            "cgroup_cpuset": "debian-12-v2-target",
            "numa_maps": "debian-12-v2-target",
        }
    )
    return replace(view, findings=tuple(evaluate(RULES.values(), view)))


def scaled(view: View, factor: float) -> View:
    """The same host with every number times `factor`."""
    return replace(view, lanes=[replace(lane, values=lane.values * factor) for lane in view.lanes])


def crowd(hosts: int = 23) -> View:
    """A busy host beside others that do the third of its work, more or less."""
    view = of(
        {
            "cpu_stat": "debian-12-kernel6.18",
            "meminfo": "debian-12-kernel6.18",
            "iostat": "debian-12-sysstat12.6.1",
        }
    )
    steps = np.linspace(0.28, 0.4, hosts)
    return view.beside({f"feed-{at:03}": scaled(view, float(step)) for at, step in enumerate(steps)})


HOSTS: Mapping[str, Callable[[], View]] = {
    "disk-times": lambda: of({"iostat": "debian-12-sysstat12.6.1", "app_metrics": "debian-12-three-routes"}),
    "group-memory": killed,
    "load": lambda: of(
        {
            "vmstat": "debian-12-procps4.0.2",
            "loadavg": "debian-12-kernel6.18",
            "proc_top": "debian-12-kernel6.18",
            "proc_threads": "debian-12-host",
        }
    ),
    "numa": lambda: of(
        {
            "numastat": "debian-12-v2-limits",
            "numa_maps": "debian-12-v2-target",
            "cgroup_cpuset": "debian-12-v2-target",
        }
    ),
    "page-faults": lambda: of(
        {
            "vmstat_proc": "debian-12-kernel6.18",
            "vmstat": "debian-12-procps4.0.2",
            "cgroup_mem": "debian-12-target",
            "perf_stat_faults": _faults(),
        }
    ),
    "peers": crowd,
    "sched-latency": waiting,
    "softirq-heat": lambda: of({"softirqs": "debian-12-kernel6.18", "cpu_stat": "debian-12-kernel6.18"}),
    "use-grid": judged,
}


def _faults() -> str:
    return next(one.name for one in sorted((FIXTURES / "perf_stat_faults").iterdir()) if one.is_dir())
