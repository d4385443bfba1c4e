"""What the rules said about the runs of an incident, of each run only what its steps rest on.

Most of what an evaluation holds is never shown: a step takes the newest run of a host that answers it. So first the
names of what was said are read, and then the words themselves, of those runs alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.core.playbooks.merge import Heard
from culprit.core.rules.contract import Finding
from culprit.core.rules.form import read_finding
from culprit.incidents import heard_queries as queries
from culprit.incidents.queries import Rows

STORED = ("rule", "state", "severity", "grade", "subject", "numbers", "reason", "detail")
Said = Mapping[UUID, Collection[str]]
Told = set[tuple[UUID, str]]


def heard(session: Session, runs: Rows, rules: Collection[str]) -> dict[str, list[Heard]]:
    """By host, the newest run first."""
    by_host: dict[str, list[UUID]] = defaultdict(list)
    for run in runs:
        by_host[str(run.host_id)].append(run.run_id)
    wanted = _wanted(session, by_host.values(), rules)
    said = _words(session, wanted)
    return {
        host: [Heard(str(run), {rule: tuple(found) for rule, found in said[run].items()}) for run in mine]
        for host, mine in by_host.items()
    }


def _wanted(session: Session, hosts: Iterable[Sequence[UUID]], rules: Collection[str]) -> Told:
    hosts = list(hosts)
    ids = [run for runs in hosts for run in runs]
    if not ids or not rules:
        return set()
    answered: dict[UUID, set[str]] = defaultdict(set)
    silent: dict[UUID, set[str]] = {}
    for row in queries.spoken(session, ids, rules):
        answered[row.run_id].add(row.rule)
    for row in queries.named(session, ids):
        answered[row.run_id].update(row.quiet, row.doubted)
        silent[row.run_id] = set(row.not_evaluated)
    return telling(hosts, answered, silent, rules)


def telling(hosts: Iterable[Sequence[UUID]], answered: Said, silent: Said, rules: Collection[str]) -> Told:
    """Which run tells about which rule: of each host the newest that answers, else the newest that says why not."""
    found: Told = set()
    for runs in hosts:
        left, why = set(rules), dict[str, UUID]()
        for run in runs:
            now = left.intersection(answered.get(run, ()))
            found.update((run, rule) for rule in now)
            left -= now
            for rule in left.intersection(silent.get(run, ())):
                why.setdefault(rule, run)
        found.update((run, rule) for rule, run in why.items() if rule in left)
    return found


def _words(session: Session, wanted: Told) -> dict[UUID, dict[str, list[Finding]]]:
    said: dict[UUID, dict[str, list[Finding]]] = defaultdict(lambda: defaultdict(list))
    if not wanted:
        return said
    ids, rules = {run for run, _ in wanted}, {rule for _, rule in wanted}
    for row in queries.findings(session, ids, rules):
        if (row.run_id, row.rule) in wanted:
            said[row.run_id][row.rule].append(read_finding({name: getattr(row, name) for name in STORED}))
    for one in queries.silent(session, ids, rules):
        if (one.run_id, one.said["rule"]) in wanted:
            said[one.run_id][one.said["rule"]].append(read_finding(one.said))
    return said
