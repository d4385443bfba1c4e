import { readFileSync, writeFileSync } from "node:fs";
import type { Page } from "@playwright/test";
import { expectAccessible, expectNoSidewaysScroll, recordConsoleErrors } from "../support/check";
import { getLocalHost, OUTPUT_DIR, postAsUser, runCulprit } from "../support/platform";
import { expect, test } from "../support/test";

/**
 * Export an incident in the browser and import it again. It has a capture over SSH with a real profile, and a pinned
 * frame of that profile. The import must have the same artifacts and verdicts, and its pin must open that frame.
 */
const STEP = "cpu-high-first-look/batch";
const FILE = `${OUTPUT_DIR}/incident.culprit.zip`;
const EQUAL = /^(\d+) of \1 rule results equal$/;

interface Pin {
  id: string;
  kind: string;
  view: string;
  snapshot: { frame: string; share: number };
}

interface Incident {
  id: string;
  number: number;
  version: number;
  pins: Pin[];
  runs: { run_id: string; host_id: string; from: string; to: string }[];
  steps: { key: string; verdict: string }[];
}

async function loadIncident(page: Page, id: string): Promise<Incident> {
  return (await (await page.request.get(`/api/v1/incidents/${id}`)).json()) as Incident;
}

/** Return the sorted lines `collector part sha256` of all artifacts of an incident. */
async function listDigests(page: Page, incident: Incident): Promise<string[]> {
  const digestLines: string[] = [];
  for (const { run_id } of incident.runs) {
    const answer = await page.request.get(`/api/v1/runs/${run_id}`);
    const { artifacts } = (await answer.json()) as {
      artifacts: { collector: string; part: string; sha256: string }[];
    };
    digestLines.push(...artifacts.map(({ collector, part, sha256 }) => `${collector} ${part} ${sha256}`));
  }
  return digestLines.sort();
}

/** Wait until the profile of a run is ready, and return its ID. */
async function waitForProfile(page: Page, run: string): Promise<string> {
  let id = "";
  await expect
    .poll(
      async () => {
        const answer = await page.request.get(`/api/v1/profiles?run=${run}`);
        const [profile] = ((await answer.json()) as { items: { id: string; state: string }[] }).items;
        id = profile?.id ?? "";
        return profile?.state;
      },
      { timeout: 60_000 },
    )
    .toBe("ready");
  return id;
}

/** Zoom into a frame and pin it to the last opened incident, `#number`. */
async function pinFrame(page: Page, number: number): Promise<void> {
  const flame = page.getByTestId("flame");
  await expect(flame.locator("svg, canvas").first()).toBeVisible({ timeout: 30_000 });
  await flame.focus();
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowUp");
  await expect(page.getByTestId("detail")).toContainText("total");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/[?&]at=/);
  await page.getByRole("button", { name: "Pin this frame" }).click();
  await page.getByRole("button", { name: `Pin to #${number}` }).click();
  await expect(page.getByRole("status").filter({ hasText: "Pinned" })).toBeVisible();
}

async function pinTime(page: Page, incident: Incident): Promise<void> {
  const [run] = incident.runs;
  if (!run) throw new Error("the incident has no run");
  const [from, to] = [run.from, run.to].map((at) => Date.parse(at) * 1e6) as [number, number];
  await postAsUser(page, `/incidents/${incident.id}/pins`, {
    version: incident.version,
    kind: "range",
    ref: { run_id: run.run_id, host_id: run.host_id, metric: "cpu.total_busy_pct", from_ns: from, to_ns: to },
    view: `/hosts/${run.host_id}?b=${from}~${to}`,
  });
}

