import type { Page } from "@playwright/test";
import { expectAccessible, expectNoSidewaysScroll, recordConsoleErrors } from "../support/check";
import { expect, test } from "../support/test";

test.describe.configure({ mode: "serial" });

/** Return four seconds of `perf script` output with three threads of a program and a stripped helper. */
function buildPerfScript(): string {
  const stacks: Record<string, [string, string][]> = {
    "web 40/41": [
      ["handle", "/usr/bin/web"],
      ["main", "/usr/bin/web"],
    ],
    "web 40/42": [
      ["walk", "/usr/bin/web"],
      ["visit", "/usr/bin/web"],
      ["walk", "/usr/bin/web"],
      ["main", "/usr/bin/web"],
    ],
    "web 40/43": [
      ["SSL_read", "/usr/lib/libssl.so.3"],
      ["handle", "/usr/bin/web"],
      ["main", "/usr/bin/web"],
    ],
    "gzip 50/50": [["[unknown]", "/usr/bin/gzip"]],
  };
  const blocks: string[] = [];
  for (let tick = 0; tick < 400; tick += 1)
    Object.entries(stacks).forEach(([task, frames], at) => {
      // Thread 42 runs in the second half only.
      if (task === "web 40/42" && tick < 200) return;
      const time = `${100 + Math.floor(tick / 100)}.${String((tick % 100) * 10_000_000 + at).padStart(9, "0")}`;
      const lines = frames.map(([name, module], depth) => `\t${5000 + depth * 256} ${name} (${module})`);
      blocks.push([`${task} [00${at % 2}] ${time}: 1 cpu-clock:`, ...lines, "", ""].join("\n"));
    });
  return blocks.join("");
}

/** Return folded stacks with more frames than SVG can render in time. */
function buildLargeProfile(): string {
  const lines: string[] = [];
  for (let root = 0; root < 200; root += 1) {
    const path = Array.from({ length: 12 }, (_, depth) => `f${root}_${depth}`).join(";");
    lines.push(`app;${path} 10`);
  }
  return `${lines.join("\n")}\n`;
}

async function importFile(page: Page, name: string, text: string): Promise<string> {
  const { csrf } = (await (await page.request.get("/api/v1/me")).json()) as { csrf: string };
  const answer = await page.request.post("/api/v1/imports", {
    headers: { "X-CSRF-Token": csrf },
    multipart: { file: { name, mimeType: "text/plain", buffer: Buffer.from(text) }, name },
  });
  expect(answer.status(), await answer.text()).toBe(201);
  const run = ((await answer.json()) as { runs: { id: string }[] }).runs[0]?.id ?? "";
  let id = "";
  await expect
    .poll(
      async () => {
        const list = await page.request.get(`/api/v1/profiles?run=${run}`);
        const { items } = (await list.json()) as { items: { id: string; state: string }[] };
        id = items[0]?.id ?? "";
        return items[0]?.state;
      },
      { timeout: 60_000 },
    )
    .toBe("ready");
  return id;
}

let profile = "";
const locateFrame = (page: Page, name: string) =>
  page
    .getByTestId("flame")
    .first()
    .locator("g.frame")
    .filter({ hasText: new RegExp(`^${name}`) })
    .first();

