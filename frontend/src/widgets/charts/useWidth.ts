import { useElementSize } from "@mantine/hooks";

/** Width before the first layout, and in environments without layout. */
const UNKNOWN = 720;
const LEAST = 280;

/** Return the width for a chart in CSS pixels, at least LEAST, and the `ref` for the element around it. */
export function useWidth() {
  const { ref, width } = useElementSize<HTMLDivElement>();
  return { ref, width: width > 0 ? Math.max(LEAST, Math.floor(width)) : UNKNOWN };
}
