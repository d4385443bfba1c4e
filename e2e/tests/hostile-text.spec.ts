import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import type { BrowserContext, Page } from "@playwright/test";
import { ExecutionGuard } from "../support/execution-guard";
import { type HostilePlaces, storeHostileData } from "../support/hostile-data";
import { FOREIGN_HOST, HIDDEN_CHARACTERS, PAYLOADS, PROBE } from "../support/payloads";
import { OUTPUT_DIR, postAsUser, REPOSITORY_DIR, runCulprit } from "../support/platform";
import { expect, retryAbortedLoads, test } from "../support/test";

/**
 * Payloads in all fields that hosts, uploads, other systems and people fill. No page and no export may run them, load
 * what they name, make them markup, or display their hidden characters. Runs last, because its objects are in all lists.
 */
test.describe.configure({ mode: "serial" });

const FULL = Boolean(process.env.CULPRIT_FULL);
/** Objects of each kind, as many as the limits of an account allow in a minute. Long texts and files hold all payloads. */
const OBJECTS = FULL ? 50 : 6;
const TIMEOUT_MS = FULL ? 1_800_000 : 180_000;
/** Pages that are open at once: most of the time of a page is waiting. */
const TABS = 2;
/** Characters that files for other programs must not contain; a name may keep marks that only join or separate letters. */
const TERMINAL_CHARACTERS = /(?![\t\n\r])[\p{Cc}\u202a-\u202e\u2066-\u2069]/u;

/** A sample of payloads that do something in a page that does not escape them, for a test of the tests. */
const UNPROTECTED =
  /^(<script>|<img|<svg\/|<a href=javascript|<iframe src=javascript|<details|<link rel=style|<culprit-probe)/;

let places: HostilePlaces;

test("the guard notices payloads that become markup", async ({ browser }) => {
  const context = await browser.newContext({ storageState: { cookies: [], origins: [] } });
  const guard = await ExecutionGuard.of(context);
  const page = await context.newPage();
  for (const { number, text } of PAYLOADS.filter(({ text }) => UNPROTECTED.test(text))) {
    guard.enter(page, `payload ${number}`);
    await page.goto("about:blank");
    await page.setContent(`<!doctype html><title>x</title><p title="x">${text}</p>`);
    await guard.inspect(page);
    await expect
      .poll(() => guard.list().filter((line) => line.startsWith(`payload ${number}:`)), { message: text })
      .not.toEqual([]);
  }
  guard.enter(page, "text");
  await page.setContent("<!doctype html><title>x</title><p>\u202e</p>");
  await guard.inspect(page);
  const seen = guard.list().join("\n");
  for (const kind of [
    "ran a script",
    "request of",
    "handler on",
    "href of a",
    "element <",
    "hidden character",
  ])
    expect(seen).toContain(kind);
  await context.close();
});

test("no payload does anything on the pages that display it", async ({ page, context }) => {
  test.setTimeout(TIMEOUT_MS);
  const guard = await ExecutionGuard.of(context);
  places = await storeHostileData(page, OBJECTS);
  await visitAll(context, guard, places.pages);
  expect(guard.list()).toEqual([]);
});

test("no payload in an address does anything", async ({ context, browser }) => {
  test.setTimeout(TIMEOUT_MS);
  const guard = await ExecutionGuard.of(context);
  const [profile] = places.profiles;
  const chosen = PAYLOADS.filter((_, at) => at % (FULL ? 7 : 70) === 0);
  const addresses = chosen.flatMap(({ number, text }): [string, string][] => {
    const value = encodeURIComponent(text);
    return [
      [`search of payload ${number}`, `/profiles/${profile}?q=${value}&focus=${value}&hide=${value}`],
      [`function of payload ${number}`, `/profiles/${profile}?view=sandwich&fn=${value}`],
      [`filter of payload ${number}`, `/hosts?q=${value}&label=${value}#${value}`],
    ];
  });
  await visitAll(context, guard, addresses);
  const visitor = await browser.newContext({ storageState: { cookies: [], origins: [] } });
  const visitorGuard = await ExecutionGuard.of(visitor);
  const login = await visitor.newPage();
  for (const address of [
    `javascript:${PROBE}(1)`,
    `//${FOREIGN_HOST}/1`,
    `https:${FOREIGN_HOST}`,
    `/\\${FOREIGN_HOST}/`,
  ]) {
    visitorGuard.enter(login, `sign-in before ${address}`);
    await login.goto(`/login?next=${encodeURIComponent(address)}#token=${encodeURIComponent(address)}`);
    await expect(login.locator("form, main, h1").first()).toBeVisible();
    await visitorGuard.inspect(login);
  }
  await visitor.close();
  expect([...guard.list(), ...visitorGuard.list()]).toEqual([]);
});