test("a frame is addressed by its names; a menu and keys focus, hide and open its callers", {
  tag: "@no-capture",
}, async ({ page }) => {
  const expectNoErrors = recordConsoleErrors(page);
  await page.goto("/");
  profile = await importFile(page, "views.txt", buildPerfScript());
  await page.goto(`/profiles/${profile}`);
  await locateFrame(page, "handle").click();
  await expect(page).toHaveURL(/[?&]at=web,main,handle(&|$)/);
  await page.reload();
  const path = page.getByTestId("frame-path");
  await expect(path.getByText("handle", { exact: true })).toHaveAttribute("aria-current", "location");
  await path.getByRole("button", { name: "main" }).click();
  await expect(page).toHaveURL(/[?&]at=web,main(&|$)/);
  await page.keyboard.press("Escape");
  await expect(page).not.toHaveURL(/[?&]at=/);

  await locateFrame(page, "handle").click({ button: "right" });
  const menu = page.getByRole("menu");
  await expect(menu.getByRole("menuitem", { name: /Copy stack/ })).toBeVisible();
  await expectAccessible(page);
  await menu.getByRole("menuitem", { name: /Show callers and callees/ }).click();
  await expect(page).toHaveURL(/[?&]fn=handle/);
  const sandwich = page.getByTestId("sandwich");
  await expect(sandwich.getByTestId("flame")).toHaveCount(2);
  await expect(sandwich.getByText("SSL_read", { exact: true })).toBeVisible();
  await expectAccessible(page);
  await page.goBack();

  // From bottom to top: root, task, main, handle.
  await page.getByTestId("flame").focus();
  for (const _ of [1, 2, 3, 4]) await page.keyboard.press("ArrowUp");
  await expect(page.getByTestId("detail")).toContainText("handle");
  await page.keyboard.press("f");
  await expect(page).toHaveURL(/[?&]focus=handle/);
  await expect(page.getByTestId("selection")).toContainText("800 / 1,400");
  await page.getByRole("button", { name: /^Clear Focus/ }).click();
  await page.getByTestId("flame").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowUp");
  await locateFrame(page, "walk").click({ button: "right" });
  await page.getByRole("menuitem", { name: /Hide this function/ }).click();
  await expect(page).toHaveURL(/[?&]hide=walk/);
  await expect(locateFrame(page, "visit")).toBeVisible();
  await expect(locateFrame(page, "walk")).toHaveCount(0);
  expectNoErrors();
});

test("one time selection drives tracks, samples and the drawing; the share of a pattern is counted", {
  tag: "@no-capture",
}, async ({ page }) => {
  const expectNoErrors = recordConsoleErrors(page);
  await page.goto(`/profiles/${profile}?tracks=thread`);
  const tracks = page.getByTestId("tracks");
  await expect(tracks.getByRole("button")).toHaveCount(4);
  const area = await page.getByTestId("track-area").boundingBox();
  if (!area) throw new Error("no tracks");
  await page.mouse.move(area.x + 1, area.y + 5);
  await page.mouse.down();
  await page.mouse.move(area.x + area.width * 0.45, area.y + 5, { steps: 4 });
  await page.mouse.up();
  await expect(page).toHaveURL(/[?&]b=\d+~\d+/);
  // Thread 42 does not run in the first half.
  await expect(locateFrame(page, "handle")).toBeVisible();
  await expect(locateFrame(page, "visit")).toHaveCount(0);
  await expectAccessible(page);
  await page.keyboard.press("Escape");
  await expect(page).not.toHaveURL(/[?&]b=/);
  await tracks.getByRole("button", { name: /42/ }).click();
  await expect(page).toHaveURL(/[?&]tid=42/);
  await expect(page.getByTestId("selection")).toContainText("200 / 1,400");
  await tracks.getByRole("button", { name: /42/ }).click();
  await expect(page).not.toHaveURL(/[?&]tid=/);

  await page.locator("body").press("w");
  await expect(page).toHaveURL(/[?&]b=/);
  await page.locator("body").press("0");
  await expect(page).not.toHaveURL(/[?&]b=/);
  await page.getByRole("textbox", { name: "Search frames" }).fill("/^(SSL_|visit$)/");
  // 400 of SSL_read and 200 of visit are 600 of 1,400 samples.
  await expect(page.getByTestId("search-share")).toHaveText(/42\.9/);
  expectNoErrors();
});

test("missing names are explained, recursion is collapsed, and calls are a tree", {
  tag: "@no-capture",
}, async ({ page }) => {
  await page.goto(`/profiles/${profile}`);
  const missing = page.getByTestId("missing-symbols");
  await missing.locator("summary").click();
  await expect(missing.getByText(/no symbol table/)).toBeVisible();
  await expect(missing.getByText(/debug symbols/)).toBeVisible();
  await missing.getByRole("button", { name: "Group them by module" }).click();
  await expect(locateFrame(page, "gzip \\[no symbols\\]")).toBeVisible();
  await page.getByRole("button", { name: "Display" }).click();
  await page.getByRole("checkbox", { name: "Collapse recursion" }).check();
  await expect(page).toHaveURL(/[?&]norec=1/);
  await expectAccessible(page);
  await page.goto(`/profiles/${profile}?view=tree&color=module`);
  await expect(page.getByRole("button", { name: "handle", exact: true })).toBeVisible();
  await expectAccessible(page);
  await page.locator("body").press("?");
  await expect(page.getByRole("dialog").getByText("Callers and callees of the frame")).toBeVisible();
});

