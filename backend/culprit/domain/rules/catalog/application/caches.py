"""Rules about caches: whether they are large enough to take work off what is behind them."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.database import caches, code_cache
from culprit.domain.rules.rule import Condition, Rule, Threshold
from culprit.domain.rules.use_method import Use

LOST_MOST = Threshold(
    "lost", 25.0, "percent: every fourth lookup goes on to the slower source for lack of memory"
)
#: The source behind a cache that finds 95 % of what callers look for has twice the work where it finds 90 %.
LOST_SOME = Threshold(
    "lost", 5.0, "percent: every twentieth lookup goes on to the slower source for lack of memory"
)
MISSES_DOUBLED = Threshold(
    "times", 2.0, "twice as many as since the start: so is the work of the source behind"
)

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-CACHE-PRESENT",
        title=Text("A cache runs on the host", "主机上运行着缓存"),
        summary=Text("A cache runs here ({name}).", "此处运行着缓存（{name}）。"),
        measure=caches.PRESENT,
        op=">=",
        thresholds=(("info", Threshold("info", 1.0, "a server that can be asked")),),
        strength=Strength.CONTEXT,
        use=Use("application", "utilization"),
        suspects=("cache-memory-limit",),
        caveats=Text("This does not show the health of the cache.", "不说明该缓存是否健康。"),
        source="names of processes",
    ),
    *(
        Rule(
            id=name,
            title=title,
            summary=Text(
                "{value} % of the lookups in {name} ({mb} MB) miss an entry for lack of memory: each second {missed} "
                "miss, {evicted} entries are evicted and {refused} are too large for an item.",
                "{name}（{mb} MB）有 {value} % 的查找因内存不足而未命中：每秒未命中 {missed} 次，"
                "淘汰 {evicted} 个条目，并因超过单条上限而拒绝 {refused} 个。",
            ),
            measure=caches.LOST_SHARE,
            op=">=",
            thresholds=(("info" if strength is Strength.CONTEXT else "warn", threshold),),
            strength=strength,
            use=Use("memory", "saturation"),
            also=also,
            suspects=("cache-memory-limit",),
            causes=() if strength is Strength.CONTEXT else ("cache-memory-limit",),
            refutes=refutes,
            caveats=Text(
                "Entries that callers look up once are missed at any size of the cache.",
                "只访问一次的条目在任何缓存大小下都会未命中。",
            ),
            source="memcached: stats (evictions, store_too_large); varnishstat: MAIN.cache_miss, MAIN.n_lru_nuked",
        )
        for name, title, strength, threshold, also, refutes in (
            (
                "F-CACHE-TOO-SMALL",
                Text("A cache loses entries as fast as it is filled", "缓存的条目随写随失"),
                Strength.MECHANISM,
                LOST_MOST,
                (),
                (),
            ),
            (
                "F-CACHE-MISSES-GROW",
                Text(
                    "A cache loses entries, and more lookups miss than before",
                    "缓存丢失条目，未命中比以往更多",
                ),
                Strength.MECHANISM,
                LOST_SOME,
                (Condition(caches.MISS_GROWTH, ">=", MISSES_DOUBLED),),
                (),
            ),
            (
                "F-CACHE-ENTRIES-LOST",
                Text("A cache evicts entries, or stores none", "缓存淘汰或拒绝条目"),
                Strength.CONTEXT,
                LOST_SOME,
                (),
                ("cache-memory-limit",),
            ),
        )
    ),
    Rule(
        id="F-PHP-COMPILES",
        title=Text("PHP compiles the code of every request", "PHP 在每个请求中重新编译代码"),
        summary=Text(
            "{value} % of the CPU samples of PHP are in its compiler ({frames}).",
            "PHP 的 CPU 样本中有 {value} % 位于其编译器（{frames}）。",
        ),
        measure=code_cache.COMPILER_SHARE,
        op=">=",
        thresholds=(
            (
                "warn",
                Threshold("warn", 20.0, "estimate: a worker with a warm OPcache compiles nothing"),
            ),
        ),
        strength=Strength.MECHANISM,
        use=Use("memory", "saturation"),
        suspects=("cache-memory-limit",),
        causes=("cache-memory-limit",),
        refutes=(),
        caveats=Text(
            "Just after a deploy or a restart, code is compiled once. An OPcache that is turned off looks the same as "
            "one that is full.",
            "部署或重启后代码会编译一次。关闭的 OPcache 与已满的 OPcache 表现相同。",
        ),
        source="own time of functions: Zend/zend_language_scanner.l, zend_language_parser.y, zend_compile.c",
    ),
)
