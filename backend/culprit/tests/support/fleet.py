"""A fleet after a year of captures: evaluated hosts, some unhealthy, some without a capture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from culprit.domain.rules.readings import get_unit
from culprit.domain.rules.registry import RULES
from culprit.domain.rules.rule import Rule
from culprit.infra.db.clock import now_ns
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.analysis.evaluation import Evaluation
from culprit.infra.models.analysis.finding import StoredFinding
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.hosts.credential import Credential
from culprit.infra.models.hosts.host import Host
from sqlalchemy import insert
from sqlalchemy.orm import Session

MINUTE = 60 * 10**9
#: Rules that a light plan can evaluate: two in three of the catalog.
LIGHT_RULES = tuple(rule for number, rule in enumerate(RULES.values()) if number % 3)
LINES = list(range(100, 160))


def number(rule: Rule, value: float, threshold: float | None = None) -> dict[str, Any]:
    """Return a number as stored, with its source lines."""
    bound = rule.thresholds[0][1].value if threshold is None else threshold
    cited = {
        "run": str(new_uuid7()),
        "collector": "vmstat",
        "artifact": "a" * 64,
        "part": "samples",
        "lines": LINES,
    }
    return {
        "measure": rule.measure.id, "value": value, "unit": get_unit(rule.measure), "op": rule.op,
        "threshold": bound, "baseline": None, "sample_count": 60, "citations": [cited],
    }  # fmt: skip


def build_finding(rule: Rule, state: str, value: float | None) -> dict[str, Any]:
    """Return one finding as JSON."""
    return {
        "rule": rule.id, "state": state, "severity": rule.thresholds[-1][0], "strength": str(rule.strength),
        "subject": {}, "numbers": [] if value is None else [number(rule, value)], "reason": None, "detail": {},
    }  # fmt: skip


def add_hosts(session: Session, names: Sequence[str], labels: Sequence[Mapping[str, str]]) -> list[UUID]:
    """Create hosts that are never connected."""
    key = Credential(name=f"key {new_uuid7()}", kind="agent", public={})
    session.add(key)
    session.flush()
    ids = [new_uuid7() for _ in names]
    rows = [
        {"id": host_id, "name": name, "address": "192.0.2.1", "username": "u", "credential_id": key.id,
         "labels": dict(each), "state": "active"}
        for host_id, name, each in zip(ids, names, labels, strict=True)
    ]  # fmt: skip
    session.execute(insert(Host), rows)
    return ids


def add_evaluated_run(
    session: Session,
    host_id: UUID,
    *,
    matched: Mapping[str, float] = {},
    not_matched: Mapping[str, float | None] = {},
    inconclusive: Mapping[str, float] = {},
    minutes_ago: float = 1,
) -> UUID:
    """Store one evaluated run of a host: rule → value. Return its ID."""
    return add_evaluated_runs(session, [(host_id, matched, not_matched, inconclusive, minutes_ago)])[0]


EvaluatedRunSpec = tuple[UUID, Mapping[str, float], Mapping[str, float | None], Mapping[str, float], float]


def add_evaluated_runs(session: Session, specs: Sequence[EvaluatedRunSpec]) -> list[UUID]:
    """Store evaluated runs: (host, matched, not_matched, inconclusive, minutes ago). Return their IDs."""
    capture = Capture(plan="triage", state="done", collectors=[])
    session.add(capture)
    session.flush()
    ids = [new_uuid7() for _ in specs]
    runs, evaluations, findings = [], [], []
    for run_id, (host_id, matched, not_matched, inconclusive, minutes_ago) in zip(ids, specs, strict=True):
        t1_ns = now_ns() - int(minutes_ago * MINUTE)
        runs.append(
            {"id": run_id, "capture_id": capture.id, "host_id": host_id, "state": "done",
             "t0_ns": t1_ns - MINUTE // 2, "t1_ns": t1_ns}
        )  # fmt: skip
        non_matches = [
            build_finding(RULES[rule], "not_matched", value) for rule, value in not_matched.items()
        ]
        evaluations.append({"run_id": run_id, "elapsed_ms": 1.0, "not_matched": non_matches})
        for state, values in (("matched", matched), ("inconclusive", inconclusive)):
            for rule, value in values.items():
                findings.append(
                    {
                        "id": new_uuid7(),
                        "run_id": run_id,
                        "host_id": host_id,
                        **build_finding(RULES[rule], state, value),
                    }
                )
    session.execute(insert(Run), runs)
    session.execute(insert(Evaluation), evaluations)
    if findings:
        session.execute(insert(StoredFinding), findings)
    return ids


def generate_runs(host_ids: Sequence[UUID], runs_per_host: int) -> Iterator[list[EvaluatedRunSpec]]:
    """Yield the newest runs of a fleet in batches;

    every tenth host is unhealthy, every twentieth has no run.
    """
    for number in range(runs_per_host):
        yield [
            (
                host_id,
                {rule.id: rule.thresholds[-1][1].value * 1.5 + 1 for rule in LIGHT_RULES[at % 7 :: 9]} if at % 10 == 3 else {},
                {rule.id: at % 13 * 0.01 for rule in LIGHT_RULES[at % 3 :]},
                {},
                5.0 + 60 * number,
            )
            for at, host_id in enumerate(host_ids)
            if at % 20 != 7
        ]  # fmt: skip
