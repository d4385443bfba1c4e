"""Where am I: the machine, its kernel, the limits that hold, who else runs here and what changed. Pure.

Made of what one run brought home and of what was found when the host was last looked at. Every item says where it
was read; what nobody collected is a gap that names what would collect it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from collectors.contract import Sentence
from culprit.core.rules.contract import Citation
from culprit.core.rules.view import Row, View
from culprit.core.usual_settings import usual

MOST_NEIGHBOURS = 5
MOST_CHANGES = 40
MOST_LIMITS = 12
SectionId = Literal["machine", "kernel", "limits", "neighbours", "changes"]
Value = str | int | float | None


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that is known. `name` tells several of the same `id` apart (a device, a process, a setting).

    `unusual` says why it is worth a look; `at_s` is when it happened, by the host's own clock. What was not read but
    told says by whom, and where there is more of it. A setting that has changed says what it `was` at the last
    reading before, when that was and where it stands.
    """

    id: str
    value: Value
    unit: str = ""
    name: str = ""
    detail: str = ""
    unusual: Sentence | None = None
    at_s: int | None = None
    cite: Citation | None = None
    looked_at: bool = False
    told_by: str = ""
    link: str = ""
    was: Value = None
    was_at_s: int | None = None
    was_cite: Citation | None = None


@dataclass(frozen=True, slots=True)
class Gap:
    """What is not known, and why; `collectors` would tell."""

    id: str
    collectors: tuple[str, ...]
    reason: Sentence


@dataclass(frozen=True, slots=True)
class Section:
    """Items that answer one question, and what is missing to answer it in full."""

    id: SectionId
    items: tuple[Item, ...]
    gaps: tuple[Gap, ...]


@dataclass(frozen=True, slots=True)
class Known:
    """What there is to read: the run, what the last look at the host found, and where each collector's facts stand.

    `told` are deploys and notes that somebody told of the host, and facts that have changed between two readings.
    """

    view: View
    looked: Mapping[str, object]
    sources: Mapping[str, Citation]
    told: Sequence[Item] = ()


def sections(known: Known) -> tuple[Section, ...]:
    """All five, in the order in which they are asked."""
    return (
        _section(known, "machine", _machine, ("host_facts", "hardware", "block_queue", "links")),
        _section(known, "kernel", _kernel, ("host_facts", "hardware")),
        _section(
            known, "limits", _limits, ("cgroup_cpu", "cgroup_mem", "cgroup_cpuset", "limits", "host_facts")
        ),
        _section(
            known, "neighbours", _neighbours, ("cgroup_cpu", "cgroup_mem", "proc_top", "proc_mem", "proc_io")
        ),
        _section(known, "changes", _changes, ("changes",)),
    )


def _section(
    known: Known, section: SectionId, items: Callable[[Known], Iterator[Item]], needs: Sequence[str]
) -> Section:
    gaps = [
        Gap(f"{section}.{name}", (name,), known.view.why_not([name]))
        for name in needs
        if not known.view.has(name)
    ]
    return Section(section, tuple(items(known)), tuple(gaps))


def _fact(known: Known, item: str, name: str, unit: str = "") -> Iterator[Item]:
    """A fact of the run, else of the last look at the host."""
    for facts, looked in ((known.view.facts, False), (known.looked, True)):
        value = facts.get(name)
        if isinstance(value, str | int | float) and value != "":
            cite = None if looked else known.sources.get("host_facts")
            yield Item(item, value, unit, cite=cite, looked_at=looked)
            return


