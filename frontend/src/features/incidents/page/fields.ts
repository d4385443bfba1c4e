import { choiceField, textField } from "../../../lib/urlState";

export const PANES = ["evidence", "fixes", "pins", "comments", "journal"] as const;
export type Pane = (typeof PANES)[number];

export const DIALOGS = [
  "",
  "verdict",
  "waive",
  "dismiss",
  "state",
  "fix",
  "applied",
  "verify",
  "reject",
  "mute",
  "hosts",
  "edit",
  "hypothesis",
  "export",
] as const;

/** URL parameters of an incident: selected step and host, tab, open dialog, and the object of the tab or dialog. */
export const FIELDS = {
  step: textField,
  host: textField,
  pane: choiceField<Pane>(PANES, "evidence"),
  dialog: choiceField(DIALOGS, ""),
  what: textField,
};

/** URL parameters of the incident list. */
export const LIST_FIELDS = {
  state: choiceField(
    ["", "unresolved", "open", "investigating", "identified", "mitigated", "resolved"],
    "unresolved",
  ),
  q: textField,
};
