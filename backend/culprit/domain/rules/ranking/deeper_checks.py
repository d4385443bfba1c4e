"""Which deeper checks explain time that no likely cause explains, at which service.

A profile shows where a busy thread computes; off-CPU stacks show what a thread waits for; scheduler events show who ran
instead; servers report on themselves, and logs which requests fail. Nothing here stops a process at its system calls.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from culprit.domain.rules.finding import Finding, Subject
from culprit.domain.rules.measures.service_time.accounts import TimeAccount
from culprit.domain.rules.ranking.rank import Ranking

#: Named causes that explain less than this part of the time leave the question open: more than half is unexplained.
HALF = 0.5
#: The collectors that check each activity, the most useful first.
_OF_WAITS = ("offcpu",)
_BY_ACTIVITY: Mapping[str, tuple[str, ...]] = {
    "running": ("perf_record",),
    "runnable": ("perf_sched",),
    "throttled": (),
    "disk": ("perf_trace", "offcpu"),
    "peer": (),
    "dns": (),
    "held": (),
    "tracer": (),
}
#: What servers report on themselves, by the name of the program.
_BY_PROGRAM: Mapping[str, tuple[str, ...]] = {
    "postgres": ("db_sessions",),
    "mysqld": ("db_sessions", "mariadb_stats"),
    "mariadbd": ("db_sessions", "mariadb_stats"),
    "redis-server": ("redis_info",),
    "valkey-server": ("redis_info",),
    "java": ("jstack",),
    "memcached": ("cache_stats",),
    "cache-main": ("cache_stats",),
}
#: What checks an atypical state that no time account covers, by the rule that shows it.
_BY_RULE: Mapping[str, tuple[str, ...]] = {
    "F-THREAD-HOT": ("perf_record",),
    "F-CPU-ONE-CORE": ("perf_record",),
    "F-CPU-BUSY": ("perf_record",),
    "F-CPU-EXHAUSTED": ("perf_record", "perf_sched"),
    "F-SCHED-DELAY": ("perf_sched",),
    "F-SCHED-RUNQ": ("perf_sched",),
    "F-PROC-BLOCKED": ("offcpu",),
    "F-CPU-IOWAIT": ("offcpu",),
    "F-LOAD-HIGH-CPU-LOW": ("offcpu",),
    "F-DB-OWES-ANSWERS": ("db_sessions",),
    "F-REQUESTS-WAIT": ("offcpu",),
    "F-SERVICE-SLOWER": ("offcpu",),
    "F-SERVICE-WAITS": ("offcpu",),
}


@dataclass(frozen=True, slots=True)
class RequestedCheck:
    """A collector to run, and the process or control group to check; () for the whole host."""

    collector: str
    about: Subject


def list_requested_checks(
    ranking: Ranking, findings: Sequence[Finding], *, is_named: bool = False
) -> list[RequestedCheck]:
    """Return the checks that could explain what is unexplained, the most useful first.

    Args:
        ranking: The ranking so far.
        findings: The findings that it was made from.
        is_named: The diagnosis is about a process, a port or a control group, which deserves a profile of its own.
    """
    checks: dict[str, RequestedCheck] = {}
    for check in _iterate_checks(ranking, findings, is_named=is_named):
        checks.setdefault(check.collector, check)
    return list(checks.values())


def _iterate_checks(
    ranking: Ranking, findings: Sequence[Finding], *, is_named: bool
) -> Iterator[RequestedCheck]:
    if is_explained(ranking):
        return
    # What fails at once leaves no wait: only logs report it.
    yield RequestedCheck("server_logs", ())
    accounts = ranking.harmed or ranking.accounts[:1]
    for account in _order_chain(accounts, ranking.accounts):
        yield from _check_service(account)
    if is_named:
        yield RequestedCheck("perf_record", ())
    matched = {item.rule: item for item in findings if item.state == "matched"}
    for rule, collectors in _BY_RULE.items():
        if rule in matched:
            places = tuple(pair for pair in matched[rule].subject if pair[0] in ("pid", "cgroup"))
            yield from (RequestedCheck(collector, places) for collector in collectors)
    # A client that refuses a certificate leaves neither a wait nor a line of a log.
    yield RequestedCheck("certificates", ())


def is_explained(ranking: Ranking) -> bool:
    """Return whether likely causes explain at least half of the time of the most harmed service.

    Where its time is not accounted for, any likely cause counts.
    """
    if ranking.unexplained is not None:
        return ranking.unexplained <= HALF
    return any(item.confidence == "likely" for item in ranking.causes)


def _order_chain(accounts: Sequence[TimeAccount], known: Sequence[TimeAccount]) -> list[TimeAccount]:
    """Return the services that the most harmed one waits for, the end of the chain first, then itself."""
    if not accounts:
        return []
    chain = [accounts[0]]
    for account in chain:
        for callee in account.callees.values():
            chain += [item for item in known if item.service.pids == callee.pids and item not in chain]
    return list(reversed(chain))


def _check_service(account: TimeAccount) -> Iterator[RequestedCheck]:
    about = build_scope_subject(account)
    for collector in _BY_PROGRAM.get(account.service.name, ()):
        yield RequestedCheck(collector, about)
    local: Collection[str] = account.callees.keys()
    ordered = sorted(account.amounts.items(), key=lambda item: (-item[1].number, item[0]))
    for (activity, target), amount in ordered:
        if amount.number >= account.total / 10 and target not in local:
            for collector in _BY_ACTIVITY.get(activity, _OF_WAITS):
                yield RequestedCheck(collector, about)


def build_scope_subject(account: TimeAccount) -> Subject:
    """Return the scope of a capture of a service: its control group if it has several processes, else its process."""
    service = account.service
    if len(service.pids) > 1 and service.group:
        return (("cgroup", service.group),)
    return tuple(pair for pair in service.subject if pair[0] == "pid")