def _machine(known: Known) -> Iterator[Item]:
    facts = {**known.looked, **known.view.facts}
    model = " ".join(str(facts[name]) for name in ("vendor", "product") if facts.get(name))
    if model:
        yield Item("model", model, cite=known.sources.get("host_facts"))
    yield from _fact(known, "virtualisation", "virtualisation")
    yield from _fact(known, "virtualisation", "hypervisor")
    for row in known.view.rows("hardware"):
        if row.text("name") == "cpuinfo/model name":
            yield Item("cpu_model", row.text("value"), cite=row.cite)
    yield from _cpus(known)
    yield from _fact(known, "numa_nodes", "numa_nodes", "count")
    yield from _fact(known, "memory", "mem_bytes", "bytes")
    for row in known.view.rows("block_devices"):
        if row.number("leaf") or row.text("kind") == "disk":
            size = row.number("size")
            detail = ", ".join(
                word for word in (row.text("name"), row.text("scheduler"), _spins(row)) if word
            )
            yield Item("disk", size, "kb", row.text("dev"), detail, cite=row.cite)
    for row in known.view.rows("links"):
        if row.text("kind") in {"device", ""}:
            yield _network_card(row)


def _spins(row: Row) -> str:
    turns = row.number("rotational")
    return "" if turns is None else "rotational" if turns else "solid state"


def _cpus(known: Known) -> Iterator[Item]:
    """Online CPUs; those that are switched off or kept apart are worth a look."""
    for item in _fact(known, "cpus", "cpus", "count"):
        facts = {**known.looked, **known.view.facts}
        possible, isolated = facts.get("cpus_possible"), facts.get("cpus_isolated")
        unusual = None
        if isolated:
            unusual = Sentence("context.cpus_isolated", {"cpus": str(isolated)})
        elif isinstance(possible, int) and isinstance(item.value, int) and possible > item.value:
            unusual = Sentence("context.cpus_offline", {"possible": possible, "online": item.value})
        yield replace(item, unusual=unusual)


def _network_card(row: Row) -> Item:
    mtu = row.number("mtu")
    words = [row.text("operstate"), row.text("driver"), f"MTU {mtu:.0f}" if mtu else "", row.text("duplex")]
    unusual = None
    if row.text("duplex") == "half":
        unusual = Sentence("context.half_duplex", {"dev": row.text("dev")})
    detail = ", ".join(word for word in words if word and word != "unknown")
    return Item("nic", row.number("speed"), "mbit_per_s", row.text("dev"), detail, unusual, cite=row.cite)


def _kernel(known: Known) -> Iterator[Item]:
    for item, fact, unit in (
        ("release", "kernel", ""), ("build", "kernel_build", ""), ("distribution", "distro", ""),
        ("uptime", "uptime_s", "s"), ("clocksource", "clocksource", ""), ("governor", "governor", ""),
        ("huge_pages", "huge_pages", ""),
    ):  # fmt: skip
        for found in _fact(known, item, fact, unit):
            slow = item == "clocksource" and found.value not in {
                "tsc",
                "kvm-clock",
                "arch_sys_counter",
                "xen",
            }
            yield replace(found, unusual=Sentence("context.slow_clock") if slow else None)
    for row in known.view.rows("hardware"):
        name = row.text("name")
        if name == "cpuinfo/microcode":
            yield Item("microcode", row.text("value"), cite=row.cite)
        elif name.startswith("vulnerabilities/") and row.text("value") != "Not affected":
            open_ = row.text("value").startswith("Vulnerable")
            unusual = Sentence("context.vulnerable") if open_ else None
            yield Item(
                "mitigation", row.text("value"), "", name.partition("/")[2], "", unusual, cite=row.cite
            )


