/** The fleet of 500: an unhealthy group, a few outliers, hosts last checked a week ago or never. */
import type * as T from "../../src/client/models.ts";
import type {
  FleetFinding,
  FleetHost,
  FleetRule,
  PeerGroup,
  PeerMeasure,
} from "../../src/features/fleet/api.ts";
import { NOW_MS } from "../dataset.ts";
import { hashToUnit, makeId } from "../server/pseudoRandom.ts";
import { addRoute, type MockRequest, respond } from "../server/routes.ts";
import { state } from "../server/state.ts";

interface MockRule {
  rule: string;
  title: [string, string];
  unit: string;
  threshold: number;
  place: string;
  /** Approximate value on a healthy host. */
  typical: number;
  strength?: T.Finding["strength"];
}

const rule = (
  rule: string,
  title: [string, string],
  place: string,
  unit: string,
  threshold: number,
  typical: number,
  strength: T.Finding["strength"] = "mechanism",
): MockRule => ({ rule, title, place, unit, threshold, typical, strength });

const RULES: readonly MockRule[] = [
  rule("F-CPU-BUSY", ["The CPUs are busy", "CPU 繁忙"], "cpu.utilization", "pct", 90, 31, "context"),
  rule(
    "F-CPU-STACK-GC",
    ["The collector takes the CPU", "垃圾回收占用 CPU"],
    "cpu.utilization",
    "pct",
    25,
    6,
  ),
  rule(
    "F-CPU-RUNQ-DELAY",
    ["Runnable threads wait for a CPU", "可运行线程等待 CPU"],
    "cpu.saturation",
    "ms",
    3,
    0.4,
  ),
  rule("F-LOAD-HIGH", ["The load is high", "负载高"], "cpu.saturation", "", 2, 0.3, "context"),
  rule(
    "F-CPU-THERMAL",
    ["CPUs are throttled because of heat", "CPU 因过热降速"],
    "cpu.errors",
    "per_s",
    0,
    0,
    "direct",
  ),
  rule(
    "F-MEM-AVAILABLE",
    ["Little memory is available", "可用内存少"],
    "memory.utilization",
    "pct",
    95,
    61,
    "context",
  ),
  rule("F-MEM-RECLAIM", ["Threads wait for reclaim", "线程等待回收"], "memory.saturation", "pct", 10, 0.2),
  rule(
    "F-MEM-OOM-HOST",
    ["The host ran out of memory", "主机内存耗尽"],
    "memory.errors",
    "count",
    0,
    0,
    "direct",
  ),
  rule(
    "F-FS-FULL",
    ["A file system is nearly full", "文件系统将满"],
    "disk.utilization",
    "pct",
    90,
    44,
    "direct",
  ),
  rule("F-DISK-AWAIT", ["Requests wait at a disk", "磁盘请求等待"], "disk.saturation", "ms", 20, 1.4),
  rule("F-DISK-ILL", ["A disk reports a fault", "磁盘报告故障"], "disk.errors", "count", 0, 0, "direct"),
  rule("F-NET-UTIL", ["A link is nearly full", "链路将满"], "network.utilization", "pct", 80, 12),
  rule(
    "F-NET-LISTEN-OVERFLOW",
    ["A listen queue overflows", "监听队列溢出"],
    "network.saturation",
    "per_s",
    5,
    0,
    "direct",
  ),
  rule("F-NET-IFACE-DROP", ["A device drops packets", "网卡丢包"], "network.errors", "pct", 0.1, 0),
  rule(
    "F-FD-LEAK",
    ["Number of open files near the limit", "打开文件接近上限"],
    "application.utilization",
    "pct",
    80,
    9,
  ),
  rule(
    "F-OFFCPU-LOCK",
    ["Threads wait for one lock", "线程等待同一把锁"],
    "application.saturation",
    "pct",
    40,
    3,
  ),
  rule("F-APP-ERR", ["Requests fail", "请求失败"], "application.errors", "pct", 1, 0.02),
  rule(
    "F-CPU-SYS-HIGH",
    ["The kernel uses most of the CPU", "内核占用大部分 CPU"],
    "kernel.utilization",
    "pct",
    50,
    14,
    "context",
  ),
  rule("F-PROC-DSTATE", ["Tasks are stuck", "任务卡住"], "kernel.saturation", "count", 5, 0),
  rule("F-CLOCK-OFFSET", ["The clock has an offset", "时钟偏差"], "kernel.errors", "ms", 50, 1, "direct"),
];

