import { defineConfig } from "@playwright/test";
import { BASE_URL, CHROMIUM, OUTPUT_DIR, SESSION_FILE } from "./support/platform";

/** Test files that start lab hosts and spend most of their time waiting for them. */
const ON_FAULTY_HOSTS = ["incidents.spec.ts", "alerts.spec.ts"];
/** Fills all lists with hostile text, and therefore runs after all others. */
const HOSTILE = "hostile-text.spec.ts";
const NOT_ON_THIS_HOST = ["first-visit.spec.ts", "everywhere.spec.ts", HOSTILE, ...ON_FAULTY_HOSTS];

/** Tag of tests that neither capture a host nor stop a part of the platform. */
const NO_CAPTURE = /@no-capture/;
/** Tag of tests that stop something that all other tests need: the workers, or all captures. */
const ALONE = /@alone/;

/**
 * End-to-end tests on a real platform on this machine, which `./culprit test` starts and stops. Tests that capture this
 * machine run sequentially, in parallel with tests that capture nothing. The test of all screens runs after them,
 * because a rendering browser would appear in the profiles of this machine.
 *
 * Tests on lab hosts run alone and sequentially, because other load on this machine disturbs a lab host.
 *
 * The dependencies define the order of a manual run. `./culprit test` starts the projects itself (tools/checks/e2e.py),
 * so that a failed test does not prevent other tests.
 */
export default defineConfig({
  testDir: "tests",
  outputDir: `${OUTPUT_DIR}/artifacts`,
  workers: 4,
  retries: 0,
  timeout: 90_000,
  expect: { timeout: 20_000 },
  forbidOnly: true,
  use: {
    baseURL: BASE_URL,
    // The first action waits until the page is rendered, which takes as long as loading it when CPUs are shared.
    actionTimeout: 20_000,
    navigationTimeout: 20_000,
    viewport: { width: 1440, height: 900 },
    colorScheme: "dark",
    locale: "en-GB",
    timezoneId: "UTC",
    // Animations cost CPU time that the tests share.
    contextOptions: { reducedMotion: "reduce" },
    screenshot: "only-on-failure",
    // Screenshots in traces cost CPU time. The trace contains the DOM of each action, and failures have a screenshot.
    trace: { mode: "retain-on-failure", screenshots: false },
    launchOptions: {
      executablePath: CHROMIUM,
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--no-first-run",
      ],
    },
  },
  projects: [
    { name: "first visit", testMatch: "first-visit.spec.ts" },
    {
      name: "journeys",
      testIgnore: NOT_ON_THIS_HOST,
      grepInvert: [NO_CAPTURE, ALONE],
      workers: 1,
      dependencies: ["first visit"],
      use: { storageState: SESSION_FILE },
    },
    {
      name: "no capture",
      testIgnore: NOT_ON_THIS_HOST,
      grep: NO_CAPTURE,
      workers: 1,
      dependencies: ["first visit"],
      use: { storageState: SESSION_FILE },
    },
    {
      name: "everywhere",
      testMatch: "everywhere.spec.ts",
      workers: 2,
      fullyParallel: true,
      dependencies: ["journeys", "no capture"],
      use: { storageState: SESSION_FILE },
    },
    {
      name: "incidents",
      testMatch: "incidents.spec.ts",
      workers: 1,
      dependencies: ["first visit"],
      use: { storageState: SESSION_FILE },
    },
    {
      name: "alerts",
      testMatch: "alerts.spec.ts",
      workers: 1,
      dependencies: ["incidents"],
      use: { storageState: SESSION_FILE },
    },
    {
      name: "alone",
      testIgnore: NOT_ON_THIS_HOST,
      grep: ALONE,
      workers: 1,
      dependencies: ["everywhere", "incidents", "alerts"],
      use: { storageState: SESSION_FILE },
    },
    {
      name: "hostile",
      testMatch: HOSTILE,
      workers: 1,
      dependencies: ["alone"],
      use: { storageState: SESSION_FILE },
    },
  ],
});
