import { SORTS } from "../../core/hosts/fleet";
import { choiceField, listField, textField } from "../../lib/urlState";

export const VIEWS = ["use", "peers", "findings"] as const;
export type View = (typeof VIEWS)[number];

/** The age of a run, in seconds, above which it is displayed as stale. */
export const MAX_AGE_CHOICES = ["900", "3600", "86400", "604800"] as const;

/** The URL parameters of the fleet. `cell` is a host and a column, `pick` are IDs of selected hosts. */
export const FIELDS = {
  view: choiceField(VIEWS, "use"),
  label: textField,
  has: textField,
  q: textField,
  sort: choiceField(SORTS, "worst"),
  size: choiceField(["full", "dense"], "full"),
  fresh: choiceField(MAX_AGE_CHOICES, "86400"),
  measure: textField,
  cell: listField,
  pick: listField,
};
