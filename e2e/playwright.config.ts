import { defineConfig } from "@playwright/test";
import { CHROMIUM, OUT, STATE, URL } from "./support/platform";

/** They bring a host of the lab each, and mostly wait for it. */
const ON_SICK_HOSTS = ["incidents.spec.ts", "alerts.spec.ts"];

/**
 * Whole journeys through a real platform on this machine, which `./culprit test` starts and stops. They run one after
 * another, as all of them capture the same host; but for those on sick hosts. Meanwhile, what only looks at every screen
 * goes on beside them; who is done with it takes the alert.
 *
 * The dependencies are the order of a run by hand. `./culprit test` runs stage after stage without them, so that one
 * journey that fails keeps no other from running.
 */
export default defineConfig({
  testDir: "tests",
  outputDir: `${OUT}/artifacts`,
  workers: 3,
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
    screenshot: "only-on-failure",
    trace: "retain-on-failure",
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
      testIgnore: ["first-visit.spec.ts", "everywhere.spec.ts", ...ON_SICK_HOSTS],
      workers: 1,
      dependencies: ["first visit"],
      use: { storageState: STATE },
    },
    {
      name: "everywhere",
      testMatch: "everywhere.spec.ts",
      workers: 1,
      dependencies: ["journeys"],
      use: { storageState: STATE },
    },
    {
      name: "incidents",
      testMatch: "incidents.spec.ts",
      workers: 2,
      fullyParallel: true,
      dependencies: ["journeys"],
      use: { storageState: STATE },
    },
    {
      name: "alerts",
      testMatch: "alerts.spec.ts",
      workers: 1,
      dependencies: ["journeys"],
      use: { storageState: STATE },
    },
  ],
});
