"""What the host is: kernel, distribution, CPUs, clock, block queues, interfaces and settings that matter."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from collectors.contract import Collector, Context, Cost, Needs, Parsed, Part, Sampled, Sentence, Text, Tier
from collectors.parse.proc import id_list, sampled
from collectors.parse.proc.sampled import Samples
from collectors.parse.tables.tokens import parse_whole, to_text

_MAX_BYTES = 16 << 20
_MAX_DEVICES = 256
_MAX_LINES = 4_000
_SYSCTL = (
    *("kernel/perf_event_paranoid", "kernel/kptr_restrict", "kernel/numa_balancing", "kernel/pid_max"),
    *("kernel/threads-max", "kernel/sched_autogroup_enabled", "kernel/task_delayacct", "kernel/nmi_watchdog"),
    *("vm/swappiness", "vm/overcommit_memory", "vm/dirty_ratio", "vm/dirty_background_ratio"),
    *("vm/min_free_kbytes", "vm/zone_reclaim_mode", "vm/vfs_cache_pressure", "vm/max_map_count"),
    *("fs/file-max", "fs/file-nr", "fs/aio-nr", "fs/aio-max-nr"),
    *("net/core/somaxconn", "net/core/netdev_max_backlog", "net/core/netdev_budget"),
    *("net/core/rmem_max", "net/core/wmem_max", "net/core/default_qdisc"),
    *("net/ipv4/ip_local_port_range", "net/ipv4/tcp_max_syn_backlog", "net/ipv4/tcp_tw_reuse"),
    *("net/ipv4/tcp_syncookies", "net/ipv4/tcp_mem", "net/ipv4/tcp_rmem", "net/ipv4/tcp_wmem"),
    *("net/ipv4/tcp_congestion_control", "net/ipv4/tcp_abort_on_overflow", "net/ipv4/tcp_fin_timeout"),
    *("net/netfilter/nf_conntrack_max", "net/netfilter/nf_conntrack_count"),
    *("net/netfilter/nf_conntrack_buckets",),
)
_QUEUE = ("read_ahead_kb", "scheduler", "nr_requests", "rotational", "nr_hw_queues", "wbt_lat_usec")
_FILES = (
    "/proc/version",
    "/proc/sys/kernel/osrelease",
    "/proc/uptime",
    "/proc/swaps",
    "/etc/os-release",
    "/proc/sys/kernel/random/boot_id",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/cpu/possible",
    "/sys/devices/system/cpu/isolated",
    "/sys/devices/system/cpu/smt/active",
    "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    "/sys/devices/system/node/online",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/class/dmi/id/sys_vendor",
    "/sys/class/dmi/id/product_name",
    "/sys/hypervisor/type",
    *(f"/proc/sys/{name}" for name in _SYSCTL),
    *(f"/sys/block/*/queue/{name}" for name in _QUEUE),
    "/sys/class/net/*/mtu",
    "/sys/class/net/*/operstate",
    "/sys/class/net/*/speed",
)


def parse_host_facts(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Facts by name, from the last reading. The kernel command line is never read: it may hold secrets."""
    samples = sampled.read_samples(parts, _MAX_BYTES)
    if not samples.by_path:
        return Parsed(warnings=samples.warnings, readable=False)
    facts: dict[str, object] = {}
    for name, (path, read) in _SINGLE.items():
        text = _read_text(samples, path)
        value = read(text) if text else None
        if value not in {None, ""}:
            facts[name] = value
    facts |= _read_distribution(_read_text(samples, "/etc/os-release"))
    facts["sysctl"] = {
        name.replace("/", "."): to_text(text.strip(), 200)
        for name in _SYSCTL
        if (text := _read_text(samples, f"/proc/sys/{name}"))
    }
    facts["block"] = _list_devices(samples, "/sys/block/", "/queue/", _QUEUE)
    facts["interfaces"] = _list_devices(samples, "/sys/class/net/", "/", ("mtu", "operstate", "speed"))
    warnings = list(samples.warnings)
    if "kernel" not in facts:
        warnings.append(Sentence("warning.part_missing", {"part": "/proc/sys/kernel/osrelease"}))
    return Parsed(facts=facts, fact_lines=_split_lines(samples), warnings=tuple(warnings))


