import { useSyncExternalStore } from "react";

const GRID_PX = 50;

/** The width of the window in px, rounded up so that dragging its edge asks the server for few trees. */
export const windowWidth = (): number => Math.ceil(window.innerWidth / GRID_PX) * GRID_PX;

const subscribe = (onResize: () => void) => {
  window.addEventListener("resize", onResize);
  return () => window.removeEventListener("resize", onResize);
};

/**
 * The width that drawings of profiles are requested for. It is known before anything is laid out, and no drawing is
 * wider: the server leaves out what would be narrower than half a pixel of it.
 */
export const useWindowWidth = (): number => useSyncExternalStore(subscribe, windowWidth);
