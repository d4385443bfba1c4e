import { useNavigate } from "@tanstack/react-router";
import { useCallback } from "react";
import type { Search } from "../core/search";
import { choiceField, listField, textField, useUrlState } from "./urlState";

export const DIALOG_KEYS = ["dialog", "on", "plan", "scope"] as const;

const FIELDS = {
  dialog: choiceField(["", "capture", "import"], ""),
  on: listField,
  plan: textField,
  scope: textField,
};

/** What the open dialog is about: its hosts, the plan to begin with, and what to look at (`kind=value`). */
export const useDialogState = () => useUrlState(FIELDS);

/** Opens the dialog for a new capture, with these hosts chosen. */
export function useOpenDialog() {
  const navigate = useNavigate();
  return useCallback(
    (dialog: "capture" | "import", on: readonly string[] = [], plan = "", scope = "") =>
      void navigate({
        to: ".",
        search: ((before: Search) => ({
          ...before,
          dialog,
          on: listField.format(on),
          plan: plan || undefined,
          scope: scope || undefined,
        })) as never,
        resetScroll: false,
      }),
    [navigate],
  );
}
