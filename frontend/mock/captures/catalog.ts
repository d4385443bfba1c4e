import type { CollectorInfo, Metric, Plan, Tier } from "../../src/client/models.ts";
import metrics from "./metrics.json" with { type: "json" };

export const METRICS = metrics as Metric[];

const dev = (...names: string[]): Record<string, string>[] => names.map((name) => ({ dev: name }));
const BY_LABEL: Record<string, Record<string, string>[]> = {
  dev: dev("nvme0n1", "nvme1n1", "sda"),
  vector: ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"].map(
    (vector) => ({ vector }),
  ),
  route: ["/feed", "/like"].map((route) => ({ route })),
  resource: ["cpu", "io", "memory"].map((resource) => ({ resource })),
};

/** Return the label sets of a metric on the mock hosts. */
export function listLabelSets(m: Metric): Record<string, string>[] {
  const label = m.labels[0];
  if (!label) return [{}];
  if (m.id.startsWith("net.")) return dev("eth0", "eth1", "lo");
  return BY_LABEL[label] ?? [{}];
}

const collector = (
  id: string,
  en: string,
  zh: string,
  tier: Tier,
  commands: string[],
  cost: [number, number],
  extra: Partial<CollectorInfo> = {},
): CollectorInfo => ({
  id,
  title: { en, zh },
  why: { en: `Shows ${en.toLowerCase()} second by second.`, zh: `逐秒显示${zh}。` },
  tier,
  mandatory: ["perf_record", "perf_sched", "iostat", "numastat", "vmstat", "softirqs"].includes(id),
  exclusive: tier === "deep" || tier === "ptrace",
  on_demand: false,
  options: [],
  methods: commands.map((line) => ({
    name: "tool",
    command: line,
    needs: { files: [], remedy: "", perf: false, root: tier === "deep", target: false, tools: [] },
  })),
  seconds_max: tier === "deep" ? 5 : 120,
  max_bytes: 64 << 20,
  cost: {
    cpu_pct: cost[0],
    bytes_per_s: cost[1],
    note:
      tier === "deep"
        ? { en: "Felt by hosts with many switches.", zh: "切换频繁的主机会有感知。" }
        : { en: "", zh: "" },
  },
  parser_version: 1,
  yields: [],
  ...extra,
});

