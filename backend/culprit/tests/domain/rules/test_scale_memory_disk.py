"""The same situation for each device and group gives the same findings at all sizes, in v1 and v2, on mapped devices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from culprit.domain.rules.catalog.disk import faults, io_limits, queues, sync_writes
from culprit.domain.rules.catalog.memory import kills, shortage
from culprit.domain.rules.evaluate import evaluate_rules
from culprit.domain.rules.parsed_view import build_view
from culprit.domain.rules.view import HostView
from culprit.tests.support.scaled_hosts import SECONDS, State, evaluate_states, parse_text

RULES = (*faults.RULES, *io_limits.RULES, *queues.RULES, *sync_writes.RULES, *kills.RULES, *shortage.RULES)
SIZES = [1, 8, 32, 128]
VERSIONS = [1, 2]
pytestmark = pytest.mark.long(75)


@dataclass(frozen=True, slots=True)
class Load:
    """What a device does in a second: reads and writes with their KiB and ms, flushes with their ms."""

    reads: float = 0.0
    read_kb: float = 4.0
    read_ms: float = 0.1
    writes: float = 0.0
    write_kb: float = 4.0
    write_ms: float = 0.1
    flushes: float = 0.0
    flush_ms: float = 0.1

    def counters(self, tick: int) -> str:
        """The fields of /proc/diskstats behind the name after `tick` seconds."""
        busy_ms = self.reads * self.read_ms + self.writes * self.write_ms + self.flushes * self.flush_ms
        fields = (
            self.reads, 0, self.reads * self.read_kb * 2, self.reads * self.read_ms,
            self.writes, 0, self.writes * self.write_kb * 2, self.writes * self.write_ms,
            0, min(1000.0, busy_ms), busy_ms, 0, 0, 0, 0, self.flushes, self.flushes * self.flush_ms,
        )  # fmt: skip
        return " ".join(f"{field * tick:.0f}" for field in fields)


def parse_disks(devices: Mapping[str, Load]):
    text = ""
    for tick in range(SECONDS + 1):
        text += f"@ {tick} {1000 + tick}000000000 /proc/diskstats\n"
        text += "".join(f"   8 0 {dev} {load.counters(tick)}\n" for dev, load in devices.items())
    return parse_text("iostat", text, "proc")


def parse_queues(devices: Mapping[str, Load], slaves: Mapping[str, str], hw_queues: int, rotational: int):
    text = ""
    for dev in devices:
        files = {
            "size": 2_000_000,
            "inflight": "0 0",
            "queue/nr_requests": 64,
            "queue/rotational": rotational,
        }
        files |= {f"mq/{number}/nr_tags": 64 for number in range(hw_queues)}
        files |= {f"slaves/{slaves[dev]}/dev": "8:0"} if dev in slaves else {}
        for name, value in files.items():
            text += f"@ 0 1000000000000 /sys/block/{dev}/{name}\n{value}\n"
    return parse_text("block_queue", text)


def write_stat(waiting: float, cpus: int) -> str:
    """/proc/stat of CPUs that are half busy while so many tasks wait for I/O."""
    return "".join(
        f"@ {tick} {1000 + tick}000000000 /proc/stat\n"
        + f"cpu  {tick * 50 * cpus} 0 0 {tick * 50 * cpus} 0 0 0 0 0 0\n"
        + "".join(f"cpu{cpu} {tick * 50} 0 0 {tick * 50} 0 0 0 0 0 0\n" for cpu in range(cpus))
        + f"ctxt {tick}\nprocs_running 1\nprocs_blocked {round(waiting)}\n"
        for tick in range(SECONDS + 1)
    )


def build_host(size: int, waiting: float, disks: Mapping[str, Load], **parts) -> HostView:
    """A host with a CPU for each unit of size."""
    text = write_stat(waiting, size)
    parsed = {"vmstat": parse_text("vmstat", text, "proc"), "cpu_stat": parse_text("cpu_stat", text)}
    return build_view({**parsed, "iostat": parse_disks(disks), **parts}, facts={"cpus": size})


def parse_threads(blocked: float, threads: int, group: str = "/app"):
    head = "time\tseconds\tticks\tscans\n=\t5.00\t50\t2\n"
    thread = "thread\tpid\ttid\tsamples\tr\ts\td\twchan_n\trun_ns\twait_ns\tswitches\tvoluntary\tinvoluntary\tcpus\twchan\tcomm\n"
    rows = "group\tpid\tthreads\tr\td\trun_ns\twait_ns\tswitches\tcgroup\tcomm\n"
    rows += f"g\t42\t{threads}\t0\t{round(blocked * 50)}\t1000\t1000\t10\t{group}\tapp\n"
    return parse_text("proc_threads", head + thread + rows + "wchan\twchan\ttasks\tseen\tcomm\n")


def parse_io_limit(limit: float, used: float, version: int):
    text = "mount /sys/fs/cgroup/blkio cgroup\n" if version == 1 else "mount /sys/fs/cgroup cgroup2\n"
    for at in (0, 1):
        text += f"@ {at} {1000 + SECONDS * at}.00\n"
        done = round(used * SECONDS * at)
        if version == 1:
            path = "/sys/fs/cgroup/blkio/app/blkio.throttle"
            text += f"{path}.read_bps_device:8:0 {round(limit)}\n{path}.io_service_bytes:8:0 Read {done}\n"
        else:
            text += f"/sys/fs/cgroup/app/io.max:8:0 rbps={round(limit)} wbps=max riops=max wiops=max\n"
            text += f"/sys/fs/cgroup/app/io.stat:8:0 rbytes={done} wbytes=0 rios=1 wios=0 dbytes=0 dios=0\n"
    return parse_text("cgroup_io", text + "device 8:0 sda\n")


def parse_memory(limit_mb: float, used: float, refaults: float, version: int):
    text = "mount /sys/fs/cgroup/memory cgroup\n" if version == 1 else "mount /sys/fs/cgroup cgroup2\n"
    size, usage = round(limit_mb * 2**20), round(limit_mb * 2**20 * used)
    for at in (0, 1):
        again = round(refaults * SECONDS * at)
        text += f"@ {at} {1000 + SECONDS * at}.00\n"
        if version == 1:
            path = "/sys/fs/cgroup/memory/app/memory"
            text += f"{path}.limit_in_bytes:{size}\n{path}.usage_in_bytes:{usage}\n"
            text += f"{path}.stat:total_workingset_refault_file {again}\n{path}.stat:total_pgmajfault {again // 32}\n"
        else:
            path = "/sys/fs/cgroup/app/memory"
            text += f"{path}.max:{size}\n{path}.current:{usage}\n"
            text += f"{path}.stat:workingset_refault_file {again}\n{path}.stat:pgmajfault {again // 32}\n"
    return parse_text("cgroup_mem", text)


def parse_vmstat(**per_s: float):
    text = ""
    for tick in range(SECONDS + 1):
        text += f"@ {tick} {1000 + tick}000000000 /proc/vmstat\n"
        text += "".join(f"{name} {round(rate * tick)}\n" for name, rate in per_s.items())
    return parse_text("vmstat_proc", text)


def on_disks(size: int, load: Load, dev: str = "sd") -> dict[str, Load]:
    return {f"{dev}{number}" if dev != "nvme" else f"nvme{number}n1": load for number in range(size)}


def saturated(size: int, version: int) -> HostView:
    return build_host(size, 30 * size, on_disks(size, Load(reads=120, read_ms=250, read_kb=64)))


def throttled_readers(size: int, version: int) -> HostView:
    """24 readers for each 4 MiB/s (measured: 0.07 requests in flight)."""
    return build_host(
        size, 24 * size, on_disks(size, Load(reads=256, read_kb=16, read_ms=0.29)),
        cgroup_io=parse_io_limit(size * 2**22, size * 2**22, version), proc_threads=parse_threads(24 * size, 24 * size),
    )  # fmt: skip


def thrashing(size: int, version: int) -> HostView:
    """A database that reads with read(): no major faults, 20,000 pages a second again (21,380 were measured)."""
    return build_host(
        size, 2 * size, on_disks(size, Load(reads=1340, read_kb=64, read_ms=1.5)),
        proc_threads=parse_threads(2 * size, 8 * size),
        cgroup_mem=parse_memory(256 * size, 0.999, 20_000 * size, version),
    )  # fmt: skip


def swapping(size: int, version: int) -> HostView:
    counters = parse_vmstat(pswpin=500 * size, pswpout=500 * size, pgmajfault=400 * size)
    disks = on_disks(size, Load(reads=500, read_kb=16, read_ms=4))
    return build_host(size, 2 * size, disks, vmstat_proc=counters)


def busy_and_quick(size: int, version: int) -> HostView:
    """Fast devices at high rates: nothing waits longer than the device needs."""
    disks = on_disks(size, Load(reads=9000, read_ms=0.08, writes=3000, write_ms=0.03), "nvme")
    return build_host(
        size, 0, disks, block_queue=parse_queues(disks, {}, 4, 0),
        cgroup_mem=parse_memory(256 * size, 0.999, 10 * size, version),
        cgroup_io=parse_io_limit(size * 2**24, size * 2**22, version), proc_threads=parse_threads(0, 8 * size),
        vmstat_proc=parse_vmstat(pswpin=0, pswpout=0, pgmajfault=20 * size),
    )  # fmt: skip


SITUATIONS = {
    saturated: {"F-DISK-SATURATED"},
    throttled_readers: {"F-CGROUP-IO-LIMIT", "F-PROC-BLOCKED"},
    thrashing: {"F-MEM-REFAULT-CGROUP"},
    swapping: {"F-MEM-SWAP-THRASH"},
    busy_and_quick: set[str](),
}
CAUSES = {rule.id for rule in RULES if rule.causes}


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda item: item.__name__)
def test_the_same_situation_has_the_same_findings_at_all_sizes(situation) -> None:
    smallest = evaluate_states(RULES, situation(SIZES[0], VERSIONS[0]))
    matched = {rule for rule, (state, _) in smallest.items() if state == "matched"}
    assert matched >= SITUATIONS[situation]
    if not SITUATIONS[situation]:
        assert not matched & CAUSES
    for size in SIZES:
        for version in VERSIONS:
            states = evaluate_states(RULES, situation(size, version))
            assert _without_severity(states) == _without_severity(smallest), (size, version)


def _without_severity(states: State) -> dict[str, str]:
    """States alone: more threads that wait at a time are more severe, and a thread does not grow with its host."""
    return {rule: state for rule, (state, _) in states.items()}


@pytest.mark.parametrize("kind", ["dm", "md"])
def test_a_request_to_a_mapped_device_counts_once(kind: str) -> None:
    load = Load(reads=120, read_ms=250, read_kb=64)
    disks = {"sda": load, f"{kind}-0" if kind == "dm" else "md0": load}
    mapped = list(disks)[1]
    known = build_view(
        {"iostat": parse_disks(disks), "block_queue": parse_queues(disks, {mapped: "sda"}, 1, 1)}
    )
    unknown = build_view({"iostat": parse_disks(disks)})
    for view in (known, unknown):
        [rule] = [item for item in RULES if item.id == "F-DISK-SATURATED"]
        findings = [item for item in evaluate_rules([rule], view) if item.state == "matched"]
        assert [dict(item.subject) for item in findings] == [{"dev": "sda"}]


@pytest.mark.parametrize("hw_queues", [1, 8, 64, 128])
def test_hardware_queues_do_not_hide_a_slow_device(hw_queues: int) -> None:
    """A volume at its limit answers after 10 ms with any queues; a quick device at full use does not wait."""
    slow, quick = (
        {"nvme0n1": load} for load in (Load(reads=3000, read_ms=10), Load(reads=90_000, read_ms=0.3))
    )
    for disks, state in ((slow, "matched"), (quick, "not_matched")):
        view = build_view(
            {"iostat": parse_disks(disks), "block_queue": parse_queues(disks, {}, hw_queues, 0)}
        )
        assert evaluate_states(RULES, view)["F-DISK-SATURATED"][0] == state


def test_limited_readers_are_not_a_saturated_disk() -> None:
    states = evaluate_states(RULES, throttled_readers(1, 2))
    assert states["F-DISK-SATURATED"][0] == "not_matched"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_small_share_of_evicted_pages_is_no_thrashing(version: int) -> None:
    """The same pages a second with a hundred times as many reads."""
    disks = on_disks(100, Load(reads=1340, read_kb=64, read_ms=1.5))
    view = build_view({
        "iostat": parse_disks(disks), "proc_threads": parse_threads(2, 8),
        "cgroup_mem": parse_memory(256, 0.999, 20_000, version),
    })  # fmt: skip
    assert evaluate_states(RULES, view)["F-MEM-REFAULT-CGROUP"][0] == "not_matched"


def test_fewer_waits_than_requests_are_the_disk_and_not_something_else() -> None:
    view = build_host(2, 10, {"sda": Load(reads=100, read_ms=100)})
    assert evaluate_states(RULES, view)["F-PROC-BLOCKED"][0] == "not_matched"
