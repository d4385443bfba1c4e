"""What a capture looks at on a host: all of it, or one process, control group, container, unit or port.

A scope is a wish, said before anybody has looked; `host/scope.sh` finds out on the host which process and which
control group it means.
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

#: What the whole value of each kind must match. None of them can hold a quote, a blank or a glob.
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
    """One kind and its value; a whole host has the empty value. Raises ValueError on what no host is asked."""

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
        """As it is stored and sent."""
        return {"kind": self.kind, "value": self.value}

    @classmethod
    def from_json(cls, told: object) -> Scope:
        """The reverse; nothing at all is a whole host. Raises ValueError."""
        if not told:
            return cls()
        if not isinstance(told, Mapping) or not told.keys() <= {"kind", "value"}:
            raise ValueError("a scope is a kind and a value")
        kind, value = told.get("kind", "host"), told.get("value", "")
        if not isinstance(kind, str) or not isinstance(value, str):
            raise ValueError("a scope is made of text")
        return cls(cast(Kind, kind), value)

    @classmethod
    def from_text(cls, text: str) -> Scope:
        """`kind=value`, or `host`, as it is said on a command line. Raises ValueError."""
        kind, _, value = text.partition("=")
        return cls(cast(Kind, kind), value)


_FOUND_KINDS = frozenset({"host", "process", "cgroup"})
_LOST = frozenset(
    {"no_process", "no_cgroup", "empty_cgroup", "no_unit", "no_container", "no_listener", "no_awk"}
)


def found(hello: Mapping[str, object]) -> dict[str, object] | None:
    """What the runner made of the scope, out of its `hello`; None where it says nothing sensible about that.

    {"kind", "pid", "cgroup", "processes", "network", "lost"}: `pid` and `cgroup` are None where unknown, `network`
    says whether files of the network were read as that process sees them, `lost` is a sentence or None.
    """
    kind = hello.get("target_kind")
    if kind not in _FOUND_KINDS:
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
