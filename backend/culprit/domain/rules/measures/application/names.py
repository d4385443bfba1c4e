"""How long programs wait for name servers, and what the servers answer."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace

from collectors.contract import Sentence, Text
from culprit.domain.calls.address_lookup import list_own_addresses
from culprit.domain.rules.finding import Citation, Measurement, MissingData, Reading
from culprit.domain.rules.intervals import estimate_share
from culprit.domain.rules.measures.application.counters import build_listed_measure
from culprit.domain.rules.measures.derived import Detail
from culprit.domain.rules.measures.service_time.accounts import ServiceTimes, TimeAccount
from culprit.domain.rules.measures.service_time.activities import DNS
from culprit.domain.rules.measures.service_time.shares import NEEDS, cite_time, read_accounts
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView, TableRow

_WAITS = (("dns_waits",),)
_PROBES = (("dns_probe",),)
#: What is no answer to any query. A server that refuses to answer for the root may serve the names of a company.
_NO_ANSWER = "no answer"
FAILURES = ("server failure", _NO_ANSWER)
#: The question that a server of a host answers if it resolves any name. RFC 1034, 5.3.1: a stub resolver depends
#: on servers that resolve names for it.
_SEARCH_DOMAIN = "search domain"
#: A name in the search domain that was invented for the query, so that no cache knows it.
_NEW_NAME = "new name"
_HOST_NAMES = (_SEARCH_DOMAIN, _NEW_NAME)
_LOOPBACK = re.compile(r"127\.|::1$")
#: How long libc waits for a server (resolv.conf(5)).
_TIMEOUT_S = 5.0
#: Fewer queries than this show little about the mean.
_MIN_QUERIES = 10


def _has_known_age(row: TableRow) -> bool:
    """Return whether a query of this owner began or ended while its sockets were read.

    Sockets that were open at every reading may belong to queries, or to a program that keeps a connected socket for
    all its queries (forwarders and some resolvers do). No file of the kernel distinguishes them.
    """
    samples = row.number("samples") or 0.0
    all_time = samples and (row.number("waiting") or 0.0) >= (row.number("queries") or 0.0) - 0.5 / samples
    return not all_time


def _read_oldest_query(view: HostView) -> Reading:
    """The longest time that a query of a program was seen without an answer."""
    rows = [
        row for row in view.rows("dns_waits") if row.number("oldest") is not None and not row.number("kept")
    ]
    dated = [row for row in rows if _has_known_age(row)]
    if rows and not dated:
        return MissingData(Sentence("missing.query_age_unknown"))
    if not rows and view.has_data("dns_waits"):
        return [Measurement(0.0, (), (), 0, (), {"server": "", "name": "", "waiting": 0.0})]
    return [_measure_query(row) for row in dated]


def _measure_query(row: TableRow) -> Measurement:
    pid = row.number("pid")
    detail: Detail = {
        "server": row.text("server"),
        "name": row.text("comm") or "?",
        "waiting": row.number("waiting") or 0.0,
    }
    return Measurement(
        row.number("oldest") or 0.0,
        (("pid", str(int(pid))),) if pid else (),
        (row.citation,),
        round(row.number("samples") or 0),
        (),
        detail,
    )


def _queries(view: HostView) -> Iterator[Measurement]:
    """Queries of programs to each name server. Most are answered between two samples and are not seen."""
    queries: dict[str, list[TableRow]] = defaultdict(list)
    for row in view.rows("dns_waits"):
        if row.number("queries"):
            queries[row.text("server")].append(row)
    for server, rows in queries.items():
        count = sum(row.number("queries") or 0.0 for row in rows)
        samples = max(round(row.number("samples") or 0) for row in rows)
        yield Measurement(count, (), tuple(row.citation for row in rows), samples, (), {"server": server})


def _list_resolvers(view: HostView) -> list[list[list[TableRow]]]:
    """Return the queries to each server, of those that libc asks one after the other, and of each other one apart.

    Captures of earlier versions do not number the servers. Where a server of this host answers (a cache or forwarder),
    sockets to other servers may be its own, and it chooses among them.
    """
    by_server: dict[str, list[TableRow]] = defaultdict(list)
    for row in sorted(view.rows("dns_probes"), key=lambda item: item.number("order") or 0.0):
        by_server[row.text("server")].append(row)
    listed = [rows for rows in by_server.values() if rows[0].number("order") != 0]
    others = [rows for rows in by_server.values() if rows[0].number("order") == 0]
    own = list_own_addresses(view.facts)
    is_local = any(
        rows[0].text("server") in own or _LOOPBACK.match(rows[0].text("server")) for rows in listed
    )
    return [listed] * bool(listed) + ([] if is_local else [[rows] for rows in others])


def _is_failure(row: TableRow, *, denies_all: bool = False) -> bool:
    """Return whether a query failed.

    That a name does not exist is an answer (RFC 2308), also for the root: a server of a company may know its own zones
    only. With `denies_all`, programs have logged names that cannot be resolved, and it is the server that denies them.
    """
    outcome, is_own = row.text("outcome"), row.text("question") in _HOST_NAMES
    refused = outcome == "refused" if is_own else denies_all and outcome == "no such name"
    return refused or outcome in FAILURES or outcome.startswith("unreachable")


def _group_questions(rows: list[TableRow]) -> Iterator[list[TableRow]]:
    """Yield all queries to a server, those for names of the host, and those for names that no cache knows.

    A cache in front of a server that has failed still answers what it knows.
    """
    yield [
        row for row in rows if row.text("outcome") != "refused" or row.text("question") in _HOST_NAMES
    ] or rows
    for kinds in (_HOST_NAMES, (_NEW_NAME,)):
        chosen = [row for row in rows if row.text("question") in kinds]
        if chosen:
            yield chosen


def _measure_failures(rows: list[TableRow], reports: list[TableRow]) -> Measurement:
    """Return the percent of queries that failed.

    An error is the answer of the server to any such query. That no answer came may be chance, so it is a sample.
    """
    failed = [row for row in rows if _is_failure(row, denies_all=bool(reports))]
    last = failed[-1].text("outcome") if failed else "answer"
    detail: Detail = {"server": rows[0].text("server"), "outcome": last, "count": len(rows)}
    # Without the reports, names that do not exist would be answers.
    cites = tuple(row.citation for row in (*rows, *(reports if failed else ())))
    share = len(failed) / len(rows)
    is_sampled = any(row.text("outcome") == _NO_ANSWER for row in failed)
    interval = estimate_share(share, len(rows)) if is_sampled else None
    return Measurement(100.0 * share, (), cites, len(rows), (), detail, interval)


def _get_least(measurement: Measurement) -> float:
    return measurement.interval.low if measurement.interval is not None else measurement.value


def _failing_probes(view: HostView) -> Iterator[Measurement]:
    """Percent of the queries to the best server of a list that failed, of the list where it is highest.

    A look-up goes on to the next server where one is silent or answers with an error (resolv.conf(5)), so it fails
    where all do. That a name does not exist ends it: servers after one that denies what exists are never asked.
    """
    reports = [row for row in view.rows("limit_messages") if row.text("kind") == "names_fail"]
    resolvers: list[Measurement] = []
    for servers in _list_resolvers(view):
        measured: list[Measurement] = []
        for rows in servers:
            worst = max((_measure_failures(part, reports) for part in _group_questions(rows)), key=_get_least)
            measured.append(worst)
            if worst.detail["outcome"] == "no such name":
                break
        best = min(measured, key=_get_least)
        cites = tuple(cite for item in measured for cite in item.citations)
        resolvers.append(replace(best, citations=tuple(dict.fromkeys(cites))))
    if resolvers:
        yield max(resolvers, key=_get_least)


def _slow_probes(view: HostView) -> Iterator[Measurement]:
    """The longest time until a look-up has an answer: of silent servers before, their time-out, and of the server.

    libc asks the servers in their order and waits for each (resolv.conf(5): timeout, 5 s by default).
    """
    facts = view.facts.get("dns_waits")
    timeout = facts.get("dns_timeout") if isinstance(facts, Mapping) else None
    timeout_ms = 1000.0 * (timeout if isinstance(timeout, int) and timeout > 0 else _TIMEOUT_S)
    resolvers: list[Measurement] = []
    for servers in _list_resolvers(view):
        silent_ms = 0.0
        cites: list[Citation] = []
        for rows in servers:
            answers = [row for row in rows if row.number("time") is not None and not _is_failure(row)]
            silent = [row for row in rows if row.text("outcome") == _NO_ANSWER]
            cites += [row.citation for row in silent]
            if answers and len(answers) >= len(silent):
                row = max(answers, key=lambda item: item.number("time") or 0.0)
                answer_ms = row.number("time") or 0.0
                detail: Detail = {
                    "server": row.text("server"), "count": len(answers),
                    "answer": round(answer_ms), "silent": round(silent_ms),
                }  # fmt: skip
                resolvers.append(
                    Measurement(silent_ms + answer_ms, (), (row.citation, *cites), len(answers), (), detail)
                )
                break
            silent_ms += timeout_ms if silent else 0.0
    if resolvers:
        yield max(resolvers, key=lambda item: item.value)


def _longest_mean(view: HostView) -> dict[str, tuple[float, TableRow]]:
    """Return for each name server the longest mean time of a query that the samples allow, in ms, and a row.

    By Little's law it is the mean number of open queries divided by their rate. Queries that begin and end between two
    samples are not counted, so the rate is at least that of those that were seen.
    """
    seconds = view.covered_seconds("dns_waits")
    rows: dict[str, list[TableRow]] = defaultdict(list)
    for row in view.rows("dns_waits"):
        if (row.number("queries") or 0.0) >= _MIN_QUERIES:
            rows[row.text("server")].append(row)
    return {
        server: (
            1000.0 * seconds
            * sum(row.number("waiting") or 0.0 for row in of)
            / sum(row.number("queries") or 0.0 for row in of),
            of[0],
        )
        for server, of in rows.items()
    }  # fmt: skip


def _queue_for_lookups(view: HostView, times: ServiceTimes, account: TimeAccount) -> Iterator[Measurement]:
    """Return how many times as long as a query a request to a service waits that looks names up, at least."""
    means = _longest_mean(view)
    for activity, target in account.amounts:
        server = target.rsplit(":", 1)[0]
        if activity == DNS and server in means:
            mean_ms, row = means[server]
            detail: Detail = {
                "name": account.service.name, "server": server, "query": round(mean_ms),
                "oldest": round(account.oldest_ms),
            }  # fmt: skip
            cites = (row.citation, *cite_time(account))
            count = round(row.number("queries") or 0)
            if mean_ms > 0:
                yield Measurement(
                    account.oldest_ms / mean_ms, account.service.subject, cites, count, (), detail
                )


def _longest_lookup(view: HostView, times: ServiceTimes, account: TimeAccount) -> Iterator[Measurement]:
    """Return the longest wait for a name server in the time of a service, as far as one open query shows it."""
    del times
    oldest = max((row.number("oldest") or 0.0 for row in view.rows("dns_waits")), default=0.0)
    for (activity, target), amount in account.amounts.items():
        if activity == DNS:
            detail: Detail = {
                "name": account.service.name, "server": target, "waiting": round(amount.number, 2),
            }  # fmt: skip
            cites = (*amount.citations, *cite_time(account))
            longest_ms = min(amount.longest_ms, oldest)
            yield Measurement(longest_ms, account.service.subject, cites, amount.samples, (), detail)


OLDEST_QUERY = Measure(
    "dns.oldest_query_ms",
    "ms",
    Text("Longest wait for a name server", "等待域名服务器最久的时间"),
    _WAITS,
    _read_oldest_query,
)
QUERIES = build_listed_measure(
    "dns.queries_count", "count", "Queries to name servers", "发往域名服务器的查询", _WAITS, _queries
)
FAILING_PROBES = build_listed_measure(
    "dns.failing_pct",
    "pct",
    "Queries that a name server failed",
    "域名服务器失败的查询",
    _PROBES,
    _failing_probes,
)
SLOW_PROBES = build_listed_measure(
    "dns.answer_ms", "ms", "Longest answer of a name server", "域名服务器最慢的应答", _PROBES, _slow_probes
)
LONGEST_LOOKUP = Measure(
    "dns.longest_lookup_ms", "ms", Text("Longest wait of a service for a name", "服务等待域名解析的最长时间"),
    (*_WAITS, *NEEDS), read_accounts(_longest_lookup),
)  # fmt: skip
LOOKUP_QUEUE = Measure(
    "dns.request_per_query_ratio", "ratio",
    Text("Wait of a request, in times of a query", "请求等待与一次查询耗时之比"),
    (*_WAITS, *NEEDS), read_accounts(_queue_for_lookups),
)  # fmt: skip
