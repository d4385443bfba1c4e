/** The samples of one thread in the order of time: requests, each of which parses, computes and writes. */
import type { TimeOrder } from "../../src/features/profiles/api.ts";
import { HOSTS, NS_PER_S } from "../dataset.ts";
import { hashToUnit } from "../server/pseudoRandom.ts";
import { addRoute, respond } from "../server/routes.ts";
import { listProfiles } from "./profile.ts";

type Box = NonNullable<TimeOrder["tree"]>;

const SAMPLES = 2970;
const REQUESTS = 40;
const THREADS = 56;
const TID = 4021;
const PHASES = [
  ["http.readRequest", "user", 0.15],
  ["runtime.gcDrain", "user", 0.35],
  ["feed.rankItems", "user", 0.35],
  ["vfs_write", "kernel", 0.15],
] as const;

/** Return the thread in the order of time between two times. A sample every 10 ms. */
export function createTimeOrder(t0: number, range?: { from: number; to: number }): TimeOrder {
  const step = NS_PER_S / 99;
  let nextId = 0;
  const box = (name: string, kind: Box["kind"], start: number, value: number, children: Box[] = []): Box => {
    nextId += 1;
    const own = value - children.reduce((sum, child) => sum + child.value, 0);
    const times = { first_ns: t0 + start * step, last_ns: t0 + (start + value - 1) * step };
    return { id: nextId, name, module: "", kind, start, value, self: own, ...times, children };
  };
  const requests: Box[] = [];
  for (let start = 0, n = 0; start < SAMPLES && n < REQUESTS; n += 1) {
    const length = Math.min(SAMPLES - start, 20 + Math.floor(hashToUnit("request", n) * 120));
    let at = start;
    const phases = PHASES.map(([name, kind, share]) => {
      const value = Math.max(1, Math.floor(length * share));
      const inner = value > 6 ? [box(`${name}.step`, "pruned", at + 2, value - 4)] : [];
      const phase = box(name, kind, at, value, inner);
      at += value;
      return phase;
    });
    requests.push(box("feed.serveRequest", "user", start, Math.max(length, at - start), phases));
    start = Math.max(start + length, at);
  }
  const total = requests.reduce((end, request) => Math.max(end, request.start + request.value), 0);
  const visible = range
    ? requests.filter((request) => request.last_ns >= range.from && request.first_ns < range.to)
    : requests;
  const first = visible[0]?.start ?? 0;
  const end = visible.reduce((last, request) => Math.max(last, request.start + request.value), first);
  const main = box("main", "user", first, end - first, visible);
  const tree = box("all", "root", first, end - first, [
    box("feed-worker", "comm", first, end - first, [main]),
  ]);
  return {
    by: "thread",
    cpu: -1,
    pid: 4000,
    tid: TID,
    comm: "feed-worker",
    tracks_total: range ? 1 : THREADS,
    total: range ? end - first : total,
    samples: range ? end - first : total,
    pruned_weight: 0,
    tree: visible.length > 0 ? { ...tree, id: 0 } : null,
  };
}

addRoute("GET", "/profiles/:id/time-order", ({ query }, id) => {
  const profile = HOSTS.flatMap((host) => listProfiles(host.id)).find((item) => item.id === id);
  const [from, to] = [query.get("from_ns"), query.get("to_ns")];
  const range = from && to ? { from: Number(from), to: Number(to) } : undefined;
  return respond(createTimeOrder(profile?.t0_ns ?? 0, range));
});
