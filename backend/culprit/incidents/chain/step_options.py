"""What a step's collectors must be told before they can look: taken from what the incident knows, or asked for.

A value is never guessed. It stands in the declaration of the service, in the scope of the host in this incident, or
in what rules and collectors said of this host in it; the journal tells which. Where none has it, somebody is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from collectors.bundle import options_of
from collectors.contract import Tier
from collectors.registry import COLLECTORS
from culprit.captures.schemas import ScopeGiven
from culprit.core.rules.contract import STRENGTH, Grade
from culprit.incidents import queries
from culprit.kit.errors import Invalid
from culprit.models import Host, Incident, IncidentHost, ResultTable
from culprit.services import queries as services

#: Waiting for less than this for an answer is no wait that makes a connection a slow one.
SLOW_MS = 100.0
#: How the keys of questions begin.
ASKS = "incident.asks_"
#: Threads of the kernel have no files, no stacks of their own and no pages.
_OF_THE_KERNEL = "F-KTHREAD-"
Options = dict[str, dict[str, str]]


@dataclass(frozen=True, slots=True)
class Hint:
    """A value that the incident knows. `said` is how the journal tells of its source, `by` the name of that."""

    what: str
    value: str
    said: str
    by: str


@dataclass(frozen=True, slots=True)
class Filled:
    """An option that was filled in, or (with an empty `option`) the scope, and where its value is from."""

    collector: str
    option: str
    value: str
    hint: Hint


def _same(value: str) -> str:
    return value


def _address(value: str) -> str:
    return value.rpartition(":")[0].strip("[]")


def _port(value: str) -> str:
    return value.rpartition(":")[2]


#: (collector, option) → the kind of hint that fills it, and how. Without one of these the collector looks at nothing,
#: or by its default at something that nobody asked about.
TAKES: Mapping[tuple[str, str], tuple[str, Callable[[str], str]]] = {
    ("accepts", "port"): ("port", _same),
    ("app_metrics", "path"): ("access_log", _same),
    ("app_log", "path"): ("log", _same),
    ("tcp_probe", "address"): ("peer", _address),
    ("tcp_probe", "port"): ("peer", _port),
    ("http_probe", "url"): ("port", "http://127.0.0.1:{}/".format),
}
#: Names in the subject of a finding → kind of hint.
_SUBJECTS = {"dst": "peer", "port": "port", "file": "log", "pid": "process", "cgroup": "cgroup"}


def options(
    step: str, collectors: Sequence[str], given: Options, hints: Sequence[Hint]
) -> tuple[Options, list[Filled]]:
    """The options for these collectors: what was given, and beside it what is known. Raises Invalid with the question.

    What somebody gave stands, and nothing from elsewhere is put beside it: half of an address is another address.
    """
    wanted = {name: dict(values) for name, values in given.items()}
    filled = []
    for name in collectors:
        for one in COLLECTORS[name].options:
            takes = TAKES.get((name, one.name))
            if given.get(name, {}).get(one.name) or (takes is None and not one.required):
                continue
            usable = takes is not None and not given.get(name)
            hint = next(_fitting(name, one.name, takes, hints), None) if takes and usable else None
            if takes is None or hint is None:
                asked = takes[0] if takes else "option"
                raise Invalid(f"{ASKS}{asked}", step=step, collector=name, option=one.name)
            wanted.setdefault(name, {})[one.name] = value = takes[1](hint.value)
            filled.append(Filled(name, one.name, value, hint))
            if hint.what == "access_log":
                wanted[name]["format"] = next(one.value for one in hints if one.what == "access_log_format")
    return wanted, filled


def _fitting(
    collector: str, option: str, takes: tuple[str, Callable[[str], str]], hints: Sequence[Hint]
) -> Iterator[Hint]:
    """The hints of that kind whose value the option takes."""
    for hint in hints:
        if hint.what == takes[0]:
            try:
                options_of(COLLECTORS[collector], {option: takes[1](hint.value)})
            except ValueError:
                continue
            yield hint


def scope(
    link: IncidentHost, collectors: Sequence[str], hints: Sequence[Hint]
) -> tuple[ScopeGiven, Filled | None]:
    """What to look at: as the incident says, else what evidence names where a collector needs a process.

    Where nothing names one, the whole host is looked at, and such a collector says that it needs a target. What stops
    a process while it looks is pointed at it by a person, never by evidence.
    """
    given = ScopeGiven.model_validate(link.scope) if link.scope else ScopeGiven()
    lost = [name for name in collectors if _needs_target(name)]
    stops = any(COLLECTORS[name].tier is Tier.PTRACE for name in collectors)
    if given.kind != "host" or not lost or stops:
        return given, None
    for hint in hints:
        if hint.what in ("process", "cgroup", "port"):
            found = ScopeGiven.model_validate({"kind": hint.what, "value": hint.value})
            return found, Filled(lost[0], "", hint.value, hint)
    return given, None


def _needs_target(collector: str) -> bool:
    return all(way.needs.target for way in COLLECTORS[collector].ways)


def known(
    session: Session, incident: Incident, link: IncidentHost, host: Host, rules: Collection[str]
) -> list[Hint]:
    """All that this incident knows of where to look on a host, what was declared before what was seen.

    `rules` are those that the step's playbook asks: what they found is nearer to its question than the rest.
    """
    return [
        *_declared(session, incident, host),
        *_of_scope(link),
        *_seen(session, incident, host, rules),
    ]


def _declared(session: Session, incident: Incident, host: Host) -> Iterator[Hint]:
    named = (incident.symptom or {}).get("service")
    one = services.on_host(session, host, named) if named else None
    if one is not None and one.locate and one.locate["kind"] == "port":
        yield Hint("port", str(one.locate["value"]), "service", one.name)
    logged = services.measured(session, host, "access_log")
    if logged is not None:
        yield Hint("access_log", logged.source["path"], "service", logged.name)
        yield Hint("access_log_format", logged.source["format"], "service", logged.name)
    counted = services.measured(session, host, "accepts")
    if counted is not None:
        yield Hint("port", str(counted.source["port"]), "service", counted.name)


def _of_scope(link: IncidentHost) -> Iterator[Hint]:
    kind, value = (link.scope or {}).get("kind"), (link.scope or {}).get("value")
    if kind in ("port", "process", "cgroup") and value:
        yield Hint(str(kind), str(value), "scope", f"{kind} {value}")


def _seen(session: Session, incident: Incident, host: Host, rules: Collection[str]) -> Iterator[Hint]:
    """What fired on this host in the incident, the nearest rules and the strongest first; then what its tables show."""
    runs = [
        one.run_id
        for one in queries.runs(session, incident.id)
        if one.host_id == host.id and one.role == "evidence"
    ]
    if not runs:
        return
    order = {run: at for at, run in enumerate(runs)}
    fired = [one for one in queries.fired(session, runs) if not one.rule.startswith(_OF_THE_KERNEL)]
    fired.sort(
        key=lambda one: (one.rule not in rules, -STRENGTH[Grade(one.grade)], order[one.run_id], one.id)
    )
    for one in fired:
        for name, value in sorted(one.subject.items()):
            if name in _SUBJECTS:
                yield Hint(_SUBJECTS[name], str(value), "finding", one.rule)
    pids = {str(one.subject["pid"]) for one in fired if "pid" in one.subject}
    tables = sorted(
        queries.tables(session, runs, ("listeners", "tcp_waits")), key=lambda one: order[one.run_id]
    )
    for table in tables:
        yield from _of_listeners(table, pids) if table.kind == "listeners" else _of_waits(table)


def _rows(table: ResultTable) -> Iterator[dict[str, object]]:
    names = [column["id"] for column in table.columns]
    for row in table.rows:
        yield dict(zip(names, row, strict=False))


def _of_listeners(table: ResultTable, pids: set[str]) -> Iterator[Hint]:
    """The port of the process that evidence names, where it listens on one and no more."""
    ports = {str(row.get("port")) for row in _rows(table) if str(row.get("pid")) in pids}
    if len(ports) == 1:
        yield Hint("port", ports.pop(), "table", table.kind)


def _of_waits(table: ResultTable) -> Iterator[Hint]:
    """The peer that keeps most questions waiting, where one of them waits long."""

    def number(row: Mapping[str, object], name: str) -> float:
        value = row.get(name)
        return float(value) if isinstance(value, int | float) else 0.0

    slow = [
        row
        for row in _rows(table)
        if row.get("direction") == "out" and number(row, "oldest") >= SLOW_MS and number(row, "waiting") > 0
    ]
    if slow:
        most = max(slow, key=lambda row: number(row, "waiting"))
        yield Hint("peer", str(most.get("peer")), "table", table.kind)