test("no payload does anything in exports that are opened as files", async ({ page, browser }) => {
  test.setTimeout(TIMEOUT_MS);
  const { version: draft } = (await (await page.request.get(`/api/v1/reports/${places.report}`)).json()) as {
    version: number;
  };
  await page.goto("/");
  const version = await postAsUser(page, `/reports/${places.report}/versions`, { version: draft });
  const read = async (path: string) => {
    const answer = await page.request.get(`/api/v1${path}`);
    expect(answer.status(), path).toBe(200);
    return await answer.text();
  };
  const files: Record<string, string> = {
    "report.html": await read(`/report-versions/${version.id}/file?form=html`),
    "preview.html": await read(`/reports/${places.report}/preview/page`),
    "report.md.html": renderMarkdown(await read(`/report-versions/${version.id}/file?form=markdown`)),
  };
  for (const [at, profile] of places.profiles.entries()) {
    const svg = await read(`/profiles/${profile}/export?format=svg`);
    files[`profile-${at}.svg`] = svg;
    files[`profile-${at}.svg.html`] = `<!doctype html><title>x</title>${svg}`;
    for (const format of ["folded", "perf_script", "speedscope", "firefox"]) {
      const answer = await page.request.get(`/api/v1/profiles/${profile}/export?format=${format}`);
      if (answer.status() === 422) continue; // stacks without times are no trace
      expect(answer.status(), format).toBe(200);
      expect(await answer.text(), format).not.toMatch(TERMINAL_CHARACTERS);
    }
  }
  // Files have no content policy of the server, and this context keeps no session.
  const reader = await browser.newContext({ storageState: { cookies: [], origins: [] }, bypassCSP: true });
  const guard = await ExecutionGuard.of(reader);
  for (const [name, text] of Object.entries(files)) {
    const file = `${OUTPUT_DIR}/hostile-${name}`;
    writeFileSync(file, text);
    const opened = await reader.newPage();
    guard.enter(opened, name);
    await opened.goto(pathToFileURL(file).href);
    await guard.inspect(opened);
    expect(
      await opened
        .locator("body, svg")
        .first()
        .evaluate((item) => item.textContent ?? ""),
    ).toContain(PROBE);
    if (name === "report.html") {
      // Streams are compressed: any three characters can be in them.
      const pdf = (await opened.pdf()).toString("latin1").replace(/\bstream\r?\n.*?endstream/gs, "");
      expect(pdf).toContain("/Catalog");
      expect(pdf.match(/\/(JavaScript|JS|Launch|SubmitForm|URI \((?!file:))/g) ?? []).toEqual([]);
    }
    await opened.close();
  }
  await reader.close();
  expect(guard.list()).toEqual([]);
});

test("the command line prints no hidden character", async () => {
  test.setTimeout(TIMEOUT_MS);
  for (const command of [
    ["host", "list"],
    ["incident", "list"],
    ["incident", "show", places.incident],
    ["event", "list"],
    ["capture", "list"],
  ])
    expect(runCulprit(...command), command.join(" ")).not.toMatch(HIDDEN_CHARACTERS);
});

/** Open all addresses, some at once, and record what payloads did on them. */
async function visitAll(
  context: BrowserContext,
  guard: ExecutionGuard,
  addresses: readonly [string, string][],
): Promise<void> {
  const left = [...addresses];
  const work = async () => {
    const page = retryAbortedLoads(await context.newPage());
    for (let next = left.shift(); next; next = left.shift()) await visit(page, guard, ...next);
    await page.close();
  };
  await Promise.all(Array.from({ length: TABS }, work));
}

async function visit(page: Page, guard: ExecutionGuard, name: string, path: string): Promise<void> {
  guard.enter(page, name);
  await page.goto(path);
  await expect(page.getByRole("heading", { level: 1 }).first()).toBeVisible();
  await page.waitForLoadState("networkidle");
  await page.evaluate(() => {
    for (const item of document.querySelectorAll("details")) item.open = true;
  });
  await page.mouse.move(700, 400);
  await guard.inspect(page);
}

/** Render Markdown with a parser that passes HTML through, as the most permissive readers do. */
function renderMarkdown(text: string): string {
  const file = `${OUTPUT_DIR}/hostile-report.md`;
  writeFileSync(file, text);
  return execFileSync(`${REPOSITORY_DIR}/.venv/bin/markdown-it`, [file], { encoding: "utf8" });
}
