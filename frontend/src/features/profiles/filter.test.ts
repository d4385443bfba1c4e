import fc from "fast-check";
import { expect, it } from "vitest";
import { formatSearch, parseSearch } from "../../core/search";
import { parseFields } from "../../lib/urlFields";
import {
  type Filter,
  isFiltered,
  NO_FILTER,
  PROFILE_FIELDS,
  toBoxSelection,
  toFilter,
  toSearch,
} from "./filter";

const id = fc.integer({ min: 0, max: 2 ** 22 }).map((value) => [value]);
const name = fc.string({ minLength: 1, unit: "grapheme" });
/** Addresses have microseconds. */
const time = fc.integer({ min: 0, max: 2 ** 40 }).map((us) => us * 1000);

/** Filters with any of the parameters, each with one value. */
const filters: fc.Arbitrary<Filter> = fc.record({
  cpu: fc.option(id, { nil: undefined }),
  pid: fc.option(id, { nil: undefined }),
  tid: fc.option(id, { nil: undefined }),
  comm: fc.option(
    name.map((value) => [value]),
    { nil: undefined },
  ),
  module: fc.option(
    name.map((value) => [value]),
    { nil: undefined },
  ),
  cgroup: fc.option(
    name.map((value) => [value]),
    { nil: undefined },
  ),
  stack: fc.option(name, { nil: undefined }),
  hide_idle: fc.constantFrom(true, undefined),
  softirq_only: fc.constantFrom(true, undefined),
});
const ranges = fc.option(fc.tuple(time, time), { nil: undefined });

const readAddress = (address: string): Filter =>
  toFilter(parseFields(PROFILE_FIELDS, parseSearch(address.slice(1))));

it("reads each filter from the address that it writes", () => {
  fc.assert(
    fc.property(filters, ranges, (parts, range) => {
      const [from, span] = range ?? [];
      const filter = {
        ...parts,
        from_ns: from,
        to_ns: from === undefined || span === undefined ? undefined : from + span + 1000,
      };
      const read = readAddress(formatSearch(toSearch(filter)));
      expect(read).toEqual(filter);
      expect(isFiltered(read)).toBe(isFiltered(filter));
    }),
    { numRuns: 500 },
  );
});

it("selects all samples without parameters, and with parameters that cannot be read", () => {
  for (const address of ["", "?cpu=x&pid=1e3&tid=99999999999999999999&b=2~x", "?idle=yes&softirq=0"])
    expect(readAddress(address)).toEqual(toFilter(NO_FILTER));
});

it("selects the time of a box from the microsecond of its first sample to the one after its last", () => {
  const box = { first_ns: 123_456_789_012_700, last_ns: 123_456_789_016_100 };
  const selection = toBoxSelection(box, { by: "thread", tid: 42, cpu: -1 });
  expect(selection).toMatchObject({ tid: 42 });
  expect(selection.b.from).toBeLessThanOrEqual(box.first_ns);
  expect(selection.b.to).toBeGreaterThan(box.last_ns);
  expect(selection.b.to - selection.b.from).toBeLessThan(6000);
  expect(toBoxSelection(box, { by: "cpu", tid: -1, cpu: 3 })).toMatchObject({ cpu: 3 });
});