def _split_lines(samples: Samples) -> dict[str, int]:
    """Line of each fact, by its dotted name; several may be read from one file."""
    named = [(name, path) for name, (path, _) in _SINGLE.items()]
    named += [(f"sysctl.{name.replace('/', '.')}", f"/proc/sys/{name}") for name in _SYSCTL]
    for path in samples.by_path:
        for group, before, between in (
            ("block", "/sys/block/", "/queue/"),
            ("interfaces", "/sys/class/net/", "/"),
        ):
            device, cut, rest = path.removeprefix(before).partition(between)
            if path.startswith(before) and cut and len(named) < _MAX_LINES:
                named.append((f"{group}.{device[:64]}.{rest}", path))
    return {name: snapshots[-1].line for name, path in named if (snapshots := samples.of(path))}


def _read_text(samples: Samples, path: str) -> bytes:
    snapshots = samples.of(path)
    return b"\n".join(snapshots[-1].lines())[:8192] if snapshots else b""


def _read_first_line(text: bytes) -> str:
    return to_text(text.split(b"\n", 1)[0].strip(), 300)


def _read_count(text: bytes) -> int:
    return len(id_list.parse_ids(text))


def _read_chosen(text: bytes) -> str:
    """The word in brackets: `always [madvise] never`."""
    _, bracket, rest = text.partition(b"[")
    return to_text(rest.partition(b"]")[0] if bracket else text.strip(), 40)


def _read_uptime_s(text: bytes) -> int | None:
    return parse_whole(text.partition(b".")[0].strip())


_SINGLE: Mapping[str, tuple[str, Callable[[bytes], object]]] = {
    "kernel": ("/proc/sys/kernel/osrelease", _read_first_line),
    "kernel_build": ("/proc/version", _read_first_line),
    "uptime_s": ("/proc/uptime", _read_uptime_s),
    "boot_id": ("/proc/sys/kernel/random/boot_id", _read_first_line),
    "cpus": ("/sys/devices/system/cpu/online", _read_count),
    "cpus_online": ("/sys/devices/system/cpu/online", _read_first_line),
    "cpus_possible": ("/sys/devices/system/cpu/possible", _read_count),
    "cpus_isolated": ("/sys/devices/system/cpu/isolated", _read_first_line),
    "smt": ("/sys/devices/system/cpu/smt/active", _read_first_line),
    "governor": ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", _read_first_line),
    "numa_nodes": ("/sys/devices/system/node/online", _read_count),
    "clocksource": ("/sys/devices/system/clocksource/clocksource0/current_clocksource", _read_first_line),
    "huge_pages": ("/sys/kernel/mm/transparent_hugepage/enabled", _read_chosen),
    "vendor": ("/sys/class/dmi/id/sys_vendor", _read_first_line),
    "product": ("/sys/class/dmi/id/product_name", _read_first_line),
    "hypervisor": ("/sys/hypervisor/type", _read_first_line),
}


def _read_distribution(text: bytes) -> dict[str, object]:
    """Name and id of the distribution. Format: os-release(5)."""
    requested = {b"PRETTY_NAME": "distro", b"ID": "distro_id", b"VERSION_ID": "distro_version"}
    results: dict[str, object] = {}
    for line in text.split(b"\n"):
        name, equals, value = line.strip().partition(b"=")
        if equals and name in requested:
            results[requested[name]] = to_text(value.strip(b"\"'"), 120)
    return results


def _list_devices(
    samples: Samples, before: str, between: str, names: tuple[str, ...]
) -> dict[str, dict[str, str]]:
    """`{device: {name: value}}` of files like /sys/block/DEVICE/queue/NAME."""
    results: dict[str, dict[str, str]] = {}
    for path in samples.by_path:
        if not path.startswith(before):
            continue
        device, _, name = path.removeprefix(before).partition(between)
        if name in names and (device in results or len(results) < _MAX_DEVICES):
            text = _read_text(samples, path)
            value = _read_chosen(text) if name == "scheduler" else _read_first_line(text)
            if value:
                results.setdefault(device[:64], {})[name] = value
    return results


COLLECTOR = Collector(
    id="host_facts",
    title=Text("Facts", "主机信息"),
    why=Text("What this machine is and how it is set up.", "这是一台什么样的机器、如何配置。"),
    tier=Tier.LIGHT,
    methods=(
        Sampled(
            "proc",
            Needs(files=("/proc/version",), remedy="mount -t proc proc /proc"),
            files=_FILES,
            once=True,
        ),
    ),
    parse=parse_host_facts,
    cost=Cost(0.01, 400, Text("About a hundred tiny files, twice.", "约一百个极小的文件，各读两次。")),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset(),
)
