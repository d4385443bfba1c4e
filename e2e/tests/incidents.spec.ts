import { writeFileSync } from "node:fs";
import type { Page } from "@playwright/test";
import { expectAccessible, expectNoSidewaysScroll, recordConsoleErrors } from "../support/check";
import { formatInteractions, InteractionCounter, type Interactions } from "../support/interactions";
import { FaultyHost } from "../support/lab";
import { OUTPUT_DIR } from "../support/platform";
import { expect, test } from "../support/test";

/**
 * Investigation of a faulty lab host in the browser, from the symptom to a verified fix. Stories with `always` run in
 * every test run, the others only with CULPRIT_FULL. Each test prints the interactions from the symptom to the cause.
 */
interface Story {
  name: string;
  /** Fault scenarios of the lab; two scenarios are active at the same time. */
  lab: readonly string[];
  causes: readonly string[];
  always?: true;
}

const STORIES: readonly Story[] = [
  {
    name: "listen overflow: from the symptom to a verified fix",
    lab: ["listen-overflow"],
    causes: ["listen-queue-overflow"],
    always: true,
  },
  {
    name: "memory kill: from the symptom to a verified fix",
    lab: ["memcg-oom"],
    causes: ["memcg-oom-kill"],
  },
  {
    name: "thread oversubscription: from the symptom to a verified fix",
    lab: ["oversubscription"],
    causes: ["thread-oversubscription"],
  },
  {
    name: "synchronous log: from the symptom to a verified fix",
    lab: ["osync-log"],
    causes: ["sync-write-amplification"],
  },
  {
    name: "major faults: from the symptom to a verified fix",
    lab: ["major-faults"],
    causes: ["major-fault-thrashing"],
  },
  {
    name: "packet loss, twice: from the symptom to a verified fix",
    lab: ["firewall-drop", "qdisc-drop"],
    causes: ["firewall-drop", "qdisc-drop"],
  },
  {
    name: "port exhaustion: from the symptom to a verified fix",
    lab: ["port-exhaustion"],
    causes: ["ephemeral-port-exhaustion"],
  },
  {
    name: "slow dependency behind a futex: from the symptom to a verified fix",
    lab: ["slow-dependency-chain"],
    causes: ["slow-dependency"],
  },
];

interface Hypothesis {
  id: string;
  key: string;
  cause: string;
  state: string;
  strength: string;
  supports: string[];
  summary: { en: string };
}

interface Incident {
  id: string;
  state: string;
  gaps: string[];
  hypotheses: Hypothesis[];
  steps: { key: string; question: { en: string }; verdict: string }[];
  fixes: { id: string; state: string; verifications: { state: string }[] }[];
  runs: { state: string; role: string }[];
  pins: { id: string }[];
  next: { step: string; tier: string; collectors: string[] } | null;
}

interface InvestigationEffort {
  cause: string;
  /** Interactions since the page of the faulty host was opened; for a second cause, since the first fix. */
  fromSymptom: Interactions;
  /** The part of `fromSymptom` after the incident was created. */
  fromIncident: Interactions;
}

for (const story of STORIES) {
  const run = story.always || process.env.CULPRIT_FULL ? test : test.skip;
  run(story.name, async ({ page }) => {
    test.setTimeout(1_800_000 * story.causes.length);
    const expectNoErrors = recordConsoleErrors(page);
    const counter = await InteractionCounter.of(page);
    const host = await FaultyHost.start(story.lab, 7);
    const ways: InvestigationEffort[] = [];
    try {
      await page.goto(`/hosts/${host.id}`);
      let symptom = await counter.total();
      let opened = await openIncident(page, counter);
      for (const [at, cause] of story.causes.entries()) {
        if (at > 0) {
          symptom = await counter.total();
          opened = symptom;
          await repeatSymptomStep(page);
        }
        const hypothesis = await settleCause(page, counter, cause);
        ways.push({
          cause,
          fromSymptom: await counter.since(symptom),
          fromIncident: await counter.since(opened),
        });
        await verifyFix(page, host, cause, hypothesis);
      }
      // The verification captures for about ten minutes before it has an outcome; the short run does not wait.
      if (process.env.CULPRIT_FULL) await resolveIncident(page);
      await page.screenshot({ path: `${OUTPUT_DIR}/incident-${story.lab[0]}.png`, fullPage: true });
      expectNoErrors();
    } finally {
      await host.end();
    }
    for (const { cause, fromSymptom, fromIncident } of ways)
      console.log(
        `${cause}: named after ${formatInteractions(fromSymptom)}; in the incident ${formatInteractions(fromIncident)}`,
      );
    writeFileSync(
      `${OUTPUT_DIR}/way-${story.lab.join("-")}.json`,
      JSON.stringify({ story: story.name, ways }),
    );
  });
}

