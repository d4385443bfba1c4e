import type { Locator, Page } from "@playwright/test";
import { expectAccessible, recordConsoleErrors } from "../support/check";
import { readProcessList } from "../support/platform";
import { expect, test } from "../support/test";

const BEFORE =
  "app;main;render;json 4000\napp;main;parse;count_quoted 400\napp;main;gone 600\napp;main;steady.isra.0 5020\n";
const AFTER =
  "app;main;render;json 2000\napp;main;parse;count_quoted 2600\napp;main;fresh 400\napp;main;steady 5000\n";

async function importFile(page: Page, name: string, text: string): Promise<string> {
  const answer = await page.request.post("/api/v1/imports", {
    headers: { "X-CSRF-Token": await fetchCsrfToken(page) },
    multipart: {
      file: { name: `${name}.folded`, mimeType: "text/plain", buffer: Buffer.from(text) },
      kind: "folded",
      name,
    },
  });
  expect(answer.status(), await answer.text()).toBe(201);
  const capture = (await answer.json()) as { runs: { id: string }[] };
  return capture.runs[0]?.id ?? "";
}

const fetchCsrfToken = async (page: Page): Promise<string> =>
  ((await (await page.request.get("/api/v1/me")).json()) as { csrf: string }).csrf;

async function waitForProfile(page: Page, run: string): Promise<string> {
  let id = "";
  await expect
    .poll(
      async () => {
        const answer = await page.request.get(`/api/v1/profiles?run=${run}`);
        const { items } = (await answer.json()) as { items: { id: string; state: string }[] };
        id = items[0]?.id ?? "";
        return items[0]?.state;
      },
      { timeout: 60_000 },
    )
    .toBe("ready");
  return id;
}

const readFill = async (frame: Locator): Promise<number[]> =>
  ((await frame.locator("rect").getAttribute("fill")) ?? "").match(/\d+/g)?.map(Number) ?? [];

test("growth is red, decrease blue, equality gray, and vanished paths are listed", {
  tag: "@no-capture",
}, async ({ page }) => {
  const expectNoErrors = recordConsoleErrors(page);
  await page.goto("/");
  const a = await waitForProfile(page, await importFile(page, "before", BEFORE));
  const b = await waitForProfile(page, await importFile(page, "after", AFTER));
  await page.goto(`/compare?ap=${a}&bp=${b}`);
  await page.getByRole("button", { name: "Compare", exact: true }).click();
  await expect(page).toHaveURL(/\/comparisons\//);
  const flame = page.getByTestId("flame");
  const frame = (name: string) => flame.locator("g.frame", { hasText: new RegExp(`${name}$`) }).first();
  await expect(flame.locator("g.frame").first()).toBeVisible({ timeout: 30_000 });
  await expect(frame("count_quoted")).toBeVisible();
  const [red = 0, , redBlue = 0] = await readFill(frame("count_quoted"));
  const [blueRed = 0, , blue = 0] = await readFill(frame("json"));
  const gray = await readFill(frame("steady"));
  expect(red).toBeGreaterThan(redBlue + 40);
  expect(blue).toBeGreaterThan(blueRed + 40);
  expect(Math.max(...gray) - Math.min(...gray)).toBeLessThan(24);
  const vanished = page.getByRole("region", { name: "Only in A" });
  await expect(vanished.getByText(/gone/)).toBeVisible();
  await expect(page.getByRole("region", { name: "New in B" }).getByText(/fresh/)).toBeVisible();
  await expectAccessible(page);

  await frame("steady").hover();
  await expect(page.getByTestId("detail")).toContainText("Gray: no more than chance");
  const functions = page.getByRole("region", { name: "Changed functions" });
  await expect(functions.getByRole("row")).toHaveCount(7);
  await page.getByLabel("Show unchanged functions").check();
  await expect(functions.getByRole("row", { name: /^steady/ })).toBeVisible();

  await vanished.getByRole("button", { name: /gone/ }).click();
  await expect(page).toHaveURL(/width=a/);
  await expect(frame("gone")).toBeVisible();
  const [goneRed = 0, , goneBlue = 0] = await readFill(frame("gone"));
  expect(goneBlue).toBeGreaterThan(goneRed + 40);
  await page.goBack();

  await page.getByRole("button", { name: "Swap A and B" }).click();
  await expect(page).toHaveURL(/swap=1/);
  await expect
    .poll(async () => {
      const [red2 = 0, , blue2 = 0] = await readFill(frame("json"));
      return red2 - blue2;
    })
    .toBeGreaterThan(40);

  await page.getByText("Requests", { exact: true }).click();
  await expect(page.getByText("Enter the requests of A and B")).toBeVisible();
  await page.getByLabel("Requests of A").fill("50");
  await page.getByLabel("Requests of B").fill("100");
  await page.getByLabel("Requests of B").blur();
  await frame("json").hover();
  await expect(page.getByTestId("detail")).toContainText("A 40/req → B 40/req");
  expectNoErrors();
});

test("a file that is no profile is refused with the next action", { tag: "@no-capture" }, async ({
  page,
}) => {
  await page.goto("/");
  const answer = await page.request.post("/api/v1/imports", {
    headers: { "X-CSRF-Token": await fetchCsrfToken(page) },
    multipart: {
      file: {
        name: "holiday.txt",
        mimeType: "text/plain",
        buffer: Buffer.from("dear all,\nthe sea is warm\n"),
      },
      kind: "folded",
    },
  });
  expect(answer.status()).toBeGreaterThanOrEqual(400);
  expect(answer.status()).toBeLessThan(500);
  const problem = (await answer.json()) as { detail: string; key: string };
  expect(problem.detail).toMatch(/line 1/i);
});

test("without workers a comparison waits as queued; it is drawn once they are back", {
  tag: "@alone",
}, async ({ page }) => {
  await page.goto("/");
  const a = await waitForProfile(page, await importFile(page, "left", BEFORE));
  const pids = listWorkerGroups();
  for (const pid of pids) process.kill(pid, "SIGSTOP");
  try {
    await page.goto(`/compare?ap=${a}&bp=${a}`);
    await page.getByRole("button", { name: "Compare", exact: true }).click();
    await expect(page).toHaveURL(/\/comparisons\//);
    await expect(page.getByText("queued")).toBeVisible();
  } finally {
    for (const pid of pids) process.kill(pid, "SIGCONT");
  }
  await expect(page.getByTestId("flame").locator("g.frame").first()).toBeVisible({ timeout: 60_000 });
});

/** Return the negated PIDs of the workers that `up` lists; `kill` then signals the whole process group. */
function listWorkerGroups(): number[] {
  const leaders = Object.entries(readProcessList().processes as Record<string, { pid: number }>)
    .filter(([name]) => name.startsWith("worker"))
    .map(([, entry]) => -entry.pid);
  expect(leaders.length).toBeGreaterThan(0);
  return leaders;
}
