import { useNavigate } from "@tanstack/react-router";
import { useCallback } from "react";
import type { Search } from "../core/search";
import { choiceField, listField, textField, useUrlState } from "./urlState";

export const DIALOG_KEYS = ["dialog", "on", "plan", "with", "scope"] as const;

const FIELDS = {
  dialog: choiceField(["", "capture", "import", "diagnose"], ""),
  on: listField,
  plan: textField,
  with: listField,
  scope: textField,
};

/**
 * What the open dialog is about: the hosts that it concerns (a diagnosis: the host, then its twins), the plan or the collectors to begin with, and what to
 * look at (`kind=value`).
 */
export const useDialogState = () => useUrlState(FIELDS);

/** Opens a dialog with these hosts chosen, and a plan or collectors of one's own. */
export function useOpenDialog() {
  const navigate = useNavigate();
  return useCallback(
    (
      dialog: "capture" | "import" | "diagnose",
      on: readonly string[] = [],
      plan = "",
      collectors: readonly string[] = [],
      scope = "",
    ) =>
      void navigate({
        to: ".",
        search: ((before: Search) => ({
          ...before,
          dialog,
          on: listField.format(on),
          plan: plan || undefined,
          with: listField.format(collectors),
          scope: scope || undefined,
        })) as never,
        resetScroll: false,
      }),
    [navigate],
  );
}