def _limits(known: Known) -> Iterator[Item]:
    view = known.view
    scope = str(view.target.get("cgroup") or "")
    for row in _groups(view.rows("cgroup_cpu"), scope):
        if row.number("quota_cores") is not None:
            pct = row.number("throttled_pct")
            struck = Sentence("context.throttled", {"pct": round(pct, 1)}) if pct else None
            yield Item(
                "cpu_quota", row.number("quota_cores"), "cores", row.text("path"), "", struck, cite=row.cite
            )
    for row in _groups(view.rows("cgroup_mem"), scope):
        if row.number("limit_kb") is not None:
            used = row.number("usage_pct")
            near = Sentence("context.near_limit", {"pct": round(used, 1)}) if used and used > 90 else None
            yield Item(
                "memory_limit", row.number("limit_kb"), "kb", row.text("path"), "", near, cite=row.cite
            )
    for row in _groups(view.rows("cgroup_cpuset"), scope):
        apart = row.text("mismatch") not in {"", "none"}
        unusual = Sentence("context.cpuset_mismatch") if apart else None
        detail = f"mems {row.text('mems')}" if row.text("mems") else ""
        yield Item("cpuset", row.text("cpus"), "", row.text("path"), detail, unusual, cite=row.cite)
    nearest = sorted(view.rows("limits"), key=lambda row: -(row.number("used_pct") or 0.0))
    for row in nearest[:MOST_LIMITS]:
        used = row.number("used_pct")
        near = Sentence("context.near_limit", {"pct": round(used, 1)}) if used and used > 80 else None
        where = " ".join(word for word in (row.text("where"), row.text("comm")) if word)
        yield Item("limit", row.number("max"), "count", row.text("name"), where, near, cite=row.cite)
    yield from _settings(known)


def _groups(rows: Sequence[Row], scope: str) -> list[Row]:
    """The group that was looked at and those above it, which limit it too; all of them without a scope."""
    if not scope:
        return list(rows)
    return [row for row in rows if f"{scope}/".startswith(f"{row.text('path').rstrip('/')}/")]


def _settings(known: Known) -> Iterator[Item]:
    """Those that somebody set otherwise first, then the others."""
    told = known.view.facts.get("sysctl")
    found = []
    for name, value in sorted(told.items()) if isinstance(told, Mapping) else ():
        shown = " ".join(str(value).replace("\ufffd", " ").split())
        defaults = usual(str(name), shown)
        unusual = Sentence("context.not_default", {"usual": " | ".join(defaults)}) if defaults else None
        found.append(Item("setting", shown, "", str(name), "", unusual, cite=known.sources.get("host_facts")))
    yield from sorted(found, key=lambda one: one.unusual is None)


def _neighbours(known: Known) -> Iterator[Item]:
    """The few that take most, for each resource; what the capture looks at is among them and not left out."""
    view = known.view
    for item, kind, column, unit, name in (
        ("group_cpu", "cgroup_cpu", "usage_cores", "cores", "path"),
        ("group_memory", "cgroup_mem", "usage_kb", "kb", "path"),
        ("process_cpu", "processes", "cpu", "pct", "comm"),
        ("process_memory", "proc_memory", "rss_last_kb", "kb", "comm"),
    ):
        yield from _top(item, view.rows(kind), _number(column), unit, name)
    yield from _top("process_io", view.rows("proc_io"), _moved, "bytes_per_s", "comm")


def _number(column: str) -> Callable[[Row], float | None]:
    return lambda row: row.number(column)


def _moved(row: Row) -> float | None:
    """Bytes to and from devices together."""
    both = [row.number(name) for name in ("read_bytes_per_s", "write_bytes_per_s")]
    return sum(one or 0.0 for one in both) if any(one is not None for one in both) else None


def _top(
    item: str, rows: Sequence[Row], number: Callable[[Row], float | None], unit: str, name: str
) -> Iterator[Item]:
    known = [(value, row) for row in rows if (value := number(row))]
    known.sort(key=lambda one: -one[0])
    for value, row in known[:MOST_NEIGHBOURS]:
        pid = row.number("pid")
        yield Item(item, value, unit, row.text(name), f"pid {pid:.0f}" if pid else "", cite=row.cite)


def _changes(known: Known) -> Iterator[Item]:
    """The newest first: what was found on the host, and what was told of it."""
    found = [
        Item(row.text("kind"), row.text("what"), at_s=int(when) if when else None, cite=row.cite)
        for row in known.view.rows("changes")[:MOST_CHANGES]
        for when in [row.number("when")]
    ]
    yield from sorted([*found, *known.told[:MOST_CHANGES]], key=lambda one: -(one.at_s or 0))
