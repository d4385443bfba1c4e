/** Three playbooks, a dry run, and a validation that finds two errors. */
import type * as T from "../../src/client/models.ts";
import type { Message } from "../../src/core/text/messages.ts";
import type { PlaybookCheck, PlaybookStep } from "../../src/features/playbooks/api.ts";
import { addRoute, respond, respondProblem } from "../server/routes.ts";
import { delayFinding, unmatchedDiskFinding } from "./findings.ts";

const localize = (en: string, zh: string) => ({ en, zh });
type StepFields = Partial<PlaybookStep> & Pick<PlaybookStep, "id" | "question" | "about">;
const step = (extra: StepFields, branches: Record<string, string>): PlaybookStep => ({
  finding: "",
  matched: "supports",
  not_matched: "inconclusive",
  instructions: null,
  caveat: null,
  example: null,
  ...extra,
  branches,
});
const remediation = (extra: Partial<T.Remediation> & Pick<T.Remediation, "id" | "title" | "when">) => ({
  command: "",
  risk: null,
  rollback: null,
  verifies: "",
  correction: null,
  findings: [],
  causes: [],
  ...extra,
});

const CROWD: T.Playbook = {
  id: "requests-wait-for-cpu",
  kind: "case",
  title: localize("Requests wait for a CPU", "请求在等 CPU"),
  symptom: localize(
    "The p99 of requests rose from 0.5 s to 2 s while the service does no more work than before.",
    "请求的 p99 从半秒升到两秒，而服务的计算量并未增加。",
  ),
  covered: [localize("Runnable threads that get no CPU", "可运行却得不到 CPU 的线程")],
  not_covered: [
    localize(
      "Goroutines and fibers that wait inside their runtime; the kernel sees only their threads",
      "在运行时内部等待的 goroutine 与纤程：内核只看得到承载它们的线程",
    ),
  ],
  hypotheses: [
    {
      id: "crowd",
      summary: localize(
        "Far more threads are runnable than CPUs are available",
        "可运行的线程远多于可用 CPU",
      ),
      cause: "cpu-oversubscribed",
      primary: { read: "sched.delay_per_switch", better: "lower" },
    },
    {
      id: "lock",
      summary: localize("Threads wait for one lock, not for a CPU", "线程等的是同一把锁，而不是 CPU"),
      cause: "lock-contention",
      primary: { read: "offcpu.futex_share", better: "lower" },
    },
    {
      id: "disk",
      summary: localize("Threads wait for a disk", "线程在等磁盘"),
      cause: "disk-saturated",
      primary: { read: "disk.r_await_ms.held", better: "lower" },
    },
  ],
  steps: [
    step(
      {
        id: "waiting",
        question: localize("How long do runnable threads wait for a CPU?", "可运行线程等 CPU 要多久？"),
        about: "crowd",
        finding: "F-CPU-RUNQ-DELAY",
        not_matched: "refutes",
        caveat: localize(
          "The wait shows that there is a queue, not what causes it.",
          "等待只说明有队列，不说明是谁的。",
        ),
        example: localize("44 ms per switch; 1 ms after the fix.", "每次切换 44 毫秒；修复后为 1 毫秒。"),
      },
      { supports: "pool", refutes: "disk", otherwise: "lock" },
    ),
    step(
      {
        id: "pool",
        question: localize("To which pool do these threads belong?", "这些线程属于哪个线程池？"),
        about: "crowd",
        instructions: localize(
          "Table of threads: names with a high delay. Compare their number with the quota.",
          "线程表：延迟高的线程名称。把数量与配额相比。",
        ),
      },
      { otherwise: "lock" },
    ),
    step(
      {
        id: "lock",
        question: localize("Do they wait for one lock?", "是否在等同一把锁？"),
        about: "lock",
        finding: "F-OFFCPU-LOCK",
        not_matched: "refutes",
      },
      { supports: "playbook:one-busy-lock", otherwise: "end" },
    ),
    step(
      {
        id: "disk",
        question: localize("Or for a disk?", "还是在等磁盘？"),
        about: "disk",
        finding: "F-DISK-AWAIT",
        not_matched: "refutes",
      },
      { supports: "end", otherwise: "lock" },
    ),
  ],
  dead_ends: [localize("top showed busy CPUs before and after the fix.", "修复前后 top 都显示 CPU 繁忙。")],
  remediations: [
    remediation({
      id: "bound-the-pool",
      title: localize("Limit the number of threads", "限制线程数"),
      when: localize("Far more threads are runnable than CPUs are allowed.", "可运行线程远多于允许的 CPU。"),
      command: "systemctl set-property --runtime feed.service CPUQuota=400%",
      risk: localize(
        "Other workloads on the host lose what this group gains.",
        "该组得到的，正是同机其他负载失去的。",
      ),
      rollback: localize("Restore the old value.", "恢复原值。"),
      verifies: "sched.delay_per_switch",
      correction: localize(
        "It does not help if all threads wait for one lock.",
        "若所有线程都在等一把锁，此法无效。",
      ),
      findings: ["F-CPU-RUNQ-DELAY"],
      causes: ["cpu-oversubscribed"],
    }),
  ],
  verify: localize(
    "At the same rate threads wait less than a millisecond per switch.",
    "相同请求速率下每次切换等待不足一毫秒。",
  ),
  references: [{ title: "perf-sched(1)", url: "https://man7.org/linux/man-pages/man1/perf-sched.1.html" }],
};

