"""Rules about name resolution."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.application import logs, names
from culprit.domain.rules.measures.service_time import shares
from culprit.domain.rules.rule import AnyCondition, Condition, Rule, Threshold
from culprit.domain.rules.use_method import Use

_SECOND = Threshold("warn", 1000.0, "after one second users lose their flow of thought")

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-DNS-USED",
        title=Text("Programs ask a name server", "程序在查询域名服务器"),
        summary=Text("{value} queries to {server} were seen.", "观察到 {value} 个发往 {server} 的查询。"),
        measure=names.QUERIES,
        op=">=",
        thresholds=(("info", Threshold("info", 1.0, "one query is use")),),
        strength=Strength.CONTEXT,
        use=Use("network", "utilization"),
        suspects=("failing-name-resolution", "slow-name-resolution"),
        caveats=Text(
            "An answer that is an error arrives as fast as any other: only the server itself shows it.",
            "出错的应答与正常应答一样快：只有询问服务器才能知道。",
        ),
        source="/proc/net/udp: sockets connected to port 53",
    ),
    Rule(
        id="F-DNS-UNANSWERED",
        title=Text("Queries to a name server wait for an answer", "域名查询迟迟没有应答"),
        summary=Text(
            "{name} has waited {value} ms for name server {server}. On average {waiting} queries wait.",
            "{name} 已等待域名服务器 {server} {value} ms；平均有 {waiting} 个查询在等待。",
        ),
        measure=names.OLDEST_QUERY,
        op=">=",
        thresholds=(
            ("warn", _SECOND),
            (
                "critical",
                Threshold("critical", 5000.0, "resolv.conf(5): the first attempt is given up after 5 s"),
            ),
        ),
        strength=Strength.MECHANISM,
        use=Use("network", "errors"),
        suspects=("slow-name-resolution", "failing-name-resolution"),
        causes=("slow-name-resolution",),
        refutes=(),
        harm=True,
        caveats=Text(
            "A resolver keeps the socket of its first server while it tries the second. Errors are not visible here.",
            "解析器在尝试第二个服务器时仍保留第一个的套接字；错误应答在此不可见。",
        ),
        source="/proc/net/udp: sockets connected to port 53. Limits of attention: R. B. Miller, 1968",
    ),
    Rule(
        id="F-DNS-DELAYS-REQUESTS",
        title=Text("Requests wait for look-ups of names", "请求在等待域名解析"),
        summary=Text(
            "On average {waiting} look-ups of {name} wait for {server}, up to {value} ms, while requests wait.",
            "请求等待期间，{name} 平均有 {waiting} 次域名解析在等待 {server}，最长 {value} ms。",
        ),
        measure=names.LONGEST_LOOKUP,
        op=">=",
        thresholds=(("warn", Threshold("warn", 100.0, "users notice a tenth of a second (Miller 1968)")),),
        strength=Strength.MECHANISM,
        use=Use("network", "saturation"),
        also=(
            Condition(
                shares.DNS_TIME, ">=", Threshold("share", 10.0, "percent: a tenth of a delay is noticed")
            ),
        ),
        suspects=("slow-name-resolution",),
        causes=("slow-name-resolution",),
        caveats=Text(
            "A search list (resolv.conf: search, ndots) makes several queries of one look-up, one after the other. "
            "Queries of other programs of the same user count too.",
            "搜索列表（resolv.conf 的 search、ndots）会让一次解析依次发出多个查询；同一用户其他程序的查询也计入。",
        ),
        source="/proc/net/udp: sockets connected to port 53, and samples of threads; Little's law",
    ),
    Rule(
        id="F-DNS-SERVER-FAILS",
        title=Text("A name server does not resolve", "域名服务器无法解析"),
        summary=Text(
            "{value} % of {count} queries to {server} failed: {outcome}. No other name server of the host does better.",
            "发往 {server} 的 {count} 次查询有 {value} % 失败：{outcome}；本机的其他域名服务器也不更好。",
        ),
        measure=names.FAILING_PROBES,
        op=">=",
        thresholds=(
            (
                "critical",
                Threshold(
                    "critical",
                    50.0,
                    "two attempts are made for a name: with half of them lost, one in four fails",
                ),
            ),
        ),
        strength=Strength.DIRECT,
        use=Use("network", "errors"),
        also=(
            AnyCondition(
                (
                    Condition(names.QUERIES, ">=", Threshold("used", 1.0, "a program asks it")),
                    Condition(
                        logs.NAMES_FAIL,
                        ">=",
                        Threshold("logged", 1.0, "a program has logged that it failed"),
                    ),
                )
            ),
        ),
        suspects=("failing-name-resolution",),
        causes=("failing-name-resolution",),
        refutes=(),
        harm=True,
        caveats=Text(
            "Queries are for the root, the search domain and a new name in it. Errors for single names are not visible "
            "without packets. A server that no program queries harms none.",
            "查询的是根域、搜索域及其中的新名称；个别域名的错误不抓包无法看到。没有程序查询的服务器不造成影响。",
        ),
        source="queries for the root and the search domain (RFC 1034, 5.3.1); resolv.conf(5): attempts, and the next "
        "server is queried where one is silent or answers with an error",
    ),
    Rule(
        id="F-DNS-SERVER-SLOW",
        title=Text("A name server answers late", "域名服务器应答慢"),
        summary=Text(
            "A look-up takes up to {value} ms: {answer} ms for the slowest of {count} answers of {server}, after "
            "{silent} ms for silent servers before it.",
            "一次解析最长需要 {value} ms：此前无应答的服务器占 {silent} ms，{server} 的 {count} 次应答最慢为 "
            "{answer} ms。",
        ),
        measure=names.SLOW_PROBES,
        op=">=",
        thresholds=(("warn", _SECOND),),
        strength=Strength.DIRECT,
        use=Use("network", "saturation"),
        suspects=("slow-name-resolution",),
        causes=("slow-name-resolution",),
        caveats=Text(
            "Without a search domain only the root is queried, which a resolver may answer from its cache. libc of "
            "Alpine (musl) queries all servers at once.",
            "没有搜索域时仅查询根域，解析器可能从缓存应答；Alpine 的 libc（musl）同时查询所有服务器。",
        ),
        source="queries for the root and the search domain; resolv.conf(5): servers are queried in their order, each "
        "for the time of `timeout`",
    ),
    Rule(
        id="F-DNS-LOOKUPS-QUEUE",
        title=Text("Look-ups of names queue in a program", "程序内的域名查询在排队"),
        summary=Text(
            "Requests to {name} wait up to {oldest} ms, {value} times as long as a query to {server} takes at most "
            "({query} ms). So look-ups queue for the few threads that do them.",
            "发往 {name} 的请求最长等待 {oldest} ms，至少是一次对 {server} 的查询耗时（至多 {query} ms）的 {value} 倍："
            "查询在少数几个执行它的线程前排队。",
        ),
        measure=names.LOOKUP_QUEUE,
        op=">=",
        thresholds=(("warn", Threshold("warn", 10.0, "a query is less than a tenth of the wait")),),
        strength=Strength.MECHANISM,
        use=Use("application", "saturation"),
        also=(
            Condition(names.OLDEST_QUERY, "<", Threshold("queries", 100.0, "otherwise the server is slow")),
            Condition(names.SLOW_PROBES, "<", Threshold("answers", 100.0, "otherwise the server is slow")),
            Condition(
                shares.DNS_TIME,
                ">=",
                Threshold("share", 33.3, "percent: look-ups are what requests wait for"),
            ),
        ),
        causes=("worker-pool-exhausted",),
        caveats=Text(
            "More threads help (Node: UV_THREADPOOL_SIZE), and so does a cache of names or a connection that is kept.",
            "增加线程（Node：UV_THREADPOOL_SIZE）、缓存域名或保持连接都有帮助。",
        ),
        source="Little's law: open queries over the rate of queries that were seen; tcp_info of connections of clients",
    ),
)
