import { useElementSize } from "@mantine/hooks";

/** Before the browser has laid out anything, and where it never does. */
const UNKNOWN = 720;
const LEAST = 280;

/** The width in CSS pixels that a drawing has: put `ref` on the element around it. */
export function useWidth() {
  const { ref, width } = useElementSize<HTMLDivElement>();
  return { ref, width: width > 0 ? Math.max(LEAST, Math.floor(width)) : UNKNOWN };
}
