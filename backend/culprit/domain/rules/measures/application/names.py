"""How long programs wait for name servers, and what the servers answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from collectors.contract import Sentence, Text
from culprit.domain.rules.finding import Measurement, MissingData, Reading
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


def _group_probes(view: HostView) -> dict[str, list[TableRow]]:
    rows: dict[str, list[TableRow]] = defaultdict(list)
    for row in view.rows("dns_probes"):
        rows[row.text("server")].append(row)
    return rows


def _is_failure(row: TableRow, *, denies_all: bool = False) -> bool:
    """Return whether a query failed.

    That a name does not exist is an answer (RFC 2308), also for the root: a server of a company may know its own zones
    only. With `denies_all`, programs have logged names that cannot be resolved, and it is the server that denies them.
    """
    outcome, is_search = row.text("outcome"), row.text("question") == _SEARCH_DOMAIN
    refused = outcome == "refused" if is_search else denies_all and outcome == "no such name"
    return refused or outcome in FAILURES or outcome.startswith("unreachable")


def _select_decisive(rows: list[TableRow]) -> list[TableRow]:
    """Leave out refused queries for the root where the same server had another question to answer."""
    rest = [row for row in rows if row.text("outcome") != "refused" or row.text("question") == _SEARCH_DOMAIN]
    return rest or rows


def _failing_probes(view: HostView) -> Iterator[Measurement]:
    """Percent of the queries to a server that failed.

    An error is the answer of the server to any such query. That no answer came may be chance, so it is a sample.
    """
    reports = [row for row in view.rows("limit_messages") if row.text("kind") == "names_fail"]
    for server, sent in _group_probes(view).items():
        rows = _select_decisive(sent)
        failed = [row for row in rows if _is_failure(row, denies_all=bool(reports))]
        last = failed[-1].text("outcome") if failed else "answer"
        detail: Detail = {"server": server, "outcome": last, "count": len(rows)}
        # Without the reports, names that do not exist would be answers.
        cites = tuple(row.citation for row in (*rows, *(reports if failed else ())))
        share = len(failed) / len(rows)
        is_sampled = any(row.text("outcome") == _NO_ANSWER for row in failed)
        interval = estimate_share(share, len(rows)) if is_sampled else None
        yield Measurement(100.0 * share, (), cites, len(rows), (), detail, interval)


def _slow_probes(view: HostView) -> Iterator[Measurement]:
    """The longest time that a server took for an answer."""
    for server, rows in _group_probes(view).items():
        answers = [row for row in rows if row.number("time") is not None and not _is_failure(row)]
        if answers:
            row = max(answers, key=lambda item: item.number("time") or 0.0)
            detail: Detail = {"server": server, "count": len(answers)}
            yield Measurement(row.number("time") or 0.0, (), (row.citation,), len(answers), (), detail)


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
