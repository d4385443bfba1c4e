"""What lines of the kernel's log mean: a table of patterns, old and new texts side by side.

Texts change with the kernel: each pattern names what is common, and takes what it can. Only the kernel's own
lines are classified; a user with the permission can write other lines into the log.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from collectors.contract import Severity

_MAX_LINE = 1_000
#: `<6>[    1.319204] text` of `dmesg -r`; the number is 8 * facility + level.
_RAW = re.compile(rb"<(\d{1,4})>\[\s*(\d{1,9}\.\d{1,9})\](?:\[\s*[TC]\d+\])? ?(.*)", re.DOTALL)
#: `[    1.319204] host kernel: text` of `journalctl -k -o short-monotonic`.
_JOURNAL = re.compile(rb"\[\s*(\d{1,9}\.\d{1,9})\] \S+ kernel: ?(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of the kernel's own. `monotonic_ns` is printk's clock, which is not synchronized."""

    monotonic_ns: int
    text: bytes


def parse_log_lines(line: bytes) -> LogLine | None:
    """The line of the log, from either tool; None for lines of other facilities and for anything else."""
    line = line[:_MAX_LINE]
    if match := _RAW.fullmatch(line):
        return LogLine(_parse_ns(match[2]), match[3]) if int(match[1]) >> 3 == 0 else None
    if match := _JOURNAL.fullmatch(line):
        return LogLine(_parse_ns(match[1]), match[2])
    return None


def _parse_ns(seconds: bytes) -> int:
    whole, _, fraction = seconds.partition(b".")
    return int(whole) * 1_000_000_000 + int(fraction.ljust(9, b"0"))


@dataclass(frozen=True, slots=True)
class MessageKind:
    """A class of lines. Named groups of the pattern become the parameters of its sentence."""

    id: str
    severity: Severity
    pattern: re.Pattern[bytes]


@dataclass(frozen=True, slots=True)
class LogMeaning:
    """The content of one line."""

    kind: str
    severity: Severity
    params: dict[str, bytes]


def _define_kind(kind: str, severity: Severity, *patterns: bytes) -> list[MessageKind]:
    return [MessageKind(kind, severity, re.compile(pattern)) for pattern in patterns]


_VICTIM = rb"(?P<pid>\d+) \((?P<comm>.{0,40}?)\)(?=,? |$)"

