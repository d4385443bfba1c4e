/** Playbooks: three of them, one tried on a run, and a check that knows two mistakes. */
import type * as T from "../src/client/types.ts";
import { delayFound, quietDiskFound } from "./findings.ts";
import { ok, problem, route } from "./routes.ts";

const two = (en: string, zh: string) => ({ en, zh });
type Asked = Partial<T.PlaybookStep> & Pick<T.PlaybookStep, "id" | "asks" | "about">;
const step = (extra: Asked, leads: Record<string, string>): T.PlaybookStep => ({
  finding: "",
  fired: "supports",
  quiet: "inconclusive",
  look: null,
  beware: null,
  seen: null,
  ...extra,
  // biome-ignore lint/suspicious/noThenProperty: the name is that of the playbooks; a record is nothing to wait for
  then: leads,
});
const card = (extra: Partial<T.PlaybookCard> & Pick<T.PlaybookCard, "id" | "title" | "when">) => ({
  command: "",
  risk: null,
  back: null,
  verifies: "",
  correction: null,
  findings: [],
  causes: [],
  ...extra,
});

const CROWD: T.Playbook = {
  id: "requests-wait-for-cpu",
  kind: "case",
  title: two("Requests wait for a CPU", "请求在等 CPU"),
  symptom: two(
    "The p99 of requests went from half a second to two while the service computes no more than before.",
    "请求的 p99 从半秒升到两秒，而服务的计算量并未增加。",
  ),
  covered: [two("Threads that want to run and are not let", "想运行却得不到 CPU 的线程")],
  not_covered: [
    two(
      "Goroutines and fibers that wait inside their runtime: the kernel sees only the threads that carry them",
      "在运行时内部等待的 goroutine 与纤程：内核只看得到承载它们的线程",
    ),
  ],
  hypotheses: [
    {
      id: "crowd",
      says: two("Far more threads want to run than there are CPUs", "想运行的线程远多于 CPU"),
      cause: "cpu-oversubscribed",
      primary: { read: "sched.delay_per_switch", better: "lower" },
    },
    {
      id: "lock",
      says: two("Threads wait for one lock, not for a CPU", "线程等的是同一把锁，而不是 CPU"),
      cause: "lock-contention",
      primary: { read: "offcpu.futex_share", better: "lower" },
    },
    {
      id: "disk",
      says: two("Threads wait for a disk", "线程在等磁盘"),
      cause: "disk-saturated",
      primary: { read: "disk.r_await_ms.held", better: "lower" },
    },
  ],
  steps: [
    step(
      {
        id: "waiting",
        asks: two("How long do runnable threads wait for a CPU?", "可运行线程等 CPU 要多久？"),
        about: "crowd",
        finding: "F-CPU-RUNQ-DELAY",
        quiet: "refutes",
        beware: two(
          "The wait tells that there is a queue, not whose it is.",
          "等待只说明有队列，不说明是谁的。",
        ),
        seen: two("44 ms at each switch; 1 ms after the fix.", "每次切换 44 毫秒；修复后为 1 毫秒。"),
      },
      { supports: "pool", refutes: "disk", otherwise: "lock" },
    ),
    step(
      {
        id: "pool",
        asks: two("Which pool are these threads?", "这些线程属于哪个线程池？"),
        about: "crowd",
        look: two(
          "The table of threads: names with a high delay. Compare their number with the quota.",
          "线程表：延迟高的线程名称。把数量与配额相比。",
        ),
      },
      { otherwise: "lock" },
    ),
    step(
      {
        id: "lock",
        asks: two("Do they wait for one lock?", "是否在等同一把锁？"),
        about: "lock",
        finding: "F-OFFCPU-LOCK",
        quiet: "refutes",
      },
      { supports: "playbook:one-busy-lock", otherwise: "end" },
    ),
    step(
      {
        id: "disk",
        asks: two("Or for a disk?", "还是在等磁盘？"),
        about: "disk",
        finding: "F-DISK-AWAIT",
        quiet: "refutes",
      },
      { supports: "end", otherwise: "lock" },
    ),
  ],
  dead_ends: [two("top showed busy CPUs, before the fix and after it.", "修复前后 top 都显示 CPU 繁忙。")],
  cards: [
    card({
      id: "bound-the-pool",
      title: two("Bound the number of threads", "限制线程数"),
      when: two("Far more threads are runnable than CPUs are allowed.", "可运行线程远多于允许的 CPU。"),
      command: "systemctl set-property --runtime feed.service CPUQuota=400%",
      risk: two("What this group gains, others on the host lose.", "该组得到的，正是同机其他进程失去的。"),
      back: two("Set the old value.", "设回原值。"),
      verifies: "sched.delay_per_switch",
      correction: two("It is no cure for a lock that everybody waits for.", "若大家都在等一把锁，此法无效。"),
      findings: ["F-CPU-RUNQ-DELAY"],
      causes: ["cpu-oversubscribed"],
    }),
  ],
  verify: two(
    "At the same rate threads wait less than a millisecond at each switch.",
    "相同请求速率下每次切换等待不足一毫秒。",
  ),
  references: [{ title: "perf-sched(1)", url: "https://man7.org/linux/man-pages/man1/perf-sched.1.html" }],
};

