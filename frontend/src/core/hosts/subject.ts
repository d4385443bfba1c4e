/** The subject of a number, split into parts for display. */

export type SubjectMap = Readonly<Record<string, string>>;

/** One part of a subject. `kind` is a key of the interface texts; "other" is displayed as `name=value`. */
export interface SubjectPart {
  readonly kind: (typeof KINDS)[number] | "named" | "other";
  readonly name: string;
  readonly value: string;
}

const KINDS = [
  "pid", "tid", "comm", "cgroup", "dev", "cpu", "port", "node", "mount", "route", "vector", "resource", "file",
  "profile", "target",
] as const; // biome-ignore format: a short list

const isKind = (name: string): name is (typeof KINDS)[number] => (KINDS as readonly string[]).includes(name);

/**
 * Return the parts of a subject, the process first: its pid and name are one part. `called` is the name of the process
 * if the subject has none. Parts that are equal in `within` are omitted.
 */
export function subjectParts(subject: SubjectMap, called = "", within: SubjectMap = {}): SubjectPart[] {
  const { pid, comm, ...rest } = subject;
  const out: SubjectPart[] = [];
  const name = comm || called;
  if (pid !== undefined && within.pid !== pid)
    out.push(name ? { kind: "named", name, value: pid } : { kind: "pid", name: "pid", value: pid });
  else if (pid === undefined && comm && within.comm !== comm)
    out.push({ kind: "comm", name: "comm", value: comm });
  for (const [name, value] of Object.entries(rest))
    if (within[name] !== value) out.push({ kind: isKind(name) ? name : "other", name, value });
  return out;
}
