import { choiceField, flagField, textField } from "../../lib/urlState";

export const KINDS = ["case", "method", "snippet", "reference"] as const;

/** URL state: filters, the open playbook, the run of the dry run, and the form for a custom playbook. */
export const FIELDS = {
  kind: choiceField(["", ...KINDS], ""),
  q: textField,
  playbook: textField,
  run: textField,
  custom: flagField,
};