test("no view of a profile is wider than a narrow screen", { tag: "@no-capture" }, async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  for (const query of ["", "?tracks=thread&color=module", "?view=tree", "?view=sandwich&fn=handle"]) {
    await page.goto(`/profiles/${profile}${query}`);
    await expect(page.getByTestId("heat")).toBeVisible();
    await expectNoSidewaysScroll(page);
  }
});

test("a crowded profile is drawn on a canvas with the same pointer and keys", { tag: "@no-capture" }, async ({
  page,
}) => {
  const expectNoErrors = recordConsoleErrors(page);
  await page.goto("/");
  const crowded = await importFile(page, "crowd.folded", buildLargeProfile());
  await page.goto(`/profiles/${crowded}`);
  const flame = page.getByTestId("flame");
  await expect(flame.locator("canvas")).toBeVisible();
  expect(Number(await flame.getAttribute("data-frames"))).toBeGreaterThan(2000);
  // The flame graph moves until the content above it has loaded.
  await expect(page.getByRole("list", { name: "Most self time" })).toBeVisible();
  const box = await flame.boundingBox();
  if (!box) throw new Error("no drawing");
  await page.mouse.click(box.x + 3, box.y + box.height - 18 * 2.5);
  await expect(page).toHaveURL(/[?&]at=app,f0_0(&|$)/);
  await expect(locateFrame(page, "f0_11")).toBeVisible();
  await page.goBack();
  await expect(flame.locator("canvas")).toBeVisible();
  await flame.focus();
  // The previously zoomed frame f0_0 is still selected; three steps up is f0_3.
  for (const _ of [1, 2, 3]) await page.keyboard.press("ArrowUp");
  await expect(page.getByTestId("detail")).toContainText("f0_3");
  await expectAccessible(page);
  expectNoErrors();
});

test("a profile is drawn before its page has started, at the position of the last flame graph", {
  tag: "@no-capture",
}, async ({ page }) => {
  const expectNoErrors = recordConsoleErrors(page);
  await page.goto(`/profiles/${profile}`);
  const flame = page.getByTestId("flame");
  const early = page.getByTestId("early-flame");
  await expect(locateFrame(page, "handle")).toBeVisible();
  // The heat map and the heaviest functions are above the drawing, and move it when they have loaded.
  await expect(page.getByTestId("detail")).toBeVisible();
  await page.waitForLoadState("networkidle");
  await expect(early).toHaveCount(0);

  let start = () => undefined as unknown;
  const started = new Promise((resolve) => {
    start = () => resolve(undefined);
  });
  await page.route("**/assets/start-*.js", async (route) => {
    await started;
    await route.continue();
  });
  const requests: string[] = [];
  page.on("request", (request) => requests.push(new URL(request.url()).pathname));
  await page.goto(`/profiles/${profile}`, { waitUntil: "commit" });
  await expect(early.locator("canvas")).toBeVisible();
  await expect(page.getByRole("navigation", { name: "Main" })).toHaveCount(0);
  await expect(early).toHaveAttribute("data-frames", /^[1-9]/);
  const before = await early.boundingBox();
  start();
  await expect(locateFrame(page, "handle")).toBeVisible();
  await expect(early).toHaveCount(0);
  await page.waitForLoadState("networkidle");
  const after = await flame.boundingBox();
  for (const side of ["x", "y"] as const)
    expect(Math.abs((before?.[side] ?? 0) - (after?.[side] ?? 99))).toBeLessThan(2);
  for (const part of ["", "/tree"])
    expect(requests.filter((path) => path === `/api/v1/profiles/${profile}${part}`)).toHaveLength(1);
  // The page that takes over has pointer and keys.
  await locateFrame(page, "handle").click();
  await expect(page).toHaveURL(/[?&]at=web,main,handle(&|$)/);
  expectNoErrors();
});
