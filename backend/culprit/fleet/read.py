"""The fleet as rows of the store say it: hosts, their newest looks, and every rule's newest word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.auth.actor import Actor
from culprit.auth.policy import policy
from culprit.core.fleet import Word, worst
from culprit.core.rules.read import unit_of
from culprit.core.rules.registry import RULES
from culprit.core.rules.use import PLACES
from culprit.fleet import queries
from culprit.fleet.queries import FiredRow, HostRow, LookRow, Quiet
from culprit.fleet.schemas import FleetLookRead, FleetRuleRead, FleetWordRead, TextRead
from culprit.kit.answers import tag_of
from culprit.kit.version import VERSION

NOTHING = Quiet([], [], [])
Labels = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Seen:
    """One host, its looks (the newest first), and what each rule last said in them."""

    row: HostRow
    looks: Sequence[LookRow]
    words: Mapping[str, Word]

    def short(self) -> dict[str, object]:
        """The fields of FleetHostRead."""
        return {
            "id": self.row.id,
            "name": self.row.name,
            "labels": self.row.labels,
            "state": self.row.state,
            "looks": [FleetLookRead(run_id=one.run_id, plan=one.plan, at=at(one)) for one in self.looks],
            "worst": worst(self.words.values()),
        }


def at(look: LookRow) -> datetime:
    """When a look measured last."""
    return datetime.fromtimestamp(look.t1_ns / 1e9, UTC)


@dataclass(frozen=True, slots=True)
class Glance:
    """Which hosts there are and when rules last spoke of each: cheap, and all that the fleet says follows from it."""

    rows: Sequence[HostRow]
    total: int
    looks: Sequence[LookRow]

    def tag(self, *asked: object) -> str:
        """The same while an answer to `asked` would be the same, for whoever may see these hosts."""
        looks = [(one.run_id.hex, one.said_at.timestamp()) for one in self.looks]
        hosts = [(one.id.hex, one.name, one.labels, one.state) for one in self.rows]
        return tag_of(VERSION, sorted(RULES), asked, hosts, self.total, looks)


def glance(session: Session, actor: Actor, labels: Labels) -> Glance:
    """The visible hosts with these labels and their newest looks; two SELECTs."""
    policy(actor, "finding.read")
    rows, total = queries.hosts(session, actor, labels)
    return Glance(rows, total, queries.looks(session, [row.id for row in rows]))


def fleet(session: Session, seen: Glance) -> tuple[list[Seen], int]:
    """What is known of these hosts, and how many more there are; two SELECTs more."""
    rows, total = seen.rows, seen.total
    looks: dict[UUID, list[LookRow]] = {}
    for look in seen.looks:
        looks.setdefault(look.host_id, []).append(look)
    run_ids = [look.run_id for each in looks.values() for look in each]
    fired: dict[UUID, list[FiredRow]] = {}
    for one in queries.fired(session, run_ids):
        fired.setdefault(one.run_id, []).append(one)
    quiet = queries.quiet(session, run_ids)
    found = [Seen(row, looks.get(row.id, ()), _words(looks.get(row.id, ()), fired, quiet)) for row in rows]
    return found, total - len(rows)


def _words(
    looks: Sequence[LookRow],
    fired: Mapping[UUID, Sequence[FiredRow]],
    quiet: Mapping[UUID, Quiet],
) -> dict[str, Word]:
    """Each rule's word in the newest look that it spoke in. Rules that are no more have nothing to say."""
    found: dict[str, Word] = {}
    for number, look in enumerate(looks):
        for row in fired.get(look.run_id, ()):
            if row.rule in RULES and row.rule not in found:
                found[row.rule] = Word(
                    row.rule, row.state, row.severity, RULES[row.rule].op, number, row.value, row.threshold,
                    row.subject, row.subjects,
                )  # fmt: skip
        silent = quiet.get(look.run_id, NOTHING)
        for name, value, threshold in zip(silent.rules, silent.values, silent.thresholds, strict=True):
            if name not in found and name in RULES:
                rule = RULES[name]
                found[name] = Word(name, "quiet", rule.levels[0][0], rule.op, number, value, threshold)
    return found


def word(one: Word) -> FleetWordRead:
    """A word as it is sent."""
    return FleetWordRead(**word_values(one))


def word_values(one: Word) -> dict[str, object]:
    """The fields of FleetWordRead."""
    return {
        "rule": one.rule,
        "state": one.state,
        "severity": one.severity,
        "value": one.value,
        "threshold": one.threshold,
        "subject": dict(one.subject),
        "subjects": one.subjects,
        "look": one.look,
    }


def rules(ids: Iterable[str]) -> dict[str, FleetRuleRead]:
    """What is needed to show words of these rules."""
    found = {}
    for rule_id in sorted(set(ids)):
        rule, place = RULES[rule_id], PLACES.get(rule_id)
        found[rule_id] = FleetRuleRead(
            title=TextRead(en=rule.title.en, zh=rule.title.zh),
            unit=unit_of(rule.measure),
            op=rule.op,
            grade=rule.grade.value,
            resource=place.resource if place else None,
            letter=place.letter if place else None,
        )
    return found