/** Rules that match on all feed hosts of a data center and on a few other hosts. */
const SHARED = new Set(["F-CPU-RUNQ-DELAY", "F-NET-LISTEN-OVERFLOW", "F-APP-ERR"]);

const iso = (msAgo: number) => new Date(NOW_MS - msAgo).toISOString();
const MINUTE = 60_000;

function baseFields(host: T.Host, i: number): FleetHost {
  const unmeasured = i % 29 === 11;
  const age = (i % 17 === 5 ? 9 * 1440 : 2 + Math.floor(hashToUnit("age", i) * 50)) * MINUTE;
  const run = (n: number, plan: string): T.FleetUse["hosts"][number]["runs"][number] => ({
    run_id: makeId("run", host.id, 471 - n),
    plan,
    at: iso(age + n * 60 * MINUTE),
  });
  return {
    id: host.id,
    name: host.name,
    labels: host.labels,
    state: host.state,
    runs: unmeasured ? [] : [run(0, "triage"), run(1, "cpu")],
    worst: null,
  };
}

function findingsOf(host: T.Host, i: number): FleetFinding[] {
  const unhealthy = host.labels.role === "feed" && host.labels.dc === "fra2";
  return RULES.flatMap((rule, n): FleetFinding[] => {
    const luck = hashToUnit("luck", i, n);
    if (luck < 0.08 && !(unhealthy && SHARED.has(rule.rule))) return [];
    const matches = (unhealthy && SHARED.has(rule.rule)) || luck > 0.985;
    const unsure = !matches && luck > 0.965;
    const typical = rule.typical * (0.8 + 0.4 * hashToUnit("value", i, n));
    const beyond = (rule.threshold || 1) * (1.2 + 9 * hashToUnit("beyond", i, n));
    const most = rule.unit === "pct" ? Math.min(beyond, 99.6) : beyond;
    return [
      {
        rule: rule.rule,
        state: matches ? "matched" : unsure ? "inconclusive" : "not_matched",
        severity:
          rule.strength === "context"
            ? "info"
            : matches && hashToUnit("grave", i, n) > 0.5
              ? "critical"
              : "warn",
        value: matches || unsure ? most : typical,
        threshold: rule.threshold,
        subject: rule.place.startsWith("disk") && matches ? { dev: "nvme0n1" } : {},
        subjects: matches ? 1 : 0,
        run_index: luck > 0.6 && luck < 0.7 ? 1 : 0,
      },
    ];
  });
}

const RANK = { not_matched: 0, inconclusive: 1, matched: 2 } as const;
const GRAVE = { info: 0, warn: 1, critical: 2 } as const;
const rankOf = (result: FleetFinding) =>
  RANK[result.state] * 10 + (result.state === "matched" ? GRAVE[result.severity] : 0);

interface HostFindings {
  host: FleetHost;
  findings: FleetFinding[];
}

function fleet({ query }: MockRequest): HostFindings[] {
  const has = query.get("has") ?? "";
  const [name = "", value] = has.split(":");
  return (state.empty ? [] : state.hosts)
    .map((host, i) => ({ host, i }))
    .filter(({ host }) => host.state !== "retired" && (has === "" || host.labels[name] === value))
    .map(({ host, i }) => {
      const base = baseFields(host, i);
      const findings = base.runs.length > 0 ? findingsOf(host, i) : [];
      const matched = findings
        .filter((result) => result.state === "matched")
        .sort((x, y) => rankOf(y) - rankOf(x));
      return { host: { ...base, worst: matched[0]?.severity ?? null }, findings };
    });
}

const rules = (): Record<string, FleetRule> =>
  Object.fromEntries(
    RULES.map((rule): [string, FleetRule] => {
      const [resource = null, use_category = null] = rule.place.split(".") as [
        FleetRule["resource"]?,
        FleetRule["use_category"]?,
      ];
      const [en, zh] = rule.title;
      return [
        rule.rule,
        {
          title: { en, zh },
          unit: rule.unit,
          op: ">",
          strength: rule.strength ?? "mechanism",
          resource,
          use_category,
        },
      ];
    }),
  );

function cells(
  findings: readonly FleetFinding[],
): Record<string, T.FleetUse["hosts"][number]["cells"][string]> {
  const result: Record<string, T.FleetUse["hosts"][number]["cells"][string]> = {};
  for (const place of new Set(RULES.map((rule) => rule.place))) {
    const ofPlace = findings.filter((item) => RULES.find((rule) => rule.rule === item.rule)?.place === place);
    const [worst] = [...ofPlace].sort((x, y) => rankOf(y) - rankOf(x));
    if (worst)
      result[place] = {
        ...worst,
        evaluated: ofPlace.length,
        matched: ofPlace.filter((result) => result.state === "matched").length,
      };
  }
  return result;
}

