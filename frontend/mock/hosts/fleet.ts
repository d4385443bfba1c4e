/** The fleet of 500: a sick group, a few odd ones, hosts that nobody looked at for a week or ever. */
import type * as T from "../src/client/types.ts";
import { hash, id } from "./noise.ts";
import { type MockRequest, ok, route } from "./routes.ts";
import { state } from "./state.ts";
import { NOW_MS } from "./world.ts";

interface Asked {
  rule: string;
  title: [string, string];
  unit: string;
  threshold: number;
  place: string;
  /** What a host that is well has, about. */
  usual: number;
  grade?: T.Grade;
}

const asked = (
  rule: string,
  title: [string, string],
  place: string,
  unit: string,
  threshold: number,
  usual: number,
  grade: T.Grade = "mechanism",
): Asked => ({ rule, title, place, unit, threshold, usual, grade });

const ASKED: readonly Asked[] = [
  asked("F-CPU-BUSY", ["The CPUs are busy", "CPU 繁忙"], "cpu.utilisation", "pct", 90, 31, "context"),
  asked(
    "F-CPU-STACK-GC",
    ["The collector takes the CPU", "垃圾回收占用 CPU"],
    "cpu.utilisation",
    "pct",
    25,
    6,
  ),
  asked(
    "F-CPU-RUNQ-DELAY",
    ["Runnable threads wait for a CPU", "可运行线程等待 CPU"],
    "cpu.saturation",
    "ms",
    3,
    0.4,
  ),
  asked("F-LOAD-HIGH", ["The load is high", "负载高"], "cpu.saturation", "", 2, 0.3, "context"),
  asked(
    "F-CPU-THERMAL",
    ["Heat slows the CPUs down", "CPU 因过热降速"],
    "cpu.errors",
    "per_s",
    0,
    0,
    "direct",
  ),
  asked(
    "F-MEM-AVAILABLE",
    ["Little memory is available", "可用内存少"],
    "memory.utilisation",
    "pct",
    95,
    61,
    "context",
  ),
  asked("F-MEM-RECLAIM", ["Threads wait for reclaim", "线程等待回收"], "memory.saturation", "pct", 10, 0.2),
  asked(
    "F-MEM-OOM-HOST",
    ["The host ran out of memory", "主机内存耗尽"],
    "memory.errors",
    "count",
    0,
    0,
    "direct",
  ),
  asked(
    "F-FS-FULL",
    ["A file system is nearly full", "文件系统将满"],
    "disk.utilisation",
    "pct",
    90,
    44,
    "direct",
  ),
  asked("F-DISK-AWAIT", ["Requests wait at a disk", "磁盘请求等待"], "disk.saturation", "ms", 20, 1.4),
  asked(
    "F-DISK-ILL",
    ["A disk says that it is failing", "磁盘报告故障"],
    "disk.errors",
    "count",
    0,
    0,
    "direct",
  ),
  asked("F-NET-UTIL", ["A link is nearly full", "链路将满"], "network.utilisation", "pct", 80, 12),
  asked(
    "F-NET-LISTEN-OVERFLOW",
    ["A listen queue overflows", "监听队列溢出"],
    "network.saturation",
    "per_s",
    5,
    0,
    "direct",
  ),
  asked("F-NET-IFACE-DROP", ["A device drops packets", "网卡丢包"], "network.errors", "pct", 0.1, 0),
  asked(
    "F-FD-LEAK",
    ["Open files near their limit", "打开文件接近上限"],
    "application.utilisation",
    "pct",
    80,
    9,
  ),
  asked(
    "F-OFFCPU-LOCK",
    ["Threads wait for one lock", "线程等待同一把锁"],
    "application.saturation",
    "pct",
    40,
    3,
  ),
  asked("F-APP-ERR", ["Requests fail", "请求失败"], "application.errors", "pct", 1, 0.02),
  asked(
    "F-CPU-SYS-HIGH",
    ["The kernel uses most of the CPU", "内核占用大部分 CPU"],
    "kernel.utilisation",
    "pct",
    50,
    14,
    "context",
  ),
  asked("F-PROC-DSTATE", ["Tasks are stuck", "任务卡住"], "kernel.saturation", "count", 5, 0),
  asked("F-CLOCK-OFFSET", ["The clock is off", "时钟偏差"], "kernel.errors", "ms", 50, 1, "direct"),
];