const LOCK: T.Playbook = {
  ...CROWD,
  id: "one-busy-lock",
  kind: "snippet",
  title: localize("One busy lock", "一把繁忙的锁"),
  symptom: localize("Many threads sleep and few run.", "大量线程睡眠，少数在运行。"),
  hypotheses: CROWD.hypotheses.filter((hypothesis) => hypothesis.id === "lock"),
  steps: CROWD.steps.filter((step) => step.id === "lock").map((item) => step(item, { otherwise: "end" })),
  dead_ends: [],
  remediations: [],
};

const READINGS: T.Playbook = {
  ...CROWD,
  id: "what-load-means",
  kind: "reference",
  title: localize("What the load average means", "平均负载的含义"),
  symptom: localize(
    "The load is high, and it is not known whether that is a problem.",
    "负载高，但不清楚是否有问题。",
  ),
  hypotheses: [],
  steps: [],
  dead_ends: [],
  remediations: [
    remediation({
      id: "load",
      title: localize("The load also counts tasks that wait for disks", "负载也计入等磁盘的任务"),
      when: localize("The load is high and the CPUs are idle.", "负载高而 CPU 空闲。"),
    }),
  ],
  verify: null,
};

export const PLAYBOOKS = [CROWD, LOCK, READINGS];

const summary = ({
  id,
  kind,
  title,
  symptom,
  steps,
  remediations,
  hypotheses,
}: T.Playbook): T.PlaybookSummary => ({
  id,
  kind,
  title,
  symptom,
  steps: steps.length,
  remediations: remediations.length,
  findings: steps.flatMap((step) => step.finding || []),
  causes: hypotheses.map((hypothesis) => hypothesis.cause),
});

const unanswered = (name: string, reason: Message): T.StepAnswer => ({
  step: name,
  verdict: "not_collected",
  by: "none",
  strength: "context",
  reason,
  findings: [],
});
const byRule = (name: string, verdict: T.StepVerdict, finding: T.Finding): T.StepAnswer => ({
  step: name,
  verdict,
  by: "rule",
  strength: finding.strength,
  reason: null,
  findings: [finding],
});

/** The run queue has a verdict, pool and lock are gaps, and the disk is not on the path. */
export const createDryRun = (runId: string): T.DryRunResult => ({
  playbook: CROWD.id,
  run_id: runId,
  path: ["waiting", "pool", "lock"],
  gaps: ["pool", "lock"],
  next_playbook: "",
  answers: [
    byRule("waiting", "supports", delayFinding),
    unanswered("pool", { key: "playbook.needs_person", params: {} }),
    unanswered("lock", { key: "missing.not_collected", params: { collector: "perf_sched" } }),
    byRule("disk", "refutes", unmatchedDiskFinding),
  ],
  hypotheses: [
    { hypothesis: "crowd", status: "supported", supports: ["waiting"], refutes: [], strength: "mechanism" },
    { hypothesis: "lock", status: "open", supports: [], refutes: [], strength: "context" },
    { hypothesis: "disk", status: "refuted", supports: [], refutes: ["disk"], strength: "context" },
  ],
  next: {
    step: "lock",
    collectors: ["perf_sched"],
    tier: "deep",
    why: { key: "next.settles", params: { about: "lock", open: 1, tier: "deep" } },
  },
});

const find = (id: string | undefined) => PLAYBOOKS.find((playbook) => playbook.id === id);
const missing = () => respondProblem(404, "playbook.not_found", "Playbook not found.");

addRoute("GET", "/playbooks", () => respond(PLAYBOOKS.map(summary)));
addRoute("POST", "/playbooks/check", ({ body }) => {
  const text = String(body.text ?? "");
  const problems: PlaybookCheck["problems"] = [];
  if (!text.includes("not_covered:"))
    problems.push({ location: "not_covered", what: { key: "playbook.no_limits", params: {} } });
  if (text.includes("F-NOTHING"))
    problems.push({
      location: "steps.waiting.finding",
      what: { key: "playbook.no_rule", params: { id: "F-NOTHING" } },
    });
  return respond({ problems, playbook: problems.length > 0 ? null : CROWD });
});
addRoute("GET", "/playbooks/:id", (_, id) => {
  const playbook = find(id);
  return playbook ? respond(playbook) : missing();
});
addRoute("GET", "/playbooks/:id/dry-run", ({ query }, id) => {
  const playbook = find(id);
  if (!playbook) return missing();
  const result = createDryRun(query.get("run_id") ?? "");
  const path = playbook.steps.map((step) => step.id).filter((item) => result.path.includes(item));
  return respond({
    ...result,
    playbook: playbook.id,
    path,
    gaps: result.gaps.filter((gap) => path.includes(gap)),
  });
});
