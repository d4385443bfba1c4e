import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [react()],
  test: {
    environment: "happy-dom",
    setupFiles: ["./src/test-setup.ts"],
    include: ["src/**/*.test.{ts,tsx}", "mock/**/*.test.ts"],
    css: false,
    testTimeout: 120_000,
    maxWorkers: 2,
  },
});
