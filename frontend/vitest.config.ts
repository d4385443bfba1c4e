import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

/** Tests of functions: they need no browser, and share one module graph, because nothing in them outlives a test. */
const FUNCTIONS = ["src/{core,features,i18n}/**/*.test.ts"];

export default defineConfig({
  plugins: [react()],
  test: {
    css: false,
    testTimeout: 120_000 * Number(process.env.CULPRIT_TEST_TIMEOUT_FACTOR ?? 1),
    maxWorkers: 2,
    projects: [
      {
        extends: true,
        test: { name: "functions", include: FUNCTIONS, environment: "node", pool: "threads", isolate: false },
      },
      {
        extends: true,
        test: {
          name: "screens",
          include: ["src/**/*.test.{ts,tsx}", "mock/**/*.test.ts"],
          exclude: FUNCTIONS,
          environment: "happy-dom",
          setupFiles: ["./src/test-setup.ts"],
        },
      },
    ],
  },
});
