import { useHotkeys } from "@mantine/hooks";
import { useRef } from "react";

/** `/` puts the cursor into the search field of this screen. */
export function useSlashFocus() {
  const field = useRef<HTMLInputElement>(null);
  useHotkeys([["/", () => field.current?.focus()]]);
  return field;
}
