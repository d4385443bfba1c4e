"""What host/preflight.sh prints, as facts. Total: what cannot be read is left out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from collectors.parse.network import addresses
from collectors.parse.proc.id_list import parse_ids
from collectors.parse.tables.tokens import parse_amount, parse_whole, to_text

_MAX_BYTES = 256 << 10
_MAX_LINES = 5_000
_CAP_PERFMON, _CAP_SYS_ADMIN, _CAP_SYSLOG = 38, 21, 34
_PACKAGES = {"apt-get": "apt"}

Facts = dict[str, object]


def parse_preflight(text: bytes) -> Facts:
    """Facts by name. `complete` is whether the last line arrived.

    kernel arch hostname boot_id machine_id mount_ns pid_ns init distro distro_id distro_like distro_version
    packages(apt dnf yum zypper apk pacman) cpus cpus_possible numa_nodes mem_bytes mem_available_bytes
    page_size cgroup(v1 v2 hybrid none) uid user groups root capabilities cap_perfmon cap_sys_admin cap_syslog
    sudo
    perf_event_paranoid kptr_restrict dmesg_restrict ptrace_scope perf_max_sample_rate lockdown virtualisation
    container pmu tools{name: version} broken_tools other_perf files unreadable
    processes threads sockets open_files cgroups start_us read_us
    space[{path, writable, free_bytes, free_inodes, kind}] clock{the runner's record} traced took_ms complete
    """
    lines = _split_lines(text)
    facts: Facts = {}
    for key, (name, convert) in _SINGLE.items():
        if lines.get(key):
            value = convert(lines[key][-1])
            if value not in {None, ""}:
                facts[name] = value
    facts["root"] = facts.get("uid") == 0
    facts["cgroup"] = _detect_cgroup(lines.get("cgroup_mount", []))
    facts |= _read_capabilities(lines.get("self_CapEff", []))
    facts["pmu"] = sorted({to_text(item, 40) for item in lines.get("pmu", [])[:16]})
    facts["files"] = [to_text(item, 200) for item in lines.get("file", [])[:200]]
    facts["unreadable"] = [to_text(item, 200) for item in lines.get("unreadable", [])[:50]]
    facts["tools"] = _read_tools(lines.get("tool", []))
    facts["broken_tools"] = [to_text(item, 40) for item in lines.get("broken", [])[:20]]
    facts["other_perf"] = [to_text(item, 200) for item in lines.get("other_perf", [])[:20]]
    facts["addresses"] = addresses.is_reachable(lines.get("address", []))
    facts["space"] = _read_space(lines.get("space", []))
    facts["clock"] = _read_clock(lines.get("clock", []))
    facts["complete"] = "end" in lines
    return facts


def _split_lines(text: bytes) -> dict[str, list[bytes]]:
    results: dict[str, list[bytes]] = {}
    for line in text[:_MAX_BYTES].split(b"\n")[:_MAX_LINES]:
        key, _, value = line.strip(b"\r").partition(b" ")
        if 0 < len(key) <= 40 and key.isascii() and key.replace(b"_", b"a").isalnum():
            results.setdefault(key.decode("ascii"), []).append(value.strip())
    return results


def _read_text(value: bytes) -> str:
    return to_text(value, 200)


def _read_word(value: bytes) -> str:
    return to_text(value.split(b" ", 1)[0], 100)


def _read_signed(value: bytes) -> int | None:
    number = parse_whole(value.removeprefix(b"-"))
    return None if number is None else -number if value.startswith(b"-") else number


def _read_kib(value: bytes) -> int | None:
    number = parse_whole(value)
    return None if number is None else number * 1024


def _read_decimal(value: bytes) -> float | None:
    number = parse_amount(value[:20])
    return number if math.isfinite(number) else None


def _read_count(value: bytes) -> int:
    return len(parse_ids(value))


def _detect_packages(value: bytes) -> str:
    return _PACKAGES.get(_read_word(value), _read_word(value))


_SINGLE: Mapping[str, tuple[str, Callable[[bytes], object]]] = {
    "kernel": ("kernel", _read_word),
    "arch": ("arch", _read_word),
    "hostname": ("hostname", _read_word),
    "boot_id": ("boot_id", _read_word),
    "machine_id": ("machine_id", _read_word),
    "mount_ns": ("mount_ns", _read_word),
    "pid_ns": ("pid_ns", _read_word),
    "init": ("init", _read_text),
    "os_PRETTY_NAME": ("distro", _read_text),
    "os_ID": ("distro_id", _read_word),
    "os_ID_LIKE": ("distro_like", _read_text),
    "os_VERSION_ID": ("distro_version", _read_word),
    "packages": ("packages", _detect_packages),
    "cpus_online": ("cpus", _read_count),
    "cpus_possible": ("cpus_possible", _read_count),
    "nodes_online": ("numa_nodes", _read_count),
    "mem_MemTotal": ("mem_bytes", _read_kib),
    "mem_MemAvailable": ("mem_available_bytes", _read_kib),
    "page_size": ("page_size", parse_whole),
    "clk_tck": ("clk_tck", parse_whole),
    "uid": ("uid", parse_whole),
    "user": ("user", _read_word),
    "groups": ("groups", _read_text),
    "sudo": ("sudo", _read_word),
    "kernel_perf_event_paranoid": ("perf_event_paranoid", _read_signed),
    "kernel_kptr_restrict": ("kptr_restrict", parse_whole),
    "kernel_dmesg_restrict": ("dmesg_restrict", parse_whole),
    "kernel_perf_event_max_sample_rate": ("perf_max_sample_rate", parse_whole),
    "kernel_ptrace_scope": ("ptrace_scope", parse_whole),
    "self_TracerPid": ("traced", lambda value: value not in {b"", b"0"}),
    "lockdown": ("lockdown", _read_text),
    "virt": ("virtualisation", _read_word),
    "product": ("product", _read_text),
    "container": ("container", _read_word),
    "processes": ("processes", parse_whole),
    "threads": ("threads", parse_whole),
    "sockets": ("sockets", parse_whole),
    "open_files": ("open_files", parse_whole),
    "cgroups": ("cgroups", parse_whole),
    "start_us": ("start_us", parse_whole),
    "read_us": ("read_us", _read_decimal),
    "took_ms": ("took_ms", parse_whole),
}


def _detect_cgroup(mounts: list[bytes]) -> str:
    kinds = {mount.split(b" ", 1)[0] for mount in mounts[:1_000]}
    if kinds >= {b"v1", b"v2"}:
        return "hybrid"
    return "v2" if b"v2" in kinds else "v1" if b"v1" in kinds else "none"


def _read_capabilities(values: list[bytes]) -> Facts:
    """The effective set as the kernel prints it, and the three that matter. Numbers: linux/capability.h."""
    text = values[-1] if values else b""
    try:
        bits = int(text[:32] or b"0", 16)
    except ValueError:
        bits = 0
    return {
        "capabilities": to_text(text, 32),
        "cap_perfmon": bool(bits >> _CAP_PERFMON & 1),
        "cap_sys_admin": bool(bits >> _CAP_SYS_ADMIN & 1),
        "cap_syslog": bool(bits >> _CAP_SYSLOG & 1),
    }


def _read_tools(values: list[bytes]) -> dict[str, str]:
    results: dict[str, str] = {}
    for value in values[:200]:
        name, _, version = value.partition(b" ")
        if name:
            results[to_text(name, 40)] = to_text(version.strip(), 120)
    return results


def _read_space(values: list[bytes]) -> list[Facts]:
    facts: list[Facts] = []
    for value in values[:20]:
        fields = value.split(b" ", 4)
        if len(fields) == 5:
            free_kib = parse_whole(fields[2])
            facts.append(
                {
                    "path": to_text(fields[0], 200),
                    "writable": fields[1] == b"1",
                    "free_bytes": None if free_kib is None else free_kib * 1024,
                    "free_inodes": parse_whole(fields[3]),
                    "kind": to_text(fields[4], 80),
                }
            )
    return facts


def _read_clock(values: list[bytes]) -> dict[str, str]:
    """The reading as the runner's clock records have it: what collectors.clock.mapping takes."""
    pairs = [pair.partition(b"=") for pair in (values[-1].split(b" ")[:12] if values else [])]
    return {to_text(key, 8): to_text(value, 24) for key, equals, value in pairs if equals}
