import { type RefObject, useLayoutEffect, useState } from "react";

/** The line of details that stays below a drawing. */
const DETAILS_PX = 36;
/** An element that begins lower than this above the end of the first view is scrolled to, and keeps its own height. */
const LEAST_PX = 260;

/** The height in px from the top of an element to the end of the first view; undefined where too little is left. */
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
    // What is above the element may grow when it has loaded.
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
