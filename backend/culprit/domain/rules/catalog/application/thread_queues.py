"""Rules about requests that wait in a service: how long, behind a single thread, or for a free worker."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.catalog.application.pools import READS_CLIENTS
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.application import growth, loop_waits, pools
from culprit.domain.rules.measures.cpu.run_queue import LEAST_WAITING
from culprit.domain.rules.measures.network import listeners
from culprit.domain.rules.measures.service_time import shares
from culprit.domain.rules.rule import AnyCondition, Condition, Rule, Threshold
from culprit.domain.rules.use_method import Use

_SOURCE = "thread_time: samples of system calls; unread data and accept queues of its sockets"

_LATE = Condition(
    shares.OLDEST, ">=", Threshold("oldest", 100.0, "users notice a tenth of a second (Miller 1968)")
)
_MANY_WAIT = Condition(shares.WAITING, ">=", Threshold("waiting", 2.0, "one is served, another one waits"))
_MANY_WAIT_FOR_IT = Condition(
    shares.WAITING_WHILE_AWAKE, ">=", Threshold("together", 2.0, "one is served, another one waits")
)
_QUEUED_LATE = Condition(
    listeners.BURST_WAIT, ">=", Threshold("queue", 100.0, "users notice a tenth of a second (Miller 1968)")
)
_SEVERAL_QUEUE = Condition(
    listeners.BURST_WAIT, ">=", Threshold("several", 100.0, "several connections came while it did not pause")
)
_ALL_BUSY = Condition(shares.BUSY_PART, ">=", Threshold("busy", 90.0, "percent: hardly any worker is free"))

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-SERVICE-WAITS",
        title=Text("A service keeps requests waiting", "服务让请求等待"),
        summary=Text(
            "Requests to {name} wait up to {value} ms. On average {waiting} are taken and not answered, and "
            "{queued} are not yet taken.",
            "发往 {name} 的请求最长等待 {value} ms；平均有 {waiting} 个已接手而未应答，{queued} 个尚未接手。",
        ),
        measure=shares.OLDEST,
        op=">=",
        thresholds=(
            ("warn", Threshold("warn", 100.0, "users notice a tenth of a second (Miller 1968)")),
            (
                "critical",
                Threshold(
                    "critical", 1000.0, "after one second users lose their flow of thought (Miller 1968)"
                ),
            ),
        ),
        strength=Strength.CONTEXT,
        use=Use("application", "saturation"),
        also=(Condition(shares.WAITING, ">=", Threshold("waiting", 1.0, "at any time one request waits")),),
        refuted_by=("F-SERVICE-AS-BEFORE",),
        harm=True,
        caveats=Text(
            "Long polls and reports wait by design. A cause needs evidence of its own.",
            "长轮询与报表本就等待；原因另需自己的证据。",
        ),
        source="tcp_info of its connections, waits of its callers on this host (also over Unix sockets), accept queues",
    ),
    Rule(
        id="F-SERVICE-SLOWER",
        title=Text("Requests take longer than before", "请求比以前慢"),
        summary=Text(
            "Requests to {name} take {value} times as long as in the baseline: on average {waiting} wait at the same "
            "time, before it were {before}.",
            "发往 {name} 的请求耗时是基线的 {value} 倍：平均同时有 {waiting} 个在等待，此前为 {before} 个。",
        ),
        measure=growth.GROWTH,
        op=">",
        thresholds=(("warn", Threshold("warn", 2.0, "twice the time at the same load")),),
        strength=Strength.CONTEXT,
        use=Use("application", "saturation"),
        also=(
            Condition(
                shares.WAITING,
                ">=",
                Threshold("waiting", LEAST_WAITING, "less is no time that requests lose"),
            ),
        ),
        harm=True,
        caveats=Text(
            "Other requests than before may take longer by design, such as those of a report.",
            "与此前不同的请求（例如报表）可能本就更久。",
        ),
        source="Little's law: requests that wait are their rate times their time; tcp_info of its connections, against "
        "the baseline; the rate is that of segments sent by the host",
    ),
    Rule(
        id="F-SERVICE-AS-BEFORE",
        title=Text("Requests are not shown to take longer than before", "未见请求比以前更慢"),
        summary=Text(
            "Requests to {name} take {value} times as long as in the baseline at least: on average {waiting} wait at "
            "the same time, {before} did before. So that they wait is no harm.",
            "发往 {name} 的请求耗时至少是基线的 {value} 倍：平均同时有 {waiting} 个在等待，此前为 {before} 个；"
            "因此它们的等待不算损害。",
        ),
        measure=growth.LOWEST_GROWTH,
        op="<=",
        thresholds=(("info", Threshold("info", 1.0, "the samples allow that nothing has changed")),),
        strength=Strength.CONTEXT,
        use=Use("application", "saturation"),
        caveats=Text(
            "A baseline that was recorded during the incident hides it: choose one from a good time.",
            "若基线本身取自故障期间，会掩盖故障：请选择正常时段的基线。",
        ),
        source="Little's law, as F-SERVICE-SLOWER, with the lower bound of its interval; a lower rate of segments "
        "counts as a longer time of each request",
    ),
    Rule(
        id="F-TIME-SINGLE-THREAD",
        title=Text("All requests wait for one busy thread", "所有请求在等待同一个忙碌的线程"),
        summary=Text(
            "The one serving thread of {name} is busy {value} % of the time, mostly {activity}; on average {waiting} "
            "requests wait for it.",
            "{name} 唯一的服务线程有 {value} % 的时间忙碌（主要是 {activity}），平均有 {waiting} 个请求在等待它。",
        ),
        measure=shares.BUSY_PART,
        op=">=",
        thresholds=(
            (
                "warn",
                Threshold("warn", 90.0, "percent: a request waits nine service times (M/M/1: u / (1 - u))"),
            ),
        ),
        strength=Strength.MECHANISM,
        use=Use("application", "saturation"),
        also=(
            Condition(
                shares.RUNNING,
                ">=",
                Threshold("running", 50.0, "percent: it mostly computes, and waits less"),
            ),
            Condition(
                shares.THREADS,
                "<",
                Threshold("threads", shares.SINGLE_THREAD, "nearer to one thread than to two"),
            ),
            _LATE,
            _MANY_WAIT,
        ),
        causes=("blocked-event-loop",),
        suspects=("blocked-event-loop", "cpu-hot-function"),
        caveats=Text(
            "Requests of one connection are answered in turn by design.", "同一连接的请求本就依次应答。"
        ),
        source=f"{_SOURCE}; queue with one server: Erlang 1909",
    ),
    Rule(
        id="F-TIME-STALLS",
        title=Text(
            "The thread that does the work does not pause while requests wait",
            "承担工作的线程长时间不停顿，请求在等待",
        ),
        summary=Text(
            "Thread {thread} does the work of {name} and runs for at least {value} ms without a pause; on average "
            "{waiting} requests wait.",
            "线程 {thread} 承担 {name} 的工作，至少连续运行 {value} ms 不停顿，期间平均有 {waiting} 个请求在等待。",
        ),
        measure=shares.LONGEST_AWAKE,
        op=">=",
        thresholds=(
            (
                "warn",
                Threshold(
                    "warn", 100.0, "users notice a tenth of a second (Miller 1968); the pause is not shorter"
                ),
            ),
            ("critical", Threshold("critical", 1000.0, "users lose their flow of thought (Miller 1968)")),
        ),
        strength=Strength.MECHANISM,
        use=Use("application", "saturation"),
        also=(
            Condition(
                pools.LOOP_SHARE,
                ">=",
                Threshold("share", 80.0, "of the CPU time: other threads do next to nothing"),
            ),
            READS_CLIENTS,
            Condition(
                shares.AWAKE_ON_CPU,
                ">=",
                Threshold("running", 66.7, "percent: it computes, and hardly waits for a CPU"),
            ),
            AnyCondition((_LATE, _QUEUED_LATE)),
            AnyCondition((_MANY_WAIT_FOR_IT, _SEVERAL_QUEUE)),
        ),
        harm=True,
        causes=("blocked-event-loop",),
        suspects=("blocked-event-loop", "cpu-hot-function"),
        caveats=Text(
            "Such a thread answers no request in the meantime. A profile shows what it computes.",
            "此时该线程无法应答任何请求；它在计算什么由剖析给出。",
        ),
        source="schedstat: time on a CPU and waiting for one is all of the time between samples of the thread",
    ),
    Rule(
        id="F-TIME-LOOP-WAITS",
        title=Text(
            "The thread that serves all clients waits in a call", "服务所有客户端的线程停在阻塞调用中"
        ),
        summary=Text(
            "The one serving thread of {name} spends {value} % of its time that is not idle in a call that blocks it "
            "({call}); in the meantime {others} other clients wait for it, on average.",
            "{name} 唯一的服务线程有 {value} % 的非空闲时间停在阻塞它的调用中（{call}），"
            "期间平均有 {others} 个其他客户端在等待它。",
        ),
        measure=loop_waits.LOOP_WAIT,
        op=">=",
        thresholds=(
            ("warn", Threshold("warn", 33.3, "percent: requests take 1.5 times as long")),
            ("critical", Threshold("critical", 66.7, "percent: requests take three times as long")),
        ),
        strength=Strength.MECHANISM,
        use=Use("application", "saturation"),
        also=(
            Condition(
                loop_waits.LOOP_OTHERS, ">=", Threshold("others", 1.0, "at any time another client waits")
            ),
            _LATE,
        ),
        refuted_by=("F-SERVICE-AS-BEFORE",),
        harm=True,
        causes=("blocked-event-loop",),
        suspects=("blocked-event-loop",),
        caveats=Text(
            "A peer that has become slow makes such calls longer. Calls that do not block keep other clients served.",
            "对端变慢会使此类调用更久；改为非阻塞调用后，其他客户端仍能得到服务。",
        ),
        source="syscall and schedstat of the thread; Recv-Q of its accepted connections. Single server: Erlang 1909",
    ),
    Rule(
        id="F-SERVICE-QUEUES",
        title=Text("Requests queue because all workers are busy", "工作线程全忙，请求在排队"),
        summary=Text(
            "{busy} threads of {name} are busy and {free} are free; on average {value} requests are not yet taken.",
            "{name} 有 {busy} 个线程忙碌、{free} 个空闲；平均有 {value} 个请求尚未接手。",
        ),
        measure=shares.QUEUED,
        op=">=",
        thresholds=(("warn", Threshold("warn", 1.0, "at any time one request waits for a worker")),),
        strength=Strength.CONTEXT,
        use=Use("application", "saturation"),
        also=(_ALL_BUSY,),
        harm=True,
        source=_SOURCE,
    ),
    Rule(
        id="F-TIME-CONTENDED",
        title=Text("Requests wait for each other", "请求之间互相等待"),
        summary=Text(
            "{name} spends {value} % of its time on what its requests share (CPUs, locks, disks), here or in a service "
            "of this host that it waits for: more workers would not shorten it.",
            "{name} 有 {value} % 的时间花在请求共享的资源上（CPU、锁、磁盘），在其自身或其所等待的本机服务中："
            "增加工作线程不会缩短。",
        ),
        measure=shares.CONTENDED,
        op=">",
        thresholds=(("info", Threshold("info", 50.0, "percent: more than half of the time")),),
        strength=Strength.CONTEXT,
        use=Use("application", "saturation"),
        source=f"{_SOURCE}; a station with one queue is not relieved by workers in front of it (Little 1961)",
    ),
    Rule(
        id="F-TIME-POOL",
        title=Text("All workers are busy and requests queue", "所有工作线程忙碌，请求在排队"),
        summary=Text(
            "{busy} threads of {name} are busy and {free} are free; on average {value} requests are not yet taken.",
            "{name} 有 {busy} 个线程忙碌、{free} 个空闲；平均有 {value} 个请求尚未接手。",
        ),
        measure=shares.QUEUED,
        op=">=",
        thresholds=(("warn", Threshold("warn", 1.0, "at any time one request waits for a worker")),),
        strength=Strength.MECHANISM,
        use=Use("application", "saturation"),
        also=(
            _ALL_BUSY,
            Condition(
                shares.THREADS, ">=", Threshold("threads", shares.SINGLE_THREAD, "one thread is no pool")
            ),
        ),
        causes=("worker-pool-exhausted",),
        suspects=("worker-pool-exhausted",),
        refuted_by=("F-TIME-CONTENDED",),
        caveats=Text(
            "More workers help only if they wait for something that has room, such as a remote service.",
            "只有当工作线程等待的对象（如远端服务）尚有余量时，增加线程才有用。",
        ),
        source=_SOURCE,
    ),
    Rule(
        id="F-QUEUE-BEFORE-IDLE-THREADS",
        title=Text("Requests queue although threads look free", "线程看似空闲，请求却在排队"),
        summary=Text(
            "On average {value} requests to {name} are not taken, more than those that are. {free} of its threads look "
            "free: they wait for others, or only a few of them serve.",
            "平均有 {value} 个发往 {name} 的请求尚未接手，多于已接手的。它有 {free} 个线程看似空闲：它们在等待"
            "其他线程，或只有少数线程提供服务。",
        ),
        measure=shares.QUEUED,
        op=">=",
        thresholds=(("warn", Threshold("warn", 1.0, "at any time one request waits for a worker")),),
        strength=Strength.CORRELATIONAL,
        use=Use("application", "saturation"),
        also=(
            Condition(
                shares.QUEUED_PART, ">", Threshold("queued", 50.0, "percent: more wait than are served")
            ),
            Condition(shares.BUSY_PART, "<", Threshold("free", 50.0, "percent: most threads look free")),
            Condition(
                shares.OLDEST,
                ">=",
                Threshold("oldest", 1000.0, "no free thread leaves a request for a second"),
            ),
        ),
        causes=("worker-pool-exhausted",),
        suspects=("worker-pool-exhausted",),
        caveats=Text(
            "Tasks of a pool that wait for tasks in the same pool look like this, and so does a program that stops.",
            "线程池中的任务等待同一线程池中的其他任务时如此；整个程序停顿时也如此。",
        ),
        source=f"{_SOURCE}; a server that has a free worker takes the next request",
    ),
)