_KINDS: tuple[MessageKind, ...] = (
    *_define_kind(
        "oom_kill_cgroup",
        "critical",
        rb"Memory cgroup out of memory: Kill(?:ed)? process " + _VICTIM,
    ),
    *_define_kind(
        "oom_kill",
        "critical",
        rb"Out of memory.{0,30}: Kill(?:ed)? process " + _VICTIM,
        rb"^Killed process " + _VICTIM,
    ),
    *_define_kind(
        "conntrack_full",
        "critical",
        rb"(?:nf|ip)_conntrack: table full(?: in netns (?P<netns>\d+))?, dropping packet",
    ),
    *_define_kind("syn_flood", "warn", rb"[Pp]ossible SYN flooding on port (?P<port>[\w.:\[\]]{1,60}?)\.? "),
    *_define_kind(
        "hung_task",
        "critical",
        rb"task (?P<comm>.{1,40}?):(?P<pid>\d+) (?:<\S+> )?blocked "
        rb"(?:in I/O wait )?for more than (?P<seconds>\d+) seconds",
    ),
    *_define_kind("soft_lockup", "critical", rb"soft lockup - CPU#(?P<cpu>\d+) stuck for (?P<seconds>\d+)s"),
    *_define_kind("hard_lockup", "critical", rb"hard LOCKUP on cpu ?(?P<cpu>\d+)"),
    *_define_kind(
        "rcu_stall",
        "critical",
        rb"rcu\w* (?:self-)?detected (?:expedited )?stalls? on CPU",
        rb"INFO: \w+ (?:self-)?detected stalls? on CPU",
    ),
    *_define_kind(
        "machine_check",
        "critical",
        rb"\[Hardware Error\]: (?:Machine check|CPU \d+: Machine Check|Uncorrected|Corrected error)",
        rb"EDAC MC\d+: \d+ [CU]E ",
        rb"Machine check events logged",
    ),
    *_define_kind(
        "nic_reset",
        "critical",
        rb"NETDEV WATCHDOG: (?P<dev>\S+) \(.*\): transmit queue \d+ timed out",
        rb"(?P<dev>[\w.-]{1,32}): [Rr]eset(?:ting)? adapter",
        rb"(?P<dev>[\w.-]{1,32}): Detected (?:Tx|Hardware) Unit Hang",
    ),
    *_define_kind("nic_link_down", "warn", rb"(?P<dev>[\w.-]{1,32}):? (?:NIC )?[Ll]ink is [Dd]own"),
    *_define_kind("nic_link_up", "info", rb"(?P<dev>[\w.-]{1,32}):? (?:NIC )?[Ll]ink is [Uu]p"),
    *_define_kind(
        "io_error",
        "critical",
        rb"I/O error, dev (?P<dev>[\w.!/-]{1,64}), (?:logical block|sector)",
        rb"Buffer I/O error on (?:dev|device) (?P<dev>[\w.!/-]{1,64}),",
        rb"critical (?:medium|target|space allocation) error, dev (?P<dev>[\w.!/-]{1,64}),",
        rb"^(?P<dev>nvme\d+n\d+): I/O Cmd\(0x[0-9a-f]+\) @ LBA \d+, \d+ blocks, I/O Error",
    ),
    *_define_kind(
        "io_timeout",
        "critical",
        rb"nvme (?P<dev>nvme\d+): I/O (?:tag )?\d+ .*timeout",
        rb"(?P<dev>ata\d+(?:\.\d+)?): (?:failed command|hard resetting link|exception Emask)",
    ),
    *_define_kind(
        "fs_error",
        "critical",
        rb"EXT[234]-fs error \(device (?P<dev>[\w.!/-]{1,64})\)",
        rb"XFS \((?P<dev>[\w.!/-]{1,64})\): .*(?:[Cc]orruption|shutting down|metadata I/O error)",
        rb"BTRFS (?:error|critical) \(device (?P<dev>[\w.!/-]{1,64})",
        rb"\((?P<dev>[\w.!/-]{1,64})\): Remounting filesystem read-only",
    ),
    *_define_kind(
        "page_allocation_failure",
        "warn",
        rb"(?P<comm>.{1,40}?): page allocation failure: order:(?P<order>\d+)",
    ),
    *_define_kind("tcp_memory", "critical", rb"TCP: out of memory", rb"too many orphaned sockets"),
    *_define_kind(
        "neighbour_overflow",
        "critical",
        rb"(?:neighbou?r|arp_cache).*neighbou?r table overflow",
        rb"Neighbour table overflow",
    ),
    *_define_kind(
        "clocksource_unstable",
        "warn",
        rb"Marking clocksource '?(?P<clock>[\w-]+)'? as unstable",
        rb"Clocksource (?P<clock>\w+) unstable",
    ),
    *_define_kind("cpu_throttled", "warn", rb"temperature above threshold, cpu clock throttled"),
    *_define_kind(
        "perf_slowed", "info", rb"perf: interrupt took too long .*max_sample_rate to (?P<rate>\d+)"
    ),
    *_define_kind(
        "kernel_bug",
        "critical",
        rb"^BUG: (?!soft lockup)",
        rb"^kernel BUG at ",
        rb"Oops: ",
        rb"^general protection fault",
    ),
    *_define_kind("kernel_warning", "warn", rb"^WARNING: (?:CPU: |.* at )"),
    *_define_kind(
        "process_crash",
        "warn",
        rb"(?P<comm>[^\[\]]{1,40})\[(?P<pid>\d+)\]: segfault at ",
        rb"traps: (?P<comm>[^\[\]]{1,40})\[(?P<pid>\d+)\] (?:general protection|trap)",
    ),
    *_define_kind(
        "caches_dropped", "info", rb"(?P<comm>.{1,40}?) ?\((?P<pid>\d+)\): drop_caches: (?P<what>\d+)"
    ),
)


def classify_line(text: bytes) -> LogMeaning | None:
    """Return the event in the line, or None if it does not matter for an investigation."""
    for kind in _KINDS:
        if match := kind.pattern.search(text):
            params = {name: value for name, value in match.groupdict().items() if value is not None}
            return LogMeaning(kind.id, kind.severity, params)
    return None
