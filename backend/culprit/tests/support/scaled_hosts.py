"""Views of hosts of any size in the same situation: text of collectors, made for a number of CPUs, read by their parsers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from culprit.domain.rules.evaluate import evaluate_rules
from culprit.domain.rules.parsed_view import build_view
from culprit.domain.rules.rule import Rule
from culprit.domain.rules.view import HostView

from collectors.contract import Context, Parsed
from collectors.registry import COLLECTORS
from collectors.tests.support import SIMPLE, part

SECONDS = 10
State = Mapping[str, tuple[str, str]]


def parse_text(collector: str, text: str, method: str = "", name: str = "") -> Parsed:
    """Parse one part of a collector."""
    methods = {item.name: item for item in COLLECTORS[collector].methods}
    chosen = method or next(iter(methods))
    part_name = name or ("samples" if text.startswith("@ ") else "stdout")
    return COLLECTORS[collector].parse({part_name: part(text)}, Context(SIMPLE, chosen, float(SECONDS), {}))


@dataclass(frozen=True, slots=True)
class Service:
    """A process in a control group: seconds a second on a CPU and waiting for one, and turns a second."""

    pid: int
    group: str
    name: str
    threads: int
    run: float
    wait: float
    turns: float = 500.0


@dataclass(frozen=True, slots=True)
class Task:
    """A process or kernel thread by its use of CPUs, 0 to 1 for each thread."""

    pid: int
    name: str
    cpus: float
    last_cpu: int = 0
    kernel: bool = False


@dataclass(frozen=True, slots=True)
class CpuHost:
    """A host by its CPUs: shares of the time of each CPU, services, other tasks, and a limit of a group."""

    cpus: int
    busy: float
    services: Sequence[Service]
    tasks: Sequence[Task] = ()
    limit: tuple[str, float, float] | None = None
    steal: float = 0.0
    affinity: str = ""
    version: int = 2
    extra: Mapping[str, Parsed] = field(default_factory=dict)

    def build(self) -> HostView:
        """Return the view of this host."""
        parsed = {
            "proc_schedstat": self._parse_schedstat(),
            "proc_top": self._parse_top(),
            "cpu_stat": self._parse_cpu_stat(),
            "cgroup_cpu": self._parse_limits(),
            **self.extra,
        }
        if self.affinity:
            parsed["proc_threads"] = self._parse_threads()
        return build_view(parsed, facts={"cpus": self.cpus})

    def _parse_schedstat(self) -> Parsed:
        rows = [
            f"p\t{item.pid}\t{item.threads}\t{item.run * SECONDS * 1e9:.0f}\t{item.wait * SECONDS * 1e9:.0f}"
            f"\t{item.turns * SECONDS:.0f}\t{item.group}\t{item.name}\n"
            for item in self.services
        ]
        head = f"time\tseconds\n=\t{SECONDS}.00\nprocess\tpid\tthreads\trun_ns\twait_ns\tswitches\tcgroup\tcomm\n"
        return parse_text("proc_schedstat", head + "".join(rows))

    def _parse_top(self) -> Parsed:
        own = [Task(item.pid, item.name, item.run) for item in self.services]
        text = ""
        for tick in (0, SECONDS):
            for task in (*own, *self.tasks):
                flags, parent = (69238848, 2) if task.kernel else (4194560, 1)
                ticks = round(100 * task.cpus * tick)
                text += f"@ {tick} {1000 + tick}000000000 /proc/{task.pid}/stat\n"
                text += f"{task.pid} ({task.name}) R {parent} 0 0 0 -1 {flags} 0 0 0 0 {ticks} 0 0 0 20 0 1 0 25 0 0 0 0 0 0 0"
                text += f" 0 0 0 0 0 0 0 17 {task.last_cpu} 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
        return parse_text("proc_top", text)

    def _parse_cpu_stat(self) -> Parsed:
        text = ""
        for tick in range(SECONDS + 1):
            busy, steal = (round(100 * share * tick) for share in (self.busy, self.steal))
            idle = 100 * tick - busy - steal
            running = round(sum(item.run + item.wait for item in self.services) + len(self.tasks))
            text += f"@ {tick} {1000 + tick}000000000 /proc/stat\n"
            text += f"cpu  {busy * self.cpus} 0 0 {idle * self.cpus} 0 0 0 {steal * self.cpus} 0 0\n"
            text += "".join(f"cpu{cpu} {busy} 0 0 {idle} 0 0 0 {steal} 0 0\n" for cpu in range(self.cpus))
            text += f"procs_running {running}\nprocs_blocked 0\n"
        return parse_text("cpu_stat", text)

    def _parse_limits(self) -> Parsed:
        path, quota, throttled = self.limit or ("/none", 0.0, 0.0)
        v1 = f"/sys/fs/cgroup/cpu{path}"
        v2 = f"/sys/fs/cgroup{path}"
        text = "mount /sys/fs/cgroup/cpu cgroup\n" if self.version == 1 else "mount /sys/fs/cgroup cgroup2\n"
        for at in (0, 1):
            periods = 10 * SECONDS * at
            text += f"@ {at} {1000 + SECONDS * at}.00\n"
            if self.version == 1:
                text += f"{v1}/cpu.cfs_quota_us:{round(quota * 1e5) or -1}\n{v1}/cpu.cfs_period_us:100000\n"
                text += f"{v1}/cpu.stat:nr_periods {periods}\n{v1}/cpu.stat:nr_throttled {round(throttled * periods)}\n"
            else:
                text += f"{v2}/cpu.max:{round(quota * 1e5) or 'max'} 100000\n"
                text += f"{v2}/cpu.stat:nr_periods {periods}\n{v2}/cpu.stat:nr_throttled {round(throttled * periods)}\n"
        return parse_text("cgroup_cpu", text)

    def _parse_threads(self) -> Parsed:
        lines = [
            f"t\t{item.pid}\t{item.pid}\t50\t25\t25\t0\t0\t1000\t1000\t10\t10\t0\t{self.affinity}\t-\t{item.name}\n"
            for item in self.services
        ]
        groups = [
            f"g\t{item.pid}\t{item.threads}\t25\t0\t1000\t1000\t10\t{item.group}\t{item.name}\n"
            for item in self.services
        ]
        head = "time\tseconds\tticks\tscans\n=\t5.00\t50\t2\n"
        thread = "thread\tpid\ttid\tsamples\tr\ts\td\twchan_n\trun_ns\twait_ns\tswitches\tvoluntary\tinvoluntary\tcpus\twchan\tcomm\n"
        group = "group\tpid\tthreads\tr\td\trun_ns\twait_ns\tswitches\tcgroup\tcomm\n"
        text = head + thread + "".join(lines) + group + "".join(groups) + "wchan\twchan\ttasks\tseen\tcomm\n"
        return parse_text("proc_threads", text)


def evaluate_states(rules: Sequence[Rule], view: HostView) -> State:
    """Return the state and severity of the strongest finding of each rule."""
    states: dict[str, tuple[str, str]] = {}
    for finding in evaluate_rules(rules, view):
        states.setdefault(finding.rule, (finding.state, finding.severity))
    return states
