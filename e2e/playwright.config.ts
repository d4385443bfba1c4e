import { defineConfig } from "@playwright/test";
import { CHROMIUM, OUT, STATE, URL } from "./support/platform";

/** Each starts a host of the lab, and mostly waits for it. */
const ON_FAULTY_HOSTS = ["incidents.spec.ts", "alerts.spec.ts"];
const NOT_ON_THIS_HOST = ["first-visit.spec.ts", "everywhere.spec.ts", ...ON_FAULTY_HOSTS];

/** The tag of a journey that neither captures a host nor stops a part of the platform. */
const NO_CAPTURE = /@no-capture/;
/** The tag of a journey that stops something that every other one needs: the workers, or all captures. */
const ALONE = /@alone/;

/**
 * Whole journeys through a real platform on this machine, which `./culprit test` starts and stops. Those that capture
 * this machine run one after another; next to them run those without a capture. The test that visits every screen
 * follows, because a browser that draws would be in the profiles of the machine.
 *
 * Journeys on hosts of the lab run alone and one at a time: what else runs on this machine is a neighbor of such a host.
 *
 * The dependencies are the order of a run by hand. `./culprit test` starts the projects itself (tools/checks/e2e.py),
 * so that one journey that fails keeps no other from running.
 */
export default defineConfig({
  testDir: "tests",
  outputDir: `${OUT}/artifacts`,
  workers: 4,
  retries: 0,
  timeout: 90_000,
  expect: { timeout: 20_000 },
  forbidOnly: true,
  use: {
    baseURL: URL,
    // The first action on a page waits until it is drawn, which takes as long as to load it where CPUs are shared.
    actionTimeout: 20_000,
    navigationTimeout: 20_000,
    viewport: { width: 1440, height: 900 },
    colorScheme: "dark",
    locale: "en-GB",
    timezoneId: "UTC",
    // Frames of an animation are drawn by the CPUs that the journeys share.
    contextOptions: { reducedMotion: "reduce" },
    screenshot: "only-on-failure",
    // A film costs CPU time that other tests need. The trace has the page of every action, a failure its screenshot.
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
      use: { storageState: STATE },
    },
    {
      name: "no capture",
      testIgnore: NOT_ON_THIS_HOST,
      grep: NO_CAPTURE,
      workers: 1,
      dependencies: ["first visit"],
      use: { storageState: STATE },
    },
    {
      name: "everywhere",
      testMatch: "everywhere.spec.ts",
      workers: 2,
      fullyParallel: true,
      dependencies: ["journeys", "no capture"],
      use: { storageState: STATE },
    },
    {
      name: "incidents",
      testMatch: "incidents.spec.ts",
      workers: 1,
      dependencies: ["first visit"],
      use: { storageState: STATE },
    },
    {
      name: "alerts",
      testMatch: "alerts.spec.ts",
      workers: 1,
      dependencies: ["incidents"],
      use: { storageState: STATE },
    },
    {
      name: "alone",
      testIgnore: NOT_ON_THIS_HOST,
      grep: ALONE,
      workers: 1,
      dependencies: ["everywhere", "incidents", "alerts"],
      use: { storageState: STATE },
    },
  ],
});
