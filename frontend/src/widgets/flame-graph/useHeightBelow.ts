import { type RefObject, useLayoutEffect, useState } from "react";
import { DETAILS_PX, LEAST_PX } from "./drawing";

/**
 * Return the height in px from the top of an element to the bottom of the window at scroll position 0, without the line
 * of details. Returns undefined if it is below LEAST_PX.
 */
export function useHeightBelow(ref: RefObject<HTMLElement | null>, enabled: boolean): number | undefined {
  const [room, setRoom] = useState<number>();
  useLayoutEffect(() => {
    if (!enabled) return;
    const measure = () => {
      const top = (ref.current?.getBoundingClientRect().top ?? 0) + window.scrollY;
      const left = Math.floor(window.innerHeight - top - DETAILS_PX);
      setRoom(left >= LEAST_PX ? left : undefined);
    };
    measure();
    // Content above the element can grow after it has loaded.
    const observer = new ResizeObserver(measure);
    observer.observe(ref.current?.closest("main") ?? document.body);
    window.addEventListener("resize", measure);
    return () => {
      observer.disconnect();
      window.removeEventListener("resize", measure);
    };
  }, [ref, enabled]);
  return enabled ? room : undefined;
}
