/** Actions on a frame, available in its menu and in part with a key. */
export const FRAME_ACTIONS = [
  "zoom",
  "sandwich",
  "code",
  "focus",
  "hide",
  "only",
  "module",
  "search",
  "copyName",
  "copyStack",
] as const;
export type FrameAction = (typeof FRAME_ACTIONS)[number];

const KEYS: Readonly<Record<string, FrameAction>> = {
  c: "sandwich",
  i: "code",
  f: "focus",
  h: "hide",
  o: "only",
  m: "module",
};

export const findFrameAction = (key: string): FrameAction | undefined => KEYS[key];

export const frameActionKey = (act: FrameAction): string =>
  act === "zoom" ? "Enter" : (Object.entries(KEYS).find(([, known]) => known === act)?.[0] ?? "");

/** Return an RE2 pattern that matches exactly this name. */
export const toExactPattern = (name: string): string => `^${name.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")}$`;
