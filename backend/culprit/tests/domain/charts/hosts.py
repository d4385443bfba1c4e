"""Views of one host for the pictures of CPU, memory, disks and peers: real captures, brought to one time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from culprit.domain.rules.evaluate import evaluate_rules
from culprit.domain.rules.finding import Citation
from culprit.domain.rules.parsed_view import build_view
from culprit.domain.rules.registry import RULES
from culprit.domain.rules.view import HostView, SchedulerEvents
from culprit.tests.domain.charts.fixtures import captured

from collectors.catalog.platform import kmsg
from collectors.contract import Context
from collectors.parse.perf import perf_sched
from collectors.profiles.schedule_builder import build_sched_table
from collectors.tests import recorded_profiles
from collectors.tests.fixture_files import fixture_folder
from collectors.tests.support import SIMPLE, BytesPart

#: 2026-11-22 02:14:10 UTC.
T0_NS = 1_795_313_650 * 10**9
_SCHED = "debian-12-perf6.1"


def together(view: HostView) -> HostView:
    """The same with every collector's readings beginning at one time, as those of one capture do."""
    begun: dict[str, int] = {}
    for series in view.series:
        if len(series.t_ns):
            name = series.citation.collector
            begun[name] = min(begun.get(name, int(series.t_ns[0])), int(series.t_ns[0]))
    series_list = [
        replace(series, t_ns=series.t_ns - begun.get(series.citation.collector, 0) + T0_NS)
        for series in view.series
    ]
    events = [replace(event, t_ns=T0_NS + 1_700_000_000) for event in view.events]
    return replace(view, series=series_list, events=events, span_ns=(T0_NS, T0_NS + 30 * 10**9))


def of(fixtures: Mapping[str, str]) -> HostView:
    """These captures as one, on a host with two CPUs."""
    return together(captured(fixtures, cpus=2))


def killed() -> HostView:
    """A group at its limit, and the kernel's own lines of a kill in that group."""
    view = of({"cgroup_mem": "debian-12-target"})
    text = (fixture_folder("kmsg") / "debian-12-util-linux2.38-oom/stdout").read_bytes()
    parts = {"stdout": BytesPart(text.replace(b"/culprit-fixture", b"/h1lab/app"))}
    reported_view = build_view({"kmsg": kmsg.parse_kmsg(parts, Context(SIMPLE, "dmesg", 30.0, {}))})
    return together(replace(view, events=reported_view.events))


def scheduled(text: bytes) -> SchedulerEvents:
    """The scheduler's events of a capture."""
    table = build_sched_table(perf_sched.parse_perf_sched(recorded_profiles.source(text)))
    return SchedulerEvents(table, Citation("", "perf_sched", "perf_sched", "script.txt"))


def waiting() -> HostView:
    """Waits of a busy host and of another capture."""
    before = scheduled((fixture_folder("perf_sched") / _SCHED / "script.txt").read_bytes())
    now = scheduled(recorded_profiles.captured("sched.txt"))
    return replace(HostView(), sched=now).with_baseline(replace(HostView(), sched=before))


def judged() -> HostView:
    """A host with many collectors, with the findings of all rules."""
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
    return replace(view, findings=tuple(evaluate_rules(RULES.values(), view)))


def scaled(view: HostView, factor: float) -> HostView:
    """The same host with every number times `factor`."""
    return replace(view, series=[replace(series, values=series.values * factor) for series in view.series])


def crowd(hosts: int = 23) -> HostView:
    """A busy host with peers that do about a third of its work."""
    view = of(
        {
            "cpu_stat": "debian-12-kernel6.18",
            "meminfo": "debian-12-kernel6.18",
            "iostat": "debian-12-sysstat12.6.1",
        }
    )
    steps = np.linspace(0.28, 0.4, hosts)
    return view.with_peers({f"feed-{at:03}": scaled(view, float(step)) for at, step in enumerate(steps)})


HOSTS: Mapping[str, Callable[[], HostView]] = {
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
    return next(item.name for item in sorted(fixture_folder("perf_stat_faults").iterdir()) if item.is_dir())