const incidentIdOf = (page: Page): string => page.url().match(/incidents\/([0-9a-f-]+)/)?.[1] ?? "";

async function loadIncident(page: Page): Promise<Incident> {
  const answer = await page.request.get(`/api/v1/incidents/${incidentIdOf(page)}`);
  return (await answer.json()) as Incident;
}

/** Diagnose the host and create an incident from the result; return the interactions until its creation. */
async function openIncident(page: Page, counter: InteractionCounter): Promise<Interactions> {
  await page.getByRole("button", { name: "Diagnose", exact: true }).first().click();
  await page.getByRole("dialog").getByRole("button", { name: "Diagnose", exact: true }).click();
  await expect(page).toHaveURL(/\/diagnoses\//);
  await expect(page.getByRole("heading", { name: "Ruled out" })).toBeVisible({ timeout: 180_000 });
  await page.getByRole("button", { name: "Open incident" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("textbox", { name: "Title" })).not.toHaveValue("");
  await dialog.getByRole("button", { name: "Create incident" }).click();
  await expect(page).toHaveURL(/\/incidents\/[0-9a-f-]{36}/);
  const opened = await counter.total();
  await page.getByRole("button", { name: "Start investigating" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Start investigating" }).click();
  await expect(page.getByText("investigating").first()).toBeVisible();
  await counter.exclude(async () => {
    await expectAccessible(page);
    await expectNoSidewaysScroll(page);
  });
  return opened;
}

/** Repeat the symptom step, which the incident offers after a verified fix in case of a second cause. */
async function repeatSymptomStep(page: Page): Promise<void> {
  const before = (await loadIncident(page)).runs.filter((run) => run.role === "evidence").length;
  await page.getByRole("button", { name: "Repeat the symptom step" }).click();
  await expect
    .poll(
      async () =>
        (await loadIncident(page)).runs.filter(
          (run) => run.role === "evidence" && STORED_STATES.includes(run.state),
        ).length,
      {
        timeout: 60_000,
      },
    )
    .toBeGreaterThan(before);
}

const STORED_STATES = ["done", "partial"];
const ENDED_STATES = [...STORED_STATES, "failed", "canceled", "expired"];
const STRONG_EVIDENCE = /^(direct|mechanism)$/;
const MAX_STEPS = 6;

/** Return the hypothesis of a cause that the most steps support, or undefined. */
const findBestHypothesis = (incident: Incident, cause: string): Hypothesis | undefined =>
  incident.hypotheses
    .filter((item) => item.cause === cause && item.supports.length)
    .sort((a, b) => b.supports.length - a.supports.length)[0];

/** Return whether all captures have ended and the step has a verdict, or another step is next. */
function isAnswered(incident: Incident, key: string): boolean {
  const step = incident.steps.find((item) => item.key === key);
  const over = incident.runs.every((run) => ENDED_STATES.includes(run.state));
  return over && (step?.verdict !== "not_collected" || incident.next?.step !== key);
}

/** Run proposed steps until the cause has direct or mechanism evidence; return its hypothesis. */
async function investigate(page: Page, cause: string): Promise<Hypothesis> {
  await expect
    .poll(async () => findBestHypothesis(await loadIncident(page), cause)?.key, { timeout: 60_000 })
    .toBeTruthy();
  for (let taken = 0; taken < MAX_STEPS; taken++) {
    const { next } = await loadIncident(page);
    const hypothesis = findBestHypothesis(await loadIncident(page), cause) as Hypothesis;
    if (STRONG_EVIDENCE.test(hypothesis.strength) || !next?.collectors.length || next.tier === "ptrace")
      break;
    await page.getByRole("region", { name: "Next step" }).getByRole("button", { name: /^Run/ }).click();
    await expect
      .poll(async () => isAnswered(await loadIncident(page), next.step), { timeout: 120_000 })
      .toBe(true);
  }
  await expect
    .poll(async () => findBestHypothesis(await loadIncident(page), cause)?.strength)
    .toMatch(STRONG_EVIDENCE);
  return findBestHypothesis(await loadIncident(page), cause) as Hypothesis;
}

/** Collect evidence for a cause, test that a verdict needs a pin, set a verdict with a pin, and mark it as likely. */
async function settleCause(page: Page, counter: InteractionCounter, cause: string): Promise<Hypothesis> {
  const hypothesis = await investigate(page, cause);
  const step = hypothesis.supports[0] as string;
  await page.locator(`[id="step-${step}"]`).click();
  const give = page.getByRole("region", { name: "Evidence" }).getByRole("button", { name: "Set verdict" });
  const dialog = page.getByRole("dialog");

  await counter.exclude(async () => {
    await give.click();
    await dialog.getByText("Refutes").first().click();
    await dialog.getByRole("button", { name: "Set verdict" }).click();
    await expect(dialog.getByRole("alert")).toContainText(/pin/i);
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await expect(dialog).toBeHidden();
  });

  const pins = (await loadIncident(page)).pins.length;
  await page.keyboard.press("e");
  await expect(page.getByRole("tab", { name: new RegExp(`^Pinned\\s*${pins + 1}$`) })).toBeVisible();
  await give.click();
  await dialog.getByRole("button", { name: "Set verdict" }).click();
  await expect(dialog).toBeHidden();

  await counter.exclude(async () => {
    await setHypothesisState(page, hypothesis, "Confirm");
    await expect(page.getByRole("alert").first()).toContainText(/before and after|comparison|verified/i);
  });
  await setHypothesisState(page, hypothesis, "Mark as likely");
  await expect
    .poll(async () => findCurrentHypothesis(await loadIncident(page), hypothesis).state)
    .toBe("likely");
  return hypothesis;
}

const findCurrentHypothesis = (incident: Incident, hypothesis: Hypothesis): Hypothesis =>
  incident.hypotheses.find((item) => item.key === hypothesis.key) as Hypothesis;

async function setHypothesisState(page: Page, hypothesis: Hypothesis, how: string): Promise<void> {
  const branch = page.locator("li", { has: page.getByText(hypothesis.summary.en, { exact: true }) }).first();
  await branch.getByRole("button", { name: /^State:/ }).click();
  await page.getByRole("menuitem", { name: how }).click();
}

/** Plan a fix, measure before it, apply it, and with CULPRIT_FULL wait for its verification and confirm the cause. */
async function verifyFix(page: Page, host: FaultyHost, cause: string, hypothesis: Hypothesis): Promise<void> {
  const likely = page.locator('li[data-kind="cause"]', { has: page.getByText("Likely", { exact: true }) });
  await likely.getByRole("button", { name: "Plan a fix" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox", { name: "Description of the change" }).fill(`undo ${cause}`);
  await dialog.getByRole("button", { name: "Save fix" }).click();
  const fix = page.getByRole("article").filter({ hasText: `undo ${cause}` });
  await fix.getByRole("button", { name: "Measure before the fix" }).click();
  await dialog.getByRole("radio", { name: "before and after" }).check();
  await dialog.getByRole("button", { name: "Start verification" }).click();
  await expect(fix.getByText(/waiting for the fix/)).toBeVisible({ timeout: 400_000 });

  await host.repair(cause);
  await fix.getByRole("button", { name: "Mark as applied" }).click();
  await dialog.getByRole("button", { name: "Save" }).click();
  if (!process.env.CULPRIT_FULL) {
    await expect(fix.getByText(/waiting for the fix/)).toBeHidden();
    return;
  }
  await expect(fix.getByText("The fix worked")).toBeVisible({ timeout: 1_000_000 });
  await page.screenshot({ path: `${OUTPUT_DIR}/verified-${cause}.png`, fullPage: true });
  await setHypothesisState(page, hypothesis, "Confirm");
  await expect
    .poll(async () => findCurrentHypothesis(await loadIncident(page), hypothesis).state)
    .toBe("confirmed");
}

/** Change the state up to resolved; waive open steps or dismiss their playbooks with a reason. */
async function resolveIncident(page: Page): Promise<void> {
  const dialog = page.getByRole("dialog");
  for (const to of ["Mark as identified", "Mark as mitigated"]) {
    await page.getByRole("button", { name: to }).click();
    await dialog.getByRole("button", { name: to }).click();
    await expect(dialog).toBeHidden();
  }
  await page.getByRole("button", { name: "Resolve" }).click();
  await dialog.getByRole("button", { name: "Resolve" }).click();
  if ((await loadIncident(page)).gaps.length > 0) {
    await expect(dialog.getByRole("alert")).toBeVisible();
    for (
      let left = (await loadIncident(page)).gaps.length;
      left > 0;
      left = (await loadIncident(page)).gaps.length
    ) {
      const book = dialog.getByRole("list", { name: "Open steps" }).getByRole("listitem").first();
      await book.getByRole("textbox").fill("the verified fix answers it");
      // The playbook of the cause cannot be dismissed, so its steps are waived; other playbooks are dismissed.
      const dismiss = book.getByRole("button", { name: "Dismiss playbook" });
      await ((await dismiss.count()) > 0 ? dismiss : book.getByRole("button", { name: /^Waive \d/ })).click();
      await expect.poll(async () => (await loadIncident(page)).gaps.length).toBeLessThan(left);
    }
    await dialog.getByRole("button", { name: "Resolve" }).click();
  }
  await expect.poll(async () => (await loadIncident(page)).state).toBe("resolved");
}