/** What every feed host in one datacentre suffers from, and a few others here and there. */
const SHARED = new Set(["F-CPU-RUNQ-DELAY", "F-NET-LISTEN-OVERFLOW", "F-APP-ERR"]);

const iso = (msAgo: number) => new Date(NOW_MS - msAgo).toISOString();
const MINUTE = 60_000;

function short(host: T.Host, i: number): T.FleetHost {
  const blind = i % 29 === 11;
  const age = (i % 17 === 5 ? 9 * 1440 : 2 + Math.floor(hash("age", i) * 50)) * MINUTE;
  const look = (n: number, plan: string): T.FleetLook => ({
    run_id: id("run", host.id, 471 - n),
    plan,
    at: iso(age + n * 60 * MINUTE),
  });
  return {
    id: host.id,
    name: host.name,
    labels: host.labels,
    state: host.state,
    looks: blind ? [] : [look(0, "triage"), look(1, "cpu")],
    worst: null,
  };
}

function words(host: T.Host, i: number): T.FleetWord[] {
  const sick = host.labels.role === "feed" && host.labels.dc === "fra2";
  return ASKED.flatMap((one, n): T.FleetWord[] => {
    const luck = hash("luck", i, n);
    if (luck < 0.08 && !(sick && SHARED.has(one.rule))) return [];
    const ill = (sick && SHARED.has(one.rule)) || luck > 0.985;
    const unsure = !ill && luck > 0.965;
    const usual = one.usual * (0.8 + 0.4 * hash("value", i, n));
    const beyond = (one.threshold || 1) * (1.2 + 9 * hash("beyond", i, n));
    const most = one.unit === "pct" ? Math.min(beyond, 99.6) : beyond;
    return [
      {
        rule: one.rule,
        state: ill ? "fired" : unsure ? "inconclusive" : "quiet",
        severity: one.grade === "context" ? "info" : ill && hash("grave", i, n) > 0.5 ? "critical" : "warn",
        value: ill || unsure ? most : usual,
        threshold: one.threshold,
        subject: one.place.startsWith("disk") && ill ? { dev: "nvme0n1" } : {},
        subjects: ill ? 1 : 0,
        look: luck > 0.6 && luck < 0.7 ? 1 : 0,
      },
    ];
  });
}

const RANK = { quiet: 0, inconclusive: 1, fired: 2 } as const;
const GRAVE = { info: 0, warn: 1, critical: 2 } as const;
const rankOf = (one: T.FleetWord) => RANK[one.state] * 10 + (one.state === "fired" ? GRAVE[one.severity] : 0);

interface Seen {
  host: T.FleetHost;
  words: T.FleetWord[];
}

function fleet({ query }: MockRequest): Seen[] {
  const has = query.get("has") ?? "";
  const [name = "", value] = has.split(":");
  return (state.empty ? [] : state.hosts)
    .map((host, i) => ({ host, i }))
    .filter(({ host }) => host.state !== "retired" && (has === "" || host.labels[name] === value))
    .map(({ host, i }) => {
      const told = short(host, i);
      const said = told.looks.length > 0 ? words(host, i) : [];
      const fired = said.filter((one) => one.state === "fired").sort((x, y) => rankOf(y) - rankOf(x));
      return { host: { ...told, worst: fired[0]?.severity ?? null }, words: said };
    });
}

const rules = (): Record<string, T.FleetRule> =>
  Object.fromEntries(
    ASKED.map((one): [string, T.FleetRule] => {
      const [resource = null, letter = null] = one.place.split(".");
      const [en, zh] = one.title;
      return [
        one.rule,
        { title: { en, zh }, unit: one.unit, op: ">", grade: one.grade ?? "mechanism", resource, letter },
      ];
    }),
  );

function cells(said: readonly T.FleetWord[]): Record<string, T.FleetCell> {
  const found: Record<string, T.FleetCell> = {};
  for (const place of new Set(ASKED.map((one) => one.place))) {
    const mine = said.filter((word) => ASKED.find((one) => one.rule === word.rule)?.place === place);
    const [worst] = [...mine].sort((x, y) => rankOf(y) - rankOf(x));
    if (worst)
      found[place] = {
        ...worst,
        said: mine.length,
        fired: mine.filter((one) => one.state === "fired").length,
      };
  }
  return found;
}

