"""The scope of a capture: the whole host, or one process, control group, container, unit or port.

A scope is what the user requested. `scripts/scope.sh` resolves it on the host to a process and a control group.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, cast, get_args

Kind = Literal["host", "process", "cgroup", "unit", "container", "port"]
KINDS: tuple[Kind, ...] = get_args(Kind)

PID_MAX = 1 << 22  # PID_MAX_LIMIT of 64-bit kernels
PORT_MAX = 65_535
MAX_VALUE = 1024

#: The pattern of the whole value, by kind. No pattern allows a quote, a space or a glob.
PATTERNS: Mapping[Kind, re.Pattern[str]] = MappingProxyType(
    {
        "host": re.compile(r""),
        "process": re.compile(r"[1-9][0-9]{0,6}"),
        "cgroup": re.compile(r"/[A-Za-z0-9_.@:/\\-]{0,1022}"),
        "unit": re.compile(r"[A-Za-z0-9_@:\\][A-Za-z0-9_.@:\\-]{0,254}"),
        "container": re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}"),
        "port": re.compile(r"[1-9][0-9]{0,4}"),
    }
)


@dataclass(frozen=True, slots=True)
class Scope:
    """A kind and its value. The value of a whole host is empty. Raise ValueError for values that are not allowed."""

    kind: Kind = "host"
    value: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS or not PATTERNS[self.kind].fullmatch(self.value):
            raise ValueError(f"no such scope: {self.kind!r}")
        limit = {"process": PID_MAX, "port": PORT_MAX}.get(self.kind)
        if limit is not None and int(self.value) > limit:
            raise ValueError(f"{self.kind} {self.value} is above {limit}")
        if self.kind == "cgroup" and ".." in self.value.split("/"):
            raise ValueError("a control group is named by its path, without '..'")

    def to_json(self) -> dict[str, str]:
        """Return the scope as it is stored and sent."""
        return {"kind": self.kind, "value": self.value}

    @classmethod
    def from_json(cls, data: object) -> Scope:
        """Return the scope that `to_json` wrote, the whole host for an empty value, or raise ValueError."""
        if not data:
            return cls()
        if not isinstance(data, Mapping) or not data.keys() <= {"kind", "value"}:
            raise ValueError("a scope must have a kind and a value only")
        kind, value = data.get("kind", "host"), data.get("value", "")
        if not isinstance(kind, str) or not isinstance(value, str):
            raise ValueError("the kind and the value of a scope must be text")
        return cls(cast(Kind, kind), value)

    @classmethod
    def from_text(cls, text: str) -> Scope:
        """Return the scope for `kind=value` or `host`, as on a command line, or raise ValueError."""
        kind, _, value = text.partition("=")
        return cls(cast(Kind, kind), value)


_TARGET_KINDS = frozenset({"host", "process", "cgroup"})
_LOST = frozenset(
    {"no_process", "no_cgroup", "empty_cgroup", "no_unit", "no_container", "no_listener", "no_awk"}
)


def parse_target(hello: Mapping[str, object]) -> dict[str, object] | None:
    """Return the target that the runner reports in its `hello`, or None if the report is not usable.

    {"kind", "pid", "cgroup", "processes", "network", "lost"}: `pid` and `cgroup` are None if unknown, `network` is
    true if network files were read in the namespace of the process, `lost` is a message or None.
    """
    kind = hello.get("target_kind")
    if kind not in _TARGET_KINDS:
        return None
    pid, cgroup, lost = (str(hello.get(f"target_{name}") or "") for name in ("pid", "cgroup", "lost"))
    count = str(hello.get("target_pids_count") or "")
    return {
        "kind": kind,
        "pid": int(pid) if PATTERNS["process"].fullmatch(pid) else None,
        "cgroup": cgroup[:MAX_VALUE].replace("\0", "\ufffd") or None,
        "processes": int(count) if re.fullmatch(r"[0-9]{1,7}", count) else 0,
        "network": hello.get("target_network") == "target",
        "lost": {"key": f"target.{lost}", "params": {}} if lost in _LOST else None,
    }
