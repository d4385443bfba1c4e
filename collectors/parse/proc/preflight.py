"""What host/preflight.sh prints, as facts. Total: what cannot be read is left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from collectors.parse import addresses
from collectors.parse.id_list import ids
from collectors.parse.tokens import whole, words

_MAX_BYTES = 256 << 10
_MAX_LINES = 5_000
_CAP_PERFMON, _CAP_SYS_ADMIN, _CAP_SYSLOG = 38, 21, 34
_PACKAGES = {"apt-get": "apt"}

Facts = dict[str, object]


def read(text: bytes) -> Facts:
    """Facts by name. `complete` says whether the last line arrived.

    kernel arch hostname boot_id machine_id mount_ns pid_ns init distro distro_id distro_like distro_version
    packages(apt dnf yum zypper apk pacman) cpus cpus_possible numa_nodes mem_bytes mem_available_bytes
    page_size cgroup(v1 v2 hybrid none) uid user groups root capabilities cap_perfmon cap_sys_admin cap_syslog
    sudo
    perf_event_paranoid kptr_restrict dmesg_restrict ptrace_scope perf_max_sample_rate lockdown virtualisation
    container pmu tools{name: version} broken_tools other_perf files unreadable
    space[{path, writable, free_bytes, free_inodes, kind}] clock{the runner's record} traced took_ms complete
    """
    lines = _lines(text)
    facts: Facts = {}
    for key, (name, convert) in _SINGLE.items():
        if lines.get(key):
            value = convert(lines[key][-1])
            if value not in {None, ""}:
                facts[name] = value
    facts["root"] = facts.get("uid") == 0
    facts["cgroup"] = _cgroup(lines.get("cgroup_mount", []))
    facts |= _capabilities(lines.get("self_CapEff", []))
    facts["pmu"] = sorted({words(one, 40) for one in lines.get("pmu", [])[:16]})
    facts["files"] = [words(one, 200) for one in lines.get("file", [])[:200]]
    facts["unreadable"] = [words(one, 200) for one in lines.get("unreadable", [])[:50]]
    facts["tools"] = _tools(lines.get("tool", []))
    facts["broken_tools"] = [words(one, 40) for one in lines.get("broken", [])[:20]]
    facts["other_perf"] = [words(one, 200) for one in lines.get("other_perf", [])[:20]]
    facts["addresses"] = addresses.reachable(lines.get("address", []))
    facts["space"] = _space(lines.get("space", []))
    facts["clock"] = _clock(lines.get("clock", []))
    facts["complete"] = "end" in lines
    return facts


def _lines(text: bytes) -> dict[str, list[bytes]]:
    found: dict[str, list[bytes]] = {}
    for line in text[:_MAX_BYTES].split(b"\n")[:_MAX_LINES]:
        key, _, value = line.strip(b"\r").partition(b" ")
        if 0 < len(key) <= 40 and key.isascii() and key.replace(b"_", b"a").isalnum():
            found.setdefault(key.decode("ascii"), []).append(value.strip())
    return found


def _text(value: bytes) -> str:
    return words(value, 200)


def _word(value: bytes) -> str:
    return words(value.split(b" ", 1)[0], 100)


def _signed(value: bytes) -> int | None:
    number = whole(value.removeprefix(b"-"))
    return None if number is None else -number if value.startswith(b"-") else number


def _kib(value: bytes) -> int | None:
    number = whole(value)
    return None if number is None else number * 1024


def _count(value: bytes) -> int:
    return len(ids(value))


def _packages(value: bytes) -> str:
    return _PACKAGES.get(_word(value), _word(value))


_SINGLE: Mapping[str, tuple[str, Callable[[bytes], object]]] = {
    "kernel": ("kernel", _word),
    "arch": ("arch", _word),
    "hostname": ("hostname", _word),
    "boot_id": ("boot_id", _word),
    "machine_id": ("machine_id", _word),
    "mount_ns": ("mount_ns", _word),
    "pid_ns": ("pid_ns", _word),
    "init": ("init", _text),
    "os_PRETTY_NAME": ("distro", _text),
    "os_ID": ("distro_id", _word),
    "os_ID_LIKE": ("distro_like", _text),
    "os_VERSION_ID": ("distro_version", _word),
    "packages": ("packages", _packages),
    "cpus_online": ("cpus", _count),
    "cpus_possible": ("cpus_possible", _count),
    "nodes_online": ("numa_nodes", _count),
    "mem_MemTotal": ("mem_bytes", _kib),
    "mem_MemAvailable": ("mem_available_bytes", _kib),
    "page_size": ("page_size", whole),
    "clk_tck": ("clk_tck", whole),
    "uid": ("uid", whole),
    "user": ("user", _word),
    "groups": ("groups", _text),
    "sudo": ("sudo", _word),
    "kernel_perf_event_paranoid": ("perf_event_paranoid", _signed),
    "kernel_kptr_restrict": ("kptr_restrict", whole),
    "kernel_dmesg_restrict": ("dmesg_restrict", whole),
    "kernel_perf_event_max_sample_rate": ("perf_max_sample_rate", whole),
    "kernel_ptrace_scope": ("ptrace_scope", whole),
    "self_TracerPid": ("traced", lambda value: value not in {b"", b"0"}),
    "lockdown": ("lockdown", _text),
    "virt": ("virtualisation", _word),
    "product": ("product", _text),
    "container": ("container", _word),
    "took_ms": ("took_ms", whole),
}


def _cgroup(mounts: list[bytes]) -> str:
    kinds = {mount.split(b" ", 1)[0] for mount in mounts[:1_000]}
    if kinds >= {b"v1", b"v2"}:
        return "hybrid"
    return "v2" if b"v2" in kinds else "v1" if b"v1" in kinds else "none"


def _capabilities(values: list[bytes]) -> Facts:
    """The effective set as the kernel prints it, and the three that matter. Numbers: linux/capability.h."""
    text = values[-1] if values else b""
    try:
        bits = int(text[:32] or b"0", 16)
    except ValueError:
        bits = 0
    return {
        "capabilities": words(text, 32),
        "cap_perfmon": bool(bits >> _CAP_PERFMON & 1),
        "cap_sys_admin": bool(bits >> _CAP_SYS_ADMIN & 1),
        "cap_syslog": bool(bits >> _CAP_SYSLOG & 1),
    }


def _tools(values: list[bytes]) -> dict[str, str]:
    found: dict[str, str] = {}
    for value in values[:200]:
        name, _, version = value.partition(b" ")
        if name:
            found[words(name, 40)] = words(version.strip(), 120)
    return found


def _space(values: list[bytes]) -> list[Facts]:
    found: list[Facts] = []
    for value in values[:20]:
        fields = value.split(b" ", 4)
        if len(fields) == 5:
            free_kib = whole(fields[2])
            found.append(
                {
                    "path": words(fields[0], 200),
                    "writable": fields[1] == b"1",
                    "free_bytes": None if free_kib is None else free_kib * 1024,
                    "free_inodes": whole(fields[3]),
                    "kind": words(fields[4], 80),
                }
            )
    return found


def _clock(values: list[bytes]) -> dict[str, str]:
    """The reading as the runner's clock records have it: what collectors.clock takes."""
    pairs = [pair.partition(b"=") for pair in (values[-1].split(b" ")[:12] if values else [])]
    return {words(key, 8): words(value, 24) for key, equals, value in pairs if equals}
