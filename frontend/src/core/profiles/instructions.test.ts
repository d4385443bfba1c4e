import { expect, it } from "vitest";
import {
  findHottest,
  formatAddress,
  type Instruction,
  type Listing,
  listHottestLines,
  listInstructionRows,
} from "./instructions";

const instruction = (offset: number, samples = 0, line: number | null = null): Instruction => ({
  offset,
  length: 1,
  text: "nop",
  target: null,
  callee: null,
  file: line === null ? null : 0,
  line,
  samples,
});
const listing = (instructions: Instruction[]): Listing => ({
  address: "ffffffff81000010",
  files: ["/src/a.c"],
  instructions,
});

it("folds long runs without samples of a long listing, and opens them again", () => {
  const instructions = Array.from({ length: 200 }, (_, at) => instruction(at, at === 100 ? 5 : 0));
  const rows = listInstructionRows(instructions, new Set());
  expect(rows[0]).toEqual({ kind: "folded", first: 0, count: 94 });
  expect(rows.at(-1)).toEqual({ kind: "folded", first: 107, count: 93 });
  expect(rows).toHaveLength(2 + 13);
  expect(listInstructionRows(instructions, new Set([0, 107]))).toHaveLength(200);
});

it("keeps every instruction of a short listing in order", () => {
  const rows = listInstructionRows(
    Array.from({ length: 50 }, (_, at) => instruction(at)),
    new Set(),
  );
  expect(rows.map((row) => row.kind === "instruction" && row.instruction.offset)).toEqual(
    Array.from({ length: 50 }, (_, at) => at),
  );
});

it("names a source line where it begins", () => {
  const rows = listInstructionRows(
    [instruction(0, 0, 7), instruction(1, 0, 7), instruction(2, 0, 8), instruction(3), instruction(4, 0, 8)],
    new Set(),
  );
  expect(rows.map((row) => row.kind === "instruction" && row.startsLine)).toEqual([
    true,
    false,
    true,
    false,
    true,
  ]);
});

it("adds up the samples of source lines", () => {
  const lines = listHottestLines(
    listing([instruction(0, 2, 7), instruction(1, 5, 8), instruction(2, 4, 7), instruction(3, 9)]),
    2,
  );
  expect(lines).toEqual([
    { file: "/src/a.c", line: 7, samples: 6 },
    { file: "/src/a.c", line: 8, samples: 5 },
  ]);
});

it("finds the hottest instruction, if any has samples", () => {
  expect(findHottest([instruction(0, 1), instruction(4, 3), instruction(8, 3)])).toBe(4);
  expect(findHottest([instruction(0)])).toBeUndefined();
});

it("prints addresses of the kernel exactly", () => {
  expect(formatAddress(listing([]), 0x1f)).toBe("ffffffff8100002f");
});
