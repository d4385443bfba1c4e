import type { Cause, Rule } from "../../src/client/models.ts";
import type { Threshold } from "../../src/features/rules/api.ts";
import { HOSTS } from "../dataset.ts";

const localize = (en: string, zh: string) => ({ en, zh });

const rule = (
  id: string,
  title: [string, string],
  summary: [string, string],
  measure: string,
  unit: string,
  extra: Partial<Rule> = {},
): Rule => ({
  id,
  title: localize(...title),
  summary: localize(...summary),
  caveats: null,
  strength: "mechanism",
  measure,
  unit,
  collectors: [["cpu_stat"]],
  thresholds: [],
  related: [],
  causes: [],
  refutes: [],
  refuted_by: [],
  source: "",
  ...extra,
});

const threshold = (name: string, measure: string, op: string, value: number, unit: string, source = "") => ({
  name,
  measure,
  title: null,
  op,
  value,
  unit,
  source,
  severity: name === "critical" || name === "warn" ? (name as "warn") : null,
  against: "threshold" as const,
});

export const RULES: Rule[] = [
  rule(
    "F-SERVICE-WAITS",
    ["A service keeps requests waiting", "服务让请求等待"],
    [
      "Requests to {name} wait up to {value} ms. On average {waiting} are taken and not answered, and {queued} are not yet taken.",
      "发往 {name} 的请求最长等待 {value} ms；平均有 {waiting} 个已接手而未应答，{queued} 个尚未接手。",
    ],
    "service.oldest_ms",
    "ms",
    {
      strength: "context",
      collectors: [["proc_threads"]],
      thresholds: [
        {
          ...threshold("critical", "service.oldest_ms", ">=", 1000, "ms", "users lose their flow of thought"),
          title: localize("Longest wait of a request", "请求的最长等待"),
        },
      ],
    },
  ),
  rule(
    "F-CPU-RUNQ-DELAY",
    ["Runnable threads wait for a CPU", "可运行线程等待 CPU"],
    [
      "Threads wait {value} at each switch, more than {threshold}.",
      "线程每次切换等待 {value}，超过 {threshold}。",
    ],
    "sched.delay_per_switch",
    "ms",
    {
      collectors: [["perf_sched", "schedstat"]],
      causes: ["cpu-oversubscribed"],
      refutes: ["cpu-oversubscribed"],
      thresholds: [
        {
          ...threshold("warn", "sched.delay_per_switch", ">", 3, "ms", "three default slices of EEVDF"),
          title: localize("Delay per switch", "每次切换的延迟"),
        },
        {
          ...threshold(
            "critical",
            "sched.delay_per_switch",
            ">",
            20,
            "ms",
            "what a person notices in one request",
          ),
          title: localize("Delay per switch", "每次切换的延迟"),
        },
        threshold(
          "runnable",
          "cpu.runnable.held",
          ">",
          1.5,
          "count",
          "Brendan Gregg, USE: saturation above 1",
        ),
      ],
      caveats: localize("A cpuset that is too small looks the same.", "过小的 cpuset 看起来一样。"),
      source: "tracepoint sched:sched_stat_wait",
    },
  ),
  rule(
    "F-CPU-STACK-GC",
    ["The collector takes the CPU", "垃圾回收占用 CPU"],
    ["{value} of the samples are in {frames}.", "{value} 的样本位于 {frames}。"],
    "stacks.gc_share",
    "pct",
    {
      collectors: [["perf_record"]],
      causes: ["gc-pressure"],
      thresholds: [
        {
          ...threshold("warn", "stacks.gc_share", ">", 25, "pct", "measured on 40 runs"),
          title: localize("Share of samples in the collector", "回收器样本占比"),
        },
      ],
    },
  ),
  rule(
    "F-NET-LISTEN-OVERFLOW",
    ["A listen queue overflows", "监听队列溢出"],
    [
      "{value} connections a second were dropped because their accept queue was full.",
      "每秒 {value} 个连接因接受队列已满而未被接收。",
    ],
    "tcp.listen_overflows_per_s.mean",
    "per_s",
    {
      strength: "direct",
      collectors: [["netstat_ext"]],
      causes: ["listen-queue-overflow"],
      refutes: ["listen-queue-overflow"],
      thresholds: [
        threshold(
          "warn",
          "tcp.listen_overflows_per_s.mean",
          ">",
          0,
          "per_s",
          "the counter should not increase",
        ),
        threshold(
          "critical",
          "tcp.listen_overflows_per_s.mean",
          ">",
          5,
          "per_s",
          "Netdata: 5 per minute is critical",
        ),
      ],
      related: [
        {
          measure: "listener.fullest_queue_max",
          title: localize("Most connections in the fullest queue", "最满队列中的等待连接数"),
          unit: "count",
        },
        {
          measure: "listener.fullest_backlog",
          title: localize("Places in the fullest queue", "最满队列的上限"),
          unit: "count",
        },
      ],
    },
  ),
  rule(
    "F-MEM-RECLAIM",
    ["Allocations wait for reclaim", "分配等待内存回收"],
    ["Tasks stalled {value} of the time.", "任务有 {value} 的时间停顿。"],
    "psi.memory_some.mean",
    "pct",
    {
      collectors: [["psi"]],
      causes: ["memory-limit-low"],
      refutes: ["memory-limit-low"],
      thresholds: [threshold("warn", "psi.memory_some.mean", ">", 10, "pct", "Facebook: oomd defaults")],
    },
  ),
  rule(
    "F-DISK-AWAIT",
    ["A disk is slow to answer", "磁盘响应慢"],
    ["{dev} answers after {value}.", "{dev} 的响应时间为 {value}。"],
    "disk.r_await_ms.held",
    "ms",
    {
      strength: "correlational",
      collectors: [["iostat"]],
      causes: ["disk-saturated"],
      refutes: ["disk-saturated"],
      thresholds: [threshold("warn", "disk.r_await_ms.held", ">", 20, "ms", "twice a spinning disk")],
    },
  ),
  rule(
    "F-LOAD-HIGH",
    ["The load average is high", "平均负载高"],
    ["The load is {value}.", "负载为 {value}。"],
    "load.avg1.last",
    "",
    {
      strength: "context",
      collectors: [["loadavg"]],
      thresholds: [threshold("warn", "load.avg1.last", ">", 64, "", "CPUs")],
    },
  ),
  rule(
    "F-NUMA-REMOTE",
    ["Memory is taken from the other node", "从远端节点取内存"],
    ["{value} of accesses miss their node.", "{value} 的访问未命中本地节点。"],
    "numa.miss_share",
    "pct",
    { collectors: [["numastat"]], causes: ["numa-misplaced"], refutes: ["numa-misplaced"] },
  ),
  rule(
    "F-OFFCPU-LOCK",
    ["Threads wait for a lock", "线程等待锁"],
    ["{value} of blocked time is on one futex.", "{value} 的阻塞时间位于同一 futex。"],
    "offcpu.futex_share",
    "pct",
    { collectors: [["perf_sched"]], causes: ["lock-contention"] },
  ),
];

