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

/** The view of an incident: the selected step and host, the tab next to the chain, and an open dialog. */
export const FIELDS = {
  step: textField,
  host: textField,
  pane: choiceField<Pane>(PANES, "evidence"),
  dialog: choiceField(DIALOGS, ""),
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
