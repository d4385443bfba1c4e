"""Rules about what stops a Redis server."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.catalog.application.caches import LOST_MOST, LOST_SOME, MISSES_DOUBLED
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
    *(
        Rule(
            id=name,
            title=title,
            summary=Text(
                "{value} % of the lookups miss a key for lack of memory: each second {missed} miss, {evicted} keys are "
                "evicted and {refused} not stored (maxmemory {mb} MB, policy {policy}).",
                "{value} % 的查找因内存不足而未命中：每秒未命中 {missed} 次，淘汰 {evicted} 个键，"
                "{refused} 个未能存入（maxmemory {mb} MB，策略 {policy}）。",
            ),
            measure=redis_stalls.LOST_SHARE,
            op=">=",
            thresholds=(("info" if strength is Strength.CONTEXT else "warn", threshold),),
            strength=strength,
            use=Use("memory", "saturation"),
            also=also,
            suspects=("cache-memory-limit",),
            causes=() if strength is Strength.CONTEXT else ("cache-memory-limit",),
            refutes=refutes,
            caveats=Text(
                "Keys that callers look up once are missed at any size of the cache.",
                "只访问一次的键在任何缓存大小下都会未命中。",
            ),
            source="INFO: keyspace_hits, keyspace_misses, evicted_keys, errorstat_OOM, maxmemory",
        )
        for name, title, strength, threshold, also, refutes in (
            (
                "F-REDIS-MEMORY-FULL",
                Text("Redis loses keys because its memory is full", "Redis 内存已满并丢失键"),
                Strength.MECHANISM,
                LOST_MOST,
                (),
                (),
            ),
            (
                "F-REDIS-MISSES-GROW",
                Text("Redis loses keys, and more lookups miss than before", "Redis 丢失键，未命中比以往更多"),
                Strength.MECHANISM,
                LOST_SOME,
                (Condition(redis_stalls.MISS_GROWTH, ">=", MISSES_DOUBLED),),
                (),
            ),
            (
                "F-REDIS-KEYS-LOST",
                Text("Redis evicts keys, or stores none", "Redis 淘汰或拒绝键"),
                Strength.CONTEXT,
                LOST_SOME,
                (),
                ("cache-memory-limit",),
            ),
        )
    ),
    Rule(
        id="F-REDIS-WRITES-REFUSED",
        title=Text("Redis refuses writes because its memory is full", "Redis 内存已满，拒绝写入"),
        summary=Text(
            "{value} % of the commands ({per_s} per second) are refused: the memory is full (maxmemory {mb} MB), and "
            "the policy {policy} evicts nothing.",
            "{value} % 的命令（每秒 {per_s} 条）被拒绝：内存已满（maxmemory {mb} MB），策略 {policy} 不淘汰任何键。",
        ),
        measure=redis_stalls.REFUSED_PART,
        op=">=",
        thresholds=(("warn", Threshold("warn", 1.0, "percent: an objective of 99 % is missed (SRE book, ch. 4)")),),
        strength=Strength.DIRECT,
        use=Use("memory", "errors"),
        suspects=("cache-memory-limit",),
        causes=("cache-memory-limit",),
        harm=True,
        caveats=Text(
            "A program that ignores such errors shows no failure: it computes again what it could not store.",
            "忽略此类错误的程序不会报错，只会重新计算未能存入的内容。",
        ),
        source="INFO errorstats: errorstat_OOM, total_commands_processed (Redis 6.2 and later, Valkey)",
    ),
    Rule(
        id="F-REDIS-CLIENTS-REFUSED",
        title=Text("Redis refuses clients above its limit", "Redis 拒绝超过上限的客户端"),
        summary=Text(
            "Redis refuses connections ({value} per second): it has as many clients as maxclients allows ({most}).",
            "Redis 拒绝连接（每秒 {value} 个）：客户端数已达 maxclients 上限（{most}）。",
        ),
        measure=redis_stalls.REFUSED_CLIENTS,
        op=">",
        thresholds=(("critical", Threshold("critical", 0.0, "each is a client that gets an error and no service")),),
        strength=Strength.DIRECT,
        use=Use("application", "saturation"),
        suspects=("connection-limit",),
        causes=("connection-limit",),
        harm=True,
        caveats=Text("A client that leaks connections reaches any limit.", "泄漏连接的客户端会达到任何上限。"),
        source="INFO stats: rejected_connections; the error of networking.c that a client gets, such as the collector",
    ),
    Rule(
        id="F-REDIS-REPLICA-ALONE",
        title=Text("A replica of Redis has no connection to its primary", "Redis 副本与主节点断开"),
        summary=Text(
            "{value} replica is not connected to its primary: clients read what was there before.",
            "{value} 个副本与主节点断开，客户端读到的是断开前的数据。",
        ),
        measure=redis_stalls.BROKEN_LINKS,
        op=">=",
        thresholds=(("warn", Threshold("warn", 1.0, "without its primary, a replica gets no change")),),
        strength=Strength.DIRECT,
        use=Use("application", "errors"),
        suspects=("replication-lag",),
        causes=("replication-lag",),
        caveats=Text("A replica that copies all data has no link for a while.", "全量同步期间链路会暂时断开。"),
        source="INFO replication: master_link_status",
    ),
)  # fmt: skip
