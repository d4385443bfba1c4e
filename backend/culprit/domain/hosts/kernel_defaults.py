"""Defaults of the kernel for the settings that decide how a host behaves under load.

Only settings whose default does not depend on the size of the host are listed. A setting has several defaults where
kernels or distributions of the last ten years differ; any other value was set by an administrator. Source:
Documentation/admin-guide/sysctl and Documentation/networking/ip-sysctl.rst of the kernel.
"""

from __future__ import annotations

from collections.abc import Mapping

DEFAULTS: Mapping[str, tuple[str, ...]] = {
    "kernel.numa_balancing": ("0", "1"),
    "kernel.sched_autogroup_enabled": ("0", "1"),
    "kernel.task_delayacct": ("0",),
    "vm.swappiness": ("60",),
    "vm.overcommit_memory": ("0",),
    "vm.dirty_ratio": ("20",),
    "vm.dirty_background_ratio": ("10",),
    "vm.zone_reclaim_mode": ("0",),
    "vm.vfs_cache_pressure": ("100",),
    "vm.max_map_count": ("65530", "1048576"),
    "fs.aio-max-nr": ("65536",),
    "net.core.somaxconn": ("4096", "128"),
    "net.core.netdev_max_backlog": ("1000",),
    "net.core.netdev_budget": ("300",),
    "net.core.rmem_max": ("212992", "4194304"),
    "net.core.wmem_max": ("212992", "4194304"),
    "net.core.default_qdisc": ("pfifo_fast", "fq_codel"),
    "net.ipv4.ip_local_port_range": ("32768 60999", "32768 61000"),
    "net.ipv4.tcp_tw_reuse": ("2", "0"),
    "net.ipv4.tcp_syncookies": ("1",),
    "net.ipv4.tcp_congestion_control": ("cubic",),
    "net.ipv4.tcp_abort_on_overflow": ("0",),
    "net.ipv4.tcp_fin_timeout": ("60",),
}


def find_changed_default(name: str, value: str) -> tuple[str, ...] | None:
    """Return the default values of a setting if `value` differs from all of them; else, or without any, None."""
    defaults = DEFAULTS.get(name)
    return None if defaults is None or " ".join(value.split()) in defaults else defaults