const LIMITS = { left_out: 0 };
const now = () => new Date(NOW_MS).toISOString();

addRoute("GET", "/fleet/use", (request) =>
  respond({
    at: now(),
    rules: rules(),
    ...LIMITS,
    hosts: fleet(request).map(({ host, findings }) => ({ ...host, cells: cells(findings) })),
  } satisfies T.FleetUse),
);

addRoute("GET", "/fleet/findings", (request) => {
  const hostFindings = fleet(request);
  const matched = new Set(
    hostFindings
      .flatMap((item) => item.findings)
      .flatMap((result) => (result.state === "matched" ? result.rule : [])),
  );
  const ids = (findings: FleetFinding[], state: string) =>
    findings.flatMap((result) => (result.state === state && matched.has(result.rule) ? result.rule : []));
  return respond({
    at: now(),
    rules: Object.fromEntries(Object.entries(rules()).filter(([rule]) => matched.has(rule))),
    ...LIMITS,
    hosts: hostFindings.map(({ host, findings }) => ({
      ...host,
      matched: findings.filter((result) => result.state === "matched"),
      inconclusive: ids(findings, "inconclusive"),
      not_matched: ids(findings, "not_matched"),
    })),
  } satisfies T.FleetFindings);
});

function measure(rule: MockRule, group: readonly HostFindings[]): PeerMeasure | undefined {
  const values = group.flatMap(({ host, findings }) => {
    const finding = findings.find((each) => each.rule === rule.rule);
    return finding?.value == null
      ? []
      : [{ host_id: host.id, value: finding.value, run_index: finding.run_index }];
  });
  if (values.length < 5) return undefined;
  const middle = (values: number[]) => values.sort((x, y) => x - y)[Math.floor(values.length / 2)] ?? 0;
  const median = middle(values.map((each) => each.value));
  const step = Math.max(
    middle(values.map((each) => Math.abs(each.value - median))) / 0.6745,
    0.02 * median,
    0.5,
  );
  const hosts = values
    .map((each) => {
      const z = Math.max(-100, Math.min(100, (each.value - median) / step));
      return { ...each, z, is_outlier: Math.abs(z) > 3.5 };
    })
    .sort((x, y) => Math.abs(y.z) - Math.abs(x.z));
  const [en, zh] = rule.title;
  return {
    measure: `${rule.place}.${rule.rule}`,
    rule: rule.rule,
    title: { en, zh },
    unit: rule.unit,
    host_count: values.length,
    median,
    step,
    hosts,
  };
}

addRoute("GET", "/fleet/peers", (request) => {
  const hostFindings = fleet(request);
  const within = Number(request.query.get("within_s") ?? 86_400) * 1000;
  const names = [...new Set(hostFindings.flatMap(({ host }) => Object.keys(host.labels)))].sort();
  const label = request.query.get("label") || (names.includes("role") ? "role" : (names[0] ?? ""));
  const measureId = request.query.get("measure") ?? "";
  const values = [...new Set(hostFindings.flatMap(({ host }) => host.labels[label] ?? []))];
  const groups = values.map((value): PeerGroup => {
    const group = hostFindings.filter(({ host }) => host.labels[label] === value);
    const fresh = group.filter(({ host }) => {
      const run = host.runs[0];
      return run && NOW_MS - Date.parse(run.at) <= within;
    });
    const all = RULES.flatMap((rule) => measure(rule, fresh) ?? []);
    const selected = all
      .filter((measure) => (measureId ? measure.measure === measureId : measure.hosts[0]?.is_outlier))
      .sort((x, y) => Math.abs(y.hosts[0]?.z ?? 0) - Math.abs(x.hosts[0]?.z ?? 0));
    return {
      value,
      hosts: group.map(({ host }) => host),
      stale_hosts: group.length - fresh.length,
      measures: selected.slice(0, 12),
      agreeing_measures: all.length - selected.length,
    };
  });
  return respond({
    at: now(),
    label,
    labels: names.map((name) => ({
      name,
      host_count: hostFindings.filter(({ host }) => host.labels[name] !== undefined).length,
      value_count: new Set(hostFindings.flatMap(({ host }) => host.labels[name] ?? [])).size,
    })),
    unlabeled_hosts: hostFindings.filter(({ host }) => host.labels[label] === undefined).length,
    ...LIMITS,
    groups: groups.sort((x, y) => y.hosts.length - x.hosts.length),
  } satisfies T.FleetPeers);
});
