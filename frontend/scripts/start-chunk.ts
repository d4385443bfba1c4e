// The first two chunks of each page: the entry, and the application, which the entry imports when it has finished.
import type { HtmlTagDescriptor, Plugin } from "vite";

export const START = "start";
const ENTRY = "entry";
const FIRST = /\/frontend\/index\.html$/;

interface Modules {
  getModuleInfo(id: string): { importers: readonly string[] } | null;
}

const isPart = new Map<string, boolean>();

/** Return the name of the entry's chunk for modules that it imports statically, and null for others. */
export const nameEntryChunk = (id: string, modules: Modules): string | null =>
  isImported(id, modules) ? ENTRY : null;

function isImported(id: string, modules: Modules): boolean {
  const known = isPart.get(id);
  if (known !== undefined) return known;
  // No module of the entry is part of a circle of imports.
  isPart.set(id, false);
  const answer =
    FIRST.test(id) ||
    (modules.getModuleInfo(id)?.importers.some((importer) => isImported(importer, modules)) ?? false);
  isPart.set(id, answer);
  return answer;
}

/** The page's script for the color scheme. The parser waits for it, so the entry must come before it. */
const SCHEME = /\s*<script src="\/assets\/scheme-\d+\.js"><\/script>/;
const STYLES = /(\s*)<link rel="stylesheet"/;

/** A plugin that lets the browser load the entry first, and the application while the entry runs. */
export function preloadStart(): Plugin {
  return {
    name: "preload-start",
    apply: "build",
    transformIndexHtml: {
      order: "post",
      handler: (page, { bundle }) => {
        const scheme = SCHEME.exec(page)?.[0].trim() ?? "";
        const html = page.replace(SCHEME, "").replace(STYLES, `$1${scheme}$&`);
        const tags = Object.values(bundle ?? {})
          .filter((chunk) => chunk.type === "chunk" && chunk.name === START)
          .map(({ fileName }): HtmlTagDescriptor => {
            const attrs = { rel: "preload", as: "script", crossorigin: true, href: `/${fileName}` };
            return { tag: "link", attrs, injectTo: "head" };
          });
        return { html, tags };
      },
    },
  };
}
