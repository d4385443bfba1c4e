"""Which host is unlike the others that do the same, measured by the numbers of rules.

A rule's number means the same on every host, and has lines of artifacts behind it; so peers cost no query beyond those
of the grid. Looks older than `within` are left out: hosts are compared in the same state of the world.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.contract import Text
from collectors.metrics import CATALOGUE
from culprit.core.fleet import Word
from culprit.core.peers import LEAST_PEERS, OUTLIER_Z, Compared, compare, most_unusual
from culprit.core.rules.contract import Measure
from culprit.core.rules.read import unit_of
from culprit.core.rules.registry import RULES
from culprit.fleet import read
from culprit.fleet.read import Seen
from culprit.fleet.schemas import (
    FleetHostRead,
    FleetLabelRead,
    FleetStandingRead,
    PeerGroupRead,
    PeerMeasureRead,
    PeersRead,
    TextRead,
)
from culprit.kit.clock import now

#: Measures of a group that are sent where none is asked for.
MOST_MEASURES = 12
#: The label that groups are made by where none is asked for: the first that makes a group big enough.
USUAL_LABELS = ("service", "role", "cluster")
#: The smallest difference that means anything, by unit. A median of 0 would make any trifle infinitely unusual.
LEAST: Mapping[str, float] = {
    "pct": 1.0,
    "bool": 0.5,
    "count": 0.1,
    "ratio": 0.1,
    "s": 0.05,
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


def peers(session: Session, glance: read.Glance, *, label: str, measure: str, within: timedelta) -> PeersRead:
    """Groups by `label` (the usual one where it is empty) and how their hosts compare in `measure` (in all)."""
    seen, left_out = read.fleet(session, glance)
    known = _labels(seen)
    label = label or _usual(seen, known)
    groups: dict[str, list[Seen]] = {}
    for one in seen:
        if label in one.row.labels:
            groups.setdefault(one.row.labels[label], []).append(one)
    at = now()
    ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    return PeersRead(
        at=at,
        label=label,
        labels=known,
        without=len(seen) - sum(map(len, groups.values())),
        left_out=left_out,
        groups=[_group(value, hosts, measure, at - within) for value, hosts in ordered],
    )


def fresh_looks(glance: read.Glance, within: timedelta) -> int:
    """How many looks are new enough to be compared: as time goes by they become fewer, and the answer another one."""
    since = now() - within
    return sum(read.at(look) >= since for look in glance.looks)


def _labels(seen: Sequence[Seen]) -> list[FleetLabelRead]:
    hosts: Counter[str] = Counter(name for one in seen for name in one.row.labels)
    values = {name: len({one.row.labels[name] for one in seen if name in one.row.labels}) for name in hosts}
    return [FleetLabelRead(name=name, hosts=hosts[name], values=values[name]) for name in sorted(hosts)]


def _usual(seen: Sequence[Seen], known: Sequence[FleetLabelRead]) -> str:
    """The first label with a group that is big enough, those that say what a host is for before all others."""
    names = [one.name for one in known]
    for name in sorted(names, key=lambda one: (one not in USUAL_LABELS, names.index(one))):
        sizes = Counter(one.row.labels[name] for one in seen if name in one.row.labels)
        if max(sizes.values()) > LEAST_PEERS:
            return name
    return next((name for name in USUAL_LABELS if name in names), names[0] if names else "")


def _group(value: str, hosts: Sequence[Seen], measure: str, since: datetime) -> PeerGroupRead:
    fresh = [(one, _fresh(one, since)) for one in hosts]
    by_rule: dict[str, dict[UUID, Word]] = {}
    for one, words in fresh:
        for word in words:
            by_rule.setdefault(word.rule, {})[one.row.id] = word
    compared = []
    for rule in _one_rule_each({rule: len(found) for rule, found in by_rule.items()}):
        if measure in ("", RULES[rule].measure.id):
            found = _compare(rule, by_rule[rule])
            compared += [found] if found is not None else []
    unlike = [one for one in most_unusual(compared) if measure or one.most > OUTLIER_Z]
    return PeerGroupRead(
        value=value,
        hosts=[FleetHostRead(**one.short()) for one in hosts],
        stale=sum(not words for _, words in fresh),
        measures=[_measure(one, by_rule[one.measure]) for one in unlike[:MOST_MEASURES]],
        agree=len(compared) - len(unlike),
    )


def _fresh(one: Seen, since: datetime) -> list[Word]:
    """The words with a number, out of looks that are new enough."""
    new = [read.at(look) >= since for look in one.looks]
    return [word for word in one.words.values() if word.value is not None and new[word.look]]


def _one_rule_each(spoke: Mapping[str, int]) -> list[str]:
    """Several rules may read one measure: of those the one that most hosts have a number of."""
    best: dict[str, str] = {}
    for rule in sorted(spoke, key=lambda one: (-spoke[one], one)):
        best.setdefault(RULES[rule].measure.id, rule)
    return sorted(best.values())


def _compare(rule: str, words: Mapping[UUID, Word]) -> Compared | None:
    values = {str(host): word.value for host, word in words.items() if word.value is not None}
    return compare(rule, values, LEAST[unit_of(RULES[rule].measure)])


def _measure(one: Compared, words: Mapping[UUID, Word]) -> PeerMeasureRead:
    read_ = RULES[one.measure].measure
    title = _title(one.measure)
    return PeerMeasureRead(
        measure=read_.id,
        rule=one.measure,
        title=TextRead(en=title.en, zh=title.zh),
        unit=unit_of(read_),
        n=one.spread.n,
        median=one.spread.median,
        step=one.spread.step,
        standings=[
            FleetStandingRead(
                host_id=UUID(each.who),
                value=each.value,
                z=each.z,
                unlike=each.unlike,
                look=words[UUID(each.who)].look,
            )
            for each in one.standings
        ],
    )


def _title(rule: str) -> Text:
    measure = RULES[rule].measure
    return measure.title if isinstance(measure, Measure) else CATALOGUE[measure.metric].title
