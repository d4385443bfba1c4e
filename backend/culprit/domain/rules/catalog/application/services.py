"""Rules about what applications, caches and databases say of themselves."""

from __future__ import annotations

from collectors.contract import Sentence, Text
from culprit.core.rules.contract import Condition, Grade, Guard, Limit, Rule
from culprit.core.rules.measures import app_requests as requests
from culprit.core.rules.measures import app_services as services

_ENOUGH = Guard(
    Condition(requests.REQUESTS, ">=", Limit("requests", 300.0, "three beyond the 99th percentile")),
    Sentence("guard.few_requests"),
)

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-APP-P99",
        title=Text("Slow requests became slower", "慢请求变得更慢"),
        says=Text("The 99th percentile is {value} ms.", "第 99 百分位为 {value} ms。"),
        measure=requests.P99,
        op=">",
        levels=(("warn", Limit("warn", 50.0, "less is not felt")),),
        grade=Grade.CORRELATIONAL,
        also=(
            Condition(requests.P99, ">", Limit("times", 2.0, "twice the baseline"), "baseline"),
            Condition(
                requests.RATE,
                "<=",
                Limit("load", 1.2, "else the load explains it"),
                "baseline",
            ),
        ),
        guards=(_ENOUGH,),
        traps=Text("Cold caches, and the minutes after a deployment.", "冷缓存与刚发布之后。"),
        source="access log or Prometheus, against the baseline at the same load",
    ),
    Rule(
        id="F-APP-ERR",
        title=Text("Requests fail", "请求失败"),
        says=Text("{value} % of the requests fail.", "{value} % 的请求失败。"),
        measure=requests.ERRORS,
        op=">",
        levels=(("critical", Limit("critical", 1.0, "one in a hundred")),),
        grade=Grade.CORRELATIONAL,
        also=(Condition(requests.ERRORS, ">=", Limit("times", 3.0, "times the baseline"), "baseline"),),
        traps=Text("Answers to robots (4xx) are not counted.", "对爬虫的 4xx 应答不计入。"),
        source="access log: answers from 500 up; or what the query of its Prometheus counts",
    ),
    Rule(
        id="F-APP-NON2XX",
        title=Text("Answers are errors", "应答为错误"),
        says=Text(
            "{value} % of the answers are errors: rate is not goodput.",
            "{value} % 的应答为错误：速率不等于有效吞吐。",
        ),
        measure=services.BAD_ANSWERS,
        op=">",
        levels=(("critical", Limit("critical", 1.0, "one in a hundred")),),
        grade=Grade.CORRELATIONAL,
        traps=Text("401 and 429 may be what was asked for.", "401 与 429 可能是预期的。"),
        source="load test or probe",
    ),
    Rule(
        id="F-APP-TIMEOUT-MODE",
        title=Text("Failures end at one duration", "失败集中于同一时长"),
        says=Text(
            "{value} % of the timeouts name {mode} ms: a setting.",
            "{value} % 的超时为 {mode} ms：这是某项设置。",
        ),
        measure=services.TIMEOUT_MODE,
        op=">",
        levels=(("info", Limit("info", 30.0, "of the timeouts")),),
        grade=Grade.CORRELATIONAL,
        also=(Condition(services.TIMEOUTS, ">=", Limit("count", 10.0, "fewer are chance")),),
        causes=("slow-dependency",),
        traps=Text("Retries with a fixed pause look the same.", "固定间隔的重试看起来一样。"),
        source="durations in lines of timeouts",
    ),
    Rule(
        id="F-LOG-BURST",
        title=Text("The log complains more", "日志告警增多"),
        says=Text("{value} lines of {pattern} a minute.", "每分钟 {value} 行 {pattern}。"),
        measure=services.COMPLAINTS,
        op=">",
        levels=(("info", Limit("info", 10.0, "a minute")),),
        grade=Grade.CORRELATIONAL,
        also=(Condition(services.COMPLAINTS, ">", Limit("times", 5.0, "times the baseline"), "baseline"),),
        traps=Text("Somebody switched debugging on.", "有人打开了调试日志。"),
        source="application log",
    ),
    Rule(
        id="F-APP-SPAN-DOMINANT",
        title=Text("One segment takes most of the time", "单个分段占用大部分时间"),
        says=Text(
            "{operation} of {service} has {value} % of the time.",
            "{service} 的 {operation} 占 {value} % 的时间。",
        ),
        measure=services.SPAN_SHARE,
        op=">",
        levels=(("info", Limit("info", 50.0, "more than all others")),),
        grade=Grade.CORRELATIONAL,
        traps=Text("Skewed clocks, and spans that go on in the background.", "时钟偏差与后台异步分段。"),
        source="imported traces: own time without children",
    ),
    Rule(
        id="F-REDIS-SLOWLOG",
        title=Text("Redis ran a slow command", "Redis 执行了慢命令"),
        says=Text(
            "{command} took {value} ms, and everybody waited.",
            "{command} 耗时 {value} ms，其间所有客户端都在等待。",
        ),
        measure=services.REDIS_SLOWEST,
        op=">",
        levels=(("warn", Limit("warn", 10.0, "one thread serves all; the log's own default is 10 ms")),),
        grade=Grade.CORRELATIONAL,
        causes=("slow-dependency",),
        traps=Text("The log leaves out the time spent in the queue.", "慢日志不含排队时间。"),
        source="SLOWLOG GET, of the last five minutes",
    ),
    Rule(
        id="F-REDIS-HZ",
        title=Text("Redis wakes up often", "Redis 定时任务过频"),
        says=Text("hz is {value}; 10 is the default.", "hz 为 {value}，默认值为 10。"),
        measure=services.REDIS_HZ,
        op=">",
        levels=(("info", Limit("info", 20.0, "the default is 10, and more than 100 is never advised")),),
        grade=Grade.CONTEXT,
        traps=Text("A lower value makes single rounds of expiry longer.", "调低会让单次过期清理更久。"),
        source="CONFIG GET hz",
    ),
    Rule(
        id="F-DB-BUSY",
        title=Text("A database computes", "数据库在计算"),
        says=Text("{name} uses {value} % of a CPU.", "{name} 占用 {value} % 的单核 CPU。"),
        measure=services.DATABASE_CPU,
        op=">=",
        levels=(("info", Limit("info", 12.0, "of one CPU, all its processes together")),),
        grade=Grade.CONTEXT,
        also=(
            Condition(services.CPU_PER_TURN, ">=", Limit("statement", 3.0, "a lookup by index takes 0.1 ms")),
        ),
        source="threads of the busiest processes",
    ),
    Rule(
        id="F-DB-HOT-STATEMENT",
        title=Text("Statements burn the CPU", "SQL 语句消耗 CPU"),
        says=Text(
            "{value} % of the database's samples fall into work on rows ({frames}).",
            "数据库采样中 {value} % 落在处理行数据（{frames}）。",
        ),
        measure=services.STATEMENT_STACKS,
        op=">=",
        levels=(("warn", Limit("warn", 50.0, "parsing, planning and talking take the rest")),),
        grade=Grade.MECHANISM,
        also=(
            Condition(services.DATABASE_CPU, ">=", Limit("cpu", 12.0, "percent of one CPU")),
            Condition(
                services.CPU_PER_TURN, ">=", Limit("statement", 3.0, "ms of CPU; by index it takes 0.1")
            ),
        ),
        causes=("database-hot-sql",),
        refutes=("database-hot-sql",),
        traps=Text(
            "Reports are expensive by nature: ask whether this is their hour.",
            "报表本就昂贵：先确认是否在报表时段。",
        ),
        source="perf samples of the server's processes, with the CPU between two waits of its sessions",
    ),
    Rule(
        id="F-DB-SQL-CPU",
        title=Text("One statement takes most of the time", "单条 SQL 占用大部分时间"),
        says=Text("{query} takes {value} % of the database's time.", "{query} 占用数据库 {value} % 的时间。"),
        measure=services.STATEMENT_SHARE,
        op=">",
        levels=(("warn", Limit("warn", 50.0, "more than all others")),),
        grade=Grade.CORRELATIONAL,
        causes=("database-hot-sql",),
        traps=Text(
            "Counted since the statistics were reset; a reporting window.",
            "自统计重置起累计；可能是报表时段。",
        ),
        source="pg_stat_statements",
    ),
)
