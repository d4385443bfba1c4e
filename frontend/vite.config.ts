import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { mockApi } from "./mock/server/vite.ts";
import { CHUNK_GROUPS } from "./scripts/chunk-groups.ts";
import { compressAssets } from "./scripts/compress-assets.ts";
import { nameEntryChunk, preloadStart } from "./scripts/start-chunk.ts";

const API = process.env.CULPRIT_API ?? "http://127.0.0.1:8700";
const FORWARDED = ["/api", "/docs", "/openapi.json", "/healthz", "/readyz"];

export default defineConfig(({ mode }) => ({
  plugins: [react(), compressAssets(), preloadStart(), ...(mode === "mock" ? [mockApi()] : [])],
  build: {
    target: "es2022",
    chunkSizeWarningLimit: 800,
    assetsInlineLimit: 0,
    // Every browser of the build target knows it.
    modulePreload: { polyfill: false },
    // One style sheet has one order of rules. Rules of equal weight in several files would apply in the order of loading.
    cssCodeSplit: false,
    rolldownOptions: {
      // The application is no script of the page, because the entry imports it. As an input it is part of the first load.
      input: ["index.html", "src/app/main.tsx"],
      output: {
        codeSplitting: { groups: [{ name: nameEntryChunk, priority: 10 }, ...CHUNK_GROUPS] },
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
