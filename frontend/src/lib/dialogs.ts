import { useNavigate } from "@tanstack/react-router";
import { useCallback } from "react";
import type { Search } from "../core/search";
import { choiceField, listField, textField, useUrlState } from "./urlState";

export const DIALOG_KEYS = ["dialog", "on", "plan"] as const;

const FIELDS = { dialog: choiceField(["", "capture", "import"], ""), on: listField, plan: textField };

/** What the open dialog is about: the hosts that it concerns and the plan to begin with. */
export const useDialogState = () => useUrlState(FIELDS);

/** Opens the dialog for a new capture, with these hosts chosen. */
export function useOpenDialog() {
  const navigate = useNavigate();
  return useCallback(
    (dialog: "capture" | "import", on: readonly string[] = [], plan = "") =>
      void navigate({
        to: ".",
        search: ((before: Search) => ({
          ...before,
          dialog,
          on: listField.format(on),
          plan: plan || undefined,
        })) as never,
        resetScroll: false,
      }),
    [navigate],
  );
}
