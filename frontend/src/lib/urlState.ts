import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import type { Search } from "../core/search";
import { type Field, type FieldValues, parseFields, rangeField } from "./urlFields";

export * from "./urlFields";

/**
 * Return the query parameters in `fields` as values, and a setter that keeps all other parameters.
 * `fields` must be a constant. `push` adds a history entry instead of replacing the current entry.
 */
export function useUrlState<F extends Record<string, Field<unknown>>>(
  fields: F,
): [FieldValues<F>, (patch: Partial<FieldValues<F>>, how?: { push?: boolean }) => void] {
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const relevant = Object.keys(fields)
    .map((key) => search[key] ?? "\u0000")
    .join("\u0001");
  // biome-ignore lint/correctness/useExhaustiveDependencies: `relevant` contains the search values of `fields`
  const values = useMemo(() => parseFields(fields, search), [relevant, fields]);
  const set = useCallback(
    (patch: Partial<FieldValues<F>>, how: { push?: boolean } = {}) => {
      void navigate({
        to: ".",
        search: (before: Search) => {
          const next: Search = { ...before };
          for (const [key, value] of Object.entries(patch)) {
            const field = fields[key];
            if (field) next[key] = field.format(value);
          }
          return next;
        },
        replace: !how.push,
        resetScroll: false,
      });
    },
    [navigate, fields],
  );
  return [values, set];
}

/** Visible range (`t`), brush (`b`) and baseline brush (`c`), shared by all pages with a time axis. */
export const TIME_FIELDS = { t: rangeField, b: rangeField, c: rangeField };
export const useTimeState = () => useUrlState(TIME_FIELDS);
