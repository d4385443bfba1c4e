import { type RefObject, useLayoutEffect, useState } from "react";

/** Height of the line of details below a flame graph. */
const DETAILS_PX = 36;
/** Minimum height. With less room the element keeps its own height, and the user scrolls to it. */
const LEAST_PX = 260;

/**
 * Return the height in px from the top of an element to the bottom of the window at scroll position 0, without the line
 * of details. Returns undefined if it is below LEAST_PX.
 */
export function useRoomBelow(ref: RefObject<HTMLElement | null>, enabled: boolean): number | undefined {
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
