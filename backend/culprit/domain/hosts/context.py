"""Build the host context: machine, kernel, limits, neighbors and changes. Pure.

The input is one run and the facts of the last preflight check. Every item has its source. A value without data is a
gap with the collectors that provide it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from collectors.contract import Sentence
from culprit.domain.hosts.kernel_defaults import find_changed_default
from culprit.domain.rules.finding import Citation
from culprit.domain.rules.view import HostView, TableRow

MAX_NEIGHBORS = 5
MAX_CHANGES = 40
MAX_LIMITS = 12
FAST_CLOCKS = frozenset({"tsc", "kvm-clock", "arch_sys_counter", "xen"})
SectionId = Literal["machine", "kernel", "limits", "neighbors", "changes"]
Value = str | int | float | None


@dataclass(frozen=True, slots=True)
class HostContextItem:
    """One value of the host context. `name` distinguishes items of one `id`: a device, a process, a setting.

    `atypical` explains why the value needs attention. `at_s` is the time of an event by the clock of the host.
    `checked`: the value is from the last preflight check. A reported event has the account in `reported_by`.
    `previous` is the last value before a change, with its time and citation.
    """

    id: str
    value: Value
    unit: str = ""
    name: str = ""
    detail: str = ""
    atypical: Sentence | None = None
    at_s: int | None = None
    citation: Citation | None = None
    checked: bool = False
    reported_by: str = ""
    link: str = ""
    previous: Value = None
    previous_at_s: int | None = None
    previous_cite: Citation | None = None


@dataclass(frozen=True, slots=True)
class HostContextGap:
    """A missing value, the reason, and the collectors that provide it."""

    id: str
    collectors: tuple[str, ...]
    reason: Sentence


@dataclass(frozen=True, slots=True)
class HostContextSection:
    """The items of one subject, and the missing ones."""

    id: SectionId
    items: tuple[HostContextItem, ...]
    gaps: tuple[HostContextGap, ...]


@dataclass(frozen=True, slots=True)
class ContextInput:
    """The view of a run, the facts of the last preflight check, and the source of the facts of each collector.

    `changes` are reported events of the host, and facts that changed between two readings.
    """

    view: HostView
    checked_facts: Mapping[str, object]
    sources: Mapping[str, Citation]
    changes: Sequence[HostContextItem] = ()


def build_sections(data: ContextInput) -> tuple[HostContextSection, ...]:
    """Return all five sections in display order."""
    return (
        _build_section(data, "machine", _list_machine, ("host_facts", "hardware", "block_queue", "links")),
        _build_section(data, "kernel", _list_kernel, ("host_facts", "hardware")),
        _build_section(
            data,
            "limits",
            _list_limits,
            ("cgroup_cpu", "cgroup_mem", "cgroup_cpuset", "limits", "host_facts"),
        ),
        _build_section(
            data,
            "neighbors",
            _list_neighbors,
            ("cgroup_cpu", "cgroup_mem", "proc_top", "proc_mem", "proc_io"),
        ),
        _build_section(data, "changes", _list_changes, ("changes",)),
    )


def _build_section(
    data: ContextInput,
    section: SectionId,
    items: Callable[[ContextInput], Iterator[HostContextItem]],
    needs: Sequence[str],
) -> HostContextSection:
    gaps = [
        HostContextGap(f"{section}.{name}", (name,), data.view.missing_reason([name]))
        for name in needs
        if not data.view.has_data(name)
    ]
    return HostContextSection(section, tuple(items(data)), tuple(gaps))


def _find_fact(data: ContextInput, item: str, name: str, unit: str = "") -> Iterator[HostContextItem]:
    """Yield a fact of the run, else of the last preflight check."""
    for facts, checked in ((data.view.facts, False), (data.checked_facts, True)):
        value = facts.get(name)
        if isinstance(value, str | int | float) and value != "":
            citation = None if checked else data.sources.get("host_facts")
            yield HostContextItem(item, value, unit, citation=citation, checked=checked)
            return


def _list_machine(data: ContextInput) -> Iterator[HostContextItem]:
    facts = {**data.checked_facts, **data.view.facts}
    model = " ".join(str(facts[name]) for name in ("vendor", "product") if facts.get(name))
    if model:
        yield HostContextItem("model", model, citation=data.sources.get("host_facts"))
    yield from _find_fact(data, "virtualization", "virtualisation")
    yield from _find_fact(data, "virtualization", "hypervisor")
    for row in data.view.rows("hardware"):
        if row.text("name") == "cpuinfo/model name":
            yield HostContextItem("cpu_model", row.text("value"), citation=row.citation)
    yield from _list_cpus(data)
    yield from _find_fact(data, "numa_nodes", "numa_nodes", "count")
    yield from _find_fact(data, "memory", "mem_bytes", "bytes")
    for row in data.view.rows("block_devices"):
        if row.number("leaf") or row.text("kind") == "disk":
            size = row.number("size")
            detail = ", ".join(
                word for word in (row.text("name"), row.text("scheduler"), _is_rotational(row)) if word
            )
            yield HostContextItem("disk", size, "kb", row.text("dev"), detail, citation=row.citation)
    for row in data.view.rows("links"):
        if row.text("kind") in {"device", ""}:
            yield _make_network_card(row)


def _is_rotational(row: TableRow) -> str:
    turns = row.number("rotational")
    return "" if turns is None else "rotational" if turns else "solid state"


def _list_cpus(data: ContextInput) -> Iterator[HostContextItem]:
    """Yield the number of online CPUs; offline and isolated CPUs are atypical."""
    for item in _find_fact(data, "cpus", "cpus", "count"):
        facts = {**data.checked_facts, **data.view.facts}
        possible, isolated = facts.get("cpus_possible"), facts.get("cpus_isolated")
        sentence = None
        if isolated:
            sentence = Sentence("context.cpus_isolated", {"cpus": str(isolated)})
        elif isinstance(possible, int) and isinstance(item.value, int) and possible > item.value:
            sentence = Sentence("context.cpus_offline", {"possible": possible, "online": item.value})
        yield replace(item, atypical=sentence)


def _make_network_card(row: TableRow) -> HostContextItem:
    mtu = row.number("mtu")
    words = [row.text("operstate"), row.text("driver"), f"MTU {mtu:.0f}" if mtu else "", row.text("duplex")]
    sentence = None
    if row.text("duplex") == "half":
        sentence = Sentence("context.half_duplex", {"dev": row.text("dev")})
    detail = ", ".join(word for word in words if word and word != "unknown")
    return HostContextItem(
        "nic", row.number("speed"), "mbit_per_s", row.text("dev"), detail, sentence, citation=row.citation
    )


def _list_kernel(data: ContextInput) -> Iterator[HostContextItem]:
    for item, fact, unit in (
        ("release", "kernel", ""), ("build", "kernel_build", ""), ("distribution", "distro", ""),
        ("uptime", "uptime_s", "s"), ("clocksource", "clocksource", ""), ("governor", "governor", ""),
        ("huge_pages", "huge_pages", ""),
    ):  # fmt: skip
        for context_item in _find_fact(data, item, fact, unit):
            slow = item == "clocksource" and context_item.value not in FAST_CLOCKS
            yield replace(context_item, atypical=Sentence("context.slow_clock") if slow else None)
    for row in data.view.rows("hardware"):
        name = row.text("name")
        if name == "cpuinfo/microcode":
            yield HostContextItem("microcode", row.text("value"), citation=row.citation)
        elif name.startswith("vulnerabilities/") and row.text("value") != "Not affected":
            open_ = row.text("value").startswith("Vulnerable")
            sentence = Sentence("context.vulnerable") if open_ else None
            yield HostContextItem(
                "mitigation",
                row.text("value"),
                "",
                name.partition("/")[2],
                "",
                sentence,
                citation=row.citation,
            )


def _list_limits(data: ContextInput) -> Iterator[HostContextItem]:
    view = data.view
    scope = str(view.target.get("cgroup") or "")
    for row in _select_groups(view.rows("cgroup_cpu"), scope):
        if row.number("quota_cores") is not None:
            pct = row.number("throttled_pct")
            throttled = Sentence("context.throttled", {"pct": round(pct, 1)}) if pct else None
            yield HostContextItem(
                *("cpu_quota", row.number("quota_cores"), "cores", row.text("path"), "", throttled),
                citation=row.citation,
            )
    for row in _select_groups(view.rows("cgroup_mem"), scope):
        if row.number("limit_kb") is not None:
            used = row.number("usage_pct")
            near = Sentence("context.near_limit", {"pct": round(used, 1)}) if used and used > 90 else None
            yield HostContextItem(
                "memory_limit",
                row.number("limit_kb"),
                "kb",
                row.text("path"),
                "",
                near,
                citation=row.citation,
            )
    for row in _select_groups(view.rows("cgroup_cpuset"), scope):
        apart = row.text("mismatch") not in {"", "none"}
        sentence = Sentence("context.cpuset_mismatch") if apart else None
        detail = f"mems {row.text('mems')}" if row.text("mems") else ""
        yield HostContextItem(
            "cpuset", row.text("cpus"), "", row.text("path"), detail, sentence, citation=row.citation
        )
    nearest = sorted(view.rows("limits"), key=lambda row: -(row.number("used_pct") or 0.0))
    for row in nearest[:MAX_LIMITS]:
        used = row.number("used_pct")
        near = Sentence("context.near_limit", {"pct": round(used, 1)}) if used and used > 80 else None
        where = " ".join(word for word in (row.text("where"), row.text("comm")) if word)
        yield HostContextItem(
            "limit", row.number("max"), "count", row.text("name"), where, near, citation=row.citation
        )
    yield from _list_settings(data)


def _select_groups(rows: Sequence[TableRow], scope: str) -> list[TableRow]:
    """Return the cgroup of the scope and its ancestors, which limit it too; all cgroups without a scope."""
    if not scope:
        return list(rows)
    return [row for row in rows if f"{scope}/".startswith(f"{row.text('path').rstrip('/')}/")]


def _list_settings(data: ContextInput) -> Iterator[HostContextItem]:
    """Yield the kernel settings, those that differ from the default first."""
    facts = data.view.facts.get("sysctl")
    settings = []
    for name, value in sorted(facts.items()) if isinstance(facts, Mapping) else ():
        text = " ".join(str(value).replace("\ufffd", " ").split())
        defaults = find_changed_default(str(name), text)
        sentence = Sentence("context.not_default", {"default": " | ".join(defaults)}) if defaults else None
        settings.append(
            HostContextItem(
                "setting", text, "", str(name), "", sentence, citation=data.sources.get("host_facts")
            )
        )
    yield from sorted(settings, key=lambda item: item.atypical is None)


def _list_neighbors(data: ContextInput) -> Iterator[HostContextItem]:
    """Yield the largest consumers of each resource, including the scope of the capture."""
    view = data.view
    for item, kind, column, unit, name in (
        ("group_cpu", "cgroup_cpu", "usage_cores", "cores", "path"),
        ("group_memory", "cgroup_mem", "usage_kb", "kb", "path"),
        ("process_cpu", "processes", "cpu", "pct", "comm"),
        ("process_memory", "proc_memory", "rss_last_kb", "kb", "comm"),
    ):
        yield from _list_top(item, view.rows(kind), _read_column(column), unit, name)
    yield from _list_top("process_io", view.rows("proc_io"), _sum_io_bytes, "bytes_per_s", "comm")


def _read_column(column: str) -> Callable[[TableRow], float | None]:
    return lambda row: row.number(column)


def _sum_io_bytes(row: TableRow) -> float | None:
    """Return the bytes read and written per second."""
    rates = [row.number(name) for name in ("read_bytes_per_s", "write_bytes_per_s")]
    return sum(rate or 0.0 for rate in rates) if any(rate is not None for rate in rates) else None


def _list_top(
    item: str, rows: Sequence[TableRow], number: Callable[[TableRow], float | None], unit: str, name: str
) -> Iterator[HostContextItem]:
    values = [(value, row) for row in rows if (value := number(row))]
    values.sort(key=lambda pair: -pair[0])
    for value, row in values[:MAX_NEIGHBORS]:
        pid = row.number("pid")
        yield HostContextItem(
            item, value, unit, row.text(name), f"pid {pid:.0f}" if pid else "", citation=row.citation
        )


def _list_changes(data: ContextInput) -> Iterator[HostContextItem]:
    """Yield the changes that the run read and those of the input, newest first."""
    collected = [
        HostContextItem(
            row.text("kind"), row.text("what"), at_s=int(when) if when else None, citation=row.citation
        )
        for row in data.view.rows("changes")[:MAX_CHANGES]
        for when in [row.number("when")]
    ]
    yield from sorted([*collected, *data.changes[:MAX_CHANGES]], key=lambda item: -(item.at_s or 0))
