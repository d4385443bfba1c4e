import { useNavigate } from "@tanstack/react-router";
import { useCallback } from "react";
import type { Search } from "../core/search";
import { choiceField, listField, textField, useUrlState } from "./urlState";

export const DIALOG_KEYS = ["dialog", "on", "plan", "with", "scope", "about"] as const;

/** Dialogs that any page can open through the URL. */
const DIALOG_NAMES = ["capture", "import", "diagnose", "incident", "arm", "report-event"] as const;
export type DialogName = (typeof DIALOG_NAMES)[number];

const FIELDS = {
  dialog: choiceField(["", ...DIALOG_NAMES], ""),
  on: listField,
  plan: textField,
  with: listField,
  scope: textField,
  about: textField,
};

/**
 * Return the state of the open dialog and its setter: host ids (`on`; for a diagnosis the host, then its peers), the
 * initial plan (`plan`) or collectors (`with`), the scope (`kind=value`), and the diagnosis that an incident starts
 * from (`about`).
 */
export const useDialogState = () => useUrlState(FIELDS);

/** Return a function that opens a dialog with hosts, plan or collectors, and scope preselected. */
export function useOpenDialog() {
  const navigate = useNavigate();
  return useCallback(
    (
      dialog: DialogName,
      on: readonly string[] = [],
      plan = "",
      collectors: readonly string[] = [],
      scope = "",
      about = "",
    ) =>
      void navigate({
        to: ".",
        search: (before: Search) => ({
          ...before,
          dialog,
          on: listField.format(on),
          plan: plan || undefined,
          with: listField.format(collectors),
          scope: scope || undefined,
          about: about || undefined,
        }),
        resetScroll: false,
      }),
    [navigate],
  );
}
