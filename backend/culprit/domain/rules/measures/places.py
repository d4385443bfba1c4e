"""Which control group a process is in, and whether a process or group belongs to what was asked about."""

from __future__ import annotations

import re
from collections.abc import Mapping
from weakref import WeakKeyDictionary

from culprit.domain.rules.finding import Citation, Subject
from culprit.domain.rules.view import HostView, TableRow

#: Servers whose log on disk is synchronous by design: reported, but never as a cause.
DATABASES = frozenset(
    ("postgres", "postmaster", "mysqld", "mariadbd", "mongod", "etcd", "oracle", "sqlservr", "cockroach", "influxd")
)  # fmt: skip
_groups: WeakKeyDictionary[HostView, Mapping[str, TableRow]] = WeakKeyDictionary()
#: The control group of a capture's own processes, as a directory or as a scope of systemd.
_CAPTURE_GROUP = re.compile(r"/culprit-(probe-)?[0-9a-f]{8}-[0-9a-f-]{27}(\.scope)?(/|$)")


def is_capture_group(path: str) -> bool:
    """Return whether a control group holds the processes of a capture."""
    return _CAPTURE_GROUP.search(path) is not None


def group_of(view: HostView) -> Mapping[str, str]:
    """Process id → path of its control group, of the processes that `proc_threads` looked at."""
    return {pid: row.text("cgroup") for pid, row in _index_groups(view).items() if row.text("cgroup")}


def _index_groups(view: HostView) -> Mapping[str, TableRow]:
    """Return the rows of `thread_groups` by process id, computed once."""
    if view not in _groups:
        _groups[view] = {row.text("pid"): row for row in view.rows("thread_groups")}
    return _groups[view]


def read_cpu_pct(row: TableRow) -> float:
    """Return the CPU time of a process and of its children that ended in the capture, in percent of one CPU.

    What runs one short program after the other hardly uses CPU time itself, and no scan meets all that it started.
    """
    whole = row.number("cpu_with_ended")
    return (row.number("cpu") if whole is None else whole) or 0.0


def count_thread_samples(view: HostView, group: TableRow) -> int:
    """Return how often the threads of a process were sampled; 1 if that was not recorded."""
    pid = group.text("pid")
    samples = [row.number("samples") or 0.0 for row in view.rows("threads") if row.text("pid") == pid]
    fact = view.facts.get("proc_threads")
    scans = fact.get("scans") if isinstance(fact, Mapping) else None
    return int(max(samples, default=0.0)) or (scans if isinstance(scans, int) else 1)


def get_target_group(view: HostView) -> str:
    """The control group that the capture was about; empty where it was about the whole host."""
    reported = view.target.get("cgroup")
    return reported.rstrip("/") if isinstance(reported, str) and view.target.get("kind") != "host" else ""


def is_inside_group(path: str, group: str) -> bool:
    """Whether a control group is `group` or below it; everything is inside of none."""
    return not group or path == group or path.startswith(f"{group}/")


def is_in_scope(view: HostView, pid: str) -> bool:
    """Whether a process belongs to the scope of the capture; every process of the host does where it has none."""
    if view.target.get("kind") in (None, "host"):
        return True
    return pid in _index_groups(view)


def cite_process(view: HostView, row: TableRow) -> tuple[Citation, ...]:
    """Return the source of a row with pid, and of the control group in `build_process_subject`."""
    group = _index_groups(view).get(row.text("pid"))
    return (row.citation, *((group.citation,) if group else ()))


def build_process_subject(view: HostView, row: TableRow) -> Subject:
    """The subject of a row with pid and comm, with its control group where that is known."""
    pid = row.text("pid")
    pairs = {"pid": pid, "comm": row.text("comm")}
    known = _index_groups(view).get(pid)
    if known is not None and (group := known.text("cgroup")):
        pairs["cgroup"] = group
    return tuple(sorted(pairs.items()))
