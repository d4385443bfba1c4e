"""Rules about what stops a Redis server."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.database import redis_stalls
from culprit.domain.rules.rule import Condition, Rule, Threshold
from culprit.domain.rules.use_method import Use

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-REDIS-BLOCKED",
        title=Text("A command of Redis kept all clients waiting", "一条 Redis 命令让所有客户端等待"),
        summary=Text(
            "{command} took {value} ms within the last minute. {count} slow commands took {total} ms together.",
            "最近一分钟内 {command} 耗时 {value} ms；{count} 条慢命令共耗时 {total} ms。",
        ),
        measure=redis_stalls.SLOW_COMMAND,
        op=">=",
        thresholds=(
            ("warn", Threshold("warn", 100.0, "users notice a tenth of a second")),
            ("critical", Threshold("critical", 1000.0, "after one second users lose their flow of thought")),
        ),
        strength=Strength.DIRECT,
        use=Use("application", "saturation"),
        also=(
            Condition(
                redis_stalls.SLOW_SHARE,
                ">=",
                Threshold("share", 1.0, "percent: every hundredth command meets a slow one"),
            ),
            Condition(
                redis_stalls.COMMANDS,
                ">",
                Threshold(
                    "commands", 2.0, "as many are of the collector: others have to wait for there to be harm"
                ),
            ),
        ),
        suspects=("blocked-event-loop",),
        causes=("blocked-event-loop",),
        refutes=(),
        harm=True,
        caveats=Text(
            "The log holds 128 commands by default, and none below slowlog-log-slower-than.",
            "慢日志默认只保留 128 条，且不记录低于 slowlog-log-slower-than 的命令。",
        ),
        source="SLOWLOG GET. Limits of attention: R. B. Miller, 1968",
    ),
    Rule(
        id="F-REDIS-FSYNC-DELAYED",
        title=Text("Redis waits for the flush of its append-only file", "Redis 等待 AOF 刷盘"),
        summary=Text(
            "{value} times a second a write waited because the last fsync of the append-only file had not ended.",
            "每秒 {value} 次写入因上一次 AOF fsync 未结束而等待。",
        ),
        measure=redis_stalls.DELAYED_FSYNCS,
        op=">",
        thresholds=(
            ("warn", Threshold("warn", 0.0, "Redis counts it only after it has waited for two seconds")),
        ),
        strength=Strength.DIRECT,
        use=Use("disk", "saturation"),
        suspects=("persistence-stall",),
        causes=("persistence-stall",),
        refutes=("persistence-stall",),
        harm=True,
        caveats=Text(
            "With appendfsync always, each write waits and none is counted.",
            "appendfsync always 时每次写入都等待，但不计数。",
        ),
        source="INFO persistence: aof_delayed_fsync; aof.c: postponed for two seconds",
    ),
    Rule(
        id="F-REDIS-MEMORY-FULL",
        title=Text("Redis evicts keys because its memory is full", "Redis 内存已满并淘汰键"),
        summary=Text(
            "Memory is at {value} % of maxmemory ({mb} MB), policy {policy}.",
            "内存达到 maxmemory（{mb} MB）的 {value} %，策略 {policy}。",
        ),
        measure=redis_stalls.MEMORY_USE,
        op=">=",
        thresholds=(("warn", Threshold("warn", 99.0, "Redis evicts as soon as the limit is reached")),),
        strength=Strength.MECHANISM,
        use=Use("memory", "saturation"),
        also=(
            Condition(
                redis_stalls.EVICTED_PER_MISS,
                ">=",
                Threshold("evicted", 0.5, "most of what is stored again evicts another key"),
            ),
            Condition(
                redis_stalls.MISS_SHARE,
                ">=",
                Threshold("missed", 50.0, "callers have to do most of the work themselves"),
            ),
        ),
        suspects=("cache-memory-limit",),
        causes=("cache-memory-limit",),
        refutes=("cache-memory-limit",),
        caveats=Text(
            "Keys that are asked for once are missed at any size of the cache.",
            "只访问一次的键在任何缓存大小下都会未命中。",
        ),
        source="INFO: used_memory, maxmemory, evicted_keys",
    ),
)
