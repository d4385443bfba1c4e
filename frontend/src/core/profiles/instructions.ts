/** An instruction at an offset in bytes from the begin of its function; `file` is a place in the list of files. */
export interface Instruction {
  offset: number;
  length: number;
  text: string;
  target: number | null;
  callee: string | null;
  file: number | null;
  line: number | null;
  samples: number;
}

/** The instructions of a function, its hexadecimal address, and the source files of its lines. */
export interface Listing {
  address: string;
  files: readonly string[];
  instructions: readonly Instruction[];
}

/** A row of the listing: an instruction, or a run of instructions without samples that is folded. */
export type InstructionRow =
  | { kind: "instruction"; instruction: Instruction; startsLine: boolean }
  | { kind: "folded"; first: number; count: number };

/** Instructions that are displayed around those with samples, and the shortest run that is folded. */
const CONTEXT = 6;
const MIN_FOLDED = 12;
/** Listings up to this length are not folded. */
const MAX_UNFOLDED = 120;

/** Return the rows of a listing. `open` has the offsets of the first instructions of runs that are not folded. */
export function listInstructionRows(
  instructions: readonly Instruction[],
  open: ReadonlySet<number>,
): InstructionRow[] {
  const isKept = markKept(instructions);
  const rows: InstructionRow[] = [];
  for (let at = 0; at < instructions.length; ) {
    const first = instructions[at] as Instruction;
    let end = at;
    while (end < instructions.length && !isKept[end]) end += 1;
    if (end - at >= MIN_FOLDED && !open.has(first.offset)) {
      rows.push({ kind: "folded", first: first.offset, count: end - at });
      at = end;
      continue;
    }
    for (const last = Math.max(end, at + 1); at < last; at += 1) {
      const instruction = instructions[at] as Instruction;
      const before = instructions[at - 1];
      const startsLine =
        instruction.line !== null && (before?.line !== instruction.line || before.file !== instruction.file);
      rows.push({ kind: "instruction", instruction, startsLine });
    }
  }
  return rows;
}

/** Mark the instructions with samples and their neighbors; all of a short listing. */
function markKept(instructions: readonly Instruction[]): boolean[] {
  if (instructions.length <= MAX_UNFOLDED) return instructions.map(() => true);
  const isKept = instructions.map(() => false);
  for (const [at, { samples }] of instructions.entries())
    if (samples > 0) isKept.fill(true, Math.max(0, at - CONTEXT), at + CONTEXT + 1);
  return isKept;
}

/** Return the offset of the instruction with the most samples, or undefined without any sample. */
export function findHottest(instructions: readonly Instruction[]): number | undefined {
  const hottest = instructions.reduce<Instruction | undefined>(
    (best, item) => (item.samples > (best?.samples ?? 0) ? item : best),
    undefined,
  );
  return hottest?.offset;
}

export interface LineSamples {
  file: string;
  line: number;
  samples: number;
}

/** Return the source lines with the most samples. */
export function listHottestLines(listing: Listing, most: number): LineSamples[] {
  const lines = new Map<string, LineSamples>();
  for (const { file, line, samples } of listing.instructions) {
    if (file === null || line === null || samples === 0) continue;
    const key = `${file}:${line}`;
    const known = lines.get(key) ?? { file: listing.files[file] ?? "", line, samples: 0 };
    known.samples += samples;
    lines.set(key, known);
  }
  return [...lines.values()].sort((x, y) => y.samples - x.samples).slice(0, most);
}

/** Return the address of an instruction in hexadecimal. Addresses of the kernel exceed the integers of JavaScript. */
export const formatAddress = (listing: Listing, offset: number): string =>
  (BigInt(`0x${listing.address}`) + BigInt(offset)).toString(16);
