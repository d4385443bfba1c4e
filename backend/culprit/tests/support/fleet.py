"""A fleet as a year of captures leaves it: hosts with evaluated runs, some sick, some not looked at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from culprit.core.rules.contract import Rule
from culprit.core.rules.read import unit_of
from culprit.core.rules.registry import RULES
from culprit.kit.clock import now_ns
from culprit.kit.uuid7 import uuid7
from culprit.models import Capture, Credential, Evaluation, Finding, Host, Run
from sqlalchemy import insert
from sqlalchemy.orm import Session

MINUTE = 60 * 10**9
#: Rules that a light plan can answer: two in three of the catalogue.
ASKED = tuple(rule for number, rule in enumerate(RULES.values()) if number % 3)
LINES = list(range(100, 160))


def number(rule: Rule, value: float, threshold: float | None = None) -> dict[str, Any]:
    """A number as it is stored, with the lines that it was read from."""
    bound = rule.levels[0][1].value if threshold is None else threshold
    cited = {
        "run": str(uuid7()),
        "collector": "vmstat",
        "artifact": "a" * 64,
        "part": "samples",
        "lines": LINES,
    }
    return {
        "measure": rule.measure.id, "value": value, "unit": unit_of(rule.measure), "op": rule.op,
        "threshold": bound, "baseline": None, "n": 60, "citations": [cited],
    }  # fmt: skip


def said(rule: Rule, state: str, value: float | None) -> dict[str, Any]:
    """One finding as JSON."""
    return {
        "rule": rule.id, "state": state, "severity": rule.levels[-1][0], "grade": str(rule.grade),
        "subject": {}, "numbers": [] if value is None else [number(rule, value)], "reason": None, "detail": {},
    }  # fmt: skip


def add_hosts(session: Session, names: Sequence[str], labels: Sequence[Mapping[str, str]]) -> list[UUID]:
    """Hosts that are never reached."""
    key = Credential(name=f"key {uuid7()}", kind="agent", public={})
    session.add(key)
    session.flush()
    ids = [uuid7() for _ in names]
    rows = [
        {"id": host_id, "name": name, "address": "192.0.2.1", "username": "u", "credential_id": key.id,
         "labels": dict(each), "state": "active"}
        for host_id, name, each in zip(ids, names, labels, strict=True)
    ]  # fmt: skip
    session.execute(insert(Host), rows)
    return ids


def add_look(
    session: Session,
    host_id: UUID,
    *,
    fired: Mapping[str, float] = {},
    quiet: Mapping[str, float | None] = {},
    inconclusive: Mapping[str, float] = {},
    minutes_ago: float = 1,
) -> UUID:
    """One evaluated run on a host: rule → value. Returns its id."""
    return add_looks(session, [(host_id, fired, quiet, inconclusive, minutes_ago)])[0]


Spoken = tuple[UUID, Mapping[str, float], Mapping[str, float | None], Mapping[str, float], float]


def add_looks(session: Session, looks: Sequence[Spoken]) -> list[UUID]:
    """Evaluated runs: (host, fired, quiet, inconclusive, minutes ago). Returns their ids."""
    capture = Capture(plan="triage", state="done", collectors=[])
    session.add(capture)
    session.flush()
    ids = [uuid7() for _ in looks]
    runs, evaluations, findings = [], [], []
    for run_id, (host_id, fired, quiet, inconclusive, minutes_ago) in zip(ids, looks, strict=True):
        t1_ns = now_ns() - int(minutes_ago * MINUTE)
        runs.append(
            {"id": run_id, "capture_id": capture.id, "host_id": host_id, "state": "done",
             "t0_ns": t1_ns - MINUTE // 2, "t1_ns": t1_ns}
        )  # fmt: skip
        silent = [said(RULES[rule], "quiet", value) for rule, value in quiet.items()]
        evaluations.append({"run_id": run_id, "elapsed_ms": 1.0, "quiet": silent})
        for state, words in (("fired", fired), ("inconclusive", inconclusive)):
            for rule, value in words.items():
                findings.append(
                    {
                        "id": uuid7(),
                        "run_id": run_id,
                        "host_id": host_id,
                        **said(RULES[rule], state, value),
                    }
                )
    session.execute(insert(Run), runs)
    session.execute(insert(Evaluation), evaluations)
    if findings:
        session.execute(insert(Finding), findings)
    return ids


def crowd(host_ids: Sequence[UUID], looks: int) -> Iterator[list[Spoken]]:
    """The newest `looks` of a crowd, one batch a look; every tenth host is sick, every twentieth never looked at."""
    for look in range(looks):
        yield [
            (
                host_id,
                {rule.id: rule.levels[-1][1].value * 1.5 + 1 for rule in ASKED[at % 7 :: 9]} if at % 10 == 3 else {},
                {rule.id: at % 13 * 0.01 for rule in ASKED[at % 3 :]},
                {},
                5.0 + 60 * look,
            )
            for at, host_id in enumerate(host_ids)
            if at % 20 != 7
        ]  # fmt: skip
