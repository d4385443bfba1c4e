/** A profile with its tree, and the instructions of a function of it. */
import { HOSTS } from "../dataset.ts";
import { makeId } from "../server/pseudoRandom.ts";
import { addRoute, respond, respondProblem } from "../server/routes.ts";
import LISTING from "./disassembly.json" with { type: "json" };
import { listProfiles } from "./profile.ts";

const HOT = LISTING.function_samples / LISTING.samples;
const MODULE = LISTING.module;
/** How long a worker takes, and a session with the host. */
const BUILD_MS = 700;
const FETCH_MS = 2500;

const findProfile = (id: string) =>
  HOSTS.flatMap((host) => listProfiles(host.id)).find((profile) => profile.id === id);

const frame = (
  id: number,
  name: string,
  kind: string,
  weights: [number, number],
  children: unknown[] = [],
) => ({
  id,
  name,
  module: kind === "kernel" ? "[kernel.kallsyms]" : kind === "user" ? MODULE : "",
  kind,
  value: weights[0],
  self: weights[1],
  children,
});
const createTree = (samples: number) => {
  const of = (share: number) => Math.round(samples * share);
  const leaf = frame(4, "leaf", "user", [of(HOT), of(HOT)]);
  const write = frame(6, "vfs_write", "kernel", [of(0.2), of(0.2)]);
  const spread = frame(5, "spread", "user", [of(0.3), of(0.1)], [write]);
  const main = frame(3, "main", "user", [of(0.9), of(0.2)], [leaf, spread]);
  return frame(0, "all", "root", [samples, 0], [frame(1, "matcher", "comm", [samples, of(0.1)], [main])]);
};

addRoute("GET", "/profiles/:id", (_, id) => {
  const profile = findProfile(id ?? "");
  return profile ? respond(profile) : respondProblem(404, "profile.not_found", "No such profile.");
});
addRoute("GET", "/profiles/:id/tree", (_, id) => {
  const samples = findProfile(id ?? "")?.samples ?? 0;
  return respond({ tree: createTree(samples), path: [], total: samples, samples, node_count: 6 });
});
addRoute("GET", "/profiles/:id/table", (_, id) => {
  const total = findProfile(id ?? "")?.samples ?? 0;
  const row = (name: string, kind: string, self: number) => ({
    frame: name,
    module: kind === "kernel" ? "[kernel.kallsyms]" : MODULE,
    kind,
    self: Math.round(total * self),
    total: Math.round(total * self),
  });
  return respond({
    total,
    rows: [row("leaf", "user", HOT), row("vfs_write", "kernel", 0.2), row("main", "user", 0.2)],
  });
});
addRoute("GET", "/profiles/:id/search", ({ query }, id) => {
  const total = findProfile(id ?? "")?.samples ?? 0;
  const names = ["leaf", "main", "matcher", "spread", "vfs_write"];
  const frames = names.filter((name) => name.includes(query.get("q") ?? ""));
  const share = frames.length > 0 ? HOT : 0;
  return respond({ weight: Math.round(total * share), share, nodes: [], frames });
});
addRoute("GET", "/profiles/:id/heat", (_, id) =>
  respond({ t0_ns: findProfile(id ?? "")?.t0_ns ?? 0, bin_ns: 1e9, rows: [[4, 9, 7, 3]], columns: 4 }),
);
addRoute("GET", "/profiles/:id/facets", () =>
  respond({ cpus: [], processes: [], threads: [], modules: [], cgroups: [] }),
);
addRoute("GET", "/profiles/:id/unnamed", (_, id) =>
  respond({ total: findProfile(id ?? "")?.samples ?? 0, modules: [] }),
);

interface Opened {
  profileId: string;
  name: string;
  builtAt: number;
  fetchedAt: number | undefined;
}
const opened = new Map<string, Opened>();

/** Only `leaf` has code that can be fetched; other functions are of the kernel. */
function describe(id: string, item: Opened) {
  const now = Date.now();
  const isKernel = item.name !== "leaf";
  const isFetching = item.fetchedAt !== undefined && now < item.fetchedAt;
  const hasCode = item.fetchedAt !== undefined && !isFetching;
  const isBuilt = now >= item.builtAt;
  const sampled = LISTING.instructions.filter(({ samples }) => samples > 0);
  const reason = isKernel ? "disassembly.kernel" : "disassembly.not_fetched";
  const withoutCode = {
    ...LISTING,
    ...(isKernel ? { module: "[kernel.kallsyms]", address: "ffffffff81000010" } : {}),
    code_reason: { key: reason, params: {} },
    files: [],
    instructions: sampled.map((row) => ({
      ...row,
      length: 0,
      text: "",
      target: null,
      callee: null,
      file: null,
      line: null,
    })),
  };
  return {
    id,
    profile_id: item.profileId,
    function: item.name,
    state: isBuilt ? "ready" : "queued",
    failure: null,
    fetch_state: item.fetchedAt === undefined ? null : isFetching ? "running" : "done",
    fetch_failure: null,
    can_fetch: isBuilt && !isKernel && !hasCode,
    listing: isBuilt ? (hasCode ? LISTING : withoutCode) : null,
  };
}

addRoute("POST", "/profiles/:id/disassemblies", ({ body }, profileId) => {
  const name = String(body.function);
  const id = makeId("disassembly", profileId ?? "", name);
  const item = opened.get(id) ?? {
    profileId: profileId ?? "",
    name,
    builtAt: Date.now() + BUILD_MS,
    fetchedAt: undefined,
  };
  opened.set(id, item);
  return respond(describe(id, item), 202);
});
addRoute("GET", "/disassemblies/:id", (_, id) => {
  const item = opened.get(id ?? "");
  return item
    ? respond(describe(id ?? "", item))
    : respondProblem(404, "disassembly.not_found", "No such disassembly.");
});
addRoute("POST", "/disassemblies/:id/fetch", (_, id) => {
  const item = opened.get(id ?? "");
  if (!item) return respondProblem(404, "disassembly.not_found", "No such disassembly.");
  item.fetchedAt ??= Date.now() + FETCH_MS;
  return respond(describe(id ?? "", item), 202);
});
