/** Actions on a frame, available in its menu and in part with a key. */
export const FRAME_ACTS = [
  "zoom",
  "sandwich",
  "focus",
  "hide",
  "only",
  "module",
  "search",
  "copyName",
  "copyStack",
] as const;
export type FrameAct = (typeof FRAME_ACTS)[number];

const KEYS: Readonly<Record<string, FrameAct>> = {
  c: "sandwich",
  f: "focus",
  h: "hide",
  o: "only",
  m: "module",
};

export const frameAct = (key: string): FrameAct | undefined => KEYS[key];

export const keyOf = (act: FrameAct): string =>
  act === "zoom" ? "Enter" : (Object.entries(KEYS).find(([, known]) => known === act)?.[0] ?? "");

/** Return an RE2 pattern that matches exactly this name. */
export const exactPattern = (name: string): string => `^${name.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")}$`;
