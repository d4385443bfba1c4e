"""Rules about single threads: what a request thread waits for, where a wait chain ends, and full pools in
logs.
"""

from __future__ import annotations

from collectors.contract import Sentence, Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.application import calls, services, waits
from culprit.domain.rules.measures.application import strace_chains as chains
from culprit.domain.rules.measures.cpu.profile import OWNER_READS
from culprit.domain.rules.rule import Condition, Guard, Rule, Threshold
from culprit.domain.rules.use_method import Use

#: A worker that waits for the next piece of work also waits for a peer, but no request waits for that worker.
_LOAD_GUARD = Guard(
    Condition(waits.HELD, ">=", Threshold("held", 1.0, "at least one client waits for this host")),
    Sentence("guard.no_load"),
)
_FELT = Threshold("warn", 100.0, "users notice a tenth of a second; a local round trip takes 1 ms")

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-STRACE-LONGEST-CALL",
        title=Text("A request thread waits mostly for a peer", "请求线程等对端最久"),
        summary=Text(
            "A thread that serves clients spent most of its wait time on {what}: {value} ms in one {call}.",
            "服务客户端的线程主要在等待 {what}：单次 {call} 达 {value} ms。",
        ),
        measure=chains.REQUEST_WAIT,
        op=">=",
        thresholds=(("warn", _FELT),),
        strength=Strength.CORRELATIONAL,
        use=Use("application", "saturation"),
        guards=(_LOAD_GUARD,),
        causes=("slow-dependency",),
        caveats=Text(
            "Event loops serve many clients from one thread. Waits in poll cannot be attributed "
            "and are not counted.",
            "事件循环在一个线程中服务多个请求；停在 poll 中的等待无法区分，不计入。",
        ),
        source="strace -f -T -yy: descriptors of each thread; listening ports distinguish clients from peers",
    ),
    Rule(
        id="F-FUTEX-CHAIN-END",
        title=Text("A chain of waiting threads ends at a peer", "线程等待链止于对端"),
        summary=Text(
            "Thread {first} waited for a chain of {hops} threads. The last thread, {last}, "
            "waited {value} ms for {what}.",
            "线程 {first} 等待一条由 {hops} 个线程组成的链，末端线程 {last} 等待 {what} 达 {value} ms。",
        ),
        measure=chains.CHAIN_END,
        op=">=",
        thresholds=(("warn", _FELT),),
        strength=Strength.CORRELATIONAL,
        use=Use("application", "saturation"),
        guards=(_LOAD_GUARD,),
        causes=("slow-dependency",),
        caveats=Text(
            "In a trace of three seconds, the first wait may have started before the trace.",
            "仅三秒的跟踪，最早的等待可能在其之前就已开始。",
        ),
        source="strace -f -T: which thread woke which, and what the waking thread did before",
    ),
    Rule(
        id="F-DEP-ONE-PEER",
        title=Text("Nearly all requests wait for the same peer", "几乎都在等同一对端"),
        summary=Text(
            "{value} % of the {waiting} responses that {name} waits for are due from {peer}.",
            "{name} 等待的 {waiting} 个应答中，{value} % 来自 {peer}。",
        ),
        measure=waits.SINGLE_PEER,
        op=">=",
        thresholds=(("info", Threshold("warn", 80.0, "all other peers together have a fifth")),),
        strength=Strength.CONTEXT,
        use=Use("application", "saturation"),
        also=(
            Condition(
                waits.REPLY_WAIT, ">=", Threshold("wait", 100.0, "as for any peer with outstanding responses")
            ),
            Condition(waits.UNANSWERED, ">=", Threshold("unanswered", 1.0, "one long poll is no queue")),
        ),
        guards=(_LOAD_GUARD,),
        refutes=("slow-dependency",),
        caveats=Text(
            "A program with a single peer cannot wait for another one.", "只有一个对端的程序自然只会等它。"
        ),
        source="unanswered requests on the connections of one process",
    ),
    Rule(
        id="F-LOCK-OWNER-READS",
        title=Text("The owner of a lock waits for a reply", "锁的持有者在等应答"),
        summary=Text(
            "{value} threads wait for a {lock}. Its owner, {owner}, is in {frame}.",
            "{value} 个线程等待 {lock}；其持有者 {owner} 停在 {frame}。",
        ),
        measure=OWNER_READS,
        op=">=",
        thresholds=(
            ("warn", Threshold("warn", 4.0, "as for any monitor: a handful of workers wait for one")),
        ),
        strength=Strength.CORRELATIONAL,
        use=Use("application", "saturation"),
        causes=("slow-dependency",),
        caveats=Text(
            "The connection may belong to a client. Check the peer of the connection.",
            "被读取的连接也可能属于客户端：请查看对端。",
        ),
        source="top frame of the owner in most of the thread dumps; the JVM reports such a thread "
        "as RUNNABLE",
    ),
    Rule(
        id="F-IO-SEEK-READS",
        title=Text("Very small reads, each after a seek", "每次定位后只读极小一块"),
        summary=Text(
            "{value} reads of {bytes} bytes in {file}, each after a seek.",
            "在 {file} 中读取 {value} 次，每次 {bytes} 字节且均先定位。",
        ),
        measure=calls.SEEK_READS,
        op=">=",
        thresholds=(
            ("warn", Threshold("warn", 100.0, "in three seconds at most: more than one lookup of an entry")),
        ),
        strength=Strength.CORRELATIONAL,
        use=Use("disk", "utilization"),
        causes=("small-read-pattern",),
        caveats=Text("Class loading after a start looks the same.", "启动后的类加载就是如此。"),
        source="strace: lseek and read, or pread64, of one thread on one archive or library",
    ),
    Rule(
        id="F-LOG-WORKER-LIMIT",
        title=Text("Log reports that all workers are busy", "日志提示工作进程已用尽"),
        summary=Text(
            "{value} log lines report that a worker pool reached its limit, the last one {ago} s ago.",
            "有 {value} 行提示工作池已达上限，最近一次在 {ago} 秒前。",
        ),
        measure=services.WORKERS_FULL,
        op=">=",
        thresholds=(("warn", Threshold("warn", 1.0, "the program writes one line per occurrence")),),
        strength=Strength.CORRELATIONAL,
        use=Use("application", "saturation"),
        causes=("worker-pool-exhausted",),
        harm=True,
        caveats=Text(
            "A short burst also reaches the limit. php-fpm logs it even if no request had to wait.",
            "瞬时突发也会达到上限；即使没有请求在等待，php-fpm 也会打印。",
        ),
        source="lines of php-fpm (pm.max_children), nginx, Apache httpd and Tomcat in the last minute",
    ),
    Rule(
        id="F-LOG-POOL-LIMIT",
        title=Text("Log reports that a connection pool is empty", "日志提示连接池耗尽"),
        summary=Text(
            "{value} log lines report that a pool had no free connection, the last one {ago} s ago.",
            "有 {value} 行提示连接池已耗尽，最近一次在 {ago} 秒前。",
        ),
        measure=services.POOL_EXHAUSTED,
        op=">=",
        thresholds=(("warn", Threshold("warn", 1.0, "each is a request that got no connection in time")),),
        strength=Strength.CORRELATIONAL,
        use=Use("application", "saturation"),
        harm=True,
        caveats=Text(
            "A pool that is empty because replies are slow is a consequence.",
            "因应答慢而耗尽的连接池是结果而非原因。",
        ),
        source="application log of the last minute",
    ),
)
