import { useSyncExternalStore } from "react";
import { treeWidth } from "../core/profiles/treeWidth";

const subscribe = (onResize: () => void) => {
  window.addEventListener("resize", onResize);
  return () => window.removeEventListener("resize", onResize);
};

/** Return the width in px for requests of trees. It is known before layout. */
export const useTreeWidth = (): number => useSyncExternalStore(subscribe, () => treeWidth(window.innerWidth));
