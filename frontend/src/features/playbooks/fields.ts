import { choiceField, flagField, textField } from "../../lib/urlState";

export const KINDS = ["case", "method", "snippet", "reference"] as const;

/** The view of this screen: what is listed, which playbook is open, the run it is tried on, or one's own instead. */
export const FIELDS = {
  kind: choiceField(["", ...KINDS], ""),
  q: textField,
  playbook: textField,
  run: textField,
  own: flagField,
};
