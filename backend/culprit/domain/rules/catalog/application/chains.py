"""Rules about single threads: what a request thread waits for, where a chain of them ends, what a log says of pools."""

from __future__ import annotations

from collectors.contract import Sentence, Text
from culprit.core.rules.contract import Condition, Grade, Guard, Limit, Rule
from culprit.core.rules.measures import app_calls as calls
from culprit.core.rules.measures import app_services as services
from culprit.core.rules.measures import app_waits as waits
from culprit.core.rules.measures import strace_chains as chains
from culprit.core.rules.measures.cpu_profile import OWNER_READS

#: A worker that waits for the next piece of work waits for a peer as well, and nobody waits for it.
_ASKED = Guard(
    Condition(waits.HELD, ">=", Limit("held", 1.0, "somebody must be waiting for us")),
    Sentence("guard.no_load"),
)
_FELT = Limit("warn", 100.0, "a tenth of a second is felt by people; a local round trip takes 1 ms")

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-STRACE-LONGEST-CALL",
        title=Text("A request thread waits longest for a peer", "请求线程等对端最久"),
        says=Text(
            "A thread that serves clients spent most of its waiting on {what}: {value} ms in one {call}.",
            "服务客户端的线程主要在等待 {what}：单次 {call} 达 {value} ms。",
        ),
        measure=chains.REQUEST_WAIT,
        op=">=",
        levels=(("warn", _FELT),),
        grade=Grade.CORRELATIONAL,
        guards=(_ASKED,),
        causes=("slow-dependency",),
        traps=Text(
            "Event loops answer for many from one thread; what waits in a poll is not told apart and left out.",
            "事件循环在一个线程中服务多个请求；停在 poll 中的等待无法区分，不计入。",
        ),
        source="strace -f -T -yy: the descriptors of each thread; ports that listen tell clients from peers",
    ),
    Rule(
        id="F-FUTEX-CHAIN-END",
        title=Text("A chain of waiting threads ends at a peer", "线程等待链终于对端"),
        says=Text(
            "Thread {first} waited for a chain of {hops}, whose last thread {last} waited {value} ms for {what}.",
            "线程 {first} 在等待长 {hops} 的链，末端线程 {last} 等待 {what} 达 {value} ms。",
        ),
        measure=chains.CHAIN_END,
        op=">=",
        levels=(("warn", _FELT),),
        grade=Grade.CORRELATIONAL,
        guards=(_ASKED,),
        causes=("slow-dependency",),
        traps=Text(
            "In a trace of three seconds the first wait may have begun before it.",
            "仅三秒的跟踪，最早的等待可能在其之前就已开始。",
        ),
        source="strace -f -T: who woke whom, and what the waker itself did meanwhile",
    ),
    Rule(
        id="F-DEP-ONE-PEER",
        title=Text("Nearly all wait for the same peer", "几乎都在等同一对端"),
        says=Text(
            "{peer} owes {value} % of the {waiting} answers that {name} waits for.",
            "{name} 等待的 {waiting} 个应答中，{value} % 来自 {peer}。",
        ),
        measure=waits.ONE_PEER,
        op=">=",
        levels=(("info", Limit("warn", 80.0, "all others together are a fifth")),),
        grade=Grade.CONTEXT,
        also=(
            Condition(waits.REPLY_WAIT, ">=", Limit("wait", 100.0, "as for any peer that owes answers")),
            Condition(waits.UNANSWERED, ">=", Limit("unanswered", 1.0, "one long poll is no pile-up")),
        ),
        guards=(_ASKED,),
        refutes=("slow-dependency",),
        traps=Text("A program with a single peer can wait for no other.", "只有一个对端的程序自然只会等它。"),
        source="unanswered questions on the connections of one process",
    ),
    Rule(
        id="F-LOCK-OWNER-READS",
        title=Text("The owner of a lock waits for a reply", "锁的持有者在等应答"),
        says=Text(
            "{value} threads wait for a {lock}; its owner {owner} stands in {frame}.",
            "{value} 个线程等待 {lock}；其持有者 {owner} 停在 {frame}。",
        ),
        measure=OWNER_READS,
        op=">=",
        levels=(("warn", Limit("warn", 4.0, "as for any monitor: a handful of workers behind one")),),
        grade=Grade.CORRELATIONAL,
        causes=("slow-dependency",),
        traps=Text(
            "A connection that is read may be a client's: look whose it is.",
            "被读取的连接也可能属于客户端：请看对端是谁。",
        ),
        source="top frame of the owner in two of three thread dumps; such a thread is RUNNABLE by its own word",
    ),
    Rule(
        id="F-IO-SEEK-READS",
        title=Text("Tiny reads, each after a seek", "每次定位后只读极小一块"),
        says=Text(
            "{value} reads of {bytes} bytes in {file}, each after a seek.",
            "在 {file} 中读取 {value} 次，每次 {bytes} 字节且均先定位。",
        ),
        measure=calls.SEEK_READS,
        op=">=",
        levels=(("warn", Limit("warn", 100.0, "in three seconds at most: more than looking up one entry")),),
        grade=Grade.CORRELATIONAL,
        causes=("small-read-pattern",),
        traps=Text("Classes are loaded so after a start.", "启动后的类加载就是如此。"),
        source="strace: lseek and read, or pread64, of one thread on one archive or library",
    ),
    Rule(
        id="F-LOG-WORKER-LIMIT",
        title=Text("The log says that all workers are taken", "日志提示工作进程已用尽"),
        says=Text(
            "{value} lines say that a pool of workers has reached its limit, the last {ago} s ago.",
            "有 {value} 行提示工作池已达上限，最近一次在 {ago} 秒前。",
        ),
        measure=services.WORKERS_FULL,
        op=">=",
        levels=(("warn", Limit("warn", 1.0, "the program writes it once each time")),),
        grade=Grade.CORRELATIONAL,
        causes=("worker-pool-exhausted",),
        traps=Text(
            "A burst reaches the limit for a moment; php-fpm says so even if nobody had to wait.",
            "瞬时突发也会达到上限；即使无人等待，php-fpm 也会打印。",
        ),
        source="lines as of php-fpm (pm.max_children), nginx, Apache httpd and Tomcat, of the last minute",
    ),
    Rule(
        id="F-LOG-POOL-LIMIT",
        title=Text("The log says that a pool of connections is empty", "日志提示连接池耗尽"),
        says=Text(
            "{value} lines say that no connection of a pool was left, the last {ago} s ago.",
            "有 {value} 行提示连接池已耗尽，最近一次在 {ago} 秒前。",
        ),
        measure=services.POOL_EXHAUSTED,
        op=">=",
        levels=(("warn", Limit("warn", 1.0, "each is a request that got none in time")),),
        grade=Grade.CORRELATIONAL,
        traps=Text(
            "A pool that is empty because replies are slow is a consequence.",
            "因应答慢而耗尽的连接池是结果而非原因。",
        ),
        source="application log, of the last minute",
    ),
)
