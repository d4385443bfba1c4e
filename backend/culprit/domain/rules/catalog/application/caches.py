"""Rules about caches: whether they are large enough to take work off what is behind them."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.database import caches, code_cache
from culprit.domain.rules.rule import Condition, Rule, Threshold
from culprit.domain.rules.use_method import Use

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
    Rule(
        id="F-CACHE-TOO-SMALL",
        title=Text("A cache loses entries as fast as it is filled", "缓存的条目随写随失"),
        summary=Text(
            "{name} ({mb} MB) does not have {value} % of what callers look for. Each second it evicts {evicted} "
            "entries and refuses {refused} that are too large for an item.",
            "{name}（{mb} MB）有 {value} % 的查找未命中，每秒淘汰 {evicted} 个条目，"
            "并因超过单条上限而拒绝 {refused} 个。",
        ),
        measure=caches.MISSED,
        op=">=",
        thresholds=(("warn", Threshold("warn", 50.0, "callers have to do most of the work themselves")),),
        strength=Strength.MECHANISM,
        use=Use("memory", "saturation"),
        also=(
            Condition(
                caches.EVICTED_PER_MISS,
                ">=",
                Threshold("evicted", 0.5, "most of what is stored again evicts another entry, or is refused"),
            ),
        ),
        suspects=("cache-memory-limit",),
        causes=("cache-memory-limit",),
        refutes=("cache-memory-limit",),
        caveats=Text(
            "Entries that are asked for once are missed at any size of the cache.",
            "只访问一次的条目在任何缓存大小下都会未命中。",
        ),
        source="memcached: stats (evictions, store_too_large); varnishstat: MAIN.cache_miss, MAIN.n_lru_nuked",
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