const LOCK: T.Playbook = {
  ...CROWD,
  id: "one-busy-lock",
  kind: "snippet",
  title: two("One busy lock", "一把繁忙的锁"),
  symptom: two("Many threads sleep and few run.", "大量线程睡眠，少数在运行。"),
  hypotheses: CROWD.hypotheses.filter((one) => one.id === "lock"),
  steps: CROWD.steps.filter((one) => one.id === "lock").map((one) => step(one, { otherwise: "end" })),
  dead_ends: [],
  cards: [],
};

const READINGS: T.Playbook = {
  ...CROWD,
  id: "what-load-means",
  kind: "reference",
  title: two("What the load average means", "平均负载的含义"),
  symptom: two("The load is high and nobody knows whether that is bad.", "负载高，却没人知道是否有问题。"),
  hypotheses: [],
  steps: [],
  dead_ends: [],
  cards: [
    card({
      id: "load",
      title: two("Load counts waiting for disks too", "负载也计入等磁盘的任务"),
      when: two("The load is high and the CPUs are idle.", "负载高而 CPU 空闲。"),
    }),
  ],
  verify: null,
};

export const PLAYBOOKS = [CROWD, LOCK, READINGS];

const summary = ({ id, kind, title, symptom, steps, cards, hypotheses }: T.Playbook): T.PlaybookSummary => ({
  id,
  kind,
  title,
  symptom,
  steps: steps.length,
  cards: cards.length,
  findings: steps.flatMap((one) => one.finding || []),
  causes: hypotheses.map((one) => one.cause),
});

const nobody = (name: string, reason: T.Sentence): T.StepAnswer => ({
  step: name,
  verdict: "not_collected",
  by: "nobody",
  grade: "context",
  reason,
  findings: [],
});
const byRule = (name: string, verdict: T.StepVerdict, found: T.Finding): T.StepAnswer => ({
  step: name,
  verdict,
  by: "rule",
  grade: found.grade,
  reason: null,
  findings: [found],
});

/** The queue was seen; the pool and the lock are the missing links; the disk stands beside the way. */
export const chainOf = (runId: string): T.PlaybookChain => ({
  playbook: CROWD.id,
  run_id: runId,
  path: ["waiting", "pool", "lock"],
  gaps: ["pool", "lock"],
  leads_to: "",
  answers: [
    byRule("waiting", "supports", delayFound),
    nobody("pool", { key: "playbook.for_a_person", params: {} }),
    nobody("lock", { key: "missing.not_collected", params: { collector: "perf_sched" } }),
    byRule("disk", "refutes", quietDiskFound),
  ],
  stands: [
    { hypothesis: "crowd", standing: "supported", supports: ["waiting"], refutes: [], grade: "mechanism" },
    { hypothesis: "lock", standing: "open", supports: [], refutes: [], grade: "context" },
    { hypothesis: "disk", standing: "refuted", supports: [], refutes: ["disk"], grade: "context" },
  ],
  next: {
    step: "lock",
    collectors: ["perf_sched"],
    tier: "deep",
    why: { key: "next.settles", params: { about: "lock", open: 1, tier: "deep" } },
  },
});

const find = (id: string | undefined) => PLAYBOOKS.find((one) => one.id === id);
const missing = () => problem(404, "playbook.not_found", "There is no such playbook.");

route("GET", "/playbooks", () => ok(PLAYBOOKS.map(summary)));
route("POST", "/playbooks/check", ({ body }) => {
  const text = String(body.text ?? "");
  const problems: T.PlaybookCheck["problems"] = [];
  if (!text.includes("not_covered:"))
    problems.push({ where: "not_covered", what: { key: "playbook.covers_all", params: {} } });
  if (text.includes("F-NOTHING"))
    problems.push({
      where: "steps.waiting.finding",
      what: { key: "playbook.no_rule", params: { id: "F-NOTHING" } },
    });
  return ok({ problems, playbook: problems.length > 0 ? null : CROWD });
});
route("GET", "/playbooks/:id", (_, id) => {
  const found = find(id);
  return found ? ok(found) : missing();
});
route("GET", "/playbooks/:id/chain", ({ query }, id) => {
  const found = find(id);
  if (!found) return missing();
  const chain = chainOf(query.get("run_id") ?? "");
  const path = found.steps.map((one) => one.id).filter((one) => chain.path.includes(one));
  return ok({ ...chain, playbook: found.id, path, gaps: chain.gaps.filter((one) => path.includes(one)) });
});
