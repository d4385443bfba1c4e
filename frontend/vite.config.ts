import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { mockApi } from "./mock/server/vite.ts";

const API = process.env.CULPRIT_API ?? "http://127.0.0.1:8700";
const FORWARDED = ["/api", "/docs", "/openapi.json", "/healthz", "/readyz"];

export default defineConfig(({ mode }) => ({
  plugins: [react(), ...(mode === "mock" ? [mockApi()] : [])],
  build: {
    target: "es2022",
    chunkSizeWarningLimit: 800,
    assetsInlineLimit: 0,
    rolldownOptions: {
      output: {
        // All that every page needs is one file: a browser reads one sooner than seventy.
        codeSplitting: { groups: [{ name: "start", tags: ["$initial"] }] },
      },
    },
  },
  server: {
    host: "127.0.0.1",
    port: 5180,
    proxy: mode === "mock" ? {} : Object.fromEntries(FORWARDED.map((path) => [path, API])),
  },
  preview: { host: "127.0.0.1", port: 5181 },
}));