const LIMITS = { left_out: 0 };
const now = () => new Date(NOW_MS).toISOString();

route("GET", "/fleet/use", (request) =>
  ok({
    at: now(),
    rules: rules(),
    ...LIMITS,
    hosts: fleet(request).map(({ host, words: said }) => ({ ...host, cells: cells(said) })),
  } satisfies T.FleetUse),
);

route("GET", "/fleet/findings", (request) => {
  const seen = fleet(request);
  const fired = new Set(
    seen.flatMap((one) => one.words).flatMap((one) => (one.state === "fired" ? one.rule : [])),
  );
  const ids = (said: T.FleetWord[], wanted: string) =>
    said.flatMap((one) => (one.state === wanted && fired.has(one.rule) ? one.rule : []));
  return ok({
    at: now(),
    rules: Object.fromEntries(Object.entries(rules()).filter(([rule]) => fired.has(rule))),
    ...LIMITS,
    hosts: seen.map(({ host, words: said }) => ({
      ...host,
      fired: said.filter((one) => one.state === "fired"),
      inconclusive: ids(said, "inconclusive"),
      quiet: ids(said, "quiet"),
    })),
  } satisfies T.FleetFindings);
});

function measure(one: Asked, group: readonly Seen[]): T.PeerMeasure | undefined {
  const found = group.flatMap(({ host, words: said }) => {
    const word = said.find((each) => each.rule === one.rule);
    return word?.value == null ? [] : [{ host_id: host.id, value: word.value, look: word.look }];
  });
  if (found.length < 5) return undefined;
  const middle = (values: number[]) => values.sort((x, y) => x - y)[Math.floor(values.length / 2)] ?? 0;
  const median = middle(found.map((each) => each.value));
  const step = Math.max(
    middle(found.map((each) => Math.abs(each.value - median))) / 0.6745,
    0.02 * median,
    0.5,
  );
  const standings = found
    .map((each) => {
      const z = Math.max(-100, Math.min(100, (each.value - median) / step));
      return { ...each, z, unlike: Math.abs(z) > 3.5 };
    })
    .sort((x, y) => Math.abs(y.z) - Math.abs(x.z));
  const [en, zh] = one.title;
  return {
    measure: `${one.place}.${one.rule}`,
    rule: one.rule,
    title: { en, zh },
    unit: one.unit,
    n: found.length,
    median,
    step,
    standings,
  };
}

route("GET", "/fleet/peers", (request) => {
  const seen = fleet(request);
  const within = Number(request.query.get("within_s") ?? 86_400) * 1000;
  const names = [...new Set(seen.flatMap(({ host }) => Object.keys(host.labels)))].sort();
  const label = request.query.get("label") || (names.includes("role") ? "role" : (names[0] ?? ""));
  const wanted = request.query.get("measure") ?? "";
  const values = [...new Set(seen.flatMap(({ host }) => host.labels[label] ?? []))];
  const groups = values.map((value): T.PeerGroup => {
    const group = seen.filter(({ host }) => host.labels[label] === value);
    const fresh = group.filter(({ host }) => {
      const look = host.looks[0];
      return look && NOW_MS - Date.parse(look.at) <= within;
    });
    const all = ASKED.flatMap((one) => measure(one, fresh) ?? []);
    const shown = all
      .filter((one) => (wanted ? one.measure === wanted : one.standings[0]?.unlike))
      .sort((x, y) => Math.abs(y.standings[0]?.z ?? 0) - Math.abs(x.standings[0]?.z ?? 0));
    return {
      value,
      hosts: group.map(({ host }) => host),
      stale: group.length - fresh.length,
      measures: shown.slice(0, 12),
      agree: all.length - shown.length,
    };
  });
  return ok({
    at: now(),
    label,
    labels: names.map((name) => ({
      name,
      hosts: seen.filter(({ host }) => host.labels[name] !== undefined).length,
      values: new Set(seen.flatMap(({ host }) => host.labels[name] ?? [])).size,
    })),
    without: seen.filter(({ host }) => host.labels[label] === undefined).length,
    ...LIMITS,
    groups: groups.sort((x, y) => y.hosts.length - x.hosts.length),
  } satisfies T.FleetPeers);
});
