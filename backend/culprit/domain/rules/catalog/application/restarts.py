"""Rules about programs that end and begin again, and about children that stay."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.application import restarts
from culprit.domain.rules.measures.network import listeners
from culprit.domain.rules.rule import AnyCondition, Condition, MetricReading, Rule, Threshold
from culprit.domain.rules.use_method import Use

_REFUSED = AnyCondition(
    (
        Condition(
            MetricReading("tcp.attempt_fails_per_s"),
            ">",
            Threshold("refused", 0.0, "a caller on this host was refused"),
        ),
        Condition(
            MetricReading("tcp.out_rsts_per_s"),
            ">",
            Threshold("resets", 0.0, "a caller of another host was refused"),
        ),
    )
)

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-LISTENER-GONE",
        title=Text("A service comes and goes", "服务时有时无"),
        summary=Text(
            "Port {port} was listened on in {present} of {samples} samples. In {value} % of them every connection was "
            "refused.",
            "端口 {port} 在 {samples} 次采样中只有 {present} 次处于监听状态；其余 {value} % 的采样中连接全被拒绝。",
        ),
        measure=listeners.ABSENT,
        op=">",
        thresholds=(
            ("warn", Threshold("warn", 1.0, "every hundredth connection fails")),
            ("critical", Threshold("critical", 10.0, "every tenth connection fails")),
        ),
        strength=Strength.MECHANISM,
        use=Use("application", "errors"),
        also=(
            Condition(
                restarts.RESTARTS,
                ">=",
                Threshold("twice", 2.0, "one restart may be meant: a release or an update"),
            ),
            _REFUSED,
        ),
        suspects=("crash-loop",),
        causes=("crash-loop",),
        harm=True,
        caveats=Text(
            "The program that was started again may be another one than that of the port.",
            "被重启的程序未必就是该端口的程序。",
        ),
        source="ss: listening sockets in each sample; names in /proc once a second; /proc/net/snmp",
    ),
    Rule(
        id="F-PROC-RESTARTS",
        title=Text("A program ends and is started again and again", "程序反复退出并被重启"),
        summary=Text(
            "{parent} started {name} again {value} times in {seconds} s. It lived {life} s each time.",
            "{parent} 在 {seconds} 秒内重启 {name} {value} 次，每次存活 {life} 秒。",
        ),
        measure=restarts.RESTARTS,
        op=">=",
        thresholds=(("warn", Threshold("warn", 3.0, "twice may be chance")),),
        strength=Strength.CORRELATIONAL,
        use=Use("application", "errors"),
        also=(_REFUSED,),
        suspects=("crash-loop",),
        causes=("crash-loop",),
        caveats=Text(
            "A script that runs one job after the other looks the same. Check the exit status.",
            "依次执行任务的脚本看起来相同：请核对退出状态。",
        ),
        source="names in /proc once a second; /proc/net/snmp",
    ),
    Rule(
        id="F-PROC-CRASHES",
        title=Text("A program crashes again and again", "程序反复崩溃"),
        summary=Text(
            "The kernel ended {name} {value} times within a minute because of a wrong access to memory.",
            "一分钟内内核因非法访存终止 {name} {value} 次。",
        ),
        measure=restarts.CRASHES,
        op=">=",
        thresholds=(("warn", Threshold("warn", 2.0, "once may be chance")),),
        strength=Strength.MECHANISM,
        use=Use("application", "errors"),
        suspects=("crash-loop",),
        causes=("crash-loop",),
        caveats=Text(
            "All containers of a machine share the log of the kernel. Workers of a pool are replaced at once, so that "
            "only the requests that they served fail.",
            "同一机器的容器共用内核日志；池中的工作进程会立即被替换，因此只有其正在处理的请求失败。",
        ),
        source="log of the kernel: segfault, general protection, trap (show_unhandled_signals), ten in 5 s at most",
    ),
    Rule(
        id="F-UNIT-FAILS",
        title=Text("systemd starts a failing unit again and again", "systemd 反复重启失败的单元"),
        summary=Text(
            "{unit} was started again during the capture ({value} restarts in all). Result: {result}, "
            "state: {state}.",
            "采集期间 {unit} 被再次启动（累计重启 {value} 次），结果 {result}，状态 {state}。",
        ),
        measure=restarts.FAILED_UNITS,
        op=">=",
        thresholds=(("critical", Threshold("critical", 3.0, "twice may be chance")),),
        strength=Strength.DIRECT,
        use=Use("application", "errors"),
        suspects=("crash-loop",),
        causes=("crash-loop",),
        refutes=(),
        harm=True,
        caveats=Text(
            "NRestarts counts since the unit was started by hand.",
            "NRestarts 自手动启动该单元起累计。",
        ),
        source="systemctl show: NRestarts, Result",
    ),
    Rule(
        id="F-CONTAINER-FAILS",
        title=Text("An engine starts a failing container again and again", "容器引擎反复重启失败的容器"),
        summary=Text(
            "{container} was started again {value} times and waits for the next start. Its last exit code is "
            "{exit_code}.",
            "{container} 已被重启 {value} 次，正等待下一次启动；最近的退出码为 {exit_code}。",
        ),
        measure=restarts.FAILING_CONTAINERS,
        op=">=",
        thresholds=(("critical", Threshold("critical", 3.0, "twice may be chance")),),
        strength=Strength.DIRECT,
        use=Use("application", "errors"),
        suspects=("crash-loop",),
        causes=("crash-loop",),
        harm=True,
        caveats=Text(
            "A job with the restart policy `always` ends on purpose and is started again.",
            "重启策略为 `always` 的作业会主动结束并被再次启动。",
        ),
        source="State.Status `restarting` of docker and podman: the pause before the next start doubles up to a minute",
    ),
    Rule(
        id="F-FORK-LARGE",
        title=Text("A process with much memory forks itself", "占用大量内存的进程自我 fork"),
        summary=Text(
            "{name} holds {value} kB of its own and forked itself {count} times in {seconds} s. A child lived "
            "{life} s.",
            "{name} 占用 {value} kB 私有内存，在 {seconds} 秒内自我 fork {count} 次，子进程存活 {life} 秒。",
        ),
        measure=restarts.FORKED_MEMORY,
        op=">=",
        thresholds=(
            (
                "warn",
                Threshold(
                    "warn",
                    1048576.0,
                    "one GiB: a fork copies page tables and stops the process 10 ms per GiB",
                ),
            ),
        ),
        strength=Strength.MECHANISM,
        use=Use("application", "saturation"),
        suspects=("fork-copy-on-write",),
        causes=("fork-copy-on-write",),
        refutes=("fork-copy-on-write",),
        related=(MetricReading("sched.forks_per_s"), MetricReading("mem.pgfault_per_s", "mean")),
        caveats=Text(
            "Forks that begin and end between two samples, a second apart, are missed.",
            "在相隔一秒的两次采样之间开始并结束的 fork 不可见。",
        ),
        source="names in /proc once a second; RssAnon; fork(2); Redis documentation, latency: fork time",
    ),
    Rule(
        id="F-PROC-ZOMBIES",
        title=Text("A parent does not wait for its children", "父进程不回收子进程"),
        summary=Text(
            "{parent} left {value} ended children of the name {name} in {seconds} s.",
            "{parent} 在 {seconds} 秒内留下 {value} 个已退出未回收的子进程 {name}。",
        ),
        measure=restarts.ZOMBIES,
        op=">=",
        thresholds=(("warn", Threshold("warn", 3.0, "a parent may be late once or twice")),),
        strength=Strength.MECHANISM,
        use=Use("application", "saturation"),
        suspects=("worker-leak",),
        causes=("worker-leak",),
        refutes=(),
        caveats=Text("Each keeps only its process ID.", "每个僵尸进程只占用进程号。"),
        source="/proc/PID/stat: state Z in two samples",
    ),
    Rule(
        id="F-PROC-GROWTH",
        title=Text("Children pile up towards a limit", "子进程不断累积，接近上限"),
        summary=Text(
            "{parent} started {count} processes {name} in {seconds} s and none ended. The limit {limit} is "
            "{value} h away.",
            "{parent} 在 {seconds} 秒内启动了 {count} 个 {name} 且无一退出，距上限 {limit} 还有 {value} 小时。",
        ),
        measure=restarts.GROWTH,
        op="<=",
        thresholds=(
            ("warn", Threshold("warn", 24.0, "a limit that is reached within a day")),
            ("critical", Threshold("critical", 1.0, "a limit that is reached within the hour")),
        ),
        strength=Strength.CORRELATIONAL,
        use=Use("application", "saturation"),
        suspects=("worker-leak",),
        causes=("worker-leak",),
        caveats=Text(
            "A service that warms up or meets a peak starts workers too. Capture again and compare.",
            "服务预热或遇到高峰也会启动工作进程：请再次采集对比。",
        ),
        source="names in /proc once a second; pids.max, kernel.pid_max, kernel.threads-max",
    ),
)
