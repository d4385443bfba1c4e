import { useSyncExternalStore } from "react";

const GRID_PX = 50;

/** Return the width of the window in px, rounded up to GRID_PX so that resizing it sends few requests. */
export const windowWidth = (): number => Math.ceil(window.innerWidth / GRID_PX) * GRID_PX;

const subscribe = (onResize: () => void) => {
  window.addEventListener("resize", onResize);
  return () => window.removeEventListener("resize", onResize);
};

/**
 * Return the width in px for requests of profiles. It is known before layout and is the maximum width of a flame
 * graph: the server omits frames narrower than half a pixel at this width.
 */
export const useWindowWidth = (): number => useSyncExternalStore(subscribe, windowWidth);
