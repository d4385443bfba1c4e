import { SORTS } from "../../core/fleet";
import { choiceField, listField, textField } from "../../lib/urlState";

export const VIEWS = ["use", "peers", "findings"] as const;
export type View = (typeof VIEWS)[number];

/** How old a look may be, in seconds, before it is drawn as stale. */
export const FRESH = ["900", "3600", "86400", "604800"] as const;

/** What the address holds of the fleet. `cell` is a host and a column, `pick` are ids of chosen hosts. */
export const FIELDS = {
  view: choiceField(VIEWS, "use"),
  label: textField,
  has: textField,
  q: textField,
  sort: choiceField(SORTS, "worst"),
  size: choiceField(["full", "dense"], "full"),
  fresh: choiceField(FRESH, "86400"),
  measure: textField,
  cell: listField,
  pick: listField,
};
