import { NORMALIZATIONS, type Normalization } from "../../../core/profiles/difference";
import { choiceField, flagField, textField } from "../../../lib/urlState";

/** URL parameters of a comparison view. */
export const COMPARISON_FIELDS = {
  root: textField,
  view: choiceField(["flame", "icicle"] as const, "flame"),
  by: choiceField<Normalization>(NORMALIZATIONS, "share"),
  /** Request counts of the stored sides A and B; `swap` does not exchange them. */
  wa: textField,
  wb: textField,
  width: choiceField(["b", "a"] as const, "b"),
  swap: flagField,
};

export interface ComparisonState {
  by: Normalization;
  wa: string;
  wb: string;
  swap: boolean;
}

/** Query parameters that normalize the weights; `work_a` and `work_b` are request counts. */
export interface ComparisonParams {
  normalize: Normalization;
  work_a?: number | undefined;
  work_b?: number | undefined;
  swap?: boolean | undefined;
}

export interface ComparisonWork {
  a: number | null;
  b: number | null;
}

/** Return the requests of a side: the entered number, else the count of its access log, else undefined. */
export const chooseRequestCount = (entered: string, known: number | null | undefined): number | undefined => {
  const value = entered ? Number(entered) : (known ?? Number.NaN);
  return Number.isFinite(value) && value > 0 ? value : undefined;
};

export function toParams(
  state: ComparisonState,
  work: ComparisonWork | undefined,
): ComparisonParams | undefined {
  const swap = state.swap || undefined;
  if (state.by !== "work") return { normalize: state.by, swap };
  const work_a = chooseRequestCount(state.wa, work?.a);
  const work_b = chooseRequestCount(state.wb, work?.b);
  return work_a && work_b ? { normalize: "work", work_a, work_b, swap } : undefined;
}
