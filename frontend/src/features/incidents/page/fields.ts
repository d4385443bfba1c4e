import { choiceField, textField } from "../../lib/urlState";

export const PANES = ["evidence", "fixes", "pins", "comments", "journal"] as const;
export type Pane = (typeof PANES)[number];

export const ACTS = [
  "",
  "verdict",
  "waive",
  "aside",
  "state",
  "fix",
  "applied",
  "verify",
  "wrong",
  "mute",
  "hosts",
  "edit",
  "hypothesis",
  "export",
] as const;

/** The view of an incident: the step and the host that are looked at, what stands beside the chain, and an open dialog. */
export const FIELDS = {
  step: textField,
  host: textField,
  pane: choiceField<Pane>(PANES, "evidence"),
  act: choiceField(ACTS, ""),
  what: textField,
};

/** The view of the list. */
export const LIST_FIELDS = {
  state: choiceField(
    ["", "unresolved", "open", "investigating", "identified", "mitigated", "resolved"],
    "unresolved",
  ),
  q: textField,
};