const cause = (id: string, title: [string, string], extra: Partial<Cause> = {}): Cause => ({
  id,
  title: localize(...title),
  what: localize("It makes requests wait.", "它让请求等待。"),
  fix: localize("Change the setting.", "更改设置。"),
  risk: localize("Little. Set the old value to take it back.", "风险小。恢复旧值即可回退。"),
  verify: localize("The same load again: the number is below its threshold.", "相同负载下数值低于阈值。"),
  explains: [],
  right: 0,
  wrong: 0,
  suspected_by: [],
  tested_by: [],
  proven: true,
  rules: RULES.filter((rule) => rule.causes.includes(id)).map((rule) => rule.id),
  ...extra,
});

export const CAUSES: Cause[] = [
  cause("cpu-oversubscribed", ["More runnable threads than CPUs", "可运行线程多于 CPU"], {
    what: localize(
      "The service starts a thread for each CPU of the machine, but its control group may use four; runnable threads wait in line and every request pays for each turn.",
      "服务按机器 CPU 数启动线程，但控制组只能使用四个；可运行线程排队，每个请求都要为每一轮付出等待。",
    ),
    fix: localize(
      "Set the number of worker threads to what the control group may use: GOMAXPROCS=4.",
      "将工作线程数设为控制组可用的 CPU 数：GOMAXPROCS=4。",
    ),
    risk: localize(
      "Less parallelism where threads block on IO. Takes a restart; to take it back, remove the variable and restart.",
      "线程阻塞于 IO 时并行度下降。需重启；回退时删除变量并重启。",
    ),
    verify: localize(
      "The same load again: delay per switch below 1 ms, and the p99 of requests back at its baseline.",
      "相同负载下再次采集：每次切换延迟低于 1 毫秒，p99 回到基线。",
    ),
    explains: ["gc-pressure"],
    tested_by: ["perf_sched"],
    suspected_by: ["F-LOAD-HIGH"],
  }),
  cause("gc-pressure", ["The garbage collector is under pressure", "垃圾回收压力大"]),
  cause("listen-queue-overflow", ["A listen queue overflows", "监听队列溢出"], {
    proven: false,
    what: localize(
      "New connections arrive faster than the program accepts them; the kernel drops the last step of the handshake and clients wait for their retransmission.",
      "新连接到达快于程序 accept；内核丢弃握手的最后一步，客户端只能等待重传。",
    ),
    fix: localize(
      "Raise the backlog of listen() and net.core.somaxconn together.",
      "同时提高 listen() 的 backlog 与 net.core.somaxconn。",
    ),
  }),
  cause("memory-limit-low", ["The memory limit is too low", "内存上限过低"]),
  cause("disk-saturated", ["A disk is saturated", "磁盘饱和"]),
  cause("numa-misplaced", ["Memory is on the wrong node", "内存位于错误节点"]),
  cause("lock-contention", ["Threads contend for one lock", "线程争用同一把锁"], {
    tested_by: ["perf_sched"],
    suspected_by: ["F-OFFCPU-LOCK"],
    proven: false,
  }),
];

export const THRESHOLDS: Threshold[] = [
  {
    id: "01930000-0000-7000-8000-00000000aa01",
    name: "F-DISK-AWAIT.warn",
    value: 60,
    default: 20,
    label_name: "role",
    label_value: "db",
    host_id: null,
    why: "Archive disks of the databases are spinning; 20 ms is normal there.",
    created_at: "2026-10-02T09:14:00Z",
  },
  {
    id: "01930000-0000-7000-8000-00000000aa02",
    name: "F-CPU-RUNQ-DELAY.warn",
    value: 8,
    default: 3,
    label_name: null,
    label_value: null,
    host_id: HOSTS[1]!.id,
    why: "Batch host without users.",
    created_at: "2026-11-12T16:40:00Z",
  },
];