test("an exported incident has the same content after import", async ({ page }) => {
  test.setTimeout(180_000);
  const expectNoErrors = recordConsoleErrors(page);
  const host = getLocalHost();
  const output = runCulprit(
    "capture",
    "create",
    host.name,
    "--plan",
    "cpu",
    "--seconds",
    "4",
    "--wait",
    "--json",
  );
  const [run] = (JSON.parse(output) as { runs: { id: string }[] }).runs;
  const opened = JSON.parse(
    runCulprit(
      ...["incident", "create", "travels", "--host", host.name, "--run", run?.id ?? ""],
      ...["--playbook", "cpu-high-first-look", "--json"],
    ),
  ) as Incident;

  await page.goto(`/incidents/${opened.id}`);
  await expect(page.getByRole("heading", { name: /travels/ })).toBeVisible();
  await page.goto(`/profiles/${await waitForProfile(page, run?.id ?? "")}`);
  await pinFrame(page, opened.number);
  await pinTime(page, await loadIncident(page, opened.id));
  const [frame] = (await loadIncident(page, opened.id)).pins as [Pin];
  runCulprit(
    "incident",
    "verdict",
    String(opened.number),
    STEP,
    "supports",
    "--pin",
    frame.id,
    "--note",
    "that frame",
  );

  // The server rejects the export until rules are evaluated, shortly after the profile is parsed.
  const path = `/api/v1/incidents/${opened.id}/export`;
  await expect.poll(async () => (await page.request.get(path)).status(), { timeout: 30_000 }).toBe(200);
  await page.goto(`/incidents/${opened.id}`);
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: "Export for another Culprit" }).click();
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("dialog").getByRole("button", { name: "Export", exact: true }).click(),
  ]);
  expect(file.suggestedFilename()).toBe(`incident-${opened.number}.culprit.zip`);
  await file.saveAs(FILE);
  const before = await loadIncident(page, opened.id);

  await page.goto("/captures?dialog=import");
  const dialog = page.getByRole("dialog");
  const bring = async (name: string) => {
    await page.locator('input[type="file"]').setInputFiles(name);
    await dialog.getByRole("button", { name: "Import", exact: true }).click();
  };
  writeFileSync(`${OUTPUT_DIR}/cut.culprit.zip`, readFileSync(FILE).subarray(0, 5000));
  await bring(`${OUTPUT_DIR}/cut.culprit.zip`);
  await expect(dialog.getByRole("alert")).toContainText("damaged");
  await bring(FILE);
  await expect(page).toHaveURL(/\/incidents\/[0-9a-f-]{36}/);
  await expect(page.getByText(`where it was #${opened.number}`)).toBeVisible();
  await expect(page.getByText(EQUAL)).toBeVisible({ timeout: 45_000 });
  await expectAccessible(page);
  await page.screenshot({ path: `${OUTPUT_DIR}/imported.png` });

  const id = /incidents\/([0-9a-f-]{36})/.exec(page.url())?.[1] ?? "";
  const after = await loadIncident(page, id);
  expect(id).not.toBe(opened.id);
  expect(after.steps.map((step) => [step.key, step.verdict])).toEqual(
    before.steps.map((step) => [step.key, step.verdict]),
  );
  expect(await listDigests(page, after)).toEqual(await listDigests(page, before));
  expect(after.pins.map((pin) => [pin.kind, pin.snapshot.share])).toEqual(
    before.pins.map((pin) => [pin.kind, pin.snapshot.share]),
  );

  await page.getByRole("tab", { name: /^Pinned/ }).click();
  await page.locator(`a[href^="/profiles/"]`).first().click();
  await expect(page).toHaveURL(/profiles\/.*[?&]at=/);
  expect(page.url()).not.toContain(frame.view.split("?")[0] as string);
  // The frame path is DOM text, even if the flame graph is rendered on a canvas.
  await expect(
    page.getByTestId("frame-path").getByText(frame.snapshot.frame, { exact: true }).last(),
  ).toBeVisible();

  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`/incidents/${id}`);
  await expect(page.getByText(EQUAL)).toBeVisible();
  await expectNoSidewaysScroll(page);
  const again = JSON.parse(runCulprit("incident", "import", FILE, "--wait", "--json")) as {
    id: string;
    new: boolean;
  };
  expect(again).toMatchObject({ id, new: false });
  expectNoErrors();
});