export const COLLECTORS: CollectorInfo[] = [
  collector(
    "perf_record",
    "On-CPU stacks",
    "CPU 调用栈",
    "standard",
    ["perf record -F 99 -a -g -k CLOCK_MONOTONIC -N --no-bpf-event -o perf.data -- sleep {seconds}"],
    [1.4, 48000],
  ),
  collector(
    "perf_sched",
    "Scheduler events",
    "调度事件",
    "deep",
    ["perf sched record -a -k CLOCK_MONOTONIC -m 8192 -o sched.data -- sleep {seconds}"],
    [15, 5_000_000],
  ),
  collector(
    "vmstat",
    "Processes, memory, CPU",
    "进程、内存与 CPU",
    "light",
    ["vmstat -w -t 1 {seconds}", "read /proc/stat /proc/vmstat"],
    [0.05, 130],
  ),
  collector(
    "iostat",
    "Disks",
    "磁盘",
    "light",
    ["iostat -x -t 1 {seconds}", "read /proc/diskstats"],
    [0.06, 900],
  ),
  collector(
    "numastat",
    "NUMA allocation",
    "NUMA 分配",
    "light",
    ["numastat", "read /sys/devices/system/node/node*/numastat"],
    [0.03, 220],
  ),
  collector("softirqs", "Softirqs per CPU", "各 CPU 软中断", "light", ["read /proc/softirqs"], [0.05, 21000]),
  collector("cpu_stat", "CPU time per CPU", "各 CPU 时间", "light", ["read /proc/stat"], [0.05, 12000]),
  collector(
    "psi",
    "Pressure",
    "压力",
    "light",
    ["read /proc/pressure/cpu /proc/pressure/io /proc/pressure/memory"],
    [0.01, 300],
  ),
  collector("net_dev", "Network devices", "网络设备", "light", ["read /proc/net/dev"], [0.01, 600]),
  collector(
    "netstat_ext",
    "TCP counters",
    "TCP 计数",
    "light",
    ["read /proc/net/snmp /proc/net/netstat"],
    [0.02, 3200],
  ),
  collector("loadavg", "Load", "负载", "light", ["read /proc/loadavg"], [0.01, 40]),
  collector("meminfo", "Memory", "内存", "light", ["read /proc/meminfo"], [0.01, 1400]),
  collector("kmsg", "Kernel log", "内核日志", "light", ["dmesg --since -10m", "read /dev/kmsg"], [0.01, 300]),
  collector("proc_top", "Processes", "进程概览", "light", ["read /proc/[0-9]*/stat"], [0.3, 9000]),
  collector("redis_info", "Redis", "Redis", "light", ["redis-cli -p PORT INFO"], [0.1, 4000], {
    on_demand: true,
    options: [
      {
        name: "port",
        pattern: "[1-9][0-9]{0,4}",
        title: { en: "Port", zh: "端口" },
        default: "",
        required: false,
      },
    ],
  }),
  collector(
    "perf_probe",
    "Calls of a kernel function",
    "内核函数调用",
    "light",
    ["probe FUNCTION in an instance of tracefs"],
    [10, 2000],
    {
      on_demand: true,
      options: [
        {
          name: "function",
          pattern: "[A-Za-z_][A-Za-z0-9_.]{0,127}",
          title: { en: "Kernel function", zh: "内核函数" },
          default: "",
          required: true,
        },
      ],
    },
  ),
  collector(
    "tcp_probe",
    "TCP handshakes",
    "TCP 握手",
    "light",
    ["connect to ADDRESS:PORT, COUNT times"],
    [0.2, 900],
    {
      on_demand: true,
      options: [
        {
          name: "address",
          pattern: "[0-9A-Za-z][0-9A-Za-z.:-]{0,99}",
          title: { en: "Address", zh: "地址" },
          default: "127.0.0.1",
          required: false,
        },
        {
          name: "port",
          pattern: "[1-9]\\d{0,4}",
          title: { en: "TCP port", zh: "TCP 端口" },
          default: "22",
          required: false,
        },
      ],
    },
  ),
  collector(
    "strace",
    "System calls of one process",
    "单个进程的系统调用",
    "ptrace",
    ["strace -f -ttt -T -yy -p PID, {seconds} s at most 3; payloads become lengths on the host"],
    [50, 200_000],
    { on_demand: true, seconds_max: 3 },
  ),
  collector(
    "host_facts",
    "Facts of the host",
    "主机信息",
    "light",
    ["uname -a; nproc; cat /etc/os-release"],
    [0.01, 2000],
  ),
];

const LIGHT = COLLECTORS.filter((c) => c.tier === "light" && !c.on_demand).map((c) => c.id);
const plan = (id: string, en: string, zh: string, tier: Tier, seconds: number, ids: string[]): Plan => ({
  id,
  title: { en, zh },
  why: { en, zh },
  tier,
  seconds,
  total_seconds: seconds,
  collectors: ids.map((c) => ({ id: c, seconds: c === "perf_sched" ? Math.min(5, seconds) : seconds })),
});

export const PLANS: Plan[] = [
  plan("triage", "Triage", "快速检查", "light", 15, LIGHT),
  plan("cpu", "CPU", "CPU", "standard", 30, [...LIGHT, "perf_record"]),
  plan("sched", "Scheduling", "调度", "deep", 15, [...LIGHT, "perf_sched"]),
  plan("io", "Disks", "磁盘", "light", 30, ["iostat", "vmstat", "psi", "cpu_stat", "kmsg", "meminfo"]),
  plan("network", "Network", "网络", "light", 30, ["net_dev", "netstat_ext", "softirqs", "cpu_stat", "kmsg"]),
  plan("baseline", "Baseline", "基线", "standard", 60, [...LIGHT, "perf_record"]),
];
