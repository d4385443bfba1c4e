import { useHotkeys } from "@mantine/hooks";
import { useRef } from "react";

/** Return a ref for the search field of the page; the `/` key focuses it. */
export function useSlashFocus() {
  const field = useRef<HTMLInputElement>(null);
  useHotkeys([["/", () => field.current?.focus()]]);
  return field;
}
