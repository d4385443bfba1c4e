"""Forecast of the CPU time that a capture causes on its host, before it starts.

The cost of a light capture is the number of programs that it starts and of files and sockets that it reads. The first
comes from the scripts, the second from the size of the host, and the time for each is measured by the preflight check.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields

from collectors.contract import Collector, Script, Tier
from collectors.registry import COLLECTORS

#: Words that start a program in a script.
_PROGRAMS = re.compile(
    r"(?<![\w./$-])(?:awk|busybox|cat|cut|date|df|dmesg|ethtool|find|getconf|grep|head|ip|iostat|journalctl|ls|nsenter|"
    r"od|printf '[^']*' [^|;]* \| awk|ps|readlink|rm|sadf|sed|sleep|sort|ss|stat|systemctl|tail|tc|timedatectl|timeout|"
    r"tr|uname|uniq|vmstat|wc|xargs|iptables-save|ip6tables-save|nft|docker|podman|crictl|chronyc|ntpq|adjtimex)(?=[\s)])"
)
_QUOTED = re.compile(r"'[^']*'")
#: setsid and sh of each script.
_SCRIPT_STARTS = 2.0
#: What the runner starts itself: once, for each second (the pauses of guard and sampler, the sizes of files), and
#: for each script that ends (to read, pack and send its files, which several scripts share).
_RUNNER_STARTS, _RUNNER_STARTS_PER_S, _SEND_STARTS = 90.0, 2.0, 1.5
#: A start and a reading in a run cost more than those in the loop of the preflight check: caches are cold, the shell
#: that forks is larger, the awk programs are longer, and what was read is parsed, written, packed and sent. Ratios of
#: CPU times; the last runs on a host correct them.
_START_FACTOR, _READ_FACTOR = 1.95, 1.25
_SOCKETS_AGAIN = 10_000.0


@dataclass(frozen=True, slots=True)
class HostSize:
    """What the cost depends on, from the facts of a preflight check. The defaults are those of a small server.

    `start_us` is CPU time per start of a program, `read_us` CPU time per small file of /proc. `correction` is what the
    last run on the host took, divided by its forecast.
    """

    processes: float = 200.0
    threads: float = 400.0
    sockets: float = 200.0
    open_files: float = 2000.0
    cgroups: float = 100.0
    start_us: float = 1000.0
    read_us: float = 10.0
    correction: float = 1.0

    @classmethod
    def of(cls, facts: Mapping[str, object] | None) -> HostSize:
        """Return the size of the host with these facts; what is unknown has its default."""
        known = {item.name: (facts or {}).get(item.name) for item in fields(cls)}
        return cls(
            **{
                name: float(value)
                for name, value in known.items()
                if isinstance(value, int | float) and value > 0
            }
        )


@dataclass(frozen=True, slots=True)
class Work:
    """What a collector reads: times that it reads a file of each process, thread, control group, socket and open file.

    `starts_per_s` are program starts for each second, in addition to those that stand in the script. At most
    `most_processes` processes are read if that is not 0. `sockets_again` is for up to 10,000 sockets: pauses between
    these readings grow with their duration.
    """

    starts_per_s: float = 0.0
    processes: float = 0.0
    threads: float = 0.0
    sockets: float = 0.0
    sockets_again: float = 0.0
    open_files: float = 0.0
    cgroups: float = 0.0
    most_processes: float = 0.0


#: Counted in the scripts. A socket is two lines of up to 40 words that two programs handle, about as much as one
#: or two files; three readings see it. To find the owners of sockets, ss reads the links of all descriptors twice; the
#: kernel counts those that processes share only once.
WORK: Mapping[str, Work] = {
    "proc_top": Work(processes=2),
    "proc_io": Work(processes=4),
    "proc_schedstat": Work(processes=2, threads=2),
    "proc_threads": Work(starts_per_s=1.5, threads=4),
    "kernel_waits": Work(starts_per_s=0.8, threads=5, processes=2),
    "processes": Work(processes=1),
    "proc_mem": Work(starts_per_s=1.0, processes=7, most_processes=400),
    "fd_table": Work(processes=4),
    "limits": Work(processes=1),
    "log_repeats": Work(processes=2),
    "sockets": Work(starts_per_s=2.0, sockets=4.1, sockets_again=2.7, open_files=0.6),
    "cgroups": Work(cgroups=8),
}


def forecast_cpu_s(seconds: Mapping[str, int], size: HostSize) -> dict[str, float]:
    """Return CPU seconds by collector for a run of these collectors; the share of the runner is part of each."""
    if not seconds:
        return {}
    shares: dict[str, list[str]] = {}
    for name in seconds:
        shares.setdefault(_get_share(COLLECTORS[name]) or name, []).append(name)
    runner = (_RUNNER_STARTS + _RUNNER_STARTS_PER_S * max(seconds.values())) * _compute_start_s(size)
    result: dict[str, float] = {}
    for share, members in shares.items():
        cost = _forecast_collector(COLLECTORS[members[0]], share, seconds[members[0]], size)
        for name in members:
            result[name] = size.correction * (cost / len(members) + runner / len(seconds))
    return result


def forecast_cpu_pct(seconds: Mapping[str, int], size: HostSize) -> float:
    """Return percent of one CPU while the run lasts."""
    return 100.0 * sum(forecast_cpu_s(seconds, size).values()) / max(seconds.values(), default=1)


def _get_share(collector: Collector) -> str:
    method = collector.methods[0]
    return method.share if isinstance(method, Script) else ""


def _compute_start_s(size: HostSize) -> float:
    return _START_FACTOR * size.start_us / 1e6


def _forecast_collector(collector: Collector, share: str, seconds: int, size: HostSize) -> float:
    """Return CPU seconds of one script; of a collector that is not light, what it states."""
    if collector.tier is not Tier.LIGHT:
        return collector.cost.cpu_pct / 100 * seconds
    work = WORK.get(share, Work())
    method = collector.methods[0]
    if isinstance(method, Script):
        starts = _SCRIPT_STARTS + _SEND_STARTS + count_starts(method.sh) + work.starts_per_s * seconds
        files = 0.0
    else:
        ends = len(method.files if method.once else method.at_ends)
        starts, files = 0.0, 2 * ends + (len(method.files) - ends) * (1 + seconds / method.interval_s)
    processes = min(size.processes, work.most_processes or size.processes)
    reads = (
        files + work.processes * processes + work.threads * size.threads
        + work.sockets * size.sockets + work.sockets_again * min(size.sockets, _SOCKETS_AGAIN)
        + work.open_files * size.open_files + work.cgroups * size.cgroups
    )  # fmt: skip
    return starts * _compute_start_s(size) + _READ_FACTOR * reads * size.read_us / 1e6


def count_starts(sh: str) -> int:
    """Return the number of programs that stand in a script, without those inside of quoted awk programs."""
    return len(_PROGRAMS.findall(_QUOTED.sub("''", sh)))
