"""Outliers among hosts with the same label, by the numbers of rules.

A rule's number means the same on every host and is cited, so peers need no query beyond those of the grid. Runs older
than `within` are left out, because hosts are comparable only at about the same time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.contract import Text
from collectors.metrics.registry import METRICS
from culprit.analysis.fleet import responses
from culprit.analysis.fleet.responses import FleetHostRow
from culprit.analysis.fleet.schemas import (
    FleetHostResponse,
    FleetLabelResponse,
    PeerGroupResponse,
    PeerHostResponse,
    PeerMeasureResponse,
    PeersResponse,
)
from culprit.domain.hosts.fleet import RuleResult
from culprit.domain.rules.readings import get_unit
from culprit.domain.rules.registry import RULES
from culprit.domain.rules.rule import Measure
from culprit.domain.statistics.outliers import (
    MIN_PEERS,
    OUTLIER_Z,
    GroupComparison,
    compare_group,
    sort_by_deviation,
)
from culprit.infra.db.clock import utc_now
from culprit.web.schemas import LocalizedText

#: Measures of a group that are sent if none is requested.
MAX_MEASURES = 12
#: Labels that group hosts if none is requested: the first with a large enough group.
PURPOSE_LABELS = ("service", "role", "cluster")
#: The smallest relevant difference, by unit. Without it, any difference from a median of 0 would be infinite.
MIN_STEP_BY_UNIT: Mapping[str, float] = {
    "pct": 1.0,
    "bool": 0.5,
    "count": 0.1,
    "ratio": 0.1,
    "s": 0.05,
    "min": 1.0,
    "h": 0.1,
    "ms": 0.5,
    "us": 20.0,
    "per_s": 1.0,
    "per_min": 1.0,
    "packets_per_s": 10.0,
    "pages_per_s": 10.0,
    "bytes": 64.0,
    "kb": 1024.0,
    "kb_per_s": 10.0,
    "mb_per_s": 0.1,
    "mhz": 50.0,
}


def compare_peers(
    session: Session, snapshot: responses.FleetSnapshot, *, label: str, measure: str, within: timedelta
) -> PeersResponse:
    """Compare the hosts of each group by `label` (empty: the default) in `measure` (empty: in all)."""
    rows, left_out = responses.load_hosts(session, snapshot)
    labels = _count_labels(rows)
    label = label or _select_default_label(rows, labels)
    groups: dict[str, list[FleetHostRow]] = {}
    for item in rows:
        if label in item.row.labels:
            groups.setdefault(item.row.labels[label], []).append(item)
    at = utc_now()
    ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    return PeersResponse(
        at=at,
        label=label,
        labels=labels,
        unlabeled_hosts=len(rows) - sum(map(len, groups.values())),
        left_out=left_out,
        groups=[_compare_hosts(value, hosts, measure, at - within) for value, hosts in ordered],
    )


def count_fresh_runs(snapshot: responses.FleetSnapshot, within: timedelta) -> int:
    """Return the number of runs that are recent enough to be compared; it decreases with time."""
    since = utc_now() - within
    return sum(responses.get_end_time(run) >= since for run in snapshot.runs)


def _count_labels(rows: Sequence[FleetHostRow]) -> list[FleetLabelResponse]:
    hosts: Counter[str] = Counter(name for item in rows for name in item.row.labels)
    values = {
        name: len({item.row.labels[name] for item in rows if name in item.row.labels}) for name in hosts
    }
    return [
        FleetLabelResponse(name=name, host_count=hosts[name], value_count=values[name])
        for name in sorted(hosts)
    ]


def _select_default_label(rows: Sequence[FleetHostRow], known: Sequence[FleetLabelResponse]) -> str:
    """Return the first label with a large enough group. Labels for the purpose of a host come first."""
    names = [item.name for item in known]
    for name in sorted(names, key=lambda name: (name not in PURPOSE_LABELS, names.index(name))):
        sizes = Counter(item.row.labels[name] for item in rows if name in item.row.labels)
        if max(sizes.values()) > MIN_PEERS:
            return name
    return next((name for name in PURPOSE_LABELS if name in names), names[0] if names else "")


def _compare_hosts(
    value: str, hosts: Sequence[FleetHostRow], measure: str, since: datetime
) -> PeerGroupResponse:
    recent = [(host, _select_recent(host, since)) for host in hosts]
    by_rule: dict[str, dict[UUID, RuleResult]] = {}
    for item, results in recent:
        for result in results:
            by_rule.setdefault(result.rule, {})[item.row.id] = result
    compared = []
    for rule in _select_rule_per_measure({rule: len(results) for rule, results in by_rule.items()}):
        if measure in ("", RULES[rule].measure.id):
            comparison = _compare_results(rule, by_rule[rule])
            compared += [comparison] if comparison is not None else []
    outliers = [item for item in sort_by_deviation(compared) if measure or item.max_deviation > OUTLIER_Z]
    return PeerGroupResponse(
        value=value,
        hosts=[FleetHostResponse(**host.build_fields()) for host in hosts],
        stale_hosts=sum(not results for _, results in recent),
        measures=[_build_measure(item, by_rule[item.measure]) for item in outliers[:MAX_MEASURES]],
        agreeing_measures=len(compared) - len(outliers),
    )


def _select_recent(row: FleetHostRow, since: datetime) -> list[RuleResult]:
    """Return the results with a value, of runs that are recent enough."""
    is_recent = [responses.get_end_time(run) >= since for run in row.runs]
    return [item for item in row.results.values() if item.value is not None and is_recent[item.run_index]]


def _select_rule_per_measure(reported: Mapping[str, int]) -> list[str]:
    """Return one rule for each measure: the rule with values for the most hosts."""
    best: dict[str, str] = {}
    for rule in sorted(reported, key=lambda item: (-reported[item], item)):
        best.setdefault(RULES[rule].measure.id, rule)
    return sorted(best.values())


def _compare_results(rule: str, results: Mapping[UUID, RuleResult]) -> GroupComparison | None:
    values = {str(host): item.value for host, item in results.items() if item.value is not None}
    return compare_group(rule, values, MIN_STEP_BY_UNIT[get_unit(RULES[rule].measure)])


def _build_measure(
    group_comparison: GroupComparison, results: Mapping[UUID, RuleResult]
) -> PeerMeasureResponse:
    measure = RULES[group_comparison.measure].measure
    title = _get_title(group_comparison.measure)
    return PeerMeasureResponse(
        measure=measure.id,
        rule=group_comparison.measure,
        title=LocalizedText(en=title.en, zh=title.zh),
        unit=get_unit(measure),
        host_count=group_comparison.spread.n,
        median=group_comparison.spread.median,
        step=group_comparison.spread.step,
        hosts=[
            PeerHostResponse(
                host_id=UUID(each.name),
                value=each.value,
                z=each.z,
                is_outlier=each.is_outlier,
                run_index=results[UUID(each.name)].run_index,
            )
            for each in group_comparison.members
        ],
    )


def _get_title(rule: str) -> Text:
    measure = RULES[rule].measure
    return measure.title if isinstance(measure, Measure) else METRICS[measure.metric].title
