"""What the host is: kernel, distribution, CPUs, clock, block queues, interfaces and settings that matter."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from collectors.contract import Collector, Context, Cost, Needs, Parsed, Part, Sampled, Sentence, Text, Tier
from collectors.parse import id_list, sampled
from collectors.parse.sampled import Samples
from collectors.parse.tokens import whole, words

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


def parse(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Facts by name, as the last reading says. Nobody reads the kernel command line: it may hold secrets."""
    samples = sampled.read(parts, _MAX_BYTES)
    if not samples.by_path:
        return Parsed(warnings=samples.warnings, readable=False)
    facts: dict[str, object] = {}
    for name, (path, read) in _SINGLE.items():
        text = _text(samples, path)
        value = read(text) if text else None
        if value not in {None, ""}:
            facts[name] = value
    facts |= _distribution(_text(samples, "/etc/os-release"))
    facts["sysctl"] = {
        name.replace("/", "."): words(text.strip(), 200)
        for name in _SYSCTL
        if (text := _text(samples, f"/proc/sys/{name}"))
    }
    facts["block"] = _devices(samples, "/sys/block/", "/queue/", _QUEUE)
    facts["interfaces"] = _devices(samples, "/sys/class/net/", "/", ("mtu", "operstate", "speed"))
    warnings = list(samples.warnings)
    if "kernel" not in facts:
        warnings.append(Sentence("warning.part_missing", {"part": "/proc/sys/kernel/osrelease"}))
    return Parsed(facts=facts, fact_lines=_lines(samples), warnings=tuple(warnings))


def _lines(samples: Samples) -> dict[str, int]:
    """Where each fact stands, by its dotted name; several may be read from one file."""
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


def _text(samples: Samples, path: str) -> bytes:
    snapshots = samples.of(path)
    return b"\n".join(snapshots[-1].lines())[:8192] if snapshots else b""


def _first_line(text: bytes) -> str:
    return words(text.split(b"\n", 1)[0].strip(), 300)


def _count(text: bytes) -> int:
    return len(id_list.ids(text))


def _chosen(text: bytes) -> str:
    """The word in brackets: `always [madvise] never`."""
    _, bracket, rest = text.partition(b"[")
    return words(rest.partition(b"]")[0] if bracket else text.strip(), 40)


def _uptime_s(text: bytes) -> int | None:
    return whole(text.partition(b".")[0].strip())


_SINGLE: Mapping[str, tuple[str, Callable[[bytes], object]]] = {
    "kernel": ("/proc/sys/kernel/osrelease", _first_line),
    "kernel_build": ("/proc/version", _first_line),
    "uptime_s": ("/proc/uptime", _uptime_s),
    "boot_id": ("/proc/sys/kernel/random/boot_id", _first_line),
    "cpus": ("/sys/devices/system/cpu/online", _count),
    "cpus_online": ("/sys/devices/system/cpu/online", _first_line),
    "cpus_possible": ("/sys/devices/system/cpu/possible", _count),
    "cpus_isolated": ("/sys/devices/system/cpu/isolated", _first_line),
    "smt": ("/sys/devices/system/cpu/smt/active", _first_line),
    "governor": ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", _first_line),
    "numa_nodes": ("/sys/devices/system/node/online", _count),
    "clocksource": ("/sys/devices/system/clocksource/clocksource0/current_clocksource", _first_line),
    "huge_pages": ("/sys/kernel/mm/transparent_hugepage/enabled", _chosen),
    "vendor": ("/sys/class/dmi/id/sys_vendor", _first_line),
    "product": ("/sys/class/dmi/id/product_name", _first_line),
    "hypervisor": ("/sys/hypervisor/type", _first_line),
}


def _distribution(text: bytes) -> dict[str, object]:
    """Name and id of the distribution. Format: os-release(5)."""
    wanted = {b"PRETTY_NAME": "distro", b"ID": "distro_id", b"VERSION_ID": "distro_version"}
    found: dict[str, object] = {}
    for line in text.split(b"\n"):
        name, equals, value = line.strip().partition(b"=")
        if equals and name in wanted:
            found[wanted[name]] = words(value.strip(b"\"'"), 120)
    return found


def _devices(
    samples: Samples, before: str, between: str, names: tuple[str, ...]
) -> dict[str, dict[str, str]]:
    """`{device: {name: value}}` of files like /sys/block/DEVICE/queue/NAME."""
    found: dict[str, dict[str, str]] = {}
    for path in samples.by_path:
        if not path.startswith(before):
            continue
        device, _, name = path.removeprefix(before).partition(between)
        if name in names and (device in found or len(found) < _MAX_DEVICES):
            text = _text(samples, path)
            value = _chosen(text) if name == "scheduler" else _first_line(text)
            if value:
                found.setdefault(device[:64], {})[name] = value
    return found


COLLECTOR = Collector(
    id="host_facts",
    title=Text("Facts", "主机信息"),
    why=Text("What this machine is and how it is set up.", "这是一台什么样的机器、如何配置。"),
    tier=Tier.LIGHT,
    ways=(
        Sampled(
            "proc",
            Needs(files=("/proc/version",), mend="mount -t proc proc /proc"),
            files=_FILES,
            once=True,
        ),
    ),
    parse=parse,
    cost=Cost(0.01, 400, Text("About a hundred tiny files, twice.", "约一百个极小的文件，各读两次。")),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset(),
)
