"""Packages that hold the tools of collectors, by package family, and the commands that install them."""

from __future__ import annotations

from collections.abc import Mapping

from collectors.contract import Tool
from collectors.registry import COLLECTORS

FAMILIES = ("debian", "ubuntu", "rpm", "apk", "zypper", "pacman")
#: The package of each tool that several collectors need, by package family. `{kernel}` is the kernel's release.
SHARED_PACKAGES: Mapping[str, Mapping[str, str]] = {
    "perf": {
        "debian": "linux-perf",
        "ubuntu": "linux-tools-common linux-tools-{kernel}",
        "rpm": "perf",
        "apk": "perf",
        "zypper": "perf",
        "pacman": "perf",
    },
    "iostat": dict.fromkeys(FAMILIES, "sysstat"),
    "numastat": {
        **dict.fromkeys(("debian", "ubuntu", "rpm", "zypper", "pacman"), "numactl"),
        "apk": "numactl-tools",
    },
    "vmstat": {
        **dict.fromkeys(("debian", "ubuntu", "zypper"), "procps"),
        **dict.fromkeys(("rpm", "pacman"), "procps-ng"),
        "apk": "procps-ng",
    },
    "dmesg": {
        **dict.fromkeys(("debian", "ubuntu", "rpm", "zypper", "pacman"), "util-linux"),
        "apk": "dmesg",
    },
    **{
        tool: {**dict.fromkeys(("debian", "ubuntu", "apk", "zypper", "pacman"), "iproute2"), "rpm": "iproute"}
        for tool in ("ss", "tc", "ip")
    },
    **{tool: dict.fromkeys(FAMILIES, tool) for tool in ("tcpdump", "curl", "ethtool")},
    "nft": dict.fromkeys(FAMILIES, "nftables"),
    "nsenter": {
        **dict.fromkeys(("debian", "ubuntu", "rpm", "zypper", "pacman"), "util-linux"),
        "apk": "util-linux-misc",
    },
    "python3": {**dict.fromkeys(("debian", "ubuntu", "rpm", "apk", "zypper"), "python3"), "pacman": "python"},
    **dict.fromkeys(("find", "xargs"), dict.fromkeys(FAMILIES, "findutils")),
    **dict.fromkeys(
        ("sort", "timeout"),
        dict.fromkeys(FAMILIES, "coreutils"),
    ),
    "grep": dict.fromkeys(FAMILIES, "grep"),
    "df": dict.fromkeys(FAMILIES, "coreutils"),
    "cut": dict.fromkeys(FAMILIES, "coreutils"),
    "ls": dict.fromkeys(FAMILIES, "coreutils"),
    "sed": dict.fromkeys(FAMILIES, "sed"),
    "awk": dict.fromkeys(FAMILIES, "gawk"),
}
INSTALL_COMMANDS: Mapping[str, str] = {
    "debian": "apt-get install --no-install-recommends {}",
    "ubuntu": "apt-get install --no-install-recommends {}",
    "rpm": "{tool} install {}",
    "apk": "apk add {}",
    "zypper": "zypper install {}",
    "pacman": "pacman -S {}",
}


def _collect_tools() -> Mapping[str, Tool]:
    """Return the tools that collectors declare, by name, or raise ValueError where two declarations differ."""
    tools: dict[str, Tool] = {}
    for collector in COLLECTORS.values():
        for method in collector.methods:
            for tool in method.needs.tools:
                if isinstance(tool, Tool) and tools.setdefault(tool.name, tool) != tool:
                    raise ValueError(
                        f"{collector.id} names another package for {tool.name} than another collector"
                    )
    return tools


_DECLARED = _collect_tools()


def find_package(tool: str, family: str) -> str | None:
    """Return the package that holds a tool, or None where it is not known."""
    declared = _DECLARED.get(tool)
    if declared is not None and family in FAMILIES:
        return declared.packages.get(family, declared.package) or None
    return SHARED_PACKAGES.get(tool, {}).get(family)
