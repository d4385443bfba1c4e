"""Fill the required options of a step's collectors from the incident.

A value is never guessed. It comes from the declaration of the service, the scope of the host in this incident, or the
findings and tables of this host; the journal records the source. A missing value is requested from the user.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from collectors.contract import Tier
from collectors.registry import COLLECTORS
from collectors.runner.program import resolve_options
from culprit.captures.schemas import ScopeRequest
from culprit.domain.rules.finding import STRENGTH_ORDER, Strength
from culprit.hosts.services import queries as services
from culprit.incidents.records import queries
from culprit.infra.models.evidence.result_table import ResultTable
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.incidents.incident_host import IncidentHost
from culprit.web.errors import InvalidRequestError

#: A connection that waits at least this long for an answer is slow.
SLOW_MS = 100.0
#: Prefix of the message keys about a missing option.
MISSING_OPTION_PREFIX = "incident.option_missing_"
#: Findings of these rules are about kernel threads, which have no files, user stacks or pages.
_KERNEL_THREAD_RULES = "F-KTHREAD-"
Options = dict[str, dict[str, str]]


@dataclass(frozen=True, slots=True)
class OptionSource:
    """A known value. `origin` is the suffix of the journal kind, `by` the name of the source."""

    what: str
    value: str
    origin: str
    by: str


@dataclass(frozen=True, slots=True)
class OptionValue:
    """A filled option, or with an empty `option` the scope, and the source of its value."""

    collector: str
    option: str
    value: str
    hint: OptionSource


def _keep_value(value: str) -> str:
    return value


def _extract_address(value: str) -> str:
    return value.rpartition(":")[0].strip("[]")


def _extract_port(value: str) -> str:
    return value.rpartition(":")[2]


#: (collector, option) → the kind of source that fills it, and the conversion. Without the option, the collector
#: measures nothing, or a default target.
TAKES: Mapping[tuple[str, str], tuple[str, Callable[[str], str]]] = {
    ("accepts", "port"): ("port", _keep_value),
    ("app_metrics", "path"): ("access_log", _keep_value),
    ("app_log", "path"): ("log", _keep_value),
    ("tcp_probe", "address"): ("peer", _extract_address),
    ("tcp_probe", "port"): ("peer", _extract_port),
    ("http_probe", "url"): ("port", "http://127.0.0.1:{}/".format),
}
#: Names in the subject of a finding → kind of source.
_SUBJECTS = {"dst": "peer", "port": "port", "file": "log", "pid": "process", "cgroup": "cgroup"}


def needs_input(collector: str) -> bool:
    """Return whether a collector needs an option or a target, which only some steps have."""
    options = COLLECTORS[collector].options
    return _needs_target(collector) or any(
        option.required or (collector, option.name) in TAKES for option in options
    )


def fill_options(
    step: str, collectors: Sequence[str], options: Options, hints: Sequence[OptionSource]
) -> tuple[Options, list[OptionValue]]:
    """Return the options of these collectors, completed from known values.

    Raises InvalidRequestError if one is missing.

    Options of a collector that the user set are not mixed with known values.
    """
    requested = {name: dict(values) for name, values in options.items()}
    filled = []
    for name in collectors:
        for option in COLLECTORS[name].options:
            takes = TAKES.get((name, option.name))
            if options.get(name, {}).get(option.name) or (takes is None and not option.required):
                continue
            usable = takes is not None and not options.get(name)
            hint = (
                next(_list_valid_sources(name, option.name, takes, hints), None) if takes and usable else None
            )
            if takes is None or hint is None:
                take = takes[0] if takes else "option"
                raise InvalidRequestError(
                    f"{MISSING_OPTION_PREFIX}{take}", step=step, collector=name, option=option.name
                )
            requested.setdefault(name, {})[option.name] = value = takes[1](hint.value)
            filled.append(OptionValue(name, option.name, value, hint))
            if hint.what == "access_log":
                requested[name]["format"] = next(
                    hint.value for hint in hints if hint.what == "access_log_format"
                )
    return requested, filled


def _list_valid_sources(
    collector: str, option: str, takes: tuple[str, Callable[[str], str]], hints: Sequence[OptionSource]
) -> Iterator[OptionSource]:
    """Yield the sources of that kind with a valid value for the option."""
    for hint in hints:
        if hint.what == takes[0]:
            try:
                resolve_options(COLLECTORS[collector], {option: takes[1](hint.value)})
            except ValueError:
                continue
            yield hint


def fill_scope(
    link: IncidentHost, collectors: Sequence[str], hints: Sequence[OptionSource]
) -> tuple[ScopeRequest, OptionValue | None]:
    """Return the scope of the incident's host; if a collector needs a target, the scope that evidence names.

    Without evidence the scope is the whole host, and such a collector reports that it needs a target. A collector that
    stops its target never gets one from evidence.
    """
    scope_request = ScopeRequest.model_validate(link.scope) if link.scope else ScopeRequest()
    without_target = [name for name in collectors if _needs_target(name)]
    stops_target = any(COLLECTORS[name].tier is Tier.PTRACE for name in collectors)
    if scope_request.kind != "host" or not without_target or stops_target:
        return scope_request, None
    for hint in hints:
        if hint.what in ("process", "cgroup", "port"):
            result = ScopeRequest.model_validate({"kind": hint.what, "value": hint.value})
            return result, OptionValue(without_target[0], "", hint.value, hint)
    return scope_request, None


def _needs_target(collector: str) -> bool:
    return all(way.needs.target for way in COLLECTORS[collector].methods)


def collect_option_sources(
    session: Session, incident: Incident, link: IncidentHost, host: Host, rules: Collection[str]
) -> list[OptionSource]:
    """Collect the known values for a host: declared values, then the scope, then findings and tables.

    `rules` are those of the playbook of the step; their findings come before others.
    """
    return [
        *_list_declared_sources(session, incident, host),
        *_list_scope_sources(link),
        *_list_finding_sources(session, incident, host, rules),
    ]


def _list_declared_sources(session: Session, incident: Incident, host: Host) -> Iterator[OptionSource]:
    named = (incident.symptom or {}).get("service")
    service = services.find_service_on_host(session, host, named) if named else None
    if service is not None and service.locate and service.locate["kind"] == "port":
        yield OptionSource("port", str(service.locate["value"]), "service", service.name)
    logged = services.find_measured_service(session, host, "access_log")
    if logged is not None:
        yield OptionSource("access_log", logged.source["path"], "service", logged.name)
        yield OptionSource("access_log_format", logged.source["format"], "service", logged.name)
    counted = services.find_measured_service(session, host, "accepts")
    if counted is not None:
        yield OptionSource("port", str(counted.source["port"]), "service", counted.name)


def _list_scope_sources(link: IncidentHost) -> Iterator[OptionSource]:
    kind, value = (link.scope or {}).get("kind"), (link.scope or {}).get("value")
    if kind in ("port", "process", "cgroup") and value:
        yield OptionSource(str(kind), str(value), "scope", f"{kind} {value}")


def _list_finding_sources(
    session: Session, incident: Incident, host: Host, rules: Collection[str]
) -> Iterator[OptionSource]:
    """Yield the subjects of matched findings on this host, the strongest first, then values from its tables."""
    runs = [
        run.run_id
        for run in queries.list_runs(session, incident.id)
        if run.host_id == host.id and run.role == "evidence"
    ]
    if not runs:
        return
    order = {run: at for at, run in enumerate(runs)}
    matched = [
        matched_finding
        for matched_finding in queries.list_matched_findings(session, runs)
        if not matched_finding.rule.startswith(_KERNEL_THREAD_RULES)
    ]
    matched.sort(
        key=lambda item: (
            item.rule not in rules,
            -STRENGTH_ORDER[Strength(item.strength)],
            order[item.run_id],
            item.id,
        )
    )
    for item in matched:
        for name, value in sorted(item.subject.items()):
            if name in _SUBJECTS:
                yield OptionSource(_SUBJECTS[name], str(value), "finding", item.rule)
    pids = {str(item.subject["pid"]) for item in matched if "pid" in item.subject}
    tables = sorted(
        queries.list_tables(session, runs, ("listeners", "tcp_waits")), key=lambda table: order[table.run_id]
    )
    for table in tables:
        yield from (
            _list_listener_ports(table, pids) if table.kind == "listeners" else _list_waiting_addresses(table)
        )


def _iter_rows(table: ResultTable) -> Iterator[dict[str, object]]:
    names = [column["id"] for column in table.columns]
    for row in table.rows:
        yield dict(zip(names, row, strict=False))


def _list_listener_ports(table: ResultTable, pids: set[str]) -> Iterator[OptionSource]:
    """Yield the port of the process that evidence names, if it listens on exactly one."""
    ports = {str(row.get("port")) for row in _iter_rows(table) if str(row.get("pid")) in pids}
    if len(ports) == 1:
        yield OptionSource("port", ports.pop(), "table", table.kind)


def _list_waiting_addresses(table: ResultTable) -> Iterator[OptionSource]:
    """Yield the remote address with the most waiting requests, if one of them is slow."""

    def number(row: Mapping[str, object], name: str) -> float:
        value = row.get(name)
        return float(value) if isinstance(value, int | float) else 0.0

    slow = [
        row
        for row in _iter_rows(table)
        if row.get("direction") == "out" and number(row, "oldest") >= SLOW_MS and number(row, "waiting") > 0
    ]
    if slow:
        most = max(slow, key=lambda row: number(row, "waiting"))
        yield OptionSource("peer", str(most.get("peer")), "table", table.kind)
