"""Rules about measurements of applications, caches and databases."""

from __future__ import annotations

from collectors.contract import Sentence, Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.application import requests, services
from culprit.domain.rules.rule import AnyCondition, Condition, Guard, Rule, Threshold
from culprit.domain.rules.use_method import Use

_ENOUGH = Guard(
    Condition(
        requests.REQUESTS, ">=", Threshold("requests", 300.0, "three requests beyond the 99th percentile")
    ),
    Sentence("guard.few_requests"),
)

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-APP-P99",
        title=Text("Slow requests became slower", "慢请求变得更慢"),
        summary=Text("The 99th percentile is {value} ms.", "第 99 百分位为 {value} ms。"),
        measure=requests.P99,
        op=">",
        thresholds=(("warn", Threshold("warn", 50.0, "less is not noticeable")),),
        strength=Strength.CORRELATIONAL,
        use=Use("application", "saturation"),
        also=(
            Condition(requests.P99, ">", Threshold("times", 2.0, "twice the baseline"), "baseline"),
            Condition(
                requests.RATE,
                "<=",
                Threshold("load", 1.2, "otherwise the load explains it"),
                "baseline",
            ),
        ),
        guards=(_ENOUGH,),
        harm=True,
        caveats=Text(
            "Cold caches and the first minutes after a deployment have the same effect.",
            "冷缓存与刚发布之后。",
        ),
        source="access log or Prometheus, against the baseline at the same load",
    ),
    Rule(
        id="F-APP-ERR",
        title=Text("Requests fail", "请求失败"),
        summary=Text("{value} % of the requests fail.", "{value} % 的请求失败。"),
        measure=requests.ERRORS,
        op=">",
        thresholds=(("critical", Threshold("critical", 1.0, "one in a hundred")),),
        strength=Strength.CORRELATIONAL,
        use=Use("application", "errors"),
        also=(
            AnyCondition(
                (
                    Condition(
                        requests.ERRORS, ">=", Threshold("times", 3.0, "times the baseline"), "baseline"
                    ),
                    Condition(
                        requests.ERRORS,
                        ">=",
                        Threshold(
                            "tenth", 10.0, "also without a baseline: no service is run to fail one in ten"
                        ),
                    ),
                )
            ),
        ),
        refuted_by=("F-LOG-ONE-CLIENT-FAILS",),
        harm=True,
        caveats=Text("Error responses to crawlers (4xx) are not counted.", "对爬虫的 4xx 应答不计入。"),
        source="access log: responses with status 500 and above, or what the Prometheus query counts",
    ),
    Rule(
        id="F-APP-NON2XX",
        title=Text("Responses are errors", "应答为错误"),
        summary=Text(
            "{value} % of the responses are errors. The request rate is not the rate of successful requests.",
            "{value} % 的应答为错误：速率不等于有效吞吐。",
        ),
        measure=services.BAD_ANSWERS,
        op=">",
        thresholds=(("critical", Threshold("critical", 1.0, "one in a hundred")),),
        strength=Strength.CORRELATIONAL,
        use=Use("application", "errors"),
        harm=True,
        caveats=Text("401 and 429 may be expected.", "401 与 429 可能是预期的。"),
        source="load test or probe",
    ),
    Rule(
        id="F-APP-TIMEOUT-MODE",
        title=Text("Failures end at the same duration", "失败集中于同一时长"),
        summary=Text(
            "{value} % of the timeouts are at {mode} ms, which is a configured limit.",
            "{value} % 的超时为 {mode} ms：这是某项设置的值。",
        ),
        measure=services.TIMEOUT_MODE,
        op=">",
        thresholds=(("info", Threshold("info", 30.0, "of the timeouts")),),
        strength=Strength.CORRELATIONAL,
        use=Use("application", "errors"),
        causes=("slow-dependency",),
        harm=True,
        caveats=Text("Retries with a fixed pause look the same.", "固定间隔的重试看起来一样。"),
        source="durations in log lines about timeouts",
    ),
    Rule(
        id="F-LOG-BURST",
        title=Text("More log errors", "日志告警增多"),
        summary=Text("{value} lines of {pattern} a minute.", "每分钟 {value} 行 {pattern}。"),
        measure=services.COMPLAINTS,
        op=">",
        thresholds=(("info", Threshold("info", 10.0, "lines per minute")),),
        strength=Strength.CORRELATIONAL,
        use=Use("application", "errors"),
        also=(
            Condition(services.COMPLAINTS, ">", Threshold("times", 5.0, "times the baseline"), "baseline"),
        ),
        caveats=Text("Debug logging may be enabled.", "可能打开了调试日志。"),
        source="application log",
    ),
    Rule(
        id="F-APP-SPAN-DOMINANT",
        title=Text("One span takes most of the time", "单个分段占用大部分时间"),
        summary=Text(
            "{operation} of {service} takes {value} % of the time.",
            "{service} 的 {operation} 占 {value} % 的时间。",
        ),
        measure=services.SPAN_SHARE,
        op=">",
        thresholds=(("info", Threshold("info", 50.0, "more than all others together")),),
        strength=Strength.CORRELATIONAL,
        use=Use("application", "utilization"),
        caveats=Text(
            "Skewed clocks, and spans that continue in the background, distort the shares.",
            "时钟偏差与后台异步分段。",
        ),
        source="imported traces: own time without child spans",
    ),
    Rule(
        id="F-REDIS-SLOWLOG",
        title=Text("Redis ran a slow command", "Redis 执行了慢命令"),
        summary=Text(
            "{command} took {value} ms. All clients waited during that time.",
            "{command} 耗时 {value} ms，其间所有客户端都在等待。",
        ),
        measure=services.REDIS_SLOWEST,
        op=">",
        thresholds=(
            (
                "warn",
                Threshold("warn", 10.0, "one thread serves all clients; the default of the log is 10 ms"),
            ),
        ),
        strength=Strength.CORRELATIONAL,
        use=Use("application", "saturation"),
        causes=("slow-dependency",),
        caveats=Text("The log does not include time spent in the queue.", "慢日志不含排队时间。"),
        source="SLOWLOG GET of the last five minutes",
    ),
    Rule(
        id="F-REDIS-HZ",
        title=Text("Redis timer runs often", "Redis 定时任务过频"),
        summary=Text("hz is {value}. The default is 10.", "hz 为 {value}，默认值为 10。"),
        measure=services.REDIS_HZ,
        op=">",
        thresholds=(
            ("info", Threshold("info", 20.0, "the default is 10; more than 100 is not recommended")),
        ),
        strength=Strength.CONTEXT,
        use=Use("application", "utilization"),
        caveats=Text("With a lower value, each expiry cycle takes longer.", "调低会让单次过期清理更久。"),
        source="CONFIG GET hz",
    ),
    Rule(
        id="F-DB-BUSY",
        title=Text("A database is CPU-bound", "数据库消耗 CPU"),
        summary=Text(
            "{name} uses {value} % of the CPU time of all programs.",
            "{name} 占全部程序 CPU 时间的 {value} %。",
        ),
        measure=services.DATABASE_SHARE,
        op=">=",
        thresholds=(("info", Threshold("info", 10.0, "faster statements free a tenth of the CPU at most")),),
        related=(services.DATABASE_CPU,),
        strength=Strength.CONTEXT,
        use=Use("application", "utilization"),
        suspects=("database-hot-sql",),
        also=(
            Condition(
                services.CPU_PER_TURN, ">=", Threshold("statement", 3.0, "an index lookup takes 0.1 ms")
            ),
        ),
        source="threads of the busiest processes",
    ),
    Rule(
        id="F-DB-HOT-STATEMENT",
        title=Text("Statements use much CPU", "SQL 语句消耗 CPU"),
        summary=Text(
            "{value} % of the database samples are in row processing ({frames}).",
            "数据库采样中 {value} % 落在处理行数据（{frames}）。",
        ),
        measure=services.STATEMENT_STACKS,
        op=">=",
        thresholds=(("warn", Threshold("warn", 50.0, "parsing, planning and communication take the rest")),),
        strength=Strength.MECHANISM,
        use=Use("application", "utilization"),
        suspects=("database-hot-sql",),
        also=(
            Condition(
                services.DATABASE_SHARE, ">=", Threshold("cpu", 10.0, "of the CPU time of all programs")
            ),
            Condition(
                services.CPU_PER_TURN,
                ">=",
                Threshold("statement", 3.0, "ms of CPU; an index lookup takes 0.1"),
            ),
        ),
        causes=("database-hot-sql",),
        refutes=("database-hot-sql",),
        caveats=Text(
            "Reports are expensive by nature. Check whether a reporting job runs at this time.",
            "报表本就昂贵：请确认此时是否有报表任务。",
        ),
        source="perf samples of the server processes, with the CPU between two waits of its sessions",
    ),
    Rule(
        id="F-DB-SQL-CPU",
        title=Text("One statement takes most of the time", "单条 SQL 占用大部分时间"),
        summary=Text(
            "{query} takes {value} % of the database time.", "{query} 占用数据库 {value} % 的时间。"
        ),
        measure=services.STATEMENT_SHARE,
        op=">",
        thresholds=(("warn", Threshold("warn", 50.0, "more than all others together")),),
        strength=Strength.CORRELATIONAL,
        use=Use("application", "utilization"),
        causes=("database-hot-sql",),
        caveats=Text(
            "Counted since the last reset of the statistics, which may include a reporting window.",
            "自统计重置起累计；可能是报表时段。",
        ),
        source="pg_stat_statements",
    ),
)
